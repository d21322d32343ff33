"""Checkpoints of fits: a run that is cut off anywhere goes on bit for bit, and nothing is lost."""

import functools
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, optimize

from autodiff import ArgumentError
from autodiff.optimize import curve_fit, least_squares, minimize, multistart, record, root, train
from tests.helpers import grown_and_killed, one_in, run_python

START = {"x": np.array([-1.2, 1.0, 0.5]), "name": "rosen"}
WAYS = ["nelder-mead", "powell", "cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "cobyla", "cobyqa",
        "slsqp", "trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov"]  # fmt: skip


def rosen(p):
    return optimize.rosen(p["x"])


def bowl(p):
    return np.sum((p["x"] - 1) ** 4) + np.sum((p["x"] - 1) ** 2)


class Counted:
    """A function that counts its calls, and is interrupted in call number `last`."""

    def __init__(self, f, last=0):
        self.f, self.calls, self.last = f, 0, last

    def __call__(self, *args):
        self.calls += 1
        if self.calls == self.last:
            signal.raise_signal(signal.SIGINT)
        return self.f(*args)


def same(found, expected):
    """Compare all that SciPy returns, and the history but for its times, to the last bit."""
    if isinstance(expected, np.ndarray):
        return type(found) is type(expected) and found.tobytes() == expected.tobytes()
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        skipped = {"execution_time", "history"}  # trust-constr says how long it took
        return all(same(found[k], expected[k]) for k in expected if k not in skipped)
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, (float, np.floating)):
        return type(found) is type(expected) and same(np.array(found), np.array(expected))
    if isinstance(expected, (int, str, bool, np.integer, np.bool_, type(None))):
        return found == expected
    return type(found) is type(expected)  # operators, for example


def check_goes_on(solve, f, tmp_path, cuts):
    """Check that a run which Ctrl-C cuts off at several places goes on as if it had not been."""
    whole = solve(counted := Counted(f), checkpoint=tmp_path / "whole")
    for cut in cuts:
        assert cut < counted.calls, "there is nothing to cut"
        file = tmp_path / f"cut{cut}"
        stopped = solve(Counted(f, cut), checkpoint=file)
        assert stopped.message.startswith("Interrupted by Ctrl-C")
        rest = Counted(f)
        again = solve(rest, checkpoint=file, resume=True)
        assert same(again, whole)
        assert same(again.history.values, whole.history.values)
        assert same(again.history.gradient_norms, whole.history.gradient_norms)
        assert again.history.times == sorted(again.history.times)
        if cut == cuts[-1]:  # some calls are to compare the function with what is recorded
            assert rest.calls < counted.calls
    finished = Counted(f)
    assert same(solve(finished, checkpoint=tmp_path / "whole", resume=True), whole)
    assert finished.calls < counted.calls / 2
    return whole


@pytest.mark.parametrize("method", WAYS)
def test_each_method_goes_on_bit_for_bit(method, tmp_path):
    f = bowl if method == "dogleg" else rosen
    cuts = (1, 2, 12) if method == "dogleg" else (1, 2, 7, 20)
    options = {"maxiter": 60} if method == "cobyla" else {}
    solve = functools.partial(minimize, params0=START, method=method, options=options)
    check_goes_on(solve, f, tmp_path, cuts)


@pytest.mark.parametrize("method", ["slsqp", "trust-constr", "cobyla", "cobyqa"])
def test_bounds_and_constraints(method, tmp_path):
    constraints = [
        {"type": "ineq", "fun": lambda p: 1.5 - np.sum(p["x"])},
        optimize.NonlinearConstraint(lambda p: p["x"] ** 2, 0.0, 2.0),
        optimize.LinearConstraint(np.ones((1, 3)), -5.0, 5.0),
    ]
    solve = functools.partial(minimize, params0=START, method=method, bounds={"x": (-2, 1.5)},
                              constraints=constraints, options={"maxiter": 25})  # fmt: skip
    check_goes_on(solve, rosen, tmp_path, (1, 3, 8))


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method, tmp_path):
    x = np.linspace(0, 4, 30)

    def residuals(p):
        return p["size"] * np.exp(-p["rate"] * x) - 2.5 * np.exp(-1.3 * x) - 0.01 * np.sin(40 * x)

    solve = functools.partial(least_squares, params0={"size": 0.3, "rate": 0.1}, method=method)
    check_goes_on(solve, residuals, tmp_path, (1, 3, 22))


