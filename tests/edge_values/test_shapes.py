"""Shapes, indexing, creation: gradients that can be written down by counting."""

import numpy as np
import pytest

import autodiff

V = [1.0, 2.0, 3.0]
W = np.array([1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0])


def weighed(y):
    """The elements of an output, in order, times 1, 10, 100, ...: the gradient tells who is who."""
    y = np.ravel(y)
    return np.sum(y * W[: np.size(y)])


# fmt: off
TABLE = [
    # what is read twice counts twice, what is not read counts 0
    ("x[[0, 0, 0]]", V, lambda x: x[[0, 0, 0]], [111.0, 0.0, 0.0]),
    ("x[[0, -3, 2]]", V, lambda x: x[[0, -3, 2]], [11.0, 0.0, 100.0]),
    ("x[::-1]", V, lambda x: x[::-1], [100.0, 10.0, 1.0]),
    ("x[5:]", V, lambda x: x[5:], [0.0, 0.0, 0.0]),
    ("x[[]]", V, lambda x: x[[]], [0.0, 0.0, 0.0]),
    ("x[mask]", V, lambda x: x[x > 1.5], [0.0, 1.0, 10.0]),
    ("x[no mask]", V, lambda x: x[x > 9], [0.0, 0.0, 0.0]),
    ("x[[[0, 1], [1, 1]]]", V, lambda x: x[[[0, 1], [1, 1]]], [1.0, 1110.0, 0.0]),
    ("take wrap", V, lambda x: np.take(x, [3, -1, 7], mode="wrap"), [1.0, 100.0, 10.0]),
    ("take clip", V, lambda x: np.take(x, [-9, 9, 9], mode="clip"), [1.0, 0.0, 110.0]),
    ("compress", V, lambda x: np.compress([1, 0, 1], x), [1.0, 0.0, 10.0]),
    ("item", V, lambda x: x.item(-1), [0.0, 0.0, 1.0]),
    # repeated elements add up
    ("broadcast_to", V, lambda x: np.broadcast_to(x, (2, 3)), [1001.0, 10010.0, 100100.0]),
    ("broadcast_to nothing", V, lambda x: np.broadcast_to(x, (0, 3)), [0.0, 0.0, 0.0]),
    ("repeat", V, lambda x: np.repeat(x, [0, 1, 3]), [0.0, 1.0, 1110.0]),
    ("repeat 0", V, lambda x: np.repeat(x, 0), [0.0, 0.0, 0.0]),
    ("tile", V, lambda x: np.tile(x, 2), [1001.0, 10010.0, 100100.0]),
    ("resize larger", V, lambda x: np.resize(x, 5), [1001.0, 10010.0, 100.0]),
    ("resize smaller", V, lambda x: np.resize(x, 2), [1.0, 10.0, 0.0]),
    # margins
    ("pad constant", V, lambda x: np.pad(x, (2, 1)), [100.0, 1000.0, 10000.0]),
    ("pad edge", V, lambda x: np.pad(x, (2, 1), "edge"), [111.0, 1000.0, 110000.0]),
    ("pad reflect", V, lambda x: np.pad(x, (2, 1), "reflect"), [100.0, 101010.0, 10001.0]),
    ("pad reflect odd", V, lambda x: np.pad(x, (1, 0), "reflect", reflect_type="odd"),
     [12.0, 99.0, 1000.0]),
    ("pad symmetric", V, lambda x: np.pad(x, (2, 1), "symmetric"), [110.0, 1001.0, 110000.0]),
    ("pad wrap", V, lambda x: np.pad(x, (2, 1), "wrap"), [100100.0, 1001.0, 10010.0]),
    ("pad maximum", V, lambda x: np.pad(x, (2, 1), "maximum"), [100.0, 1000.0, 110011.0]),
    ("pad maximum, ties share", [3.0, 2.0, 3.0], lambda x: np.pad(x, (1, 0), "maximum"),
     [10.5, 100.0, 1000.5]),
    ("pad mean", V, lambda x: np.pad(x, (1, 0), "mean", stat_length=2), [10.5, 100.5, 1000.0]),
    ("pad median", V, lambda x: np.pad(x, (1, 0), "median"), [10.0, 101.0, 1000.0]),
    ("pad linear_ramp", V, lambda x: np.pad(x, (2, 0), "linear_ramp"), [105.0, 1000.0, 10000.0]),
    # order
    ("roll", V, lambda x: np.roll(x, 1), [10.0, 100.0, 1.0]),
    ("delete", V, lambda x: np.delete(x, 1), [1.0, 0.0, 10.0]),
    ("insert", V, lambda x: np.insert(x, 1, x[2]), [1.0, 100.0, 1010.0]),
    ("split", V, lambda x: np.split(x, [1])[1], [0.0, 1.0, 10.0]),
    ("split, overlapping", V, lambda x: np.concatenate(np.split(x, [2, 1])), [1.0, 110.0, 1000.0]),
    ("trim_zeros", V, lambda x: np.trim_zeros(np.append([0.0], x)), [1.0, 10.0, 100.0]),
    ("diag of a vector", V, lambda x: np.diag(x)[1], [0.0, 10.0, 0.0]),
    ("diag outside", [V], lambda x: np.diag(x, 3), [[0.0, 0.0, 0.0]]),
    ("tril of a vector", V, lambda x: np.tril(x)[:2], [1001.0, 10000.0, 0.0]),
    # a cast to integers is constant, and so is the number of elements of a range
    ("astype int", V, lambda x: x.astype(int), [0.0, 0.0, 0.0]),
    ("astype float32", V, lambda x: x.astype(np.float32), [1.0, 10.0, 100.0]),
    ("full_like of integers", V, lambda x: np.full_like(x, x[0], dtype=int), [0.0, 0.0, 0.0]),
    ("linspace, one number", V, lambda x: np.linspace(x[0], x[2], 1), [1.0, 0.0, 0.0]),
    ("linspace", V, lambda x: np.linspace(x[0], x[2], 3), [6.0, 0.0, 105.0]),
    ("linspace, none", V, lambda x: np.linspace(x[0], x[2], 0), [0.0, 0.0, 0.0]),
    ("vander of 0", [0.0, 0.0], lambda x: np.vander(x, 3), [10.0, 10000.0]),
]
# fmt: on


@pytest.mark.parametrize("x, f, expected", [row[1:] for row in TABLE], ids=[r[0] for r in TABLE])
def test_gradient(x, f, expected):
    found = autodiff.gradient(lambda x: weighed(f(x)), np.array(x))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


def test_zero_size_arrays():
    for f in (np.ravel, np.transpose, np.flip, np.copy, lambda x: np.concatenate([x, x])):
        assert autodiff.gradient(lambda x, f=f: np.sum(f(x)), np.zeros((0, 3))).shape == (0, 3)


def test_points_without_axes():
    for f in (np.ravel, np.atleast_2d, np.copy, lambda x: x[()], lambda x: np.tile(x, 1)):
        found = autodiff.gradient(lambda x, f=f: np.sum(f(x)), np.array(2.0))
        assert found == 1.0
        assert np.shape(found) == ()
