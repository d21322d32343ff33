"""Views that are the same in all turns of a loop: they are made once, before the loop."""

from __future__ import annotations

from autodiff.structured.form.ir import For, Slot, ops_of
from autodiff.structured.form.order import binds


class LoopViews:
    """The views that the turns of a loop share.

    Attributes
    ----------
    names : dict of str to str
        For each view as it is written, its name.
    """

    def __init__(self, node: For) -> None:
        self.names: dict[str, str] = {}
        read = {op.data for op in ops_of(node.body) if op.code == "read"}
        self._fixed = {slot for slot in read if not binds([node], slot)}

    def is_fixed(self, slot: Slot) -> bool:
        """Whether a variable that the loop reads holds the same in all turns."""
        return slot in self._fixed

    def lines(self, turns: str) -> list[str]:
        """Return the lines that make the views, if the loop has turns: an index may be outside."""
        if not self.names:
            return []
        return [f"if {turns}:", *[f"    {name} = {text}" for text, name in self.names.items()]]
