"""The command ``python -m chainrules coverage``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from chainrules.coverage.known import MODULES
from chainrules.coverage.rows import STATES, coverage
from chainrules.coverage.writing import as_json, as_markdown, counts, show


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m chainrules")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "coverage", help="show which public functions have rules, from the live registry"
    )
    command.add_argument(
        "modules", nargs="*", metavar="module", help="such as numpy.linalg or math; all by default"
    )
    command.add_argument("--state", choices=STATES, help="only the rows in this state")
    command.add_argument("--markdown", metavar="FILE", type=Path, help="write a Markdown page")
    command.add_argument("--json", metavar="FILE", type=Path, help="write a list of objects")
    options = parser.parse_args(arguments)
    try:
        rows = coverage(options.modules or MODULES)
    except ModuleNotFoundError as error:
        parser.error(f"{error}. Modules of the table: {' '.join(MODULES)}")
    if options.state:
        rows = [row for row in rows if row.state == options.state]
    if options.markdown:
        options.markdown.write_text(as_markdown(rows), encoding="utf-8")
    if options.json:
        options.json.write_text(as_json(rows), encoding="utf-8")
    if options.markdown or options.json:
        print(f"{len(rows)} public callables: {counts(rows)}")
    else:
        show(rows)
    return 0
