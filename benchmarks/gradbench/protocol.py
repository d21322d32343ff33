"""The tool's side of GradBench's protocol: a JSON message a line, and a response to each.

The specification is CONTRIBUTING.md, section Protocol, of github.com/gradbench/gradbench: "start"
and "analysis" are acknowledged by their id, "define" asks whether a module is there, "evaluate"
for the value of one of its functions. What goes wrong in either is told in the response, with
``success: false``; a line that is no message has no id to respond to and ends the session.
"""

from __future__ import annotations

import importlib
import json
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TextIO

EVALS = (
    "hello",
    "llsq",
    "lse",
    "ode",
    "det",
    "kmeans",
    "gmm",
    "lstm",
    "ba",
    "ht",
    "particle",
    "saddle",
)


@dataclass(frozen=True)
class Task:
    """A function of an eval: only `run` is timed.

    Attributes
    ----------
    prepare : callable
        Takes the input as it comes from JSON; returns the arguments of `run`.
    run : callable
        The function itself.
    report : callable
        Takes what `run` returns, and makes of it what JSON can hold.
    """

    prepare: Callable[[Any], tuple]
    run: Callable[..., Any]
    report: Callable[[Any], Any]


class ProtocolError(Exception):
    """A line that is no message of the protocol."""


def tasks_of(module: str) -> dict[str, Task]:
    """Return the functions of an eval."""
    if module not in EVALS:
        raise LookupError(f"no module {module!r}; there are {', '.join(EVALS)}")
    return importlib.import_module(f"benchmarks.gradbench.{module}").TASKS


def evaluated(task: Task, given: Any) -> dict[str, Any]:
    """Run a task as often as its input demands; return the output and the timings."""
    wanted = given if isinstance(given, dict) else {}
    min_runs, min_seconds = wanted.get("min_runs", 1), wanted.get("min_seconds", 0)
    args = task.prepare(given)
    timings: list[int] = []
    elapsed, output = 0, None
    while not timings or len(timings) < min_runs or elapsed < 1e9 * min_seconds:
        start = time.perf_counter_ns()
        output = task.run(*args)
        timings.append(time.perf_counter_ns() - start)
        elapsed += timings[-1]
    return {
        "success": True,
        "output": task.report(output),
        "timings": [{"name": "evaluate", "nanoseconds": ns} for ns in timings],
    }


def response_to(message: dict[str, Any]) -> dict[str, Any]:
    """Return the response to a message."""
    response = {"id": message["id"]}
    kind = message["kind"]
    if kind == "start":
        return response | {"tool": "autodiff"}
    if kind not in ("define", "evaluate"):
        return response
    try:
        tasks = tasks_of(message["module"])
        if kind == "define":
            return response | {"success": True}
        name = message["function"]
        if name not in tasks:
            raise LookupError(
                f"module {message['module']!r} has no function {name!r}; "
                f"it has {', '.join(map(repr, tasks))}"
            )
        return response | evaluated(tasks[name], message["input"])
    except LookupError as error:
        return response | {"success": False, "error": str(error)}
    except Exception:  # each message gets a response, whatever an eval raises
        return response | {"success": False, "error": traceback.format_exc()}


def message_in(line: str) -> dict[str, Any]:
    """Return the message that a line holds."""
    try:
        message = json.loads(line)
    except json.JSONDecodeError as error:
        raise ProtocolError(f"a line is not JSON ({error}): {line[:200]!r}") from None
    if not isinstance(message, dict) or not {"id", "kind"} <= message.keys():
        raise ProtocolError(f"a message is an object with an id and a kind, not {line[:200]!r}")
    return message


def serve(lines: Iterable[str], out: TextIO) -> None:
    """Respond to each message until there are no more."""
    for line in lines:
        if line.strip():
            print(json.dumps(response_to(message_in(line))), file=out, flush=True)
