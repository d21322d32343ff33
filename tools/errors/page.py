"""Write the page of the catalogue."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections import defaultdict

from tools.errors.entries import ROOT, Entry, entries, run

HEAD = """\
# Errors and warnings

Every error and warning of the three packages, with a program that triggers it, what it says, and
programs that do what it says to. `python -m tools.errors` writes this page; `tests/tools/errors`
runs the programs.
"""


def page() -> str:
    """Return the page as Markdown."""
    by_kind: dict[type, list[Entry]] = defaultdict(list)
    for entry in entries():
        by_kind[entry.kind].append(entry)
    lines = [HEAD]
    for kind in sorted(by_kind, key=lambda k: k.__name__):
        lines += [f"## {kind.__name__}", "", _summary(kind), ""]
        for entry in by_kind[kind]:
            lines += _section(entry)
    return "\n".join(lines)


def _summary(kind: type) -> str:
    text = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    return f"{text} (`{kind.__module__}.{kind.__qualname__}`)"


def _section(entry: Entry) -> list[str]:
    raised = run(entry)
    message = "" if raised is None else shortened(raised.text)
    lines = [f"### {entry.title}", "", "```python", body(entry.program), "```", ""]
    lines += ["```text", *textwrap.wrap(message, 96), "```", ""]
    for what, program in entry.remedies:
        lines += [f"{what}:", "", "```python", body(program), "```", ""]
    return lines


def body(program: object) -> str:
    """Return the statements of a program."""
    source = inspect.getsource(program)  # type: ignore[arg-type] # a function
    _, _, rest = source.partition("-> None:\n")
    return textwrap.dedent(rest).rstrip()


def shortened(text: str) -> str:
    """Return a message with paths as they are in the repository, and no addresses.

    Functions that a program defines are named as they would be in a module of the reader's.
    """
    text = re.sub(r"\btools\.errors\.programs(\.\w+)+(\.<locals>)?\.", "", text)
    text = re.sub(r"\b\w+\.<locals>\.", "", text)
    text = re.sub(r"(/[^\s,()]*)*/site-packages/", "", text)
    text = re.sub(r"(/[^\s,()]*)*/lib/python3\.\d+/", "", text)
    text = text.replace(f"{ROOT}/", "")
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return re.sub(r"(\.py(?:, line |:))\d+", r"\1…", text)
