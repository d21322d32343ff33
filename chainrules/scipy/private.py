"""SciPy's private names: all that the rules use beyond public functions goes through here.

Rules are registered for compiled kernels and helpers deep inside SciPy, which any version may move
or drop. What a version does not have is stood in for: rules can be registered for the stand-in,
which nobody calls, and a rule that would need it itself says so. So a newer SciPy costs the
derivatives of what has changed, never the import of the rest.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from chainrules_core import ChainRulesError


class MissingNameError(ChainRulesError, ImportError):
    """A rule needs a private name of SciPy's that the installed version does not have."""


class _Missing(type):
    def __getattr__(cls, name: str) -> Any:
        """Return what is in the place of a method of a class that is missing."""
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(f"{cls.__name__}.{name}")


class StandIn(metaclass=_Missing):
    """What is in the place of a private name that the installed SciPy does not have."""

    def __init__(self, *args: Any, **options: Any) -> None:
        import scipy

        raise MissingNameError(
            f"SciPy {scipy.__version__} has no {type(self).__name__}, which a rule of chainrules "
            "needs for this derivative. Use another version of SciPy, or fallback='numeric'."
        )


class Private:
    """A private module of SciPy, or a class with private methods; what it lacks is stood in for."""

    def __init__(self, name: str, owner: Any = None) -> None:
        self._name = f"scipy.{name}"
        self._found = _found(self._name) if owner is None else owner

    def __getattr__(self, name: str) -> Any:
        """Return what the module has under a name, or a stand-in."""
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
        """Return what the module has under a name, None if the installed SciPy has no such."""
        return getattr(self._found, name, None)

    def module(self) -> ModuleType:
        """Return the module itself; an empty one where there is none."""
        return ModuleType(self._name) if self._found is None else self._found


stood_in: list[str] = []
"""The names that were asked for in vain."""


def first_of(*names: str) -> Private:
    """Return the first of some modules that the installed SciPy has: one that has moved."""
    made = [Private(name) for name in names]
    return next((module for module in made if module.has()), made[0])


def look_up(owner: Any, name: str) -> Any:
    """Return what a module or class has under a name; None for what the installed SciPy lacks."""
    if isinstance(owner, Private):
        return owner.get(name)
    return None if isinstance(owner, _Missing) else getattr(owner, name, None)


def stand_in(name: str) -> type:
    """Return something under which rules can be registered, and which nobody calls."""
    stood_in.append(name)
    return _Missing(name, (StandIn,), {})


def _found(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
