"""First-order optimisers over minibatches; runs that are cut off and go on bit for bit."""

import functools
import itertools
import math
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from autodiff import ArgumentError, gradient
from autodiff.optimize import (
    adam,
    cosine_decay,
    exponential_decay,
    sgd,
    train,
)
from tests.helpers import run_python


def loss(p, x, y):
    h = np.tanh(x @ p["w"] + p["b"])
    return np.mean((h @ p["v"] - y) ** 2)


def example(dtype=float):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 2)).astype(dtype)
    params = {
        "w": rng.normal(size=(2, 4)).astype(dtype), "b": np.zeros(4, dtype),
        "v": rng.normal(size=4).astype(dtype), "layers": 2, "name": "net",
    }  # fmt: skip
    return params, (x, np.sin(x[:, 0]) * x[:, 1])


@pytest.mark.parametrize("optimiser", [sgd(0.1), sgd(0.02, momentum=0.9), adam(0.02)])
def test_training_lowers_the_loss(optimiser):
    params, data = example()
    result = train(loss, params, data, optimiser=optimiser, batch_size=16, epochs=60)
    assert loss(result.params, *data) < 0.3 * loss(params, *data)
    assert (result.nit, len(result.history)) == (240, 240)
    assert result.success
    assert (result.params["layers"], result.params["name"]) == (2, "net")


def test_steps_of_descent_with_momentum_by_hand():
    p, v = 1.0, 0.0
    for _ in range(3):
        v = 0.5 * v - 0.1 * 2 * (p - 3)
        p += v
    result = train(lambda p, x: np.mean((p - x) ** 2), 1.0, np.full(4, 3.0),
                   optimiser=sgd(0.1, momentum=0.5), epochs=3)  # fmt: skip
    assert result.params == pytest.approx(p)
    assert type(result.params) is float


def test_steps_of_adam_by_hand():
    p, m, s = 1.0, 0.0, 0.0
    for k in range(1, 5):
        g = 2 * (p - 3)
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
        p -= 0.1 * (m / (1 - 0.9**k)) / (math.sqrt(s / (1 - 0.999**k)) + 1e-8)
    result = train(lambda p, x: np.mean((p - x) ** 2), 1.0, np.full(4, 3.0),
                   optimiser=adam(0.1), epochs=4)  # fmt: skip
    assert result.params == pytest.approx(p)


@pytest.mark.parametrize("optimiser", [sgd(0.1, 0.5), adam(0.05)])
def test_float32_stays_float32(optimiser):
    params, data = example(np.float32)
    data = data[0], data[1].astype(np.float32)
    seen = []
    result = train(loss, params, data, optimiser=optimiser, epochs=3,
                   callback=lambda state: seen.append(state.nit))  # fmt: skip
    assert {result.params[k].dtype for k in "wbv"} == {np.dtype(np.float32)}
    assert seen == [1, 2, 3]


def test_complex_parameters():
    target = 2 - 1j
    for optimiser in (sgd(0.2), adam(0.1)):
        result = train(lambda p, x: np.mean(abs(p["z"] - x) ** 2), {"z": 0j}, np.full(4, target),
                       optimiser=optimiser, epochs=300)  # fmt: skip
        assert abs(result.params["z"] - target) < 1e-3


