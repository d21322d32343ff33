"""What ``with``, ``async with`` and ``except`` do inside a traced function.

User-defined context managers are traced. And the plain function does not raise the engine's errors:
neither a manager nor a handler may swallow one, since the code after it would take a path that the
plain function does not take.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from autodiff.intercept.syntax import coroutines, syntax_ops
from chainrules_core import ChainRulesError
from chainrules_core.interpreter.noticed import forgive
from chainrules_core.tangents.fields import dict_of


def _names_ours(kinds: Iterable) -> bool:
    """Whether a class of our errors is among some objects."""
    return any(isinstance(kind, type) and issubclass(kind, ChainRulesError) for kind in kinds)


def unless_ours(kinds: Any) -> None:
    """Raise one of our errors again that a handler has caught, unless it names its class.

    It would be raised in the end (:mod:`chainrules_core.interpreter.noticed`); at once, a loop that
    tries again and again ends. A handler that names the class has dealt with it.
    """
    error = sys.exc_info()[1]
    if isinstance(error, ChainRulesError):
        if not _names_ours(kinds if isinstance(kinds, tuple) else (kinds,)):
            raise error
        forgive(error)


def _expects_ours(manager: Any) -> bool:
    """Whether a manager was made with a class of our errors, to swallow those."""
    for value in dict_of(manager).values():
        if _names_ours(value if isinstance(value, (list, tuple)) else (value,)):
            return True
    return False


def _is_kept(error: Any, manager: Any) -> bool:
    """Whether one of our errors is raised again that a manager not made for it suppresses."""
    if not isinstance(error, ChainRulesError):
        return False
    if not _expects_ours(manager):
        return True
    forgive(error)
    return False


class Context:
    """A context manager whose methods are traced."""

    __slots__ = ("enter", "exit", "manager")

    def __init__(self, manager: Any, enter: Callable, exit: Callable) -> None:
        self.manager = manager
        self.enter = enter
        self.exit = exit

    def __enter__(self) -> Any:
        return syntax_ops.intercept(self.enter)(self.manager)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> Any:
        swallows = syntax_ops.intercept(self.exit)(self.manager, kind, error, traceback)
        return syntax_ops.truth(swallows) and not _is_kept(error, self.manager)


def context(manager: Any) -> Any:
    """Return what a `with` statement is to enter in place of a manager."""
    kind = type(manager)
    enter, leave = syntax_ops.special(kind, "__enter__"), syntax_ops.special(kind, "__exit__")
    return manager if enter is None or leave is None else Context(manager, enter, leave)


class _AsyncContext(Context):
    __slots__ = ()

    def __aenter__(self) -> Any:
        return coroutines.awaited(syntax_ops.intercept(self.enter)(self.manager))

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> Any:
        leaving = syntax_ops.intercept(self.exit)(self.manager, kind, error, traceback)
        swallows = await coroutines.awaited(leaving)
        return swallows and not _is_kept(error, self.manager)


def async_context(manager: Any) -> Any:
    """Return what an ``async with`` statement is to enter in place of a manager."""
    kind = type(manager)
    enter, leave = syntax_ops.special(kind, "__aenter__"), syntax_ops.special(kind, "__aexit__")
    return manager if enter is None or leave is None else _AsyncContext(manager, enter, leave)
