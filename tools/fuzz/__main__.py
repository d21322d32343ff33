"""Fuzz: python -m tools.fuzz --seed 0 --count 20000 --programs mixed --modes reverse,forward."""

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

from tools.fuzz import generators  # noqa: E402 - after the number of threads is set
from tools.fuzz.judge import MODES, NAMED, Outcome, judge  # noqa: E402
from tools.fuzz.limits import limit_memory  # noqa: E402
from tools.fuzz.report import Report  # noqa: E402
from tools.fuzz.shrink import shrunk  # noqa: E402

CHUNK = 400


Work = tuple[str, range]
"""The name of a generator, and seeds."""


def run(seeds: range, programs: str = generators.MIXED, modes: tuple | None = None) -> Report:
    """Write and judge the programs of some seeds."""
    report = Report()
    for seed in seeds:
        report.add(*judged(programs, seed, modes))
    return report


def judged(programs: str, seed: int, modes: tuple | None) -> tuple[str, str, list[Outcome]]:
    """Write and judge the program of a seed; return its name, its text, and what came of it."""
    source = generators.write(programs, seed)
    return f"{programs} {seed}", source, judge(source, seed, modes)


def work(task: Work, modes: tuple | None, results: Connection) -> None:
    """Judge programs in a process of its own: send each seed before, and the outcomes after."""
    limit_memory()
    programs, seeds = task
    for seed in seeds:
        results.send(seed)
        results.send(judged(programs, seed, modes))
    results.close()


def run_all(
    names: list[str],
    first: int,
    count: int,
    jobs: int,
    modes: tuple | None = None,
    progress: int = 2000,
) -> Report:
    """Judge `count` programs of each generator in several processes.

    Each process ends after a while, since the engine remembers what it has traced. One that dies
    is noted as a crash, and another one goes on behind that program.
    """
    fork = multiprocessing.get_context("fork")
    waiting: list[Work] = [
        (name, range(start, min(start + CHUNK, first + count)))
        for start in range(first, first + count, CHUNK)
        for name in names
    ][::-1]
    running: dict[Connection, tuple[Work, int | None]] = {}
    report = Report()
    while waiting or running:
        while waiting and len(running) < jobs:
            task = waiting.pop()
            receive, send = fork.Pipe(duplex=False)
            fork.Process(target=work, args=(task, modes, send), daemon=True).start()
            send.close()
            running[receive] = (task, None)
        for receive in wait(list(running)):
            task, current = running[receive]
            try:
                message = receive.recv()
            except EOFError:
                del running[receive]
                if current is not None:
                    name, seeds = task
                    died = Outcome("crash", "plain", "DeadProcess: the process has died")
                    report.add(f"{name} {current}", generators.write(name, current), [died])
                    waiting.append((name, range(current + 1, seeds.stop)))
                continue
            if isinstance(message, int):
                running[receive] = (task, message)
                continue
            running[receive] = (task, None)
            report.add(*message)
            if report.programs % progress == 0:
                print(f"{report.programs} programs", file=sys.stderr, flush=True)
    multiprocessing.active_children()  # which have ended: this takes them off the list
    return report


def shrunk_apart(source: str, seed: int, outcome: Outcome) -> str:
    """Make a program short in a process of its own: one of those tried may end it."""
    fork = multiprocessing.get_context("fork")
    receive, send = fork.Pipe(duplex=False)

    def make() -> None:
        limit_memory()
        send.send(shrunk(source, seed, outcome))

    fork.Process(target=make, daemon=True).start()
    send.close()
    try:
        return str(receive.recv())
    except EOFError:
        return f"# The process that made this shorter has died.\n{source}"


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and return 1 if something failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first program")
    parser.add_argument("--count", type=int, default=20_000, help="how many of each generator")
    parser.add_argument(
        "--programs", default=generators.MIXED, help="generators, with commas between, or all"
    )
    parser.add_argument(
        "--modes", help=f"of {','.join(NAMED)}, or all but the last (default: the first three)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--show", type=int, default=10, help="failures to make short and print")
    parser.add_argument("--keep", type=Path, help="a folder to write these to")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    names = _chosen(parser, options.programs, generators.names())
    modes = None
    if options.modes:
        modes = MODES if options.modes == "all" else tuple(_chosen(parser, options.modes, [*NAMED]))
    report = run_all(names, options.seed, options.count, options.jobs, modes)
    seconds = time.perf_counter() - start
    print(report.table(), flush=True)
    for name, outcome, source in report.examples(options.show):
        seed = int(name.rpartition(" ")[2])
        short = source if outcome.mode == "plain" else shrunk_apart(source, seed, outcome)
        print(f"{'=' * 30} {name}: {outcome.kind} in {outcome.mode}\n{outcome.detail}\n")
        print(f"{short}\n", flush=True)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            place = options.keep / f"fuzz_{name.replace(' ', '_')}_{outcome.mode}.py"
            place.write_text(short + "\n")
    print(f"\n{seconds:.0f} s, {1000 * seconds / max(report.programs, 1):.1f} ms per program")
    if report.failures:
        print("Each again: make fuzz ARGS='--programs NAME --seed S --count 1 --modes MODE'")
    return bool(report.failures)


def _chosen(parser: argparse.ArgumentParser, text: str, known: list[str]) -> list[str]:
    """Return the names in a list with commas; end with a message for one that is not known."""
    if text == "all":
        return known
    names = text.split(",")
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"{unknown[0]!r} is none of {', '.join(known)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