def test_schedules():
    assert exponential_decay(0.1, 0.5, 10)(20) == pytest.approx(0.025)
    rates = [cosine_decay(1.0, 20, warmup=4)(k) for k in range(25)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[12] == pytest.approx(0.5)
    assert rates[20:] == [0.0] * 5
    params, data = example()
    still = train(loss, params, data, optimiser=sgd(lambda count: 0.0), epochs=3)
    np.testing.assert_array_equal(still.params["w"], params["w"])


def test_each_example_is_used_once_in_each_epoch():
    seen = []

    def count(p, x):
        seen.append(sorted(x.tolist()))
        return p * np.mean(x)

    # Called as it is, not compiled: it has a side effect.
    train(count, 1.0, np.arange(10.0), batch_size=4, epochs=2)
    assert [len(batch) for batch in seen] == [4, 4, 2, 4, 4, 2]
    assert (
        sorted(itertools.chain(*seen[:3])) == sorted(itertools.chain(*seen[3:])) == list(range(10))
    )
    assert seen[:3] != seen[3:]


def interrupted(at):
    def callback(state):
        if state.nit == at:
            signal.raise_signal(signal.SIGINT)

    return callback


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("optimiser", [sgd(0.02, 0.9), adam(cosine_decay(0.05, 200))])
def test_an_interrupted_run_goes_on_bit_for_bit(tmp_path, optimiser, dtype):
    params, data = example(dtype)
    options = {"optimiser": optimiser, "batch_size": 16, "seed": 4}
    whole = train(loss, params, data, epochs=40, checkpoint=tmp_path / "whole.npz", **options)
    options |= {"checkpoint": tmp_path / "cut.npz", "resume": True}
    cut = train(loss, params, data, epochs=40, callback=interrupted(37), **options)
    assert cut.message == "Interrupted by Ctrl-C after 37 steps; params are those of the last."
    for _ in range(100):  # what is compiled in this process must not matter
        gradient(loss, params, *data, argnums=0)
    rest = train(loss, params, data, epochs=40, **options)
    assert (rest.nit, len(rest.history)) == (160, 160)
    assert rest.history.values == whole.history.values
    for name in "wbv":
        np.testing.assert_array_equal(rest.params[name], whole.params[name])
    longer = train(loss, params, data, epochs=41, **options)
    assert longer.nit == 164


KILLED = """
import os, sys, pathlib
import numpy as np
from autodiff.optimize import adam, train, training
training.EVERY = 0.0
def loss(p, x):
    return np.mean((np.sin(p["a"] * x) - p["b"]) ** 2)
def callback(state):
    if state.nit == 25 and sys.argv[2] == "kill":
        os._exit(9)
result = train(loss, {"a": 1.0, "b": np.zeros(2)[:1]}, np.linspace(0, 1, 33), batch_size=8,
               epochs=20, optimiser=adam(0.03), checkpoint=sys.argv[1], resume=True,
               callback=callback)
print(result.nit, result.params["a"].hex(), result.params["b"].tobytes().hex())
"""


def test_a_killed_process_goes_on_bit_for_bit(tmp_path):
    whole = run_python("-c", KILLED, tmp_path / "whole.npz", "run").stdout
    dead = run_python("-c", KILLED, tmp_path / "cut.npz", "kill", check=False)
    assert (dead.returncode, dead.stdout) == (9, "")
    assert run_python("-c", KILLED, tmp_path / "cut.npz", "run").stdout == whole


def test_a_checkpoint_of_another_run(tmp_path):
    params, data = example()
    train(loss, params, data, batch_size=16, checkpoint=tmp_path / "a.npz")
    with pytest.raises(ArgumentError, match=r"now \[50, 8, 0\]"):
        train(loss, params, data, batch_size=8, checkpoint=tmp_path / "a.npz", resume=True)
    with pytest.raises(ArgumentError, match="of another method"):
        train(loss, params, data, optimiser=sgd(), batch_size=16, checkpoint=tmp_path / "a.npz",
              resume=True)  # fmt: skip


def test_the_callback_may_stop():
    params, data = example()

    def callback(state):
        raise StopIteration

    result = train(loss, params, data, epochs=9, callback=callback)
    assert (result.nit, result.message) == (1, "Stopped by the callback after 1 steps.")


def test_data_that_do_not_fit():
    params, (x, y) = example()
    with pytest.raises(ArgumentError, match=r"lengths \[50, 49\]"):
        train(loss, params, (x, y[1:]))
    with pytest.raises(ArgumentError, match="whole number of examples, at least one"):
        train(loss, params, (x, y), batch_size=0)
    with pytest.raises(ArgumentError, match=r"batch_size is 1\.5"):
        train(loss, params, (x, y), batch_size=1.5)


# ------------------------------------------------------------------------------------- over shards


def parts(count, dtype=float):
    _, (x, y) = example(dtype)
    return [(x[i::count], y[i::count].astype(dtype)) for i in range(count)]


two_threads = functools.partial(ThreadPoolExecutor, 2)


@pytest.mark.parametrize("optimiser", [sgd(0.1, 0.5), adam(0.05)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shards_give_the_steps_of_the_whole(optimiser, dtype):
    params, data = example(dtype)
    data = data[0], data[1].astype(dtype)
    whole = train(loss, params, data, optimiser=optimiser, epochs=20)
    found = train(loss, params, shards=parts(5, dtype), executor=two_threads,
                  optimiser=optimiser, epochs=20)  # fmt: skip
    close = {"rtol": 1e-3, "atol": 1e-4} if dtype is np.float32 else {"rtol": 1e-9}
    for name in "wbv":
        assert found.params[name].dtype == dtype
        np.testing.assert_allclose(found.params[name], whole.params[name], **close)
    assert found.params["name"] == "net"
    assert found.fun == pytest.approx(whole.fun, rel=1e-3)


def test_a_batch_is_the_mean_over_some_shards():
    shards = [np.full(3, float(i)) for i in range(5)]
    found = train(lambda p, x: np.mean((p - x) ** 2), 1.0, shards=shards, executor=two_threads,
                  optimiser=sgd(0.1), batch_size=2, epochs=2, seed=3)  # fmt: skip
    p = 1.0
    for epoch in range(2):
        order = np.random.default_rng([3, epoch]).permutation(5)
        for chosen in (order[:2], order[2:4], order[4:]):
            p -= 0.1 * 2 * (p - np.mean(chosen))
    assert found.nit == 6
    assert found.params == pytest.approx(p, rel=1e-12)


def test_complex_parameters_over_shards():
    target = 2 - 1j
    found = train(lambda p, x: np.mean(abs(p["z"] - x) ** 2), {"z": 0j},
                  shards=[np.full(2, target)] * 3, executor=two_threads, optimiser=sgd(0.2),
                  epochs=60)  # fmt: skip
    assert abs(found.params["z"] - target) < 1e-3


def test_a_run_over_shards_goes_on_bit_for_bit(tmp_path):
    params, _ = example()
    options = {"shards": parts(7), "optimiser": adam(0.05), "batch_size": 3, "seed": 4}
    one_thread = functools.partial(ThreadPoolExecutor, 1)
    whole = train(loss, params, epochs=8, executor=one_thread, **options)
    options |= {"executor": two_threads, "checkpoint": tmp_path / "cut.npz", "resume": True}
    cut = train(loss, params, epochs=8, callback=interrupted(10), **options)
    assert (cut.nit, cut.success) == (10, False)
    rest = train(loss, params, epochs=8, **options)
    assert rest.history.values == whole.history.values
    for name in "wbv":
        np.testing.assert_array_equal(rest.params[name], whole.params[name])


def test_an_error_of_the_loss_names_the_shard_and_keeps_the_steps(tmp_path):
    def failing(p, x):
        if x[0] == 3.0:
            raise ValueError("a row that cannot be")
        return np.mean((p - x) ** 2)

    options = {"shards": [np.full(2, float(i)) for i in range(5)], "executor": two_threads,
               "batch_size": 1, "checkpoint": tmp_path / "run.npz"}  # fmt: skip
    with pytest.raises(ValueError, match="a row that cannot be") as caught:
        train(failing, 1.0, **options)
    assert "shard 3 (array of shape (2,))" in caught.value.__notes__[0]
    with np.load(tmp_path / "run.npz") as file:
        order = np.random.default_rng([0, 0]).permutation(5).tolist()
        assert len(file["values"]) == order.index(3)


def test_shards_that_do_not_fit():
    params, data = example()
    with pytest.raises(ArgumentError, match="belong together"):
        train(loss, params, shards=parts(2))
    with pytest.raises(ArgumentError, match="data and shards"):
        train(loss, params, data, shards=parts(2), executor=two_threads)
    with pytest.raises(ArgumentError, match="no data"):
        train(loss, params)
    with pytest.raises(ArgumentError, match="at least one"):
        train(loss, params, shards=parts(2), executor=two_threads, batch_size=0)
