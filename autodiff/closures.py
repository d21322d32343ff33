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

from autodiff import call as call_module
from autodiff.holes import Template, captured_tracers
from chainrules_core import Closure

_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def with_closures(args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """Return the arguments of a higher-order function, with structs in place of closures."""
    if not any(type(a) in _FUNCTIONS for a in (*args, *kwargs.values())):
        return args, kwargs
    return (
        tuple([closed(a) for a in args]),
        {name: closed(value) for name, value in kwargs.items()},
    )


def closed(f: Any) -> Any:
    """Return a function that has captured traced values as a struct; all else as it is."""
    if type(f) not in _FUNCTIONS or not captured_tracers(f):
        return f
    template = Template(f, (), {})

    def make(values: tuple) -> Callable:
        return template.filled(values)[0]

    return Closure(make, tuple(template.sources))


call_module.with_closures = with_closures
