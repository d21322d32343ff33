"""The table in its outward forms: on the terminal, as Markdown, as JSON."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable

from chainrules.coverage.known import MODULES
from chainrules.coverage.rows import MISSING, STATES, Row

_COLOURS = {
    "ruled": "green", "traced": "cyan", "non-differentiable": "dim", "error by design": "yellow",
    "out of scope": "dim", "missing": "bold red",
}  # fmt: skip


_INTRODUCTION = """\
Every public callable of these modules, with the methods and properties of their classes and
distributions, and how it is differentiated; `make coverage` writes this page from the live
registry.

* *ruled*: it has a rule, in the modes that the last column names (where there is none for forward
  mode, the engine turns the reverse rule round), or another body is differentiated in its place;
* *traced*: without a rule of its own, the engine differentiates what it calls; a test shows it;
* *non-differentiable*: integers, truth values, texts, steps, draws by rejection; *declared* if a
  rule says so, *refused* if a traced value in it is an error that says why;
* *error by design*: it is differentiable, but a traced value in it is an error that says why;
* *out of scope*: exceptions, abstract types, configuration;
* *missing*: still to come."""


def by_module(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows of each module, and those of the methods of its classes and objects."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        module, _, owner = row.module.rpartition(".")
        if row.module in MODULES or module not in MODULES:
            found.setdefault(row.module, []).append(row)
        else:
            method = row._replace(name=f"{owner}.{row.name}")
            found.setdefault(f"{module}: methods", []).append(method)
    return found


def counts(rows: Iterable[Row]) -> str:
    """Return how many rows are in each state, in words."""
    found = Counter(row.state for row in rows)
    return ", ".join(f"{found[state]} {state}" for state in STATES if found[state])


def as_json(rows: Iterable[Row]) -> str:
    """Return the rows as a JSON list of objects."""
    return json.dumps([row._asdict() for row in rows], indent=1) + "\n"


def as_markdown(rows: Iterable[Row], title: str = "Coverage") -> str:
    """Return the rows as a Markdown page: a summary, then one table for each module."""
    modules = by_module(rows)
    head = ["module", *STATES]
    lines = [f"# {title}", "", _INTRODUCTION, ""]
    lines += [_line(head), _line(["---"] + ["--:"] * len(STATES))]
    for module, found in modules.items():
        number = Counter(row.state for row in found)
        lines.append(_line([_in_code(module), *[str(number[state] or "") for state in STATES]]))
    for module, found in modules.items():
        lines += ["", f"## {module}", "", _line(["name", "kind", "state", ""]), _line(["---"] * 4)]
        lines += [_line([f"`{r.name}`", r.kind, r.state, r.detail]) for r in found]
    return "\n".join(lines) + "\n"


def _in_code(module: str) -> str:
    name, colon, what = module.partition(":")
    return f"`{name}`{colon}{what}"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def show(rows: list[Row]) -> None:
    """Print the rows on the terminal.

    Raises
    ------
    SystemExit
        If rich, an optional dependency, is not installed.
    """
    try:
        from rich.console import Console
        from rich.table import Table
    except ModuleNotFoundError:
        sys.exit(
            "the table is printed with rich, which is not installed: pip install rich, or write "
            "the table to a file with --markdown FILE or --json FILE."
        )
    # As wide as it needs to be where the output is no terminal.
    console = Console() if sys.stdout.isatty() else Console(width=140)
    for module, found in by_module(rows).items():
        table = Table("name", "kind", "state", "", title=module, caption=counts(found))
        for row in found:
            state = f"[{_COLOURS[row.state]}]{row.state}[/]"
            table.add_row(row.name, row.kind, state, row.detail)
        console.print(table)
    missing = sum(row.state == MISSING for row in rows)
    console.print(f"{len(rows)} public callables: {counts(rows)}")
    if missing:
        console.print(f"[bold red]{missing} missing[/]")
