"""What the pullback of each rule costs, in times of its primal: ``make bench-rules``.

The primal, the call recorded on a tape of the engine's and swept back, the frule, and where there
is one a pullback written by hand take turns in one process; each is represented by the median of
its turns, in processor time of one thread (``make bench-rules`` has BLAS use one thread).
What counts is ``(recorded and swept - primal) / primal``: what is done beside the primal is part of
the pullback's cost, whenever it is done. What the sweep does is what a gradient does: cotangents
are projected and added up, products are plain (only if a gradient comes out NaN is it computed
again with strong zeros).

Where the primal is one fast pass over memory, NumPy itself may have no pullback within the limit.
For such calls the table has a pullback written by hand with as few passes as NumPy allows; where
even this one is over the limit, ours may cost a quarter more than it.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.special
from rich.console import Console
from rich.table import Table

import chainrules
from autodiff.trace.pytree import map_leaves, tangent_of
from benchmarks.samples import Sample, all_samples
from benchmarks.swept import recorded_and_swept
from chainrules_core import NoTangent, frule, rrule
from chainrules_core.rule import name_of

assert chainrules, "imported for the rules it brings"
assert scipy.special, "imported so that its rules load"

# Below this the calls themselves are what is measured, not what they do with the elements.
CALLS = 30e-6
# How many times the pullback written by hand ours may cost, where that one is over the limit.
NEAR_BY_HAND = 1.25
# Rules of numbers, of lists, and helpers of other rules: their cost is not in the elements.
NO_SAMPLE = ("math.", "cmath.", "operator.", "chainrules.", "scipy.special._", "_")


def medians(ways: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Return the median turn of each way; they take turns for about so many seconds."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for way in ways.values():
            way()
        end = time.perf_counter() + seconds
        turns = 0
        while turns < 5 or time.perf_counter() < end:
            for name, way in ways.items():
                start = time.thread_time()
                way()
                times[name].append(time.thread_time() - start)
            turns += 1
    finally:
        if enabled:
            gc.enable()
    return {name: statistics.median(found) for name, found in times.items()}


def ways(sample: Sample) -> dict[str, Callable[[], object]]:
    """Return what takes turns: the primal, the pullback with its recording, the frule."""
    f, args, options = sample.f, sample.args, sample.options
    y = f(*args, **options)
    result: dict[str, Callable[[], object]] = {
        "primal": (lambda: [np.copy(a) for a in _leaves((args, y)) if isinstance(a, np.ndarray)])
        if sample.view
        else lambda: f(*args, **options),
        "pulled": recorded_and_swept(f, args, options, _seed),
    }
    if sample.by_hand is not None:
        by_hand, y_bar = sample.by_hand, _seed(y)
        result["by hand"] = lambda: by_hand(y_bar, f(*args, **options), *args)
    dots = (NoTangent(), *[_seed(a) for a in args])
    if not sample.view and not sample.reverse and frule(dots, f, *args, **options) is not None:
        result["pushed"] = lambda: frule(dots, f, *args, **options)
    return result


def _seed(x: Any) -> Any:
    """Return a tangent of a value: for arrays of numbers an array, else as the value is built."""

    def one(leaf: Any) -> Any:
        leaf = np.asarray(leaf)
        if leaf.dtype.kind not in "fc":
            return NoTangent()
        rng = np.random.default_rng(0)
        dot = rng.standard_normal(leaf.shape).astype(leaf.dtype)
        return dot if leaf.ndim else dot[()]

    if isinstance(x, (np.ndarray, np.generic, float, complex)):
        return one(x)
    if isinstance(x, (list, tuple)) and any(isinstance(a, np.ndarray) for a in _leaves(x)):
        return tangent_of(x, one)
    return tangent_of(x, one) if isinstance(x, (list, tuple)) else NoTangent()


def _leaves(x: Any) -> list:
    found: list = []
    map_leaves(x, found.append)
    return found


def measure(topic: str, sample: Sample, seconds: float) -> dict[str, Any]:
    """Return one line of the results."""
    name = name_of(sample.f) + (f" ({sample.note})" if sample.note else "")
    found = medians(ways(sample), seconds)
    primal = found["primal"]
    ratio = found["pulled"] / primal - (0 if sample.view else 1)
    by_hand = found["by hand"] / primal - 1 if "by hand" in found else None
    limit = sample.limit
    if by_hand is not None and by_hand > limit:
        limit = NEAR_BY_HAND * by_hand
    return {
        "topic": topic,
        "function": name,
        "limit": sample.limit,
        **found,
        "pullback": ratio,
        "pullback by hand": by_hand,
        "frule": found["pushed"] / primal if "pushed" in found else None,
        "within": found["pulled"] < CALLS or ratio <= limit,
    }


def show(console: Console, results: list[dict[str, Any]], all_rows: bool) -> None:
    """Print the results, worst first."""
    table = Table(title="Pullbacks and frules, in times of the primal")
    for column in ("function", "topic"):
        table.add_column(column)
    for column in ("primal", "pullback", "limit", "by hand", "frule"):
        table.add_column(column, justify="right")
    for row in results:
        if row["within"] and not all_rows:
            continue
        table.add_row(
            row["function"],
            row["topic"],
            f"{1e6 * row['primal']:,.0f} µs",
            f"[{'green' if row['within'] else 'red'}]{row['pullback']:.2f}",
            f"{row['limit']}",
            "" if row["pullback by hand"] is None else f"{row['pullback by hand']:.2f}",
            "" if row["frule"] is None else f"{row['frule']:.2f}",
        )
    console.print(table)


def without_sample(samples: list[Sample]) -> list[str]:
    """Return the functions that have a reverse rule of their own but no sample."""
    sampled = {name_of(s.f) for s in samples}
    names = {
        rule.name
        for rule in rrule.methods()
        if rule.kind not in ("non_differentiable", "opt_out", "decompose", "lists")
    }
    return sorted(n for n in names - sampled if "." in n and not n.startswith(NO_SAMPLE))


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; return 1 if a pullback is over its limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pullback_cost", description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.4, help="for each function (0.4)")
    parser.add_argument("--only", default="", help="functions or topics whose name contains this")
    parser.add_argument("--over", action="store_true", help="print only what is over its limit")
    parser.add_argument("--json", type=Path, default=Path(".venv/pullback_cost.json"))
    options = parser.parse_args(arguments)
    console = Console()
    samples = list(all_samples())
    chosen = [
        (topic, s) for topic, s in samples if options.only in f"{topic} {name_of(s.f)} {s.note}"
    ]
    results = []
    # Freeing a large array once has the C library keep the memory of smaller ones from then on;
    # else what is measured is how the system hands out pages.
    np.ones(30_000_000 // 8)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for topic, s in chosen:
            try:
                results.append(measure(topic, s, options.seconds))
            except Exception as error:
                error.add_note(f"benchmarks/samples/{topic}.py: {name_of(s.f)} {s.note}")
                raise
    results.sort(key=lambda row: row["limit"] / max(row["pullback"], 1e-9))
    show(console, results, not options.over)
    over = sum(not row["within"] for row in results)
    missing = without_sample([s for _, s in samples])
    console.print(
        f"{len(results)} calls, {over} over their limit; numpy {np.__version__}, "
        f"Python {sys.version.split()[0]}"
    )
    if not options.only:
        console.print(f"{len(missing)} functions have a rule and no sample: {', '.join(missing)}")
    options.json.write_text(json.dumps(results, indent=2) + "\n")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
