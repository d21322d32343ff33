"""Arrays that traced functions keep outside; attributes of classes and modules that they set."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.structured import calls
from tools.fuzz import repeated

X = np.array([1.0, 2.0, 3.0])


def _filled(kept: dict, x: Any) -> Any:
    if "table" not in kept:
        kept["table"] = np.linspace(0.0, 1.0, len(x))
    return np.sum(kept["table"] * x**2)


def _changed(kept: dict, x: Any) -> Any:
    value = _filled(kept, x)
    kept["table"][0] += 0.5
    return value


def _looped(kept: dict, x: Any) -> Any:
    total = _filled(kept, x)
    for i in range(len(x)):
        total = total + kept["table"][i] * x[i]
    return total


@pytest.mark.parametrize("how", ["traced", "automatic", "compiled", "as machine code"])
@pytest.mark.parametrize("f", [_filled, _changed, _looped])
def test_changes_of_a_kept_array_are_seen(
    f: Callable, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "as machine code":
        for name in ("worth", "least", "native"):
            monkeypatch.setattr(calls.Settings, name, -1.0)
    mine: dict[str, Any] = {}
    others: dict[str, Any] = {}

    def slope(x: Any) -> Any:
        return autodiff.value_and_gradient(lambda x: f(others, x), x)

    found = autodiff.compile(slope, backend="python") if how == "compiled" else slope
    with repeated.soon() if how == "automatic" else repeated.traced():
        for n in range(8):
            x = X * (1.0 + 0.1 * n)
            at = {"table": mine["table"].copy()} if mine else {}
            step = 1e-6 * np.eye(3)
            slopes = [(f(_copies(at), x + h) - f(_copies(at), x - h)) / 2e-6 for h in step]
            value, gradient = found(x)
            assert value == pytest.approx(f(mine, x), rel=1e-12)
            np.testing.assert_allclose(gradient, slopes, rtol=1e-6)
            np.testing.assert_array_equal(np.asarray(others["table"]), mine["table"])
            if n % 3 == 2:  # by code that is not traced
                mine["table"][1] = others["table"][1] = 7.0 + n


def _copies(kept: dict) -> dict:
    return {key: x.copy() for key, x in kept.items()}


class _Counted:
    calls = 0

    def __init__(self) -> None:
        self.log: list[int] = []

    def total(self, x: Any) -> Any:
        type(self).calls += 1
        self.log.append(_Counted.calls)
        return np.sum(x * x)


_module = types.ModuleType("a module")


def _by_class(counted: _Counted, x: Any) -> Any:
    _Counted.calls += 1
    return np.sum(x * x) * _Counted.calls


def _by_method(counted: _Counted, x: Any) -> Any:
    return counted.total(x)


def _by_module(counted: _Counted, x: Any) -> Any:
    _module.is_on = not _module.is_on
    return np.sum(x * x) if _module.is_on else np.sum(x)


def _by_name(counted: _Counted, x: Any) -> Any:
    try:
        setattr(_Counted, "calls", _Counted.calls + 1)  # noqa: B010 - that is what is tested
    except Exception:
        return np.sum(x)
    return np.sum(x * x)


@pytest.mark.parametrize("f", [_by_class, _by_method, _by_module, _by_name])
@pytest.mark.parametrize("is_gradient", [False, True])
def test_attributes_of_classes_and_modules_are_set_once_in_each_call(
    f: Callable, is_gradient: bool
) -> None:
    def run(how: Callable) -> list:
        _Counted.calls, _module.is_on = 0, False
        counted = _Counted()
        call = how(lambda x: f(counted, x))
        return [(float(call(n * X)), _Counted.calls, _module.is_on, *counted.log) for n in range(5)]

    def compiled(g: Callable) -> Callable:
        if is_gradient:
            return autodiff.compile(lambda x: autodiff.value_and_gradient(g, x)[0])
        return autodiff.compile(g)

    assert run(compiled) == run(lambda g: g)