@pytest.mark.parametrize("bounds", [None, {"rate": (0, 5)}])
def test_curves_and_their_covariance(bounds, tmp_path):
    x = np.linspace(0, 4, 30)
    y = 2.5 * np.exp(-1.3 * x) + 0.01 * np.sin(40 * x)

    def solve(f, **options):
        return curve_fit(f, x, y, {"size": 0.3, "rate": 0.1}, bounds=bounds, **options)

    whole = check_goes_on(solve, lambda x, p: p["size"] * np.exp(-p["rate"] * x), tmp_path, (1, 22))
    assert np.isfinite(whole.covariance).all()


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov", "df-sane"])
def test_roots(method, tmp_path):
    def equations(p):
        return p["x"] ** 3 + np.sin(p["y"]) - 0.3, p["y"] - 0.5 * p["x"] - 0.1

    solve = functools.partial(root, params0={"x": 1.0, "y": 0.5}, method=method)
    check_goes_on(solve, equations, tmp_path, (1, 4, 7))


def test_float32_and_complex_parameters(tmp_path):
    start = {"w": np.ones(3, np.float32), "z": 0.3 + 1j, "layers": 2}

    def f(p):
        return np.sum((p["w"] * abs(p["z"]) - np.float32(0.7)) ** 2) + abs(p["z"] - 2 + 1j) ** 4

    whole = check_goes_on(functools.partial(minimize, params0=start), f, tmp_path, (1, 5))
    assert whole.params["w"].dtype == np.float32


def test_a_differential_equation(tmp_path):
    t = np.linspace(0, 4, 10)

    def residuals(p):
        def change(t, z):
            return [p["a"] * z[0] - 0.4 * z[0] * z[1], 0.1 * z[0] * z[1] - p["b"] * z[1]]

        y = integrate.solve_ivp(change, (0, 4), [8.0, 4.0], t_eval=t, rtol=1e-7).y
        return np.ravel(y) - 3.0

    solve = functools.partial(least_squares, params0={"a": 1.0, "b": 0.3})
    check_goes_on(solve, residuals, tmp_path, (2, 16))


def looped(p):
    x, total = p["x"], 0.0
    for i in range(60):
        x = np.tanh(x * 0.8 + 0.1) + 0.37 * x
        total = total + np.sum(x * x) / 37 + (x[0] - 1) ** 2 / (1 + i)
    return total


def test_loops_give_the_same_bits_however_long_they_have_run(tmp_path):
    """Of loops that have run long enough, machine code is made: with a checkpoint there is none."""
    start = {"x": np.linspace(-1, 1, 7)}
    fresh = minimize(looped, start, checkpoint=tmp_path / "fresh", options={"maxiter": 6})
    for _ in range(4):
        minimize(looped, start)
    long = minimize(looped, start, checkpoint=tmp_path / "long", options={"maxiter": 6})
    assert same(long, fresh)


def test_the_callback_sees_all_iterations(tmp_path):
    file, whole, again = tmp_path / "fit", [], []
    minimize(rosen, START, callback=lambda state: whole.append(state.x), checkpoint=file)
    minimize(rosen, START, callback=lambda s: again.append(s.x), checkpoint=file, resume=True)
    assert same(again, whole)


def test_the_callback_may_stop_and_the_run_goes_on(tmp_path):
    def stop(state):
        if state.nfev > 10:
            raise StopIteration

    file = tmp_path / "fit"
    minimize(rosen, START, callback=stop, checkpoint=file)
    again = minimize(rosen, START, checkpoint=file, resume=True)
    assert same(again, minimize(rosen, START, checkpoint=tmp_path / "whole"))


