"""Variables outside a function, what they held while it was recorded, and the source of guards."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from autodiff.closures.captured_values import is_empty
from autodiff.compiler.recording.content_guards import (
    NUMBERS,
    Snapshot,
    is_fixed,
    is_foreign,
    of_array,
    same,
)
from autodiff.compiler.recording.mentioned_names import Mentioned
from autodiff.intercept.source.library_code import is_of_library

_MISSING = object()


class Dependency:
    """A variable outside a function, and what it held while recording.

    Attributes
    ----------
    container : dict or cell or None
        What holds it; None for what cannot become another object (a default, say).
    name : str or None
        Its key in a dict.
    inside : Snapshot or None
        What an array, a nest or an object held.
    absent : frozenset of str or None
        Names that the container did not have; None where it had no others than it has.
    bases : tuple or None
        Of which classes a class is made.
    owner : type or None
        The class of which the variable is an attribute.
    is_global : bool
        Whether it is a global variable, and no code reads it as an attribute of the module.
    """

    __slots__ = (
        "absent", "bases", "container", "inside", "is_global", "label", "name", "owner", "value",
    )  # fmt: skip

    def __init__(
        self, container: Any, name: str | None, value: Any, label: str, owner: type | None = None
    ) -> None:
        self.container = container
        self.owner = owner
        self.name = name
        self.value = value
        self.label = label
        self.inside: Snapshot | None = None
        self.is_global = False
        self.absent: frozenset[str] | None = frozenset()
        self.bases = value.__mro__ if isinstance(value, type) else None

    @property
    def place(self) -> tuple:
        """What tells variables apart."""
        return id(self.container), self.name

    def look_inside(self, names: Mentioned) -> None:
        """Note what is in the variable, of attributes only those with these names."""
        self.inside = Snapshot(self.value, names) or None

    def may_be_written(self) -> bool:
        """Whether the variable may hold something that can be written into."""
        return self.inside is not None or not is_fixed(self.value)

    def variables(self) -> list[Dependency]:
        """Return the numbers in it that can be bound to others, and itself if it is an array."""
        if type(self.container) in (dict, types.CellType) and self.owner is None:
            is_array = type(self.value) is np.ndarray and self.value.dtype.kind in "fciu"
            if is_array or type(self.value) in NUMBERS:
                return [self] if self.absent == frozenset() else []
        held = [] if self.inside is None else self.inside.numbers()
        return [Dependency(x, name, number, f"{self.label}.{name}") for x, name, number in held]

    def leave_out(self, d: Dependency) -> None:
        """Compare no longer a number in it, or itself."""
        if self.inside is not None:
            self.inside.leave_out(d.container, str(d.name))

    def bind(self, x: Any) -> None:
        """Bind the variable to another value."""
        if isinstance(self.container, types.CellType):
            self.container.cell_contents = x
        else:
            scope = self.container if isinstance(self.container, dict) else vars(self.container)
            scope[self.name] = x

    def has_changed(self) -> bool:
        """Whether the variable has another value, or something else is in it."""
        if not same(self.now(), self.value):
            return True
        if self.bases is not None:
            return self.value.__mro__ is not self.bases
        return self.inside is not None and self.inside.has_changed()

    def now(self) -> Any:
        """Return the present value of the variable."""
        if isinstance(self.container, types.CellType):
            return _MISSING if is_empty(self.container) else self.container.cell_contents
        if self.container is None:
            return self.value
        is_scope = isinstance(self.container, (dict, types.MappingProxyType))
        return (self.container if is_scope else vars(self.container)).get(self.name)

    def undo(self) -> bool:
        """Put the value and its content back if they have changed; say whether they had."""
        is_other = not same(self.now(), self.value)
        if is_other and self.owner is not None:
            type.__setattr__(self.owner, str(self.name), self.value)
        elif is_other:
            self.bind(self.value)
        has_changed = self.inside is not None and self.inside.undo()
        return has_changed or is_other

    def checks(self, names: Any, given: Any) -> list[str]:
        """Return the statements that check whether the variable has changed.

        `names` gives names to the objects in them. Of the function `given` the code is known.
        """
        if self.absent is None:
            kept = names.of(self.container, "attributes")
            return [_mismatch_if(f"len({kept}) != {len(self.container)}")]
        if self.absent:
            keys, absent = names.of(self.container.keys(), "there"), names.of(self.absent, "absent")
            return [_mismatch_if(f"not {keys}.isdisjoint({absent})")]
        checks = []
        is_its_name = self.name is not None and self.name == getattr(self.value, "__name__", None)
        value = names.of(self.value, self.name if is_its_name else "outer")
        if self.container is not None:
            kept = names.of(self.container, "cell" if self.name is None else "globals_")
            shown = f"{kept}.cell_contents" if self.name is None else f"{kept}.get({self.name!r})"
            checks.append(f"{shown} is not {value}")
        if self.value is given is not None:
            return list(map(_mismatch_if, checks))
        if isinstance(self.value, types.FunctionType) and not is_foreign(self.value):
            # autoreload replaces its code
            parts = ("__code__", "__defaults__", "__kwdefaults__")
            pairs = [(f"{value}.{p}", names.of(getattr(self.value, p), "had")) for p in parts]
            checks.append(" or ".join(f"{now} is not {then}" for now, then in pairs))
            for key, default in (self.value.__kwdefaults__ or {}).items():
                now = f"{value}.__kwdefaults__.get({key!r})"
                checks.append(f"{now} is not {names.of(default, 'had')}")
        if self.bases is not None and not is_of_library(self.value):
            checks.append(f"{value}.__mro__ is not {names.of(self.bases, 'bases')}")
        if self.inside is not None:
            checks += self.inside.checks(names)
        return list(map(_mismatch_if, checks))


def _mismatch_if(condition: str) -> str:
    return f"if {condition}: return MISMATCH"


def large_arrays(outside: list[Dependency]) -> list[Dependency]:
    """Return the large arrays in variables as variables of their own, to be compared once each.

    What a function computes from such an array alone is a constant of the program, so a program
    compares the array at each call. If the function writes into it, there is no program.
    """
    found: dict[int, Dependency] = {}
    for d in outside:
        for x in d.inside.large if d.inside else ():
            found.setdefault(id(x), Dependency(None, None, x, d.label)).inside = of_array(x)
    return list(found.values())
