"""What a derivative has used is freed at its end: no cycle keeps it for the collector."""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.structured import calls
from autodiff.trace.tape import Tape
from autodiff.trace.tracer import Tracer
from tests.helpers import load_programs
from tests.programs.test_programs import CATEGORIES

MODES: dict[str, Callable] = {
    "gradient": lambda f, x: autodiff.gradient(f, x),
    "pushforward": lambda f, x: autodiff.pushforward(f, x)[1](np.ones_like(x)),
    "jacobian": lambda f, x: autodiff.jacobian(f, x),
}


@contextmanager
def collected() -> Iterator[list]:
    """Yield the list of what only the collector would have freed."""
    found: list = []
    gc.collect()
    gc.freeze()  # what is there stays: later collections need not go through it
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found += gc.garbage
    finally:
        gc.garbage.clear()
        gc.set_debug(0)
        gc.enable()


def cycles(f: Callable) -> list:
    """Return what a call leaves for the collector, from the second call on."""
    f()
    f()
    with collected() as found:
        f()
    return found


def of_a_derivative(found: list) -> list[str]:
    """Return what of it holds arrays or tapes, or is a function of ours."""
    return [
        getattr(x, "__qualname__", type(x).__qualname__)
        for x in found
        if isinstance(x, (Tape, Tracer))
        or (isinstance(x, types.FunctionType) and x.__module__.startswith(("autodiff", "chainrul")))
        or any(type(part) is np.ndarray for part in gc.get_referents(x))
    ]


PROGRAMS = [
    pytest.param(f, x, id=f"{category}-{f.__name__}")
    for category in CATEGORIES
    for f, x in load_programs(category).PROGRAMS[::25]
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f, x", PROGRAMS)
def test_a_derivative_leaves_nothing(
    f: Callable, x: Any, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("worth", "native"):  # a program must not be made, or written anew, in between
        monkeypatch.setattr(calls.Settings, name, np.inf)
    x = np.array(x, float)
    if cycles(lambda: f(x.copy())):
        return  # the program's own would hold the arrays, too
    assert not of_a_derivative(cycles(lambda: MODES[mode](f, x.copy())))


def with_loops(x: Any) -> Any:
    y = x * 1.0
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[i]
    return np.sum(y * y), y


def test_a_program_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls.Settings, "worth", -1.0)
    monkeypatch.setattr(calls.Settings, "least", -1.0)
    x = np.cos(np.arange(5.0))
    gradient = lambda: autodiff.gradient(lambda x: with_loops(x)[0] + with_loops(x)[1][2], x)  # noqa: E731
    assert not of_a_derivative(cycles(gradient))
