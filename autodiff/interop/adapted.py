"""What the adapters return: functions that bind as methods and can be pickled."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any


class Adapted:
    """A function of ours as another system calls it.

    It is pickled as the call that made it: ``to_torch(f)`` is sent as `f`.

    Parameters
    ----------
    call : callable
        What is run.
    make : callable
        The adapter, ``make(f, **options)`` being this object.
    f : callable
        The function of ours.
    **options
        Further arguments of the adapter.
    """

    def __init__(
        self, call: Callable[..., Any], make: Callable[..., Any], f: Callable, **options: Any
    ) -> None:
        self._call = call
        self._made = make, f, options
        functools.update_wrapper(self, f, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self._call(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method, where the adapter was used as a decorator in a class."""
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> str | tuple:
        make, f, options = self._made
        name = getattr(f, "__qualname__", "")
        found: Any = sys.modules.get(getattr(f, "__module__", None) or "")
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else (_made, (make, f, options))

    def __repr__(self) -> str:
        make, f, _ = self._made
        return f"<{make.__name__}({getattr(f, '__name__', f)})>"


def _made(make: Callable[..., Any], f: Callable, options: dict[str, Any]) -> Any:
    return make(f, **options)
