"""One call, differentiated in each mode, beside differences of the call itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import autodiff
from tools.calls.draw import Call, Draw, Line
from tools.fuzz.judge import Discarded, Outcome, direction, reference

FIXED = ("out", "where")  # keywords whose values do not vary
CLOSE = 2e-5


def varies(x: Any) -> bool:
    """Whether a value is differentiated with respect to."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (float, np.floating)) and bool(np.isfinite(x))


def taken_out(nest: Any, found: list) -> Any:
    """Collect what varies in a nest of arguments; return how to put other values there."""
    if varies(nest):
        place = len(found)
        found.append(nest)
        return lambda values: values[place]
    if isinstance(nest, (list, tuple)):
        kind, parts = type(nest), [taken_out(part, found) for part in nest]
        return lambda values: kind([part(values) for part in parts])
    return lambda values: nest


def total(y: Any, weights: Callable, start: float = 1.0) -> Any:
    """Return a number that depends on every part of an output, on each in another way."""
    if isinstance(y, (list, tuple)):
        result = 0.0
        for i, part in enumerate(y):
            result = result + total(part, weights, start + 0.37 * (i + 1))
        return result
    if not hasattr(y, "dtype"):
        return start * y if isinstance(y, float) else 0.0
    if y.dtype.kind not in "fc":
        return 0.0
    w = start * weights(np.shape(y))
    result = np.sum(np.real(y) * w)
    return result + 0.7 * np.sum(np.imag(y) * w) if y.dtype.kind == "c" else result


def as_program(f: Callable, call: Call) -> tuple[Callable, tuple]:
    """Return a function of what varies in a call, and its values."""
    found: list = []
    args = taken_out(call.args, found)
    options = {
        name: (lambda values, v=value: np.copy(v)) if name in FIXED else taken_out(value, found)
        for name, value in call.options.items()
    }

    def weights(shape: tuple[int, ...]) -> np.ndarray:
        return np.random.default_rng(len(shape)).uniform(0.5, 1.5, shape)

    def program(*values: Any) -> Any:
        given = {name: value(values) for name, value in options.items()}
        return total(f(*args(values), **given), weights)

    return program, tuple(found)


def judge(line: Line, seed: int, second: bool = False) -> list[Outcome]:
    """Return the outcome of each mode for the call that a seed draws."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program, values = as_program(line.f, line.make(Draw(seed)))
        if not values:
            return [Outcome("discarded", "plain", "nothing varies")]
        try:
            dots = direction(values, np.random.default_rng(seed))
            expected = reference(program, values, dots)
        except Discarded as reason:
            return [Outcome("discarded", "plain", str(reason))]
        except Exception as error:
            return [Outcome("discarded", "plain", type(error).__name__)]
        outcomes = []
        places = tuple(range(len(values)))

        def slope(*values: Any) -> Any:
            bars = autodiff.gradient(program, *values, argnums=places)
            parts = [np.sum(np.real(np.conj(b) * d)) for b, d in zip(bars, dots, strict=True)]
            return sum(parts)

        def tangent(f: Callable) -> float:
            return float(np.real(autodiff.pushforward(f, *values, argnums=places)[1](*dots)))

        ways: dict[str, tuple[Callable, float, float]] = {
            "reverse": (lambda: slope(*values), expected.first, expected.first_error),
            "forward": (lambda: tangent(program), expected.first, expected.first_error),
        }
        if second:
            ways["second"] = (lambda: tangent(slope), expected.second, expected.second_error)
        for mode, (way, right, error) in ways.items():
            try:
                found = float(way())
            except Exception as raised:
                outcomes.append(Outcome("error", mode, f"{type(raised).__name__}: {raised}"))
                continue
            close = abs(found - right) <= CLOSE * (1 + abs(right)) + 10 * error
            kind = "right" if close else "wrong"
            outcomes.append(Outcome(kind, mode, "" if close else f"{found}, differences {right}"))
        return outcomes
