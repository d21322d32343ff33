"""Differentiate random calls: ``python -m tools.calls --seed 0 --count 50 --only median``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tools.calls import numpy_calls, scipy_calls
from tools.calls.draw import Draw
from tools.calls.judge import judge

LINES = numpy_calls.LINES + scipy_calls.LINES


def main(arguments: list[str] | None = None) -> int:
    """Judge; return 1 if a derivative was wrong, or an error."""
    parser = argparse.ArgumentParser(prog="python -m tools.calls", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--count", type=int, default=20, help="rounds, each with all lines")
    parser.add_argument("--only", default="", help="functions whose name contains this")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        for number, line in enumerate(LINES):
            if options.only not in line.name:
                continue
            for outcome in judge(line, 1000 * seed + number, second=True):
                counts[outcome.kind] += 1
                if outcome.kind in ("wrong", "error"):
                    call = line.make(Draw(1000 * seed + number))
                    print(
                        f"{outcome.kind} {outcome.mode} {line.name} seed {seed}: {outcome.detail}"
                    )
                    print(f"    {call}")
    print(dict(counts))
    return 1 if counts["wrong"] or counts["error"] else 0


if __name__ == "__main__":
    sys.exit(main())
