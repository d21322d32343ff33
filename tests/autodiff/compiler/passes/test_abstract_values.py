"""Every step of a program after all passes has the abstract value that the program states.

Passes trust the dtypes and shapes of values when they replace steps. A step with another dtype than
stated gives wrong numbers in the steps behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.compiler import variants
from autodiff.compiler.recording.ir import Program, effect, guard, replaced
from tests.autodiff.compiler.passes import test_batching, test_same_values
from tests.helpers import load_programs


def loss_of(f: Callable) -> Callable:
    return lambda x: np.sum(f(x) ** 2)


CASES: dict[str, tuple[Callable, Any]] = dict(test_same_values.CASES)
for _f in test_batching.FUNCTIONS:
    _x = np.cos(np.arange(float(test_batching.N)))
    CASES |= {
        f"Jacobian of {_f.__name__}": (lambda x, f=_f: autodiff.jacobian(f, x), _x),
        f"Hessian of {_f.__name__}": (lambda x, f=_f: autodiff.hessian(loss_of(f), x), _x),
        f"product of {_f.__name__}": (lambda x, f=_f: autodiff.hvp(loss_of(f), x, x), _x),
    }
for _f, _x in load_programs("arrays").PROGRAMS:
    CASES[_f.__name__] = (lambda x, f=_f: autodiff.gradient(f, x), np.array(_x, float))


@pytest.mark.parametrize("name", CASES)
def test_values(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = CASES[name]
    programs: list[Program] = []
    emit = variants.VariantBuilder.emit

    def noted(builder: Any, program: Program) -> Any:
        programs.append(program)
        return emit(builder, program)

    monkeypatch.setattr(variants.VariantBuilder, "emit", noted)
    with np.errstate(all="ignore"):
        autodiff.compile(f, backend="python")(x)
        for program in programs:
            check_steps(program, [x])


def check_steps(program: Program, inputs: list) -> None:
    """Run the steps one by one, and compare each value with what the program states of it."""
    values = dict(zip(program.inputs, inputs, strict=True))
    for step in program.steps:
        if step.f in (guard, effect):
            continue
        args = [replaced(a, values.__getitem__) for a in step.args]
        options = {k: replaced(a, values.__getitem__) for k, a in (step.kwargs or {}).items()}
        value = values[step.out] = step.f(*args, **options)
        if not isinstance(value, np.ndarray | np.generic | bool | int | float | complex):
            continue
        meta = program.metas[step.out]
        assert np.shape(value) == (meta.shape or ()), step
        assert np.asarray(value).dtype == (meta.dtype or np.dtype(meta.type)), step
