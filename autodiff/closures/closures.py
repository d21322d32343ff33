"""Functions that have captured traced values, as structs that rules can differentiate.

A rule of a higher-order function (an integral, a root, a minimum of `f`) sees plain values only. So
it is given a :class:`~chainrules_core.Closure` in place of a function that has captured traced
values: an object with these values as its fields. The engine treats it like any other object that
holds traced values.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from autodiff.closures.call_template import Template
from autodiff.closures.captured_state import assigned, with_own_variables
from autodiff.closures.captured_values import FUNCTIONS, captured_tracers, cells_of, content_of
from autodiff.errors import MutationError
from autodiff.trace.pytree import CONSTRAINTS, map_leaves
from chainrules_core import Closure
from chainrules_core.rules import name_of


def with_closures(args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """Return the arguments of a higher-order function, with structs in place of closures."""
    values = (*args, *kwargs.values())
    if not any(type(a) in FUNCTIONS or _may_hold_functions(a) for a in values):
        return args, kwargs
    return (
        tuple([closed(a) for a in args]),
        {name: closed(value) for name, value in kwargs.items()},
    )


def _may_hold_functions(x: Any) -> bool:
    return type(x) in (list, tuple, dict) or type(x).__module__ == CONSTRAINTS


def closed(f: Any) -> Any:
    """Return a struct for a function that has captured traced values; other objects as they are.

    Functions in containers are replaced as well.
    """
    if _may_hold_functions(f):
        return map_leaves(f, closed)
    if type(f) not in FUNCTIONS:
        return f
    if not captured_tracers(f):
        return with_own_variables(f)
    check_assignments(f)
    f = with_own_variables(f)
    template = Template(f, (), {})
    values = tuple(template.sources)
    template.sources = []  # otherwise `make`, and what captures it, would capture the tracers

    def make(values: tuple) -> Callable:
        return template.filled(values)[0]

    make.captured = template.f  # type: ignore[attr-defined] # see autodiff.closures.captured_state
    return Closure(make, values)


def check_assignments(f: Any) -> None:
    """Raise if a function assigns to captured variables: rules call it on plain values.

    Counters are allowed.
    """
    if isinstance(f, functools.partial):
        check_assignments(f.func)
        return
    function = f.__func__ if type(f) is types.MethodType else f
    if type(function) is not types.FunctionType:
        return
    cells = dict(cells_of(function))
    for name in assigned(function):
        if not isinstance(content_of(cells[name]), int):
            raise MutationError(
                f"{name_of(function)} is called by a function with a rule, on plain values, and "
                f"assigns to {name!r}, a variable outside of it: the derivative of "
                "what it assigns would be lost. Let it return the value instead."
            )
