"""One compiled function in several threads and processes at once."""

import concurrent.futures
import copy
import pickle

import numpy as np
import pytest

from autodiff import compile, gradient


def _loss(x, w):
    h = np.tanh(x * w)
    out = h.copy()
    out[1:] += 0.5 * h[:-1]
    return np.sum(out * np.exp(-out * out)) + np.sum(h) ** 2


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("n", [5, 300, 40_000])
@pytest.mark.usefixtures("switching")
def test_threads_that_call_one_function_do_not_share_memory(n, backend):
    compiled = compile(lambda x, w: gradient(_loss, x, w), backend=backend)
    rng = np.random.default_rng(0)
    given = [(rng.standard_normal(n), float(w)) for w in rng.standard_normal(8)]
    expected = [gradient(_loss, *args) for args in given]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda args: compiled(*args), given * 5))
    for k, (x_bar, w_bar) in enumerate(found):
        np.testing.assert_allclose(x_bar, expected[k % 8][0], rtol=1e-10, atol=1e-12)
        assert w_bar == pytest.approx(expected[k % 8][1], rel=1e-10)


@compile
def decorated(x):
    return np.sum(x * x)


def test_compiled_functions_are_pickled_as_what_they_compile():
    """One that has the name of its function is found by this name."""
    compiled = compile(_loss, backend="python")
    compiled(np.ones(3), 2.0)
    again = pickle.loads(pickle.dumps(compiled))
    assert again.variants == 0
    assert again(np.ones(3), 2.0) == pytest.approx(compiled(np.ones(3), 2.0))
    assert copy.deepcopy(compiled) is not compiled
    decorated(np.ones(3))
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    with pytest.raises((pickle.PicklingError, AttributeError)):  # a lambda cannot be pickled
        pickle.dumps(compile(lambda x: x))
