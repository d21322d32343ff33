"""Machine code: texts and members of enumerations, which are compared, stored and used as keys."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.native import lowered_values
from autodiff.structured.runtime import Structured

LABELS = [("red", "green", "blue", "green")[k * k % 4] for k in range(70)]
NOTES = [None if k % 3 == 1 else ("good", "bad")[k % 2] for k in range(70)]


class Phase(enum.Enum):
    COLD = 1
    WARM = 2
    HOT = 3


def labelled(a: Any, b: Any) -> Any:
    by = {"red": a[0], "green": a[1], "blue": a[2] * b[0]}
    total = 0.0
    for k, (label, note) in enumerate(zip(LABELS, NOTES, strict=True)):
        total += by[label] * b[k % 5]
        if note == "good":
            total *= 0.9
        elif note is None and label != "green":
            by["red"] = by["red"] * 0.5 + by[label] * a[3]
    return total


def automaton(a: Any, b: Any) -> Any:
    state, x = "idle", 0.0
    for t in range(40):
        if state == "idle" and x < 0.3:
            state = "busy" if t % 2 else "wait"
        elif state == "wait":
            state = "busy"
        elif t % 5 == 0:
            state = "idle"
        x = x * 0.8 + (a[0] if state == "busy" else b[t % 5] * 0.1)
    return x + (a[1] if state == "busy" else b[1])


def phases(a: Any, b: Any) -> Any:
    phase, x = Phase.COLD, 0.2
    kept = [phase]
    for t in range(30):
        if phase is Phase.COLD and t % 3 == 0:
            phase = Phase.WARM
        elif phase == Phase.WARM:
            phase = Phase.HOT if t % 4 else Phase.COLD
        else:
            phase = Phase.COLD
        kept.append(phase)
        x = math.tanh(x + (a[0] if kept[t] is Phase.HOT else b[t % 5]))
    return x


A, B = np.sin(np.arange(4.0) + 0.4), np.cos(np.arange(5.0))


@pytest.mark.parametrize("kernel", [labelled, automaton, phases], ids=lambda f: f.__name__)
def test_kernels(kernel: Callable, check_machine_code: Callable) -> None:
    check_machine_code(kernel, lambda: (A.copy(), B.copy()), 1e-11)


def ordered(a: Any) -> Any:
    total = 0.0
    for k, label in enumerate(LABELS):
        total += a[k % 4] * (0.5 if label < "green" else 1.5) * len(label)
    return total


def test_what_else_is_done_to_texts(check_with_machine_code: Callable) -> None:
    check_with_machine_code(ordered, A)


def test_too_many_texts(
    monkeypatch: pytest.MonkeyPatch, made: list[Structured], traced: Callable
) -> None:
    def kernel(a: Any, names: Any) -> Any:
        total = 0.0
        for k, name in enumerate(names):
            total += a[k % 4] if name == "x3" else a[0] * k
        return total

    names = [f"x{k % 60}" for k in range(80)]
    gradient(kernel, A, names)
    monkeypatch.setattr(lowered_values, "_MOST_SYMBOLS", len(lowered_values.SYMBOLS.objects))
    names[7] = "another"
    np.testing.assert_allclose(
        gradient(kernel, A, names)[0], traced(kernel, A, names)[0], rtol=1e-12
    )
