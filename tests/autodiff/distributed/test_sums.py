"""Sums over shards: values, derivatives of every kind, what is lost, what is slow."""

import functools
import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import optimize

from autodiff import ArgumentError, OutputError, ShardError, gradient
from autodiff.api.trees import Ravelling
from autodiff.distributed import Workers, value_and_gradient
from autodiff.distributed.sums import ShardedSum
from autodiff.optimize import minimize
from autodiff.optimize.problems import hessian_at, pair_at, product_at, value_at
from benchmarks.simulated_cluster import SimulatedCluster
from tests.autodiff.distributed import losses

two_threads = functools.partial(ThreadPoolExecutor, 2)
PARAMS = {"w": np.array([0.1, -0.2, 0.3, 0.0]), "b": 0.5, "name": "logistic", "n": 3}


def shards_of(count):
    return [losses.rows(seed, 20) for seed in range(count)]


def summed(f, shards):
    """The same sum in one process, as a function of the parameters."""
    return lambda p: sum(f(p, *(s if isinstance(s, tuple) else (s,))) for s in shards)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 37])
def test_value_and_gradient(count, differences):
    shards = shards_of(count)
    whole = summed(losses.logistic, shards)
    value, slope = value_and_gradient(losses.logistic, PARAMS, shards, two_threads)
    assert type(value) is float
    assert value == pytest.approx(whole(PARAMS), rel=1e-13)
    assert slope["name"] is slope["n"] is None
    expected = optimize.approx_fprime(
        np.append(PARAMS["w"], PARAMS["b"]), lambda v: whole({"w": v[:4], "b": v[4]})
    )
    np.testing.assert_allclose(np.append(slope["w"], slope["b"]), expected, rtol=1e-5, atol=1e-4)
    exact = gradient(whole, PARAMS)
    np.testing.assert_allclose(slope["w"], exact["w"], rtol=1e-12)
    assert type(slope["b"]) is type(exact["b"])


def test_float32_stays_float32_and_is_added_in_double_precision():
    shards = [np.full(3, 1e-4, np.float32) for _ in range(2000)] + [np.full(3, 3e3, np.float32)]

    def loss(p, x):
        return np.sum(p * x)

    value, slope = value_and_gradient(loss, np.float32([1, 1, 1]), shards, two_threads)
    assert slope.dtype == np.float32
    np.testing.assert_array_equal(slope, np.float32(3000.2))
    assert value == pytest.approx(9000.6, rel=1e-7)


def test_complex_parameters():
    x = np.random.default_rng(1).normal(size=(3, 5)) + 1j

    def loss(p, x):
        return np.sum(np.abs(p * x - 1) ** 2)

    _, slope = value_and_gradient(loss, np.full(5, 0.5 - 0.2j), list(x), two_threads)
    np.testing.assert_allclose(slope, gradient(summed(loss, x), np.full(5, 0.5 - 0.2j)))


def test_loops_branches_and_further_arguments():
    shards = np.array_split(np.linspace(-1, 1, 11), 4)

    def loss(p, x, scale):
        return scale * losses.looping(p, x)

    value, slope = value_and_gradient(loss, {"a": 0.7}, shards, two_threads, args=(2.0,))
    exact = 2 * summed(losses.looping, shards)({"a": 0.7})
    assert value == pytest.approx(exact)
    step = 1e-6
    ahead, behind = (2 * summed(losses.looping, shards)({"a": 0.7 + h}) for h in (step, -step))
    assert slope["a"] == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)


def test_the_number_of_workers_changes_no_bit():
    shards = shards_of(45)
    found = [
        value_and_gradient(losses.logistic, PARAMS, shards, Workers(two_threads, count=count))
        for count in (1, 2, 3, 5, 11, 50)
    ]
    for value, slope in found[1:]:
        assert value == found[0][0]
        assert slope["w"].tobytes() == found[0][1]["w"].tobytes()