def test_an_error_of_the_function_loses_nothing(tmp_path):
    calls = []

    def failing(p):
        calls.append(p)
        if len(calls) == 15:
            raise ZeroDivisionError
        return rosen(p)

    with pytest.raises(ZeroDivisionError):
        minimize(failing, START, checkpoint=tmp_path / "fit")
    rest = Counted(rosen)
    result = minimize(rest, START, checkpoint=tmp_path / "fit", resume=True)
    assert rest.calls == result.nfev - 14 + 2


def test_a_higher_limit_goes_on(tmp_path):
    file = tmp_path / "fit"
    minimize(rosen, START, checkpoint=file, options={"maxiter": 4})
    rest = Counted(rosen)
    again = minimize(rest, START, checkpoint=file, resume=True, options={"maxiter": 9})
    whole = minimize(rosen, START, checkpoint=tmp_path / "w", options={"maxiter": 9})
    assert same(again, whole)
    assert rest.calls < whole.nfev


def test_several_starts(tmp_path):
    starts = [START, {"x": np.array([2.0, -1.0, 0.0]), "name": "rosen"}]
    whole = multistart(rosen, starts, checkpoint=tmp_path / "whole.fit")
    cut = Counted(rosen, whole.runs[0].nfev + 15)
    assert len(multistart(cut, starts, checkpoint=tmp_path / "cut.fit").runs) == 2
    rest = Counted(rosen)
    again = multistart(rest, starts, checkpoint=tmp_path / "cut.fit", resume=True)
    assert same(again.runs, whole.runs)
    assert rest.calls < whole.runs[1].nfev
    assert {path.name for path in tmp_path.glob("cut*")} == {"cut.0.fit", "cut.1.fit"}


# ------------------------------------------------------------------------------ processes that die


