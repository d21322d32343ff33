"""A real cluster of Dask: what stays on its workers, what is lost with them, 20 million rows."""

import functools
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import optimize

from autodiff import (
    ArgumentError,
    DifferentiationError,
    LostValueError,
    ShardError,
    gradient,
)
from autodiff.distributed import Workers, value_and_gradient
from autodiff.optimize import adam, minimize, train
from tests.autodiff.distributed import client_program, losses
from tests.helpers import grown_and_killed, run_python

pytestmark = pytest.mark.filterwarnings("ignore:Sending large graph")
one_thread = functools.partial(ThreadPoolExecutor, 1)
PARAMS = {"w": np.array([0.1, -0.2, 0.3, 0.0]), "b": 0.5, "name": "logistic"}


def loaders(count, rows=200):
    return [functools.partial(losses.rows, seed, rows) for seed in range(count)]


def same(found, expected):
    assert found[0] == expected[0]
    assert found[1]["w"].tobytes() == expected[1]["w"].tobytes()
    assert found[1]["b"] == expected[1]["b"]


@pytest.fixture(scope="module")
def expected():
    return value_and_gradient(losses.logistic, PARAMS, loaders(24), one_thread)


def kill_worker(client):
    """End a worker process as a crash of its machine does; another takes its place."""
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def kill_worker_at_work(client):
    """End a worker process as soon as the workers have something to do."""
    while not any(client.processing().values()):
        time.sleep(0.01)
    kill_worker(client)


def test_the_client_and_its_executor(client, expected):
    same(value_and_gradient(losses.logistic, PARAMS, loaders(24), client), expected)
    with client.get_executor() as executor:
        same(value_and_gradient(losses.logistic, PARAMS, loaders(24), executor), expected)


def test_lambdas(client):
    scale = 3.0
    value, slope = value_and_gradient(
        lambda p, x: np.sum(scale * p * x), 2.0, [np.ones(2), lambda: np.ones(3)], client
    )
    assert (value, slope) == (30.0, 15.0)


def test_data_that_stay_on_the_workers(client, expected):
    futures = client.map(losses.rows, range(24))
    same(value_and_gradient(losses.logistic, PARAMS, futures, client), expected)


@pytest.mark.parametrize("way", ["client", "threads"])
def test_blocks_of_dask_arrays_and_delayed(client, way):
    dask = pytest.importorskip("dask")
    array = pytest.importorskip("dask.array")
    x = array.random.default_rng(1).normal(size=(1000, 4), chunks=(130, 4))
    kept = x.persist()
    x = kept if way == "client" else x
    y = array.sign(x[:, 0])
    executor = client if way == "client" else one_thread
    blocks = list(zip(x.to_delayed().ravel(), y.to_delayed().ravel(), strict=True))
    value, slope = value_and_gradient(losses.logistic, PARAMS, blocks, executor)
    whole = (x.compute(), y.compute())
    assert value == pytest.approx(losses.logistic(PARAMS, *whole))
    exact = gradient(losses.logistic, PARAMS, *whole, argnums=0)
    np.testing.assert_allclose(slope["w"], exact["w"], rtol=1e-10)
    delayed = [dask.delayed(losses.rows)(seed) for seed in range(3)]
    found = value_and_gradient(losses.logistic, PARAMS, delayed, executor)
    same(found, value_and_gradient(losses.logistic, PARAMS, loaders(3), one_thread))
    with pytest.raises(ArgumentError, match="Give the cluster's client as executor"):
        value_and_gradient(losses.squares, {"a": 1.0}, list(kept.to_delayed().ravel()), one_thread)
    with pytest.raises(ArgumentError, match=r"shards is one Array.*x.to_delayed\(\)"):
        value_and_gradient(losses.squares, {"a": 1.0}, x, executor)


def test_dask_arrays_inside_a_function(client):
    array = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")
    x = array.from_array(np.arange(6.0), chunks=3)
    for f, argument in [
        (lambda z: np.sum(z**2), x),
        (lambda p: np.sum(p["x"] ** 2), {"x": x}),
        (lambda a: np.sum(np.where(x > 2, a, 0.0)), 2.0),
    ]:
        with pytest.raises(ArgumentError, match=r"what Dask computes is not .*x.to_delayed\(\)"):
            gradient(f, argument)
    for f, argument in [
        (lambda a: (a * x).sum().compute(), np.ones(6)),
        (lambda a: np.sum(x * a), np.ones(6)),
        (lambda a: x @ a, np.ones(6)),
        (lambda a: a @ x, np.ones(6)),
        (lambda a: array.sum(array.dot(x, a)).compute(), np.ones(6)),
        (lambda a: array.from_array(a).sum().compute(), np.ones(6)),
    ]:
        with pytest.raises(DifferentiationError, match=r"what Dask computes.*Compute blocks"):
            gradient(f, argument)
    for f, argument in [
        (lambda a: (a * x).sum().compute(), 2.0),
        (lambda a: (x + a).max().compute(), np.float64(2.0)),
        (lambda a: x.map_blocks(lambda b: b * a).sum().compute(), 2.0),
    ]:
        with pytest.raises(DifferentiationError):  # a copy that is sent to a worker, for example
            gradient(f, argument)
    # What is computed of it is a constant, and what is delayed is Python.
    assert gradient(lambda a: a * x.sum().compute(), 2.0) == 15.0
    tasks = [dask.delayed(lambda a, i: i * a**2) for _ in range(4)]

    def total(a, **where):
        return dask.delayed(sum)([task(a, i) for i, task in enumerate(tasks)]).compute(**where)

    for scheduler in ("synchronous", "threads"):
        assert gradient(functools.partial(total, scheduler=scheduler), 3.0) == 36.0
    with pytest.raises(LostValueError, match="A copy in another process"):
        gradient(total, 3.0)