def test_derivatives_of_every_kind():
    shards = shards_of(5)
    ravelling = Ravelling(PARAMS, real=True)
    x = ravelling.vector(PARAMS)
    v = np.arange(5.0)
    whole = summed(losses.logistic, shards)
    with ShardedSum(losses.logistic, ravelling, (), shards, two_threads) as total:
        for kernel, vectors in [(value_at, ()), (product_at, (v,)), (hessian_at, ())]:
            found = total.of_vector(kernel)(x, *vectors)
            np.testing.assert_allclose(found, kernel(whole, ravelling, (), x, *vectors), rtol=1e-11)


# ---------------------------------------------------------------------------------------- minimize


@pytest.mark.parametrize(
    "method", ["bfgs", "l-bfgs-b", "newton-cg", "trust-exact", "trust-constr", "nelder-mead"]
)
def test_minimize(method):
    shards = shards_of(6)
    start = {"w": np.zeros(4), "b": 0.0, "name": "logistic"}
    ours = minimize(losses.logistic, start, shards=shards, executor=two_threads, method=method,
                    options={"maxiter": 2000})  # fmt: skip
    theirs = minimize(summed(losses.logistic, shards), start)
    np.testing.assert_allclose(ours.params["w"], theirs.params["w"], atol=2e-3)
    assert ours.params["name"] == "logistic"
    assert len(ours.history) == ours.nfev


def test_bounds_constraints_and_resuming(tmp_path):
    given = {"shards": shards_of(6), "executor": two_threads, "checkpoint": tmp_path / "fit"}
    start = {"w": np.zeros(4), "b": 0.0}
    first = minimize(
        losses.logistic, start, bounds={"b": (0.5, 1)}, options={"maxiter": 3}, **given
    )
    again = minimize(losses.logistic, start, bounds={"b": (0.5, 1)}, resume=True, **given)
    assert again.history.values[: first.nfev] == first.history.values
    assert 0.5 <= again.params["b"] <= 1
    whole = minimize(
        losses.logistic, start, bounds={"b": (0.5, 1)}, shards=shards_of(6), executor=two_threads
    )
    assert again.x.tobytes() == whole.x.tobytes()
    condition = {"type": "eq", "fun": lambda p: np.sum(p["w"]) - 1}
    del given["checkpoint"]
    bound = minimize(losses.logistic, start, constraints=condition, **given)
    assert np.sum(bound.params["w"]) == pytest.approx(1)


def test_an_interrupt_leaves_the_best_point():
    def interrupted(state):
        if state.nfev > 4:
            raise KeyboardInterrupt

    result = minimize(
        losses.logistic, {"w": np.zeros(4), "b": 0.0}, shards=shards_of(4), executor=two_threads,
        callback=interrupted,
    )  # fmt: skip
    assert result.message.startswith("Interrupted")
    assert result.fun == min(result.history.values)


# ----------------------------------------------------------------------- what is lost, what is slow


def simulated(count=200, shards=300, timeout=None, retries=8, **options):
    terms = [np.array([float(i), 1.0]) for i in range(shards)]
    cluster = SimulatedCluster(count, lambda rng: rng.exponential(10.0), **options)
    ravelling = Ravelling({"a": 1.5}, real=True)
    workers = Workers(None, timeout=timeout, retries=retries)
    with ShardedSum(losses.squares, ravelling, (), terms, workers, place=cluster) as total:
        return cluster, total.evaluate(pair_at, (np.array([1.5]),))


def test_lost_workers_and_slow_ones_change_no_bit():
    _, (value, slope) = simulated(count=3)
    for options in [{"loss": 0.2}, {"timeout": 25.0}, {"loss": 0.1, "timeout": 30.0, "seed": 4}]:
        cluster, (again, slope_again) = simulated(**options)
        assert (again, slope_again[0]) == (value, slope[0])
        assert cluster.given_out > 300
    x = np.arange(300.0)
    assert value == pytest.approx(np.sum((1.5 * x - 1) ** 2) + 300 * 0.25)


