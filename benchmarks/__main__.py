"""Time derivatives against hand-written ones and the other systems; print tables, keep results.

Each workload is measured in one process, all ways taking turns, with one thread and with all.
The first call of each way, with what it traces and compiles, is timed apart.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import autodiff
from benchmarks import chart, start
from benchmarks.measure import WAYS
from benchmarks.timing import interleaved
from benchmarks.workloads import WORKLOADS

RESULTS = Path(__file__).parent / "results"
_ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
# "eager" is ``gradient(f, x)`` as it is called; "traced" is without programs made by themselves.
# What is promised: (numerator, denominator, geometric mean, worst).
PROMISES = (
    ("eager", "autograd", 0.12, 0.5),
    ("eager", "torch", 0.4, 1.2),
    ("traced", "autograd", 0.12, 0.5),
    ("traced", "torch", 0.4, 1.2),
    ("compiled", "jax", 0.6, 1.5),
    ("compiled", "by hand", 1.3, math.inf),
)


def measured(threads: int, rounds: int, only: list[str] | None, without: list[str]) -> dict:
    """Measure the workloads in a process of their own with so many threads."""
    environment = dict(os.environ)
    command = [sys.executable, "-m", "benchmarks.measure", "--rounds", str(rounds)]
    if threads == 1:
        environment |= _ONE_THREAD
        if sys.platform == "linux":
            command = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]
    if only:
        command += ["--only", *only]
    if without:
        command += ["--without", *without]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(run.stdout)


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1e6 * seconds:,.1f}"


def print_times(console: Console, results: dict, title: str) -> None:
    """Print the times of each workload and way."""
    table = Table(title=title, caption="microseconds per call")
    table.add_column("workload")
    for way in WAYS:
        table.add_column(way, justify="right")
    table.add_column("compiled / jax", justify="right")
    table.add_column("/ by hand", justify="right")
    for name, result in results.items():
        seconds = result["seconds"]
        table.add_row(
            name,
            *[_time(seconds.get(way)) for way in WAYS],
            _ratio(seconds, "compiled", "jax"),
            _ratio(seconds, "compiled", "by hand"),
        )
    console.print(table)


def _ratio(seconds: dict[str, float], a: str, b: str) -> str:
    return f"{seconds[a] / seconds[b]:.2f}" if a in seconds and b in seconds else "–"


def print_first(console: Console, results: dict) -> None:
    """Print what the first call costs."""
    ways = [way for way in WAYS if any(way in r["first"] for r in results.values())]
    table = Table(title="The first call, tracing and compilation included", caption="milliseconds")
    table.add_column("workload")
    for way in ways:
        table.add_column(way, justify="right")
    for name, result in results.items():
        cells = [result["first"].get(way) for way in ways]
        table.add_row(name, *["–" if c is None else f"{1e3 * c:,.1f}" for c in cells])
    console.print(table)


def print_promises(console: Console, results: dict) -> list[dict]:
    """Print ratios of times beside what is promised of them."""
    table = Table(title="Ratios of times, one thread")
    for column in ("of", "geometric mean", "promised", "worst", "promised", "the worst is"):
        table.add_column(column)
    found = []
    for a, b, mean_limit, worst_limit in PROMISES:
        ratios = {
            name: r["seconds"][a] / r["seconds"][b]
            for name, r in results.items()
            if a in r["seconds"] and b in r["seconds"]
        }
        if not ratios:
            continue
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        name = max(ratios, key=lambda n: ratios[n])
        worst = ratios[name]
        table.add_row(
            f"{a} / {b}",
            _coloured(mean, mean_limit),
            f"{mean_limit}",
            _coloured(worst, worst_limit),
            "" if worst_limit == math.inf else f"{worst_limit}",
            name,
        )
        found.append({"of": [a, b], "mean": mean, "worst": worst, "which": name})
    console.print(table)
    return found


def _coloured(value: float, limit: float) -> str:
    return f"[{'green' if value <= limit else 'red'}]{value:.3f}"


def _reads(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def element_reads(console: Console) -> dict:
    """Print how time and memory grow when every element of an array is read."""
    table = Table(title=r"Reading x\[i] for every i: growth from n to 4n (4 is linear)")
    for column in ("n", "time", "growth", "peak memory", "growth"):
        table.add_column(column, justify="right")
    results: dict[int, tuple[float, int]] = {}
    for n in (1_000, 4_000, 16_000):
        x = np.ones(n)
        was_on = autodiff.automatic_compile(False)
        seconds = interleaved({"reads": lambda x=x: autodiff.gradient(_reads, x)}, rounds=7)[
            "reads"
        ]
        tracemalloc.start()
        autodiff.gradient(_reads, x)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        autodiff.automatic_compile(was_on)
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


def fresh(console: Console, rounds: int) -> dict:
    """Print what a fresh process needs until its first gradient."""
    seconds = start.first_gradients(rounds)
    table = Table(title="Import and a first gradient in a fresh process")
    for column in ("system", "time", "autodiff / it", "promised"):
        table.add_column(column, justify="right")
    for name, s in seconds.items():
        ratio = seconds["autodiff"] / s
        is_limited = name in ("torch", "jax")
        shown = _coloured(ratio, 1 / 3) if is_limited else f"{ratio:.2f}"
        table.add_row(name, f"{1e3 * s:.0f} ms", shown, "0.33" if is_limited else "")
    console.print(table)
    beyond = 1e3 * (seconds["autodiff"] - seconds["numpy"])
    console.print(f"beyond the import of NumPy: {beyond:.0f} ms, promised: 100 ms")
    return seconds


def memory(console: Console) -> dict:
    """Print the memory that gradients take at their peak."""
    peaks = start.peaks()
    table = Table(title="Peak memory of a gradient, beyond what the process held before (MB)")
    table.add_column("of")
    for way in start.MEMORY:
        table.add_column(way, justify="right")
    names = {"rnn": "RNN of 1,000 steps, 32 x 128", "mlp": "MLP 4096 x 784 x 512 x 512 x 10"}
    for which, found in peaks.items():
        table.add_row(names[which], *[f"{found[way]:.1f}" for way in start.MEMORY])
    console.print(table)
    return peaks


def versions() -> dict[str, str]:
    """Return the versions of everything that is measured."""
    found = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "llvmlite", "autograd", "torch", "jax"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no other systems")
    parser.add_argument("--only", nargs="*", choices=[w.name for w in WORKLOADS])
    parser.add_argument("--without", nargs="*", default=[], help="systems to leave out")
    parser.add_argument("--keep", action="store_true", help="write to benchmarks/results")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    console = Console(width=max(120, Console().width))
    begun = time.perf_counter()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    rounds = 5 if options.quick else 15
    without = options.without or (["torch", "jax"] if options.quick else [])
    results: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "versions": versions(),
        "cores": cores,
    }
    results["one thread"] = measured(1, rounds, options.only, without)
    print_times(console, results["one thread"], "Derivatives, one thread")
    results["promises"] = print_promises(console, results["one thread"])
    print_first(console, results["one thread"])
    if not options.quick:
        results["all threads"] = measured(cores or 1, rounds, options.only, without)
        print_times(console, results["all threads"], f"Derivatives, all {cores} threads")
    if not options.only:
        results["element_reads"] = element_reads(console)
        if not options.quick:
            results["fresh process"] = fresh(console, 5)
            if sys.platform == "linux":
                results["memory"] = memory(console)
    shown = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    console.print(f"{shown}; {results['date']}; {time.perf_counter() - begun:.0f} s")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.keep or not (options.quick or options.only):
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        title = f"{results['date']}, one thread"
        chart.draw(results["one thread"], RESULTS / "results.png", title)


if __name__ == "__main__":
    main()
