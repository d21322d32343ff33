"""Functions that have captured traced values, as structs that rules can differentiate.

A rule of a higher-order function (an integral, a root, a minimum of `f`) sees plain values only. So
a function among its arguments that has captured traced values is handed to it as a
:class:`~chainrules_core.Closure`: an object whose fields are these values, which the engine then
treats as it treats every object that holds traced values.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from autodiff.closures.call_template import Template
from autodiff.closures.captured_state import assigned, with_own_variables
from autodiff.closures.captured_values import captured_tracers
from autodiff.errors import MutationError
from autodiff.trace.pytree import CONSTRAINTS, map_leaves
from chainrules_core import Closure
from chainrules_core.rules import name_of

_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def with_closures(args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """Return the arguments of a higher-order function, with structs in place of closures."""
    values = (*args, *kwargs.values())
    if not any(type(a) in _FUNCTIONS or _may_hold_functions(a) for a in values):
        return args, kwargs
    return (
        tuple([closed(a) for a in args]),
        {name: closed(value) for name, value in kwargs.items()},
    )


def _may_hold_functions(x: Any) -> bool:
    return type(x) in (list, tuple, dict) or type(x).__module__ == CONSTRAINTS


def closed(f: Any) -> Any:
    """Return a function that has captured traced values as a struct; all else as it is.

    Functions are looked for in containers as well.
    """
    if _may_hold_functions(f):
        return map_leaves(f, closed)
    if type(f) not in _FUNCTIONS:
        return f
    if not captured_tracers(f):
        return with_own_variables(f)
    check_assignments(f)
    f = with_own_variables(f)
    template = Template(f, (), {})
    values = tuple(template.sources)
    template.sources = []  # what captures `make` would else capture them

    def make(values: tuple) -> Callable:
        return template.filled(values)[0]

    make.captured = template.f  # type: ignore[attr-defined] # see autodiff.closures.captured_state
    return Closure(make, values)


def check_assignments(f: Any) -> None:
    """Raise if a function assigns to captured variables: rules call it on plain values.

    A counter is let pass.
    """
    if isinstance(f, functools.partial):
        check_assignments(f.func)
        return
    function = getattr(f, "__func__", f)
    if type(function) is not types.FunctionType:
        return
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name in assigned(function):
        try:
            content = cells[name].cell_contents
        except ValueError:
            content = None
        if not isinstance(content, int):
            raise MutationError(
                f"{name_of(function)} is called by a function with a rule, on plain values, and "
                f"assigns to {name!r}, a variable outside of it: the derivative of "
                "what it assigns would be lost. Let it return the value instead."
            )
