"""Fuzz: python -m tools.fuzz --seed 0 --count 20000."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # the processes use every core already

from tools.fuzz.judge import Outcome, judge  # noqa: E402 - after the number of threads is set
from tools.fuzz.report import Report  # noqa: E402
from tools.fuzz.shrink import shrunk  # noqa: E402
from tools.fuzz.writer import write  # noqa: E402

CHUNK = 400


def run(seeds: range) -> Report:
    """Write and judge the programs of some seeds."""
    report = Report()
    for seed in seeds:
        report.add(*judged(seed))
    return report


def judged(seed: int) -> tuple[int, str, list[Outcome]]:
    """Write and judge the program of a seed."""
    source = write(seed).source
    return seed, source, judge(source, seed)


def work(seeds: range, results: Connection) -> None:
    """Do this in a process of its own: tell each seed before, and what came of it after."""
    for seed in seeds:
        results.send(seed)
        results.send(judged(seed))
    results.close()


def run_all(first: int, count: int, jobs: int, progress: int = 2000) -> Report:
    """Judge programs in several processes.

    Each ends after a while, since the engine remembers what it has traced. One that dies is noted
    as a crash, and another one goes on behind that program.
    """
    fork = multiprocessing.get_context("fork")
    end = first + count
    waiting = [range(i, min(i + CHUNK, end)) for i in range(end - CHUNK, first - CHUNK, -CHUNK)]
    waiting = [range(max(seeds.start, first), seeds.stop) for seeds in waiting if seeds]
    running: dict[Connection, tuple[range, int | None]] = {}
    report = Report()
    while waiting or running:
        while waiting and len(running) < jobs:
            seeds = waiting.pop()
            receive, send = fork.Pipe(duplex=False)
            fork.Process(target=work, args=(seeds, send), daemon=True).start()
            send.close()
            running[receive] = (seeds, None)
        for receive in wait(list(running)):
            seeds, current = running[receive]
            try:
                message = receive.recv()
            except EOFError:
                del running[receive]
                if current is not None:
                    died = Outcome("crash", "plain", "DeadProcess: the process has died")
                    report.add(
                        current, f"# write({current}) or its judgement ends the process", [died]
                    )
                    waiting.append(range(current + 1, seeds.stop))
                continue
            if isinstance(message, int):
                running[receive] = (seeds, message)
                continue
            running[receive] = (seeds, None)
            report.add(*message)
            if report.programs % progress == 0:
                print(f"{report.programs} programs", file=sys.stderr, flush=True)
    multiprocessing.active_children()  # which have ended: this takes them off the list
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
        short = source if outcome.mode == "plain" else shrunk(source, seed, outcome)
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
