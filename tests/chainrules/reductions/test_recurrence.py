import numpy as np
import pytest

from chainrules.reductions.recurrence import recurrence, reversed_recurrence


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 100])
def test_recurrence(n):
    rng = np.random.default_rng(n)
    m, b = rng.standard_normal((2, 3, n)), rng.standard_normal((2, 3, n))
    m[0, 0, n // 2 :: 5] = 0
    y = np.zeros((2, 3, n + 1))
    for i in range(n):
        y[..., i] = m[..., i] * y[..., i - 1] + b[..., i]
    np.testing.assert_allclose(recurrence(m, b), y[..., :n], rtol=1e-12, atol=1e-12)
    backwards = np.zeros((2, 3, n + 1))
    for i in reversed(range(n)):
        after = m[..., i + 1] * backwards[..., i + 1] if i + 1 < n else 0
        backwards[..., i] = after + b[..., i]
    np.testing.assert_allclose(
        reversed_recurrence(m, b), backwards[..., :n], rtol=1e-12, atol=1e-12
    )


def test_dtype():
    x = np.ones(5, np.float32)
    assert recurrence(x, x).dtype == np.float32
    assert recurrence(x, x).tolist() == [1, 2, 3, 4, 5]
