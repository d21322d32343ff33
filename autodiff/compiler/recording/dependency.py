"""Variables outside a function, and what they held while it was recorded."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from autodiff.closures.captured_values import is_empty
from autodiff.compiler.recording.array_contents import ArrayContent, is_large
from autodiff.compiler.recording.content_guards import (
    NUMBERS,
    Snapshot,
    is_fixed,
    same,
)
from autodiff.compiler.recording.mentioned_names import Mentioned

_MISSING = object()


class Dependency:
    """A variable outside a function, and what it held while recording.

    Attributes
    ----------
    container : dict or cell or None
        What holds it; None for what cannot become another object (a default, say).
    name : str or None
        Its key in a dict.
    content : ArrayContent or None
        What a small array held; None for others.
    inside : Snapshot or None
        What nests and objects held.
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
        "absent", "bases", "container", "content", "inside", "is_global", "label", "name", "owner",
        "value",
    )  # fmt: skip

    def __init__(
        self, container: Any, name: str | None, value: Any, label: str, owner: type | None = None
    ) -> None:
        self.container = container
        self.owner = owner
        self.name = name
        self.value = value
        self.label = label
        is_array = type(value) is np.ndarray and not value.dtype.hasobject
        self.content = ArrayContent(value) if is_array and not is_large(value) else None
        self.inside: Snapshot | None = None
        self.is_global = False
        self.absent: frozenset[str] | None = frozenset()
        self.bases = value.__mro__ if isinstance(value, type) else None

    @property
    def place(self) -> tuple:
        """What tells variables apart."""
        return id(self.container), self.name

    def look_inside(self, names: Mentioned) -> None:
        """Note the content of a container or object, of attributes only those with these names."""
        if self.content is None or (self.value.base is not None and names.reaches_around):
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
        if self.inside is not None:
            return self.inside.has_changed()
        return self.content is not None and not self.content.is_same(self.value)

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
        return self._undo_content() or is_other

    def _undo_content(self) -> bool:
        if self.inside is not None:
            return self.inside.undo()
        if self.content is None or self.content.is_same(self.value):
            return False
        self.content.put_back(self.value)
        return True


class LargeArrays:
    """The large arrays in the variables outside a function, with copies of their contents.

    What the function computes from such an array alone is a constant of the program, so a program
    compares the array at each call. If the function writes into it, there is no program.

    Parameters
    ----------
    outside : list of Dependency
        The variables.
    """

    def __init__(self, outside: list[Dependency]) -> None:
        found = {id(x): (d.label, x) for d in outside if d.inside for x in d.inside.large}
        self._held = [(label, x, ArrayContent(x)) for label, x in found.values()]

    def undo(self) -> list[str]:
        """Put back what has been written into them; return the names of those variables."""
        changed = [held for held in self._held if not held[2].is_same(held[1])]
        for _, x, content in changed:
            content.put_back(x)
        return [label for label, _, _ in changed]

    def checks(self, names: Any) -> list[str]:
        """Return the statements that compare them with their copies."""
        held = [(names.of(c.is_same, "is_same"), names.of(x, "outer")) for _, x, c in self._held]
        return [f"if not {is_same}({x}): return MISMATCH" for is_same, x in held]