def test_a_shard_that_is_lost_again_and_again():
    with pytest.raises(ShardError, match=r"shard 0 \(array of shape \(2,\)\) could not .* 3 times"):
        simulated(loss=1.0, retries=2, shards=1)
    with pytest.raises(ShardError, match=r"LostWorkerError: worker"):
        simulated(loss=1.0, retries=0)


def test_a_shard_that_is_too_slow_again_and_again():
    with pytest.raises(ShardError, match=r"3 workers have had it for 0.001 s each"):
        simulated(timeout=0.001, retries=2)


def test_errors_of_the_loss_name_their_shard():
    shards = [np.full(2, float(i)) for i in range(6)]
    with pytest.raises(ValueError, match="a row that cannot be") as caught:
        value_and_gradient(losses.failing, {"a": 1.0}, shards, two_threads)
    (note,) = caught.value.__notes__
    assert note.startswith("This is the loss of shard 3 (array of shape (2,)); on its worker:")
    assert "losses.py" in note
    with pytest.raises(OutputError):
        value_and_gradient(lambda p, x: p * x, 1.0, shards, two_threads)


def test_progress():
    rich = pytest.importorskip("rich.console")
    console = rich.Console(file=io.StringIO(), width=120, force_terminal=True)
    shards = shards_of(9)
    value, _ = value_and_gradient(losses.logistic, PARAMS, shards, two_threads, progress=console)
    text = console.file.getvalue()
    assert "shards" in text
    assert "9/9" in text
    assert f"value {value:.6g}" in text


# ---------------------------------------------------------------------------------- what is no sum


@pytest.mark.parametrize(
    "shards, message",
    [
        ([], "there are no shards"),
        (np.ones((3, 3)), r"shards is one ndarray. Give a list.*np.array_split"),
        ("x.npy", "shards is one str"),
        ([np.ones(2), iter([1.0])], "shard 1 holds a list_iterator, which can be read only once"),
        ([(np.ones(2), (x for x in [1.0]))], "shard 0 holds a generator, which can be read only"),
        (["x.csv"], r"'x.csv' is a file of a kind that is not known: '.csv' is none of .npy, .par"),
    ],
)
def test_what_is_no_list_of_shards(shards, message):
    with pytest.raises(ArgumentError, match=message):
        value_and_gradient(losses.squares, {"a": 1.0}, shards, two_threads)


def test_what_is_no_executor():
    with pytest.raises(ArgumentError, match="executor is 2; it must be an executor"):
        value_and_gradient(losses.squares, {"a": 1.0}, [np.ones(2)], 2)
    with pytest.raises(ArgumentError, match="shards and executor belong together"):
        minimize(losses.squares, {"a": 1.0}, shards=[np.ones(2)])


def test_a_sum_over_shards_is_not_differentiated_again():
    def outer(c):
        return value_and_gradient(losses.squares, {"a": c}, [np.ones(2)], two_threads)[0]

    with pytest.raises(ArgumentError, match="cannot be differentiated again"):
        gradient(outer, 1.0)

    def fitted(c):
        given = {"shards": [np.ones(2)], "executor": two_threads}
        return minimize(lambda p, x: np.sum((p - c * x) ** 2), 1.0, **given).params

    with pytest.raises(ArgumentError, match="cannot be differentiated again"):
        gradient(fitted, 1.0)


@pytest.mark.parametrize(
    "options",
    [{"count": 0}, {"count": -1}, {"count": 1.5}, {"retries": -1}, {"timeout": 0.0},
     {"timeout": np.nan}],
)  # fmt: skip
def test_workers_that_would_never_work(options):
    with pytest.raises(ArgumentError, match=f"{next(iter(options))} is "):
        Workers(ThreadPoolExecutor, **options)


def test_the_class_of_an_executor_makes_one():
    shards = [np.ones(2), np.ones(0)]  # a shard may be empty
    assert value_and_gradient(losses.squares, {"a": 2.0}, shards, ThreadPoolExecutor)[0] == 2.0
    with pytest.raises(ArgumentError, match="a function that returned None"):
        value_and_gradient(losses.squares, {"a": 2.0}, shards, lambda: None)
