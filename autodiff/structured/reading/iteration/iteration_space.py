"""What a loop iterates over: its trip count, and its items by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff.structured.form.function_ir import Memory, Value
from autodiff.structured.form.kinds import UnsupportedError


class LongLoopError(UnsupportedError):
    """A loop over known items, at `place`, is long if unrolled: keep it as a loop instead."""

    def __init__(self, place: tuple[int, int]) -> None:
        super().__init__("a loop that is long if unrolled")
        self.place = place


class IterationSpace:
    """What a loop iterates over, as a function of the iteration number.

    Parameters
    ----------
    length : callable
        Returns the trip count, a value.
    item : callable
        Returns the item of an iteration, given its number.
    bounds : list of Value, optional
        The bounds of a range.
    known : int, optional
        The trip count, if it is known.
    computes : bool
        Whether taking an item runs code of the user's, so that the order of items is observable.
    of : sequence of IterationSpace
        The iteration spaces that it is made of.

    Attributes
    ----------
    lists : list of tuple
        Variables: a list, and its length before the loop, which must be the same after the loop.
    read_only : list of Memory
        What the loop must not write into, because Python takes the items before their iterations.
    begun : tuple, optional
        From where on it must not, if the items are taken before other iterables are read.
    tables : list of Memory
        Dicts that the loop must not take anything out of.
    functions : list
        Functions that were called for all items ahead: the loop must not change what they read.
    over_lists : callable, optional
        Returns the iteration space of lists of the items, which are known one by one.
    is_endless : bool
        Whether only a break ends a loop over it.
    """

    def __init__(
        self,
        length: Callable[[], Value],
        item: Callable[[Value], Any],
        bounds: list[Value] | None = None,
        known: int | None = None,
        computes: bool = False,
        of: Sequence[IterationSpace] = (),
    ) -> None:
        self.length = length
        self.item = item
        self.bounds = bounds
        self.known = known
        self.computes: bool = computes
        for over in of:
            self.computes |= over.computes
        self.lists: list[tuple[str, str]] = [pair for over in of for pair in over.lists]
        self.read_only: list[Memory] = [memory for over in of for memory in over.read_only]
        self.begun: tuple | None = next((over.begun for over in of if over.begun), None)
        self.tables: list[Memory] = [memory for over in of for memory in over.tables]
        self.functions: list[Any] = [f for over in of for f in over.functions]
        self.over_lists: Callable[[], IterationSpace] | None = None
        self.is_endless: bool = any(over.is_endless for over in of)


def of_either(made: Callable[..., IterationSpace], overs: list[IterationSpace]) -> IterationSpace:
    """Return what `made` makes of iteration spaces, and later perhaps of those of lists."""
    over = made(*overs)
    if over.known is not None and all(x.known is None or x.over_lists for x in overs):
        over.over_lists = lambda: made(*[x.over_lists() if x.over_lists else x for x in overs])
    return over
