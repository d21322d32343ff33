"""One compiled function in several threads and processes at once."""

import concurrent.futures
import copy
import multiprocessing
import pickle
import sys

import numpy as np
import pytest

from autodiff import compile, gradient
from autodiff.compiler.tiling.tile_threads import set_threads


def _loss(x, w):
    h = np.tanh(x * w)
    out = h.copy()
    out[1:] += 0.5 * h[:-1]
    return np.sum(out * np.exp(-out * out)) + np.sum(h) ** 2


@pytest.fixture
def two_threads():
    set_threads(2)
    yield
    set_threads(None)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not fork")
def test_a_forked_process_does_not_wait_for_threads_that_it_has_not(two_threads):
    x = np.linspace(-1.0, 2.0, 1 << 17)
    f = lambda x: np.sum(np.tanh(x) * x + np.exp(-x * x))  # noqa: E731
    slope = compile(lambda x: gradient(f, x), backend="python")
    expected = [slope(x) for _ in range(3)][-1]  # there are threads by now
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    child = context.Process(target=lambda: theirs.send(slope(x)))
    child.start()
    try:
        assert mine.poll(30), "the process that was forked waits for ever"
        np.testing.assert_allclose(mine.recv(), expected, rtol=1e-12, atol=1e-13)
    finally:
        child.kill()
        child.join()


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
