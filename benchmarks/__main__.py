"""Time gradients against hand-written ones and against HIPS autograd; print tables."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import autograd
import autograd.numpy
import numpy as np
from rich.console import Console
from rich.table import Table

import autodiff
from benchmarks.timing import interleaved
from benchmarks.workloads import WORKLOADS, Workload

# Functions of several arguments of which the first alone is differentiated.
_FIRST_ONLY = {"logistic", "products"}


def compare(work: Workload, rounds: int) -> dict[str, float]:
    """Return seconds per call of each way to get the gradient of a workload."""
    f, f_autograd = work.make(np), work.make(autograd.numpy)
    argnums = 0 if work.name in _FIRST_ONLY or len(work.args) == 1 else (0, 1)
    peer = autograd.grad(f_autograd, argnums)
    ours = autodiff.gradient(f, *work.args, argnums=argnums)
    for mine, hand in zip(_tuple(ours), _tuple(work.by_hand(*work.args)), strict=True):
        np.testing.assert_allclose(mine, hand, rtol=1e-7, atol=1e-10)
    return interleaved(
        {
            "primal": lambda: f(*work.args),
            "by hand": lambda: work.by_hand(*work.args),
            "autodiff": lambda: autodiff.gradient(f, *work.args, argnums=argnums),
            "autograd": lambda: peer(*work.args),
        },
        rounds=rounds,
    )


def _tuple(x: object) -> tuple:
    return x if isinstance(x, tuple) else (x,)


def gradients(console: Console, rounds: int) -> dict:
    """Print the table of gradients."""
    table = Table(title="Gradients: time of one call, one process, taking turns")
    for column in ("workload", "what"):
        table.add_column(column)
    for column in ("primal", "by hand", "autodiff", "autograd", "/ by hand", "/ autograd", "limit"):
        table.add_column(column, justify="right")
    results = {}
    for work in WORKLOADS:
        times = compare(work, rounds)
        ratio = times["autodiff"] / times["autograd"]
        results[work.name] = {**times, "ratio_to_autograd": ratio}
        within = work.limit is None or ratio <= work.limit
        table.add_row(
            work.name,
            work.about,
            *(
                f"{1e6 * times[way]:,.1f} µs"
                for way in ("primal", "by hand", "autodiff", "autograd")
            ),
            f"{times['autodiff'] / times['by hand']:.2f}",
            f"[{'green' if within else 'red'}]{ratio:.3f}",
            "" if work.limit is None else f"{work.limit}",
        )
    console.print(table)
    return results


def _reads(x: object) -> object:
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def element_reads(console: Console) -> dict:
    """Print how time and memory grow when every element of an array is read."""
    table = Table(title="Reading x[i] for every i: growth from n to 4n (4 is linear)")
    for column in ("n", "time", "growth", "peak memory", "growth"):
        table.add_column(column, justify="right")
    results: dict[int, tuple[float, int]] = {}
    for n in (1_000, 4_000, 16_000):
        x = np.ones(n)
        seconds = interleaved({"reads": lambda x=x: autodiff.gradient(_reads, x)}, rounds=7)[
            "reads"
        ]
        tracemalloc.start()
        autodiff.gradient(_reads, x)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        before = results.get(n // 4)
        results[n] = (seconds, peak)
        table.add_row(
            f"{n:,}",
            f"{1e3 * seconds:.2f} ms",
            "" if before is None else f"{seconds / before[0]:.2f}",
            f"{peak / 1e6:.2f} MB",
            "" if before is None else f"{peak / before[1]:.2f}",
        )
    console.print(table)
    return {str(n): {"seconds": s, "peak": p} for n, (s, p) in results.items()}


def _import_seconds(module: str, rounds: int = 7) -> float:
    """Return the fastest import of a module in a fresh process, without the process itself."""
    best = float("inf")
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    # As an installed package has it: with the bytecode written by the first of these imports.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(rounds):
        run = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        best = min(best, float(run.stdout))
    return best


def imports(console: Console) -> dict:
    """Print the import time of each package and its ratio to that of NumPy."""
    table = Table(title="Import in a fresh process")
    for column in ("module", "time", "/ numpy", "limit"):
        table.add_column(column, justify="right")
    modules = ("numpy", "chainrules_core", "chainrules", "autodiff", "autograd.numpy")
    seconds = {module: _import_seconds(module) for module in modules}
    for module, s in seconds.items():
        ratio = s / seconds["numpy"]
        limit = "2" if module == "autodiff" else ""
        table.add_row(module, f"{1e3 * s:.0f} ms", f"{ratio:.2f}", limit)
    console.print(table)
    return seconds


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    console = Console()
    start = time.perf_counter()
    results = {
        "gradients": gradients(console, 5 if options.quick else 25),
        "element_reads": element_reads(console),
        "import": imports(console),
    }
    console.print(
        f"numpy {np.__version__}, Python {sys.version.split()[0]}, "
        f"{time.perf_counter() - start:.0f} s"
    )
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
