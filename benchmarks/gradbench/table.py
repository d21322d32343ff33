"""Run the tool on workloads of its own, through its protocol, and print a table of the times."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.gradbench.protocol import EVALS, tasks_of
from benchmarks.gradbench.workloads import WORKLOADS


class Session:
    """The tool in a process of its own."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "benchmarks.gradbench"]
        self._tool = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._sent = 0

    def ask(self, **message: Any) -> dict[str, Any]:
        self._tool.stdin.write(json.dumps({"id": self._sent} | message) + "\n")
        self._tool.stdin.flush()
        response = json.loads(self._tool.stdout.readline() or '{"error": "the tool has died"}')
        if response.get("id") != self._sent:
            raise RuntimeError(f"message {self._sent} had the response {response}")
        self._sent += 1
        return response

    def close(self) -> None:
        self._tool.stdin.close()
        self._tool.stdout.close()
        self._tool.wait(timeout=20)


def times(session: Session, module: str, given: Any, seconds: float) -> dict[str, Any]:
    """The times of each function of an eval in milliseconds, or what went wrong."""
    if isinstance(given, dict):
        given = given | {"min_runs": 1, "min_seconds": seconds}
    found: dict[str, Any] = {}
    session.ask(kind="define", module=module)
    for function in tasks_of(module):
        response = session.ask(kind="evaluate", module=module, function=function, input=given)
        if response["success"]:
            found[function] = [t["nanoseconds"] / 1e6 for t in response["timings"]]
        else:
            found[function] = response["error"].strip().splitlines()[-1]
    return found


def main() -> int:
    """Print the table; return 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=EVALS, default=EVALS)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each function, at least")
    options = parser.parse_args()
    table = Table(title="GradBench's evals by autodiff", caption="milliseconds, one thread")
    for column in ("eval", "workload", "function"):
        table.add_column(column)
    for column in ("median", "fastest", "first", "runs"):
        table.add_column(column, justify="right")
    status, rng = 0, np.random.default_rng(7)
    session = Session()
    session.ask(kind="start", eval="all")
    for module, title, make in WORKLOADS:
        if module not in options.only:
            continue
        print(f"  {module} ...", file=sys.stderr, flush=True)
        for function, found in times(session, module, make(rng), options.seconds).items():
            if isinstance(found, str):
                status = 1
                table.add_row(module, title, function, f"[red]{found}")
                continue
            numbers = (statistics.median(found), min(found), found[0])
            cells = [f"{ms:,.3f}" for ms in numbers]
            table.add_row(module, title, function, *cells, str(len(found)))
    session.close()
    Console().print(table)
    return status


if __name__ == "__main__":
    sys.exit(main())
