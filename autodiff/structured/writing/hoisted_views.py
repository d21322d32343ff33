"""Hoisting of loop-invariant views: they are made once, before the loop."""

from __future__ import annotations

from autodiff.structured.form.function_ir import For, Slot, ops_of
from autodiff.structured.form.order import bound_in


class HoistedViews:
    """The loop-invariant views of a loop.

    Attributes
    ----------
    names : dict of str to str
        For the source of each view, its name.
    """

    def __init__(self, node: For) -> None:
        self.names: dict[str, str] = {}
        read = {op.data for op in ops_of(node.body) if op.code == "read"}
        self._fixed = read - bound_in([node])

    def is_loop_invariant(self, slot: Slot) -> bool:
        """Whether a variable that the loop reads is loop-invariant."""
        return slot in self._fixed

    def lines(self, trips: str) -> list[str]:
        """Return the lines that make the views.

        They run only if the loop does: an index may be out of bounds for an array that a loop
        without iterations would not touch.
        """
        if not self.names:
            return []
        return [f"if {trips}:", *[f"    {name} = {text}" for text, name in self.names.items()]]
