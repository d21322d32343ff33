"""The layout of a directed acyclic graph in layers.

After Sugiyama, Tagawa and Toda (1981). A node is one layer below the lowest of its predecessors. An
edge that crosses layers gets a point in each. The nodes of a layer are ordered by the mean position
of their neighbours, in a few passes down and up. Then each node is moved as near to its neighbours
as the order allows: an isotonic regression, solved by pooling adjacent violators.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

_SWEEPS = 6


class Layout(NamedTuple):
    """The positions of nodes and edges.

    Attributes
    ----------
    places : list of (float, int)
        The horizontal centre of each node, and its layer.
    routes : list of list of (float, int)
        The points of each edge, including both ends.
    """

    places: list[tuple[float, int]]
    routes: list[list[tuple[float, int]]]


def layered(widths: Sequence[float], edges: Sequence[tuple[int, int]], gap: float = 24.0) -> Layout:
    """Lay out a graph.

    Parameters
    ----------
    widths : sequence of float
        The widths of the nodes.
    edges : sequence of (int, int)
        The start and end of each edge, which goes from a lower index to a higher one.
    gap : float
        The space between neighbours in a layer.

    Examples
    --------
    >>> layered([10, 10, 10], [(0, 2), (1, 2)], gap=10).places
    [(5.0, 0), (25.0, 0), (15.0, 1)]
    """
    layer = [0] * len(widths)
    for a, b in sorted(edges, key=lambda edge: edge[1]):
        layer[b] = max(layer[b], layer[a] + 1)
    layers = layer.copy()
    size = list(widths)
    links: list[tuple[int, int]] = []
    chains: list[list[int]] = []
    for a, b in edges:
        chain = [a]
        for between in range(layer[a] + 1, layer[b]):
            layers.append(between)
            size.append(2.0)
            chain.append(len(layers) - 1)
        chain.append(b)
        links += itertools.pairwise(chain)
        chains.append(chain)
    rows = _ordered(layers, links)
    x = _placed(rows, size, links, gap)
    return Layout(
        [(x[i], layer[i]) for i in range(len(widths))],
        [[(x[i], layers[i]) for i in chain] for chain in chains],
    )


def _neighbours(n: int, links: list[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for a, b in links:
        above[b].append(a)
        below[a].append(b)
    return above, below


def _ordered(layers: list[int], links: list[tuple[int, int]]) -> list[list[int]]:
    """Return the nodes of each layer in an order with few crossings."""
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for i, level in enumerate(layers):
        rows[level].append(i)
    above, below = _neighbours(len(layers), links)
    rank = [0.0] * len(layers)
    for row in rows:
        for place, i in enumerate(row):
            rank[i] = place
    for sweep in range(_SWEEPS):
        near = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            row.sort(key=lambda i: _mean([rank[j] for j in near[i]], rank[i]))
            for place, i in enumerate(row):
                rank[i] = place
    return rows


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _placed(
    rows: list[list[int]], size: list[float], links: list[tuple[int, int]], gap: float
) -> list[float]:
    """Return the horizontal centre of each node."""
    above, below = _neighbours(len(size), links)
    x = [0.0] * len(size)
    for row in rows:
        right = 0.0
        for i in row:
            x[i] = right + size[i] / 2
            right += size[i] + gap
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            near = above if sweep % 2 == 0 else below
            wanted = [_mean([x[j] for j in near[i]], x[i]) for i in row]
            for i, value in zip(row, _spaced(wanted, [size[i] for i in row], gap), strict=True):
                x[i] = value
    left = min((x[i] - size[i] / 2 for i in range(len(size))), default=0.0)
    return [value - left for value in x]


def _spaced(wanted: list[float], sizes: list[float], gap: float) -> list[float]:
    """Return the positions nearest to the wanted ones at which neighbours do not overlap."""
    offsets = [0.0]
    for a, b in itertools.pairwise(sizes):
        offsets.append(offsets[-1] + (a + b) / 2 + gap)
    pools: list[tuple[float, int]] = []  # mean, number
    for value, offset in zip(wanted, offsets, strict=False):
        mean, n = value - offset, 1
        while pools and pools[-1][0] > mean:
            other, m = pools.pop()
            mean, n = (mean * n + other * m) / (n + m), n + m
        pools.append((mean, n))
    flat = [mean for mean, n in pools for _ in range(n)]
    return [mean + offset for mean, offset in zip(flat, offsets, strict=False)]