def test_sums_over_captured_blocks():
    """By local schedulers; no cluster is needed."""
    array = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")
    x = array.from_array(np.arange(12.0).reshape(6, 2), chunks=(3, 2))
    y = array.from_array(np.linspace(0, 1, 6), chunks=3)
    blocks = list(zip(x.to_delayed().ravel(), y.to_delayed().ravel(), strict=True))
    whole = x.compute(), y.compute()

    def part(w, a, b):
        return np.sum(np.tanh(a @ w - b) ** 2)

    def delayed(w, **where):
        return dask.delayed(sum)([dask.delayed(part)(w, a, b) for a, b in blocks]).compute(**where)

    w = np.array([0.3, -0.25])
    expected = optimize.approx_fprime(w, lambda w: part(w, *whole))
    for f in [
        lambda w: sum(part(w, a.compute(), b.compute()) for a, b in blocks),
        lambda w: sum(part(w, x.blocks[i].compute(), y.blocks[i].compute()) for i in range(2)),
        functools.partial(delayed, scheduler="synchronous"),
        functools.partial(delayed, scheduler="threads"),
        lambda w: part(w, np.asarray(x), np.asarray(y)),
    ]:
        np.testing.assert_allclose(gradient(f, w), expected, rtol=1e-5)


def test_training(client):
    start = {"w": np.zeros(4), "b": 0.0}
    options = {"shards": loaders(6), "batch_size": 4, "epochs": 2, "optimiser": adam(0.1)}
    whole = train(losses.logistic, start, executor=one_thread, **options)
    found = train(losses.logistic, start, executor=client, **options)
    assert found.params["w"].tobytes() == whole.params["w"].tobytes()
    assert found.history.values == whole.history.values


def test_errors_of_the_loss(client):
    shards = [np.full(2, float(i)) for i in range(6)]
    with pytest.raises(ValueError, match="a row that cannot be") as caught:
        value_and_gradient(losses.failing, {"a": 1.0}, shards, client)
    assert "shard 3 (array of shape (2,))" in caught.value.__notes__[0]


def test_a_shard_that_kills_each_worker(client):
    shards = [functools.partial(losses.dying, 1)]
    with pytest.raises(ShardError, match=r"shard 0 \(tests.*dying\(1\)\).* 1 times"):
        value_and_gradient(losses.logistic, PARAMS, shards, Workers(client, retries=0))
    client.wait_for_workers(2, timeout=150)


def test_a_slow_shard(client, expected, tmp_path):
    shards = loaders(24)
    shards[3] = functools.partial(losses.slow_once, tmp_path / "slow", 3)
    client.wait_for_workers(2, timeout=150)
    value_and_gradient(losses.logistic, PARAMS, loaders(24), client)  # imports take time
    begun = time.monotonic()
    workers = Workers(client, timeout=5, retries=8)
    same(value_and_gradient(losses.logistic, PARAMS, shards, workers), expected)
    assert time.monotonic() - begun < 500  # the slow one sleeps for longer
    os.kill(int((tmp_path / "slow").read_text()), signal.SIGKILL)


def test_a_client_that_is_killed_goes_on_bit_for_bit(client, tmp_path):
    file, program = tmp_path / "fit", "tests.autodiff.distributed.client_program"
    client.wait_for_workers(2, timeout=150)
    for size in (900, 2500):
        grown_and_killed(file, size, "-m", program, file, client.scheduler.address)
    kill_worker(client)
    again = run_python("-m", program, file, client.scheduler.address).stdout
    assert again.strip() == client_program.shown(client_program.fit(one_thread))


# -------------------------------------------------------------------- 20 million rows, and a crash

MANY = [functools.partial(losses.rows, seed, 100_000) for seed in range(200)]


def test_twenty_million_rows_and_a_worker_that_dies(client):
    whole = value_and_gradient(
        losses.logistic, PARAMS, MANY, functools.partial(ThreadPoolExecutor, 2)
    )
    before = set(client.nthreads())
    crash = threading.Thread(target=kill_worker_at_work, args=[client])
    crash.start()
    value, slope = value_and_gradient(losses.logistic, PARAMS, MANY, client)
    crash.join()
    assert set(client.nthreads()) != before
    assert value == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(slope["w"], whole[1]["w"], rtol=1e-12)
    assert slope["b"] == pytest.approx(whole[1]["b"], rel=1e-12)


def test_a_fit_of_twenty_million_rows_goes_on_without_a_worker(client, tmp_path):
    start = {"w": np.zeros(4), "b": 0.0, "name": "logistic"}
    kept = [client.submit(shard) for shard in MANY]  # 800 MB: those of a dead worker are made again
    seen = []

    def crash(state):
        seen.append(state.nfev)
        if len(seen) == 2:
            kill_worker(client)

    fit = minimize(
        losses.logistic, start, shards=kept, executor=client, method="L-BFGS-B", callback=crash,
        checkpoint=tmp_path / "fit", options={"maxiter": 4},
    )  # fmt: skip
    # Rows were drawn from a probit: its coefficients, stretched, are those of the logistic fit.
    np.testing.assert_allclose(
        fit.params["w"] / fit.params["w"][3], np.linspace(-1, 1, 4), atol=0.03
    )
    assert abs(fit.params["b"]) < 0.03
    again = minimize(
        losses.logistic, start, shards=kept, executor=client, resume=True, method="L-BFGS-B",
        checkpoint=tmp_path / "fit", options={"maxiter": 5},
    )  # fmt: skip
    assert again.history.values[: fit.nfev] == fit.history.values
    assert again.nit == 5
