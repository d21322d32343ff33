"""SciPy's private names: rules get everything that is not public through this module.

Rules are registered for compiled kernels and helpers deep inside SciPy, and any version may move or
remove them. A stand-in replaces a name that is missing. Rules can be registered for a stand-in,
which is never called; a rule that calls one itself raises an error. So a newer SciPy costs only the
derivatives of what has changed, and everything else can still be imported.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from chainrules_core import ChainRulesError


class MissingNameError(ChainRulesError, ImportError):
    """A rule needs a private name that the installed version of SciPy does not have."""


class _Missing(type):
    def __getattr__(cls, name: str) -> Any:
        """Return a stand-in for a method of a class that is missing."""
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(f"{cls.__name__}.{name}")


class StandIn(metaclass=_Missing):
    """Stands for a private name that the installed SciPy does not have."""

    def __init__(self, *args: Any, **options: Any) -> None:
        import scipy

        raise MissingNameError(
            f"SciPy {scipy.__version__} has no {type(self).__name__}, which a rule of chainrules "
            "needs for this derivative. Use another version of SciPy, or fallback='numeric'."
        )


class Private:
    """A private module or class of SciPy, with stand-ins for what it lacks."""

    def __init__(self, name: str, owner: Any = None) -> None:
        self._name = f"scipy.{name}"
        self._found = _found(self._name) if owner is None else owner

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the module, or a stand-in."""
        if name.startswith("__"):
            return getattr(self._found, name)
        value = getattr(self._found, name, None)
        if value is None:
            value = stand_in(f"{self._name}.{name}")
        setattr(self, name, value)
        return value

    def has(self, *names: str) -> bool:
        """Whether the installed SciPy has this module, and these names in it."""
        return self._found is not None and all(hasattr(self._found, n) for n in names)

    def get(self, name: str) -> Any:
        """Return an attribute of the module; None if the installed SciPy does not have it."""
        return getattr(self._found, name, None)

    def module(self) -> ModuleType:
        """Return the module itself, or an empty one if the installed SciPy does not have it."""
        return ModuleType(self._name) if self._found is None else self._found


stood_in: list[str] = []
"""The names that stand-ins were made for."""


def first_of(*names: str) -> Private:
    """Return the first of these modules that the installed SciPy has, for one that has moved."""
    made = [Private(name) for name in names]
    return next((module for module in made if module.has()), made[0])


def look_up(owner: Any, name: str) -> Any:
    """Return an attribute of a module or class; None if the installed SciPy does not have it."""
    if isinstance(owner, Private):
        return owner.get(name)
    return None if isinstance(owner, _Missing) else getattr(owner, name, None)


def stand_in(name: str) -> type:
    """Return an object for which rules can be registered, and which is never called."""
    stood_in.append(name)
    return _Missing(name, (StandIn,), {})


def _found(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
