"""quiet: floating-point errors ignored, and what was there before is there again."""

import warnings
from typing import Any

import numpy as np
import pytest

from chainrules_core.interpreter import quiet as module
from chainrules_core.interpreter.quiet import ignores_underflow, is_mild, quiet, raising


def test_nothing_is_said_inside() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with quiet():
            assert np.isnan(np.float64(0.0) / 0.0)
            assert np.isinf(np.exp(np.array([1e4]))).all()


def test_what_was_set_before_holds_behind() -> None:
    with np.errstate(divide="raise"):
        before = np.geterr()
        with quiet():
            with quiet():
                pass
            assert set(np.geterr().values()) == {"ignore"}
        assert np.geterr() == before
        with pytest.raises(FloatingPointError):
            np.float64(1.0) / 0.0


def test_an_error_inside_ends_it() -> None:
    before = np.geterr()
    with pytest.raises(KeyError), quiet():
        {}["none"]
    assert np.geterr() == before


def test_the_setting_is_found() -> None:
    assert module._variable is not None  # or each use of it takes twice as long


def test_errors_are_raised_but_for_underflow() -> None:
    assert raising(np.exp, np.array([-1e4]))[0] == 0.0
    for f, x in ((np.log, 0.0), (np.sqrt, -1.0), (np.exp, 1e4)):
        with pytest.raises(FloatingPointError):
            raising(f, np.array([x]))
        with quiet():
            f(np.array([x]))
        assert "raise" not in np.geterr().values()


def test_errors_are_raised_wherever_numpy_keeps_the_setting(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "_variable", None)
    with pytest.raises(FloatingPointError):
        raising(np.log, np.array([0.0]))
    assert raising(np.add, 1.0, 2.0) == 3.0


@pytest.mark.parametrize(
    "setting, expected",
    [
        ({}, True),
        ({"all": "ignore"}, True),
        ({"over": "warn", "invalid": "ignore"}, True),
        ({"all": "raise"}, False),
        ({"under": "warn"}, False),
        ({"divide": "print"}, False),
        ({"over": "call"}, False),
    ],
)
def test_what_is_mild(setting: dict, expected: bool) -> None:
    assert is_mild()
    with np.errstate(**setting):
        assert is_mild() is expected
        assert is_mild() is expected
    assert is_mild()


def test_whether_underflow_is_ignored() -> None:
    for _ in range(2):
        assert ignores_underflow()
        for mode in ("warn", "raise", "print", "log", "call"):
            with np.errstate(under=mode, call=print):
                assert not ignores_underflow()
                with quiet():
                    assert ignores_underflow()
                assert raising(ignores_underflow)
                assert not ignores_underflow()
        for mode in ("warn", "raise"):
            with np.errstate(divide=mode):
                assert ignores_underflow()
    before = np.seterr(under="warn")
    assert not ignores_underflow()
    np.seterr(**before)
    assert ignores_underflow()
