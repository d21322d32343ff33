"""Time every way to compute the derivatives of the workloads, in this process, taking turns."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.timing import interleaved
from benchmarks.workloads import WORKLOADS, Workload

WAYS = ("by hand", "primal", "traced", "eager", "compiled", "autograd", "torch", "jax")
PEERS: dict[str, tuple[Callable, Callable]] = {
    "traced": (peers.traced, tuple),
    "eager": (peers.eager, tuple),
    "compiled": (peers.compiled, tuple),
    "autograd": (peers.by_autograd, tuple),
    "torch": (peers.by_torch, peers.for_torch),
    "jax": (peers.by_jax, peers.for_jax),
}
# Machine code is made after some calls, or when a program has run for half the time that takes.
_WARM_UP, _SETTLED = 40, 2.0
_BY_STAGES = frozenset({"traced", "eager", "compiled"})
# A call that takes longer is not warmed up so often.
_SLOW = 0.05


def measure(work: Workload, rounds: int, without: set[str]) -> dict[str, Any]:
    """Return seconds per call, and those of the first call, of each way."""
    f = work.make(np)
    primal_args = work.args[:1] if work.kind == "hvp" else work.args
    ways: dict[str, Callable] = {
        "by hand": lambda: work.by_hand(*work.args),
        "primal": lambda: f(*primal_args),
    }
    expected = work.by_hand(*work.args)
    first: dict[str, float] = {}
    for name, (make, convert) in PEERS.items():
        if name in without:
            continue
        try:
            derivative, args = make(work), convert(work.args)
            start = time.perf_counter()
            found = derivative(*args)
            first[name] = time.perf_counter() - start
        except Exception as error:
            print(f"{work.name}: {name} cannot do it: {error!r:.200}", file=sys.stderr)
            continue
        _compare(work, name, found, expected)
        if getattr(derivative, "eager_because", None):
            print(f"{work.name}: not compiled: {derivative.eager_because}", file=sys.stderr)
        _warm_up(derivative, args, _SETTLED if name in _BY_STAGES else 0.0)
        ways[name] = lambda derivative=derivative, args=args: derivative(*args)
    return {"seconds": interleaved(ways, rounds=rounds), "first": first}


def _warm_up(derivative: Callable, args: tuple, seconds: float) -> None:
    """Call a derivative some times, and for so long at the least."""
    start = time.perf_counter()
    spent, k = 0.0, 0
    while spent < seconds or (k < _WARM_UP and spent <= _SLOW * max(k, 1)):
        derivative(*args)
        spent, k = time.perf_counter() - start, k + 1


def _compare(work: Workload, name: str, found: Any, expected: Any) -> None:
    """Raise if a derivative is not the one written by hand."""
    for mine, hand in zip(_tuple(found), _tuple(expected), strict=True):
        np.testing.assert_allclose(
            np.asarray(mine), hand, rtol=1e-6, atol=1e-9, err_msg=f"{work.name}, {name}"
        )


def _tuple(x: Any) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--without", nargs="*", default=[], choices=list(PEERS))
    parser.add_argument("--only", nargs="*", help="names of workloads")
    options = parser.parse_args()
    results = {}
    for work in WORKLOADS:
        if options.only and work.name not in options.only:
            continue
        print(f"  {work.name} ...", file=sys.stderr, flush=True)
        results[work.name] = measure(work, options.rounds, set(options.without))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
