import numpy as np
import pytest
from scipy import linalg

import autodiff

RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3), (1, 1), (0, 2), (4,), ()],
        [(70, 65), (80, 60), (3, 2)],
        [(2, 2)] * 40,
    ],
    ids=["of all shapes", "large", "many"],
)
def test_blocks(shapes):
    """Each block gets what stands in its place, and is moved there."""
    blocks = [RNG.standard_normal(shape) for shape in shapes]
    y, back = autodiff.pullback(lambda *xs: linalg.block_diag(*xs), *blocks)
    np.testing.assert_array_equal(y, linalg.block_diag(*blocks))
    y_bar = RNG.standard_normal(y.shape)
    top = left = 0
    for x, x_bar in zip(blocks, back(y_bar), strict=True):
        height, width = np.atleast_2d(x).shape
        part = y_bar[top : top + height, left : left + width]
        np.testing.assert_array_equal(x_bar, np.reshape(part, np.shape(x)))
        top, left = top + height, left + width


def test_a_constant_block(check_traced):
    check_traced(lambda x: linalg.block_diag(x, [[1, 2]], 3.0), RNG.standard_normal((2, 2)))
    y = autodiff.pullback(lambda x: linalg.block_diag(x, 2 * np.eye(2) * 1j), np.ones((1, 2)))[0]
    assert y.dtype == complex
