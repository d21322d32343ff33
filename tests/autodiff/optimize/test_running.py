"""Long runs: histories, progress, interrupts, checkpoints."""

import importlib.util
import io
import signal

import numpy as np
import pytest
from scipy import optimize

from autodiff.optimize import History, curve_fit, least_squares, minimize, root, train
from autodiff.optimize.progress import NoBar, bar_for


def rosen(p):
    return optimize.rosen(p["x"])


START = {"x": np.array([-1.2, 1.0, 0.5]), "name": "rosen"}


class Interrupting:
    """A function whose call number `last` is interrupted as Ctrl-C does it."""

    def __init__(self, f, last):
        self.f, self.left = f, last

    def __call__(self, *args):
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        return self.f(*args)


@pytest.mark.parametrize("method", ["bfgs", "l-bfgs-b", "cg", "tnc", "slsqp", "newton-cg",
                                    "trust-ncg", "nelder-mead", "cobyla", "powell"])  # fmt: skip
def test_an_interrupt_leaves_the_best_point(method):
    result = minimize(Interrupting(rosen, 15), START, method=method)
    assert not result.success
    assert result.message.startswith("Interrupted by Ctrl-C after")
    assert result.fun == min(result.history.values)
    assert rosen(result.params) == pytest.approx(result.fun)
    assert result.params["name"] == "rosen"


@pytest.mark.parametrize("method", ["slsqp", "trust-constr"])
def test_an_interrupt_with_constraints_leaves_the_last_iteration(method):
    condition = {"type": "eq", "fun": lambda p: p["x"][0] - 0.5}
    result = minimize(Interrupting(rosen, 12), START, constraints=condition, method=method)
    assert "of the last iteration" in result.message
    assert abs(result.params["x"][0] - 0.5) < 1  # it started at a distance of 1.7
    assert rosen(result.params) == pytest.approx(result.fun)


def test_an_interrupt_before_the_first_evaluation_leaves_the_start():
    result = minimize(Interrupting(rosen, 1), START)
    np.testing.assert_array_equal(result.params["x"], START["x"])


def test_interrupts_of_least_squares_and_roots():
    x = np.linspace(0, 1, 20)
    f = Interrupting(lambda x, p: np.exp(-p["rate"] * x), 5)
    result = least_squares(lambda p: f(x, p) - np.exp(-2 * x), {"rate": 0.1})
    assert result.message.startswith("Interrupted")
    result = root(Interrupting(lambda p: p["x"] ** 3 - 2, 4), {"x": 1.0})
    assert result.message.startswith("Interrupted")
    result = curve_fit(Interrupting(f.f, 5), x, np.exp(-2 * x), {"rate": 0.1})
    assert result.cost == min(result.history.values)
    assert np.isnan(result.covariance).all()


def test_the_callback_sees_the_nest_and_may_stop():
    seen = []

    def callback(state):
        seen.append(state.params)
        if len(seen) == 4:
            raise StopIteration

    for method in ("bfgs", "tnc", "slsqp", "trust-constr"):
        seen.clear()
        result = minimize(rosen, START, method=method, callback=callback)
        assert len(seen) == 4
        assert seen[0]["name"] == "rosen"
        assert result.params["x"].shape == (3,)


def test_history():
    result = minimize(rosen, START)
    history = result.history
    assert len(history) == result.nfev == len(history.gradient_norms) == len(history.times)
    assert history.values[0] == rosen(START)
    assert min(history.values) == result.fun
    assert history.gradient_norms[0] == pytest.approx(
        np.linalg.norm(optimize.rosen_der(START["x"]))
    )
    assert history.times == sorted(history.times)
    assert history.rate > 0
    assert repr(history).startswith(f"History({result.nfev} evaluations, value ")
    assert repr(History()) == "History(0 evaluations)"


def test_plots_of_histories():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    axes = minimize(rosen, START).history.plot()
    assert [line.get_label() for line in axes.lines] == [
        "value above the lowest", "length of the gradient",
    ]  # fmt: skip
    assert axes.get_yscale() == "log"
    assert History().plot(axes) is axes
    assert (
        len(minimize(rosen, START, method="powell").history.plot(pyplot.figure().gca()).lines) == 1
    )
    pyplot.close("all")


# ---------------------------------------------------------------------------------------- progress


def test_progress_shows_value_gradient_and_rate():
    rich = pytest.importorskip("rich.console")
    console = rich.Console(file=io.StringIO(), width=120, force_terminal=True)
    result = minimize(rosen, START, progress=console)
    text = console.file.getvalue()
    assert f"{result.nfev}/?" in text
    assert f"value {result.history.values[-1]:.6g}" in text
    assert "|gradient|" in text
    assert "/s" in text


def test_progress_of_training_knows_its_end():
    rich = pytest.importorskip("rich.console")
    console = rich.Console(file=io.StringIO(), width=120, force_terminal=True)
    train(lambda p, x: np.mean((p - x) ** 2), 0.0, np.ones(10), batch_size=3, progress=console)
    assert "4/4" in console.file.getvalue()


def test_progress_without_rich_is_nothing(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == "rich" else find(n))
    assert type(bar_for(True)) is NoBar
    assert minimize(rosen, START, progress=True).success


METHODS = ["Nelder-Mead", "Powell", "CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "COBYLA",
           "COBYQA", "SLSQP", "dogleg", "trust-ncg", "trust-exact", "trust-krylov"]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_the_callback_leaves_the_best_point(method):
    """SciPy's SLSQP, for one, would return the point of a step that it then refuses."""

    def bowl(p):
        return np.sum((p - 1) ** 4) + np.sum((p - 1) ** 2)

    def stop(_):
        raise StopIteration

    result = minimize(bowl, np.zeros(2), method=method, callback=stop)
    assert not result.success
    assert result.status == 99
    assert result.message.startswith("Stopped by the callback")
    assert result.fun == bowl(result.params) == min(result.history.values)