def test_a_file_that_is_cut_anywhere(tmp_path):
    file = tmp_path / "fit"
    whole = minimize(rosen, START, method="newton-cg", checkpoint=file)
    content = file.read_bytes()
    empty = minimize(rosen, START, method="newton-cg", checkpoint=file, callback=stop_at_once)
    assert empty.nfev < 4
    for size in range(file.stat().st_size, len(content), len(content) // (15 // one_in(3))):
        file.write_bytes(content[:size])
        again = minimize(rosen, START, method="newton-cg", checkpoint=file, resume=True)
        assert same(again, whole)
        rest = Counted(rosen)  # what was cut off is in the file again
        minimize(rest, START, method="newton-cg", checkpoint=file, resume=True)
        assert rest.calls < 9


def stop_at_once(_):
    raise StopIteration


def test_a_byte_that_is_damaged_is_evaluated_again(tmp_path):
    file = tmp_path / "fit"
    whole = minimize(rosen, START, checkpoint=file)
    content = bytearray(file.read_bytes())
    content[-100 - len(content) // 2] ^= 1
    file.write_bytes(content)
    rest = Counted(rosen)
    assert same(minimize(rest, START, checkpoint=file, resume=True), whole)
    assert whole.nfev // 4 < rest.calls < whole.nfev


KILLED = """
import os, signal, sys, time
import numpy as np
from autodiff.optimize import minimize, record
def loss(p):
    time.sleep(0.004)
    return np.sum(100 * (p["x"][1:] - p["x"][:-1] ** 2) ** 2 + (1 - p["x"][:-1]) ** 2)
if sys.argv[2] == "writing":
    write, count = record.Record._write, 0
    def dying(self, file, content):
        global count
        count += 1
        if count == 25:
            file.write(b"\\0" * 7 if len(sys.argv) > 3 else content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        write(self, file, content)
    record.Record._write = dying
r = minimize(loss, {"x": np.linspace(-1, 1, 6)}, checkpoint=sys.argv[1], resume=True,
             method="L-BFGS-B")
print(r.nit, r.nfev, r.message, r.x.tobytes().hex(), r.fun.hex(), r.jac.tobytes().hex())
print([v.hex() for v in r.history.values])
"""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    return run_python("-c", KILLED, tmp_path_factory.mktemp("whole") / "fit", "run").stdout


def test_a_process_that_is_killed_again_and_again(tmp_path, uninterrupted):
    """By kill -9, each time at another moment."""
    file, sizes = tmp_path / "fit", [0]
    for _ in range(4):
        grown_and_killed(file, sizes[-1] + 900, "-c", KILLED, file, "run")
        sizes.append(file.stat().st_size)
    assert run_python("-c", KILLED, file, "run").stdout == uninterrupted


@pytest.mark.parametrize("how", [["writing"], ["writing", "zeros"]])
def test_a_process_that_dies_while_it_writes(tmp_path, uninterrupted, how):
    file = tmp_path / "fit"
    dead = run_python("-c", KILLED, file, *how, check=False)
    assert dead.returncode == -signal.SIGKILL
    assert run_python("-c", KILLED, file, "run").stdout == uninterrupted


def test_a_process_that_still_writes_into_the_old_file_does_no_harm(tmp_path):
    file, whole = tmp_path / "fit", minimize(rosen, START, checkpoint=tmp_path / "whole")

    def again(state):
        if state.nfev > 10 and not seen:
            seen.append(minimize(rosen, START, checkpoint=file, resume=True))

    seen = []
    first = minimize(rosen, START, checkpoint=file, callback=again)
    last = minimize(rosen, START, checkpoint=file, resume=True)
    assert same(first, whole)
    assert same(seen[0], whole)
    assert same(last, whole)
    assert {path.name for path in tmp_path.iterdir()} == {"fit", "whole"}


# ------------------------------------------------------------------------- files that are of others


def test_a_missing_checkpoint_is_a_start(tmp_path):
    result = minimize(rosen, START, checkpoint=tmp_path / "none", resume=True)
    assert result.history.values[0] == rosen(START)


def test_without_resume_the_file_begins_anew(tmp_path):
    file = tmp_path / "fit"
    minimize(rosen, START, checkpoint=file)
    size = file.stat().st_size
    minimize(rosen, {**START, "x": np.array([0.9, 0.9, 0.9])}, checkpoint=file)
    assert file.stat().st_size < size


def check_refused(tmp_path, message, f=rosen, start=START, **options):
    """Check that a run does not go on with another's file, which stays as it is."""
    file = tmp_path / "fit"
    minimize(rosen, START, checkpoint=file)
    content = file.read_bytes()
    with pytest.raises(ArgumentError, match=message):
        minimize(f, start, checkpoint=file, resume=True, **options)
    assert file.read_bytes() == content


@pytest.mark.parametrize("f", [
    lambda p: rosen(p) + 1e-3,
    lambda p: rosen(p) + 1e-3 * np.sum((p["x"] - START["x"]) ** 4),
    lambda p: np.sum(p["x"] ** 2) - np.sum(START["x"] ** 2) + rosen(START),
])  # fmt: skip
def test_another_function(f, tmp_path):
    check_refused(tmp_path, r"fit is of another function: .* returned .*, and now", f)


def test_a_function_that_draws_random_numbers(tmp_path):
    rng = np.random.default_rng(1)
    check_refused(tmp_path, "or it draws random numbers", lambda p: rosen(p) * rng.uniform())


def test_another_constraint(tmp_path):
    def solve(limit, **options):
        condition = {"type": "ineq", "fun": lambda p: limit - np.sum(p["x"])}
        return minimize(rosen, START, constraints=condition, checkpoint=tmp_path / "f", **options)

    solve(1.5)
    with pytest.raises(ArgumentError, match=r"another function"):
        solve(1.6, resume=True)


def test_another_start(tmp_path):
    start = {**START, "x": START["x"] + 1e-15}
    check_refused(tmp_path, "asks for another point than the recorded evaluation 1", start=start)


def test_another_method(tmp_path):
    message = "fit is of minimize by bfgs, and this run is of minimize by cg"
    check_refused(tmp_path, message, method="CG")
    assert minimize(rosen, START, checkpoint=tmp_path / "fit", resume=True, method="BFGS").success


def test_options_that_lead_another_way(tmp_path):
    check_refused(tmp_path, r"another point .* and options", options={"c2": 0.1})


def test_other_parameters(tmp_path):
    start = {"x": np.zeros(2), "name": "rosen"}
    check_refused(
        tmp_path, r"fit is of other parameters: params\['x'\] of shape \(3,\)", start=start
    )
    start = {"y": START["x"]}
    check_refused(tmp_path, r"\(3,\); params\['y'\] of shape \(3,\) are expected", start=start)


def test_a_checkpoint_of_training(tmp_path):
    file = tmp_path / "fit"
    train(mean_misfit, {"a": 1.0}, np.ones(4), checkpoint=file)
    with pytest.raises(ArgumentError, match="fit is no checkpoint of a fit"):
        minimize(lambda p: p["a"] ** 2, {"a": 1.0}, checkpoint=file, resume=True)
    minimize(lambda p: p["a"] ** 2, {"a": 1.0}, checkpoint=file)
    with pytest.raises(ArgumentError, match="fit is no checkpoint"):
        train(mean_misfit, {"a": 1.0}, np.ones(4), checkpoint=file, resume=True)


def mean_misfit(p, x):
    return np.mean((sum(p.values()) - x) ** 2)


def test_files_that_are_no_checkpoints(tmp_path):
    file = tmp_path / "fit"
    minimize(rosen, START, checkpoint=file)
    whole = file.read_bytes()
    for text in (b"", b"text", whole[:60], whole[:20] + b"x" + whole[21:]):
        file.write_bytes(text)
        with pytest.raises(ArgumentError, match=r"fit is no checkpoint of a fit"):
            minimize(rosen, START, checkpoint=file, resume=True)
        assert file.read_bytes() == text


def test_a_checkpoint_without_a_place_is_an_error_before_the_work(tmp_path):
    calls = []
    places = {
        tmp_path: "a folder",
        tmp_path / "no" / "x": "not exist",
        Path(os.devnull): "a device",
    }
    for place, message in places.items():
        with pytest.raises(ArgumentError, match=message):
            minimize(calls.append, START, checkpoint=place)
        with pytest.raises(ArgumentError, match=message):
            train(calls.append, START, np.ones(2), checkpoint=place)
    assert not calls


@pytest.mark.skipif(sys.platform != "linux", reason="the size of files is limited by Linux")
def test_a_disk_that_is_full(tmp_path):
    """The error is the system's; what was recorded is not lost."""
    import resource

    file, whole = tmp_path / "fit", minimize(rosen, START, checkpoint=tmp_path / "whole")
    size = (tmp_path / "whole").stat().st_size // 2
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        with pytest.raises(OSError, match="large"):
            minimize(rosen, START, checkpoint=file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert file.stat().st_size == size
    rest = Counted(rosen)
    assert same(minimize(rest, START, checkpoint=file, resume=True), whole)
    assert rest.calls < 0.7 * whole.nfev


def test_the_function_may_change_the_folder(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "a")

    def wandering(p, *x):
        os.chdir(tmp_path / "b")
        return np.sum((p["x"] - 1) ** 2)

    minimize(wandering, START, checkpoint="fit")
    os.chdir(tmp_path / "a")
    train(wandering, START, np.ones(2), checkpoint="train")
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"fit", "train"}
    assert not list((tmp_path / "b").iterdir())


def test_the_file_is_put_on_the_disk(tmp_path, monkeypatch):
    """A write survives the process, but only what is synchronised survives the machine."""
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    minimize(rosen, START, checkpoint=tmp_path / "fit")
    assert len(synced) == 2  # its header, and its end
    monkeypatch.setattr(record, "EVERY", 0.0)
    result = minimize(rosen, START, checkpoint=tmp_path / "fit")
    assert len(synced) == 4 + result.nfev
