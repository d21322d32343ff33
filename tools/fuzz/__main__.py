"""Fuzz: python -m tools.fuzz --seed 0 --count 20000."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # the processes use every core already

from tools.fuzz.judge import judge  # noqa: E402 - after the number of threads is set
from tools.fuzz.report import Report  # noqa: E402
from tools.fuzz.shrink import shrunk  # noqa: E402
from tools.fuzz.writer import write  # noqa: E402

CHUNK = 100


def run(seeds: range) -> Report:
    """Write and judge the programs of some seeds."""
    report = Report()
    for seed in seeds:
        source = write(seed).source
        report.add(seed, source, judge(source, seed))
    return report


def run_all(first: int, count: int, jobs: int) -> Report:
    """Do it in several processes; each ends after a while, since what was traced is remembered."""
    chunks = [range(i, min(i + CHUNK, first + count)) for i in range(first, first + count, CHUNK)]
    report = Report()
    if jobs == 1 and len(chunks) == 1:
        return run(chunks[0])
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=5) as pool:
        for part in pool.imap_unordered(run, chunks):
            report.merge(part)
    return report


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and return 1 if something failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first program")
    parser.add_argument("--count", type=int, default=20_000, help="how many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--show", type=int, default=10, help="failures to make short and print")
    parser.add_argument("--keep", type=Path, help="a folder to write these to")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    report = run_all(options.seed, options.count, options.jobs)
    seconds = time.perf_counter() - start
    for seed, outcome, source in report.examples(options.show):
        short = shrunk(source, seed, outcome)
        print(f"{'=' * 30} seed {seed}: {outcome.kind} in {outcome.mode}\n{outcome.detail}\n")
        print(f"{short}\n", flush=True)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"fuzz_{seed}_{outcome.mode}.py").write_text(short + "\n")
    print(report.table())
    print(f"\n{seconds:.0f} s, {1000 * seconds / max(options.count, 1):.1f} ms per program")
    if report.failures:
        print("Each again: make fuzz ARGS='--seed S --count 1'")
    return bool(report.failures)


if __name__ == "__main__":
    sys.exit(main())
