"""Variables outside a function, and what they held while it was recorded."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from autodiff.compiler.recording.content_guards import (
    Mentioned,
    Snapshot,
    content_of,
    is_fixed,
    same,
)

_MISSING = object()


class Dependency:
    """A variable outside a function, and what it held while recording.

    Attributes
    ----------
    container : dict or cell or None
        What holds it; None for what cannot become another object (a default, say).
    name : str or None
        Its key in a dict.
    content : Any
        What a small array, list or dict held; None for others.
    inside : Snapshot or None
        What other nests and objects held.
    absent : frozenset of str or None
        Names that the container did not have; None where it had no others than it has.
    bases : tuple or None
        Of which classes a class is made.
    """

    __slots__ = ("absent", "bases", "container", "content", "inside", "label", "name", "value")

    def __init__(self, container: Any, name: str | None, value: Any, label: str) -> None:
        self.container = container
        self.name = name
        self.value = value
        self.label = label
        self.content = content_of(value)
        self.inside: Snapshot | None = None
        self.absent: frozenset[str] | None = frozenset()
        self.bases = value.__mro__ if isinstance(value, type) else None

    def look_inside(self, names: Mentioned) -> None:
        """Note the content of a container or object, of attributes only those with these names."""
        if self.content is None:
            self.inside = Snapshot(self.value, names) or None

    def may_be_written(self) -> bool:
        """Whether the variable may hold something that can be written into."""
        return self.inside is not None or not is_fixed(self.value)

    def has_changed(self) -> bool:
        """Whether the variable has another value, or something else is in it."""
        now = self.value
        if isinstance(self.container, types.CellType):
            now = next(iter(content_of_cell(self.container)), _MISSING)
        elif self.container is not None:
            now = self.container.get(self.name)
        if not same(now, self.value):
            return True
        if self.bases is not None:
            return self.value.__mro__ is not self.bases
        if self.inside is not None:
            return self.inside.has_changed()
        return self.content is not None and content_of(self.value) != self.content

    def undo(self) -> bool:
        """Put the content back if it has changed; say whether it had."""
        if self.inside is not None:
            return self.inside.undo()
        if self.content is None or content_of(self.value) == self.content:
            return False
        if type(self.value) is list:
            self.value[:] = self.content[0]
        elif type(self.value) is dict:
            self.value.clear()
            self.value.update(self.content[0])
        else:
            before = np.frombuffer(self.content, self.value.dtype)
            self.value[...] = before.reshape(self.value.shape)
        return True


def content_of_cell(cell: types.CellType) -> list[Any]:
    """Return what a cell holds, in a list: nothing if it is empty."""
    try:
        return [cell.cell_contents]
    except ValueError:  # it has been emptied
        return []
