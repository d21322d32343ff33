"""The layered layout: nodes do not overlap, edges go down, orders have few crossings."""

from __future__ import annotations

import itertools
import random

import pytest

from autodiff.explanation.dag_layout import layered

GRAPHS = {
    "nothing": ([], []),
    "one": ([10.0], []),
    "chain": ([10.0] * 4, [(0, 1), (1, 2), (2, 3)]),
    "diamond": ([10.0] * 4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
    "a long edge": ([10.0] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)]),
    "two parts": ([10.0] * 4, [(0, 1), (2, 3)]),
}


def random_graph(seed: int) -> tuple[list[float], list[tuple[int, int]]]:
    draw = random.Random(seed)
    n = draw.randint(2, 60)
    edges = {(draw.randrange(b), b) for b in range(1, n) for _ in range(draw.randint(0, 3))}
    return [draw.uniform(5, 80) for _ in range(n)], sorted(edges)


GRAPHS.update({f"random {seed}": random_graph(seed) for seed in range(20)})


@pytest.mark.parametrize("widths, edges", GRAPHS.values(), ids=GRAPHS)
def test_nodes_keep_their_distance_and_edges_go_down(widths: list, edges: list) -> None:
    layout = layered(widths, edges, gap=10)
    rows: dict[int, list[tuple[float, float]]] = {}
    for (x, layer), width in zip(layout.places, widths, strict=True):
        rows.setdefault(layer, []).append((x - width / 2, x + width / 2))
    for row in rows.values():
        row.sort()
        assert all(b[0] - a[1] >= 10 - 1e-6 for a, b in itertools.pairwise(row))
    assert all(left >= -1e-6 for row in rows.values() for left, _ in row)
    for (a, b), route in zip(edges, layout.routes, strict=True):
        assert route[0] == layout.places[a]
        assert route[-1] == layout.places[b]
        layers = [layer for _, layer in route]
        assert layers == list(range(layers[0], layers[-1] + 1))


def test_a_chain_is_straight() -> None:
    places = layered([10, 30, 10], [(0, 1), (1, 2)]).places
    assert len({x for x, _ in places}) == 1


def test_crossings_are_undone() -> None:
    layout = layered([10.0] * 4, [(0, 3), (1, 2)])
    (a, b), (c, d) = ((route[0][0], route[-1][0]) for route in layout.routes)
    assert (a - c) * (b - d) > 0
