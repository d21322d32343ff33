"""Programs print, log and warn as the function does, once they have ended."""

from __future__ import annotations

import gc
import logging
import time
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import autodiff
from autodiff import gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

X = np.array([0.3, -0.4, 1.2, 0.7])
logger = logging.getLogger(__name__)


def prints(x):
    y = x * 1.0
    for k in range(4):
        y = 0.5 * y + x * y
        if k % 2 == 0:
            print("step", k, y[0], sep=", ")
        print(f"{k:3d}: {np.sum(y):.4f} {'of'} {y.dtype}", end=";")
        print("{} and {:.2e}".format(k, y[1]), "%d %.3f" % (k, y[2]), flush=True)  # noqa: UP031, UP032
        print(y)
    print()
    return np.sum(y)


@pytest.mark.parametrize("native", [-1.0, float("inf")])
def test_printed_text(
    native: float, runs: list[str], capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.Settings, "native", native)
    for given in (X, X.astype(np.float32), 1.5 * X):
        prints(given)
        expected = capsys.readouterr().out
        gradient(prints, given)
        assert capsys.readouterr().out == expected
    assert runs.count("prints") == 3


def test_gradient_of_a_printing_function(runs: list[str]) -> None:
    check_gradient(prints, X)
    assert "prints" in runs


def fails(x):
    s = 0.0
    for k, v in enumerate(x):
        print(k)
        s += v * v
        if s > 1.0:
            raise ValueError(k)
    return s


def test_a_function_that_fails_prints_once(capsys: pytest.CaptureFixture) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="2"):
            gradient(fails, X)
        assert capsys.readouterr().out == "0\n1\n2\n"


def warns_and_logs(x):
    s = 0.0
    for k, v in enumerate(x):
        s = s * 0.5 + v * v
        if k == 2:
            warnings.warn(f"at {k}", RuntimeWarning)  # noqa: B028
            logger.info("sum %d %.3f", k, s)
    return s


def test_warnings_and_log_records_name_the_line(
    runs: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    line = warns_and_logs.__code__.co_firstlineno + 5
    caplog.set_level(logging.INFO)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gradient(warns_and_logs, X)
    ((message, where),) = [(str(w.message), w.lineno) for w in caught]
    assert (message, where) == ("at 2", line)
    (record,) = caplog.records
    assert (record.lineno, record.funcName) == (line + 1, "warns_and_logs")
    assert record.getMessage().startswith("sum 2 1.")
    assert runs == ["warns_and_logs"]


def measures(x):
    start = time.perf_counter()
    s = 0.0
    for v in x:
        s = s * 0.5 + v * v
    if time.perf_counter() - start > 1e9:
        s = 0.0
    return s


def test_clocks(runs: list[str]) -> None:
    check_gradient(measures, X)
    assert "measures" in runs


def test_compiled_functions_print_at_each_call(capsys: pytest.CaptureFixture) -> None:
    prints(X)
    expected = capsys.readouterr().out
    compiled = autodiff.compile(lambda x: gradient(prints, x))
    for _ in range(3):
        compiled(X)
        assert capsys.readouterr().out == expected


def represents(x):
    s = 0.0
    for v in x:
        s = s + v * v
        print(f"{s!a} {v=}", "%-8r %5a" % (s, v), "{!a}".format(v))  # noqa: UP031, UP032
        logger.info("%8r", s)
    return s


def test_what_a_message_shows_is_what_the_function_shows(
    capsys: pytest.CaptureFixture, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    represents(X)
    expected, logged = capsys.readouterr().out, [r.getMessage() for r in caplog.records]
    caplog.clear()
    gradient(represents, X)
    assert capsys.readouterr().out == expected
    assert [r.getMessage() for r in caplog.records] == logged


def warns_twice(x):
    s = 0.0
    for k, v in enumerate(x):
        print("before", k)
        s = s + v * v
        if k in (1, 2):
            warnings.warn(f"at {k}")  # noqa: B028
    return s


def test_warnings_that_are_errors(runs: list[str], capsys: pytest.CaptureFixture) -> None:
    for action in ("error", "ignore", "error"):
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            try:
                gradient(warns_twice, X)
            except UserWarning as error:
                assert str(error) == "at 1"  # noqa: PT017
                assert capsys.readouterr().out == "before 0\nbefore 1\n"
            else:
                assert capsys.readouterr().out.count("before") == 4
    assert runs == ["warns_twice"]


def steep(x):
    s = 0.0
    for v in x:
        print(f"{v:.2f}")
        warnings.warn("steep")  # noqa: B028
        logger.warning("steep")
        s = s + np.sqrt(v * 0.0) * v
    return s


def counts(x):
    n = 0
    for k, v in enumerate(x):
        print(k, n)
        if v > 0.1:
            n += 1
    return n + 0.0 * x[0]


def broadcasts(x):
    y = x * np.ones((3, 1))
    for k in range(3):
        y = y + y[:, :1] * x
        print(k)
    return np.sum(y)


def overflows(x):
    s = 1.0 / x[0]
    for v in x:
        s = s * 1e200 / abs(v)
        print(f"{s:.3e}")
    return 1.0 / s


@pytest.mark.parametrize("native", [-1.0, float("inf")])
@pytest.mark.parametrize("f", [steep, counts, broadcasts, overflows])
def test_what_runs_again_shows_nothing_twice(
    f: Callable, native: float, capsys: pytest.CaptureFixture, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(calls.Settings, "native", native)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(X)
        shown = [w for w in caught if w.category is UserWarning]
        expected = capsys.readouterr().out, len(caplog.records), len(shown)
        for _ in range(3):
            caplog.clear()
            caught.clear()
            gradient(f, X)
            shown = [w for w in caught if w.category is UserWarning]
            assert (capsys.readouterr().out, len(caplog.records), len(shown)) == expected


def test_messages_live_as_long_as_their_code(
    runs: list[str], capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.Settings, "native", -1.0)
    counts(X)
    expected = capsys.readouterr().out
    for _ in range(5):
        gradient(counts, X)
        gc.collect()
        assert capsys.readouterr().out == expected
    assert runs


def has_a_time_limit(x):
    start, n = time.perf_counter(), 0
    y = x * 1.0
    while time.perf_counter() - start < 0.002:
        y = y * (1.0 + 1e-3 * x)
        n += 1
    print(n)
    return y


@pytest.mark.parametrize("native", [-1.0, float("inf")])
def test_clocks_show_each_sweep_the_same_times(
    native: float, runs: list[str], capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.Settings, "native", native)
    x = np.abs(X)
    for _ in range(3):
        _, pull = autodiff.vjp(has_a_time_limit, x)
        n = int(capsys.readouterr().out)
        assert n > 0
        expected = (1 + 1e-3 * x) ** (n - 1) * (1 + 1e-3 * x * (n + 1))
        for _ in range(2):
            np.testing.assert_allclose(pull(np.ones(4))[0], expected, rtol=1e-9)
    assert runs == ["has_a_time_limit"] * 3
