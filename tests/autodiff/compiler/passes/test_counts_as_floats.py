"""Arrays of integers and of truths that are made inside and filled with what is computed."""

import numpy as np
import pytest

from autodiff import compile, gradient, hvp


def mask_in_a_loop(x):
    mask = np.zeros(len(x), dtype=bool)
    for i in range(len(x)):
        mask[i] = x[i] > 0
    mask |= x > 1.0
    y = x.copy()
    y[mask] *= 2.0
    return y, mask, ~mask, np.where(mask, x, 0.0)


def labels(x):
    kinds, counts = np.zeros(len(x), int), np.zeros(3, dtype=int)
    for i, v in enumerate(x):
        k = 0 if v < -0.5 else 1 if v < 0.5 else 2
        kinds[i] = k
        counts[k] += 1
    nearest = np.empty(len(x), dtype=np.intp)
    for i in range(len(x)):
        nearest[i] = np.argmin(np.abs(x[i] - np.array([-1.0, 0.0, 1.0])))
    sums = np.array([x[nearest == k].sum() for k in range(3)])
    return kinds, counts, nearest, sums[kinds], x[kinds] / np.maximum(counts, 1)[kinds]


def best_path(x):
    scores = np.stack([x, x**2, np.sin(x)], axis=1)
    best, back = np.zeros_like(scores), np.zeros(scores.shape, dtype=int)
    best[0] = scores[0]
    for t in range(1, len(x)):
        for j in range(3):
            reached = best[t - 1] - 0.1 * np.abs(np.arange(3) - j)
            back[t, j] = np.argmax(reached)
            best[t, j] = reached[back[t, j]] + scores[t, j]
    path = np.zeros(len(x), int)
    path[-1] = np.argmax(best[-1])
    for t in range(len(x) - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, scores[np.arange(len(x)), path].sum()


def permutation(x):
    order = np.arange(len(x))
    for i in range(len(x) - 1):
        j = i + np.argmin(x[order[i:]])
        order[i], order[j] = order[j], order[i]
    return x[order], order, order * 2, order + 1.5, order << 1, 1 << order, order & 1


def counted(x):
    n, k = np.array(0), np.arange(4)
    k[1:] += 1
    k *= 2
    for v in x:
        if v > 0:
            n = n + 1
    return n, k, x[: int(n)], list(k), k.tolist(), [x[i % len(x)] for i in k], np.unique(k), max(k)


def counted_by_numpy(x):
    counts, edges = np.histogram(x, bins=4, range=(-3, 3))
    found, places = np.unique(np.round(x), return_inverse=True)
    return counts, counts @ edges[1:], np.digitize(x, edges), found, places


def tuple_in_an_index(x):
    places = (x > 0).nonzero()
    y = np.zeros((2, len(x)))
    y[0, places] = x[places] * 2.0
    y[1, places] += 1.0
    z = y[0, places]
    y[1, ([0, 1],)] = z[:, :1]
    return y, z, np.sum(y[0, places] * x[places], axis=(0,))


PROGRAMS = [
    mask_in_a_loop, labels, best_path, permutation, counted, counted_by_numpy, tuple_in_an_index,
]  # fmt: skip
X = np.array([0.3, -0.7, 1.4, 0.1, -1.6, 0.9])


def total(y):
    floats = [a for a in y if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    return sum(np.sum(a * a) + np.sum(a) for a in floats)


FORMS = {
    "itself": lambda f: f,
    "gradient": lambda f: lambda x: (gradient(lambda x: total(f(x)), x),),
    "hvp": lambda f: lambda x: (hvp(lambda x: total(f(x)), x, np.cos(x)),),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("f", PROGRAMS)
def test_compiled_is_eager(f, form):
    g = FORMS[form](f)
    compiled = compile(g, backend="python")
    for x in (X, X, -X, 2.0 * X, X[::-1].copy(), X[:4]):
        for found, expected in zip(compiled(x), g(x), strict=True):
            assert type(found) is type(expected)
            if isinstance(found, np.ndarray):
                assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    assert compiled.eager_because is None


def test_elements_become_numbers_of_their_kind():
    def f(x):
        mask, order = x > 0, np.argsort(x)
        return (
            mask.tolist(), mask[0].item(), mask.item(1), mask.all().item(), order.tolist(),
            np.argmax(x).item(), np.sum(mask).item(), x.astype(int).tolist(), x[0].item(),
            [k for k in sorted(mask.tolist()) if k], x.tolist(), (x + 1j).tolist(),
        )  # fmt: skip

    compiled = compile(f)
    for x in (X, X, -X, 2.0 * X):
        assert repr(compiled(x)) == repr(f(x))
    assert compiled.eager_because is None
