"""Sweeps over settings, and fits from several starts: here, by threads and by processes."""

import functools
import io
import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from rich.console import Console

from autodiff import ArgumentError, ShardError, derivative
from autodiff.distributed import Workers, sweep, value_and_gradient
from autodiff.optimize import multistart
from autodiff.repeatable import is_repeatable
from tests.autodiff.distributed import losses
from tests.autodiff.distributed.test_processes import has_cloudpickle, two_processes, two_threads

X, Y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 5.0])
PENALTIES = [0.0, 0.5, 2.0, 10.0, 30.0]
WEIGHTS = [np.sum(X * Y) / (np.sum(X**2) + penalty) for penalty in PENALTIES]


@pytest.fixture(scope="module", params=[two_threads, two_processes], ids=["threads", "processes"])
def workers(request):
    with request.param() as executor:
        yield executor


def weights(fits):
    return [fit.params["w"] for fit in fits]


def test_results_are_in_the_order_of_the_settings(workers):
    fits = sweep(losses.ridge, PENALTIES, workers, args=(X, Y))
    np.testing.assert_allclose(weights(fits), WEIGHTS, rtol=1e-6)
    assert all(fit.success and len(fit.history) == fit.nfev for fit in fits)


def test_settings_may_be_anything(workers):
    settings = [1, "a.npy", {"b": None}, (2, 3), np.arange(3.0), len, None]
    found = sweep(repr, settings, workers)
    assert found == list(map(repr, settings))


def test_a_call_whose_process_dies_is_made_again(tmp_path):
    f = functools.partial(losses.ridge_dying_once, tmp_path / "died")
    fits = sweep(f, PENALTIES, Workers(two_processes, count=2), args=(X, Y))
    assert (tmp_path / "died").exists()
    np.testing.assert_allclose(weights(fits), WEIGHTS, rtol=1e-6)


def test_errors_name_the_setting(workers):
    with pytest.raises(ValueError, match="many is no penalty") as raised:
        sweep(losses.ridge, [1.0, "many"], workers, args=(X, Y))
    assert "This is the call with setting 1 ('many')" in raised.value.__notes__[0]
    with pytest.raises(ShardError, match=r"setting 0 \(3\) could"):
        sweep(losses.dying, [3], Workers(two_processes, retries=0))


def test_what_is_no_sweep():
    with pytest.raises(ArgumentError, match="no settings"):
        sweep(losses.ridge, [], two_threads)
    with pytest.raises(ArgumentError, match="a function of a setting, not float"):
        sweep(1.0, [1.0], two_threads)
    with pytest.raises(ArgumentError, match="must be an executor"):
        sweep(losses.ridge, [1.0], "threads", args=(X, Y))


def test_progress_counts_what_has_ended():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    sweep(losses.ridge, PENALTIES, two_threads, args=(X, Y), progress=console)
    assert "calls" in console.file.getvalue()
    assert "5/5" in console.file.getvalue()


# ------------------------------------------------------------------------------- several starts

STARTS = [{"x": x, "y": y, "name": "wells"} for x in (-2.0, 2.0) for y in (-0.3, 1.0)]


@pytest.mark.parametrize("executor", [None, two_threads, two_processes])
def test_the_lowest_of_several_minima(executor):
    result = multistart(losses.wells, STARTS, executor=executor, method="BFGS")
    assert result.params["x"] == pytest.approx(-1.0356, abs=1e-4)
    assert result.params["name"] == "wells"
    assert result.success
    assert len(result.runs) == 4
    assert result.fun == min(run.fun for run in result.runs)
    assert {round(run.params["x"]) for run in result.runs} == {-1, 1}


@pytest.mark.skipif(not has_cloudpickle, reason="a lambda is sent by cloudpickle")
def test_a_lambda_by_processes():
    shift = 0.5
    result = multistart(lambda x: (x - shift) ** 2, [0.0, 5.0], executor=two_processes)
    assert result.params == pytest.approx(0.5)


def test_runs_that_fail_are_not_the_best():
    """A value of -inf, or NaN, is no minimum."""

    def falls(x):
        return np.where(x > 3, np.nan, (x - 1) ** 2)

    result = multistart(falls, [5.0, 0.0])
    assert result.params == pytest.approx(1.0)
    assert np.isnan(result.runs[0].fun)


def test_each_run_has_a_checkpoint(tmp_path):
    file = tmp_path / "fit.ckpt"
    first = multistart(losses.wells, STARTS, executor=two_threads, checkpoint=file)
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"fit.{i}.ckpt" for i in range(4)]
    calls = []

    def counted(p):
        calls.append(p)
        return losses.wells(p)

    again = multistart(counted, STARTS, checkpoint=file, resume=True)
    assert [run.x.tobytes() for run in again.runs] == [run.x.tobytes() for run in first.runs]
    assert len(calls) < sum(run.nfev for run in first.runs) / 2


def test_only_what_is_added_is_the_same_in_each_process():
    """In a sweep functions may be compiled; in a sum of shards the last bits count."""
    with ThreadPoolExecutor(2) as executor:
        assert sweep(lambda _: is_repeatable(), [1, 2], executor) == [False, False]
        seen = []

        def loss(p, x):
            seen.append(is_repeatable())
            return p * x

        assert value_and_gradient(loss, 2.0, [1.0, 2.0], executor) == (6.0, 3.0)
    assert seen == [True, True]
    assert not is_repeatable()


def test_an_interrupt_ends_the_runs():
    def f(x):
        if x == 7.0:
            os.kill(os.getpid(), signal.SIGINT)
        return (x - 1) ** 2

    result = multistart(f, [0.0, 7.0, 0.5])
    assert len(result.runs) == 2
    assert result.params == pytest.approx(1.0)
    assert "Ctrl-C" in result.runs[1].message


def test_the_derivative_of_the_lowest_minimum():
    def minimum(tilt):
        return multistart(lambda p: (p**2 - 1) ** 2 + tilt * p, [2.0, -2.0]).params

    h = 1e-4
    expected = (minimum(0.3 + h) - minimum(0.3 - h)) / (2 * h)
    assert derivative(minimum, 0.3) == pytest.approx(expected, rel=1e-3)


def test_what_is_no_multistart():
    with pytest.raises(ArgumentError, match="no starts"):
        multistart(losses.wells, [])
    with pytest.raises(ArgumentError, match="shards are for the sum of one run"):
        multistart(losses.wells, STARTS, shards=[1.0], executor=ThreadPoolExecutor)


def test_dask_makes_calls_again(request):
    """With a client, results stay on the workers until all are there."""
    client = request.getfixturevalue("client")
    fits = sweep(losses.ridge, PENALTIES, client, args=(X, Y))
    np.testing.assert_allclose(weights(fits), WEIGHTS, rtol=1e-6)


def test_pools_are_not_closed_that_were_given():
    with ProcessPoolExecutor(1) as pool:
        sweep(losses.ridge, [1.0], pool, args=(X, Y))
        assert pool.submit(len, "ab").result() == 2
