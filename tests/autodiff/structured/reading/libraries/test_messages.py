"""Programs print, log and warn as the function does, once they have ended."""

from __future__ import annotations

import logging
import time
import warnings

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
