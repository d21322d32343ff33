"""Random programs compiled beside the same run eagerly: ``python -m tools.fuzz.compiled``.

Each is called several times, with arguments of several sizes: what the recording took for a
constant shows from the second call on. Programs of kind "users" are also called with arguments of
other shapes, dtypes and layouts, that share memory or are read-only, and as derivatives of all
kinds (`tools.fuzz.sessions`); of kind "threads" by four threads at once. What functions of kind
"changes" read from outside changes between their calls (`tools.fuzz.changes`).
"""

from __future__ import annotations

import argparse
import linecache
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from tools.fuzz.arrays import array_program
from tools.fuzz.changes import change_difference, change_program
from tools.fuzz.judge import load
from tools.fuzz.limits import TooSlow, limited
from tools.fuzz.repeated import compiled_difference, points
from tools.fuzz.sessions import FORMS, session_difference, threads_difference
from tools.fuzz.users import user_program
from tools.fuzz.writer import write

CALLS = 4
SECONDS = 60


def of_arrays(seed: int) -> tuple[str, Callable, tuple]:
    """Return a program on small arrays, its function and arguments."""
    source, n = array_program(seed)
    name = f"<arrays {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), namespace)
    rng = np.random.default_rng(seed)
    return source, namespace["f"], (rng.standard_normal(n), rng.standard_normal((n, n)))


def of_anything(seed: int) -> tuple[str, Callable, tuple]:
    """Return a program of the writer's, its function and arguments."""
    source = write(seed).source
    return source, *load(source)


def compared(kind: str, seed: int, backend: str) -> tuple[str, str]:
    """Return the text of a program, and how its compiled form differs; nothing if it does not."""
    if kind in ("users", "threads"):
        source, f, given = user_program(seed)
        form = FORMS[seed % len(FORMS)]
        compare = session_difference if kind == "users" else threads_difference
        found = compare(f, given, form, backend, seed)
        return source, found and f"{form}, {found}"
    if kind == "changes":
        return change_program(seed), change_difference(seed)
    source, program, arguments = (of_arrays if kind == "arrays" else of_anything)(seed)
    return source, compiled_difference(program, points(arguments, seed, CALLS), backend)


def main(arguments: list[str] | None = None) -> int:
    """Compare; return 1 if anything differed."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.compiled", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--backend", default="native", choices=("auto", "python", "native"))
    parser.add_argument(
        "--kind", default="arrays", choices=("arrays", "anything", "users", "threads", "changes")
    )
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = ""
            try:
                with limited(SECONDS):
                    source, found = compared(options.kind, seed, options.backend)
            except TooSlow:
                counts["too slow"] += 1
                continue
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
        counts["different" if found else "the same"] += 1
        if found:
            print(f"seed {seed}: {found}\n{source}")
    print(dict(counts))
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
