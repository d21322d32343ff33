"""``x.flat``, ``np.nditer``, ``np.ndenumerate``, ``np.broadcast`` and index objects."""

import itertools
import math

import numpy as np
import pytest

import autodiff

V = np.array([0.7, -1.3, 2.1, 0.4])
P = np.array([0.6, 1.7, 2.2, 0.9])
W = np.array([0.3, 0.5, -0.8])
M = np.array([[0.7, -1.3, 2.1], [0.4, 1.6, -0.9]])


def flat_written(x, v):
    y = np.copy(x)
    y.flat[1] = v[0]
    y.flat[[0, 3]] = v[1:]
    y.flat[4:] = 7.0
    return y


def flat_filled(x):
    y = np.zeros((2, 2))
    for i in range(4):
        y.flat[i] = x[i] ** 2
    return y


def allocated(x):
    with np.nditer([x, None]) as it:
        for a, b in it:
            b[...] = a * a
        return it.operands[1]


def doubled(x):
    y = np.copy(x)
    with np.nditer(y, op_flags=["readwrite"]) as it:
        for t in it:
            t[...] = 2 * t
    return y


def by_index(x):
    it = np.nditer(x, flags=["multi_index"])
    total = 0.0
    while not it.finished:
        total = total + it[0] ** 2 * it.multi_index[1]
        it.iternext()
    return total


# fmt: off
ITERATORS = [
    ("flat", lambda x: [t * t for t in x.flat], M),
    ("flat element", lambda x: x.flat[2] * x.flat[1:3], M),
    ("flat list", lambda x: x.flat[[1, 1, 0]], M),
    ("flat mask", lambda x: x.flat[M.ravel() > 0], M),
    ("flat copy", lambda x: x.flat.copy(), M),
    ("flat base", lambda x: x.flat.base, M),
    ("flat next", lambda x: next(x.flat), M),
    ("flat in sum", lambda x: sum(x.flat), M),
    ("flat in np.sum", lambda x: np.sum(x.flat), M),
    ("flat in np.array", lambda x: np.array(x.flat), M),
    ("flat in a product", lambda x: np.multiply(M.ravel(), x.flat), M),
    ("flat enumerated", lambda x: [i * t for i, t in enumerate(x.flat)], M),
    ("flat of a transpose", lambda x: [i * t for i, t in enumerate(x.T.flat)], M),
    ("flat index", lambda x: x.flat.index + len(x.flat) * x, M),
    ("flat written", flat_written, M, W),
    ("flat of a number", lambda x: [t * 2 for t in x.flat], P[0]),
    ("ndenumerate of a number", lambda x: [t * 2 for _, t in np.ndenumerate(x)], P[0]),
    ("flat filled", flat_filled, V),
    ("nditer", lambda x: [t * t for t in np.nditer(x)], V),
    ("nditer of two", lambda x, y: [a * b for a, b in np.nditer([x, y])], V, P),
    ("nditer, broadcast", lambda x, y: [a * b for a, b in np.nditer([x, y])], M, W),
    ("nditer, transposed", lambda x: [i * t for i, t in enumerate(np.nditer(x.T))], M),
    ("nditer allocates", allocated, V),
    ("nditer writes", doubled, V),
    ("nditer by index", by_index, M),
    ("ndenumerate", lambda x: [t * (i + 2 * j) for (i, j), t in np.ndenumerate(x)], M),
    ("ndindex", lambda x: [x[i] ** 2 for i in np.ndindex(x.shape)], M),
    ("broadcast", lambda x, y: [a * b for a, b in np.broadcast(x, y)], V, P),
    ("broadcast shape", lambda x, y: x * np.broadcast(x[:, None], y).shape[0], V, P),
    ("r_", lambda x, s: np.r_[x, 0.0, s], V, W[0]),
    ("r_ axis", lambda x: np.r_["0,2", x, x * 2], V),
    ("r_ lists", lambda x: np.r_[[x[0], 1.0], x[1]], V),
    ("r_ slice", lambda x: np.r_[0:3, x], V),
    ("r_ traced slice", lambda x: np.r_[x[0] : x[2] : 3j], V),
    ("c_", lambda x, y: np.c_[x, y], V, P),
    ("mgrid", lambda x: np.mgrid[x[1] : x[0] : 3j, 0 : x[2] : 2j], V),
    ("mgrid step", lambda x: np.mgrid[x[1] : x[2] : 0.9], V),
    ("ogrid", lambda x: np.ogrid[0 : x[2] : 4j], V),
    ("ix_", lambda x: x[np.ix_([0, 1], [2, 0])], M),
    ("ix_ of values", lambda x: np.ix_(x, x)[1] * 2, V),
    ("s_", lambda x: x[np.s_[1:, ::-1]], M),
]
# fmt: on


@pytest.mark.parametrize("f, xs", [(r[1], r[2:]) for r in ITERATORS], ids=[r[0] for r in ITERATORS])
def test_iterator(f, xs, check_modes):
    check_modes(f, *xs)


@pytest.mark.parametrize(
    "options", [{"flags": ["external_loop"]}, {"flags": ["c_index"]}, {"op_dtypes": [float]}]
)
def test_nditer_in_blocks_is_refused(options):
    with pytest.raises(
        autodiff.DifferentiationError, match=r"np\.nditer .* x\.flat or np\.ndindex"
    ):
        autodiff.gradient(lambda x: sum(np.sum(t) for t in np.nditer(x, **options)), V)


def test_plain_arrays_have_numpys_own():
    def kinds(x):
        assert type(np.nditer(P)) is np.nditer
        assert type(np.broadcast(P, P)) is np.broadcast
        assert [float(t) for t in np.nditer(P)] == list(P)
        return np.sum(x)

    autodiff.gradient(kinds, V)


def test_flat_like_numpys():
    def compared(x):
        flat, plain = x.flat, M.flat
        assert len(flat) == len(plain)
        for _ in range(3):
            assert flat.index == plain.index
            assert flat.coords == plain.coords
            assert next(flat) == next(plain)
        assert list(flat) == list(M.flat)
        return np.sum(x)

    autodiff.gradient(compared, M)


def _key(v):
    return math.sin(v)


def test_functions_that_itertools_calls_are_traced_by_name_and_by_place():
    def grouped(x, *key, **named):
        return sum(k for k, _ in itertools.groupby([x, x * 2.0], *key, **named))

    expected = math.cos(1.0) + 2 * math.cos(2.0)
    assert autodiff.gradient(lambda x: grouped(x, _key), 1.0) == pytest.approx(expected)
    assert autodiff.gradient(lambda x: grouped(x, key=_key), 1.0) == pytest.approx(expected)
    assert autodiff.gradient(lambda x: grouped(x, key=None), 1.0) == 3.0

    def accumulated(x, *f, **named):
        return list(itertools.accumulate([1.0, x], *f, **named))[-1]

    def add_sin(a, b):
        return a + math.sin(b)

    assert autodiff.gradient(lambda x: accumulated(x, add_sin), 1.0) == pytest.approx(math.cos(1.0))
    assert autodiff.gradient(lambda x: accumulated(x, func=add_sin), 1.0) == pytest.approx(
        math.cos(1.0)
    )
    assert autodiff.gradient(accumulated, 1.0) == 1.0
