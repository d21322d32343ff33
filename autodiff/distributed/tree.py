"""The tree in which a sum over shards is taken: its shape depends on their number alone.

The leaves are the shards in their order. Each node above adds its left and its right half; a node
without a right half is its left one. So ``2 ** k`` neighbours that begin at a multiple of
``2 ** k`` are a node, and whoever adds them first changes no bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class TreeSum:
    """A sum whose terms arrive in any order.

    Parameters
    ----------
    count : int
        How many terms there are, at least one.
    combine : callable
        ``combine(left, right)`` returns the sum of two neighbours.

    Attributes
    ----------
    total : Any
        The sum, once all terms have arrived.
    pending : dict
        The nodes that wait for their neighbours, by level and place. While at most `m` terms before
        the latest one are missing, there are at most ``(m + 1) * log2(count)`` of them.
    """

    def __init__(self, count: int, combine: Callable[[Any, Any], Any]) -> None:
        self.total: Any = None
        self.pending: dict[tuple[int, int], Any] = {}
        self._count, self._combine = count, combine

    def add(self, place: int, term: Any) -> None:
        """Take the term at a place, and add it to its neighbours as far as these are there."""
        level, width = 0, self._count
        while width > 1:
            beside = place ^ 1
            if beside < width:
                if (level, beside) not in self.pending:
                    self.pending[level, place] = term
                    return
                other = self.pending.pop((level, beside))
                pair = (other, term) if beside < place else (term, other)
                term = self._combine(*pair)
            level, place, width = level + 1, place // 2, (width + 1) // 2
        self.total = term


def group_size(count: int, tasks: int) -> int:
    """Return how many neighbouring shards one task takes: a power of two, for some `tasks`."""
    return 1 << max(0, (count // max(1, tasks)).bit_length() - 1)
