"""Variables outside a function, and what they held while it was recorded."""

from __future__ import annotations

import types
from typing import Any

from autodiff.compiler.recording.array_contents import ArrayContent
from autodiff.compiler.recording.content_guards import (
    Snapshot,
    content_of,
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
    content : Any
        What a small array, list or dict held; None for others.
    inside : Snapshot or None
        What other nests and objects held.
    absent : frozenset of str or None
        Names that the container did not have; None where it had no others than it has.
    bases : tuple or None
        Of which classes a class is made.
    owner : type or None
        The class of which the variable is an attribute.
    """

    __slots__ = (
        "absent", "bases", "container", "content", "inside", "label", "name", "owner", "value",
    )  # fmt: skip

    def __init__(
        self, container: Any, name: str | None, value: Any, label: str, owner: type | None = None
    ) -> None:
        self.container = container
        self.owner = owner
        self.name = name
        self.value = value
        self.label = label
        self.content = content_of(value)
        self.inside: Snapshot | None = None
        self.absent: frozenset[str] | None = frozenset()
        self.bases = value.__mro__ if isinstance(value, type) else None

    def look_inside(self, names: Mentioned) -> None:
        """Note the content of a container or object, of attributes only those with these names."""
        is_view = isinstance(self.content, ArrayContent) and self.value.base is not None
        if self.content is None or (is_view and names.reaches_around):
            self.inside = Snapshot(self.value, names) or None

    def may_be_written(self) -> bool:
        """Whether the variable may hold something that can be written into."""
        return self.inside is not None or not is_fixed(self.value)

    def has_changed(self) -> bool:
        """Whether the variable has another value, or something else is in it."""
        if not same(self._now(), self.value):
            return True
        if self.bases is not None:
            return self.value.__mro__ is not self.bases
        if self.inside is not None:
            return self.inside.has_changed()
        return self.content is not None and not self._holds_the_same()

    def _now(self) -> Any:
        """Return the present value of the variable."""
        if isinstance(self.container, types.CellType):
            return next(iter(content_of_cell(self.container)), _MISSING)
        return self.value if self.container is None else self.container.get(self.name)

    def _holds_the_same(self) -> bool:
        if isinstance(self.content, ArrayContent):
            return self.content.is_same(self.value)
        return bool(content_of(self.value) == self.content)

    def undo(self) -> bool:
        """Put the value and its content back if they have changed; say whether they had."""
        is_other = not same(self._now(), self.value)
        if is_other and self.owner is not None:
            type.__setattr__(self.owner, str(self.name), self.value)
        elif is_other and isinstance(self.container, types.CellType):
            self.container.cell_contents = self.value
        elif is_other:
            self.container[self.name] = self.value
        return self._undo_content() or is_other

    def _undo_content(self) -> bool:
        if self.inside is not None:
            return self.inside.undo()
        if self.content is None or self._holds_the_same():
            return False
        if isinstance(self.content, ArrayContent):
            self.content.put_back(self.value)
        elif type(self.value) is list:
            self.value[:] = self.content[0]
        else:
            self.value.clear()
            self.value.update(self.content[0])
        return True


def content_of_cell(cell: types.CellType) -> list[Any]:
    """Return what a cell holds, in a list: nothing if it is empty."""
    try:
        return [cell.cell_contents]
    except ValueError:  # it has been emptied
        return []
