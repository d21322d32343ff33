"""Memory and time of a long chain with checkpoints: ``python -m benchmarks.checkpointing``.

A recurrent network of 1,000 steps. Without checkpoints the tape remembers every step; in √n
segments of √n steps it remembers the √n states between them and one segment at a time.
"""

from __future__ import annotations

import argparse
import math
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from autodiff import checkpoint, value_and_gradient


def steps(h: np.ndarray, w: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Run some steps of the network."""
    for x in inputs:
        h = np.tanh(h @ w + x)
    return h


def network(length: int, size: int, batch: int, segment: int | None) -> tuple[Callable, np.ndarray]:
    """Return the loss of a network as a function of its weights, and the weights."""
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((length, 1, size)) * 0.1
    start = rng.standard_normal((batch, size))

    def loss(w: np.ndarray) -> float:
        if segment is None:
            return np.sum(steps(start, w, inputs) ** 2)
        h = start
        for i in range(0, length, segment):
            h = checkpoint(steps)(h, w, inputs[i : i + segment])
        return np.sum(h**2)

    return loss, rng.standard_normal((size, size)) / math.sqrt(size)


def measured(f: Callable, w: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return the seconds and the peak of memory, in bytes, of a gradient, and the gradient."""
    value_and_gradient(f, w)
    start = time.perf_counter()
    value_and_gradient(f, w)
    seconds = time.perf_counter() - start
    tracemalloc.start()
    try:
        _, slope = value_and_gradient(f, w)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return seconds, peak, slope


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=1000, help="how many steps")
    parser.add_argument("--size", type=int, default=32, help="how many units")
    parser.add_argument("--batch", type=int, default=64, help="how many sequences at once")
    options = parser.parse_args()
    root = round(math.sqrt(options.length))
    table = Table(title=f"{options.length} steps, {options.batch} x {options.size} units")
    table.add_column("segments of")
    for column in ("peak of memory", "/ without", "time", "/ without"):
        table.add_column(column, justify="right")
    first: tuple[float, float, np.ndarray] | None = None
    for segment in (None, root // 4, root, root * 4):
        seconds, peak, slope = found = measured(
            *network(options.length, options.size, options.batch, segment)
        )
        first = first or found
        np.testing.assert_allclose(slope, first[2], rtol=1e-8, atol=1e-10)
        table.add_row(
            "no checkpoints" if segment is None else f"{segment} steps",
            f"{peak / 1e6:.2f} MB",
            f"{peak / first[1]:.3f}",
            f"{1e3 * seconds:.0f} ms",
            f"{seconds / first[0]:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
