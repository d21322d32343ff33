"""The directive `constructs`: which Python programs are differentiated, read from the tests.

The page lists what `tests/programs` holds, so nothing is claimed that no test runs.
"""

import importlib
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PROGRAMS = Path(__file__).parents[2] / "tests" / "programs"


def rows(module: ModuleType) -> list[tuple[Callable[..., Any], str]]:
    """List the programs of a module, each with its state: "works", or the error it raises."""
    working = [(f, "works") for f, _ in module.PROGRAMS]
    raising = [(f, f"raises {errors}") for f, _, errors in module.NOT_YET]
    return [*working, *raising]


class Constructs(SphinxDirective):
    """A foldable list of programs for each module of `tests/programs`."""

    def run(self) -> list[nodes.Node]:
        """Make the lists."""
        result: list[nodes.Node] = []
        for path in sorted(PROGRAMS.glob("[!t]*.py")):
            self.env.note_dependency(str(path))
            module = importlib.import_module(f"tests.programs.{path.stem}")
            title = (inspect.getdoc(module) or "").splitlines()[0]
            programs = rows(module)
            result.append(nodes.rubric(text=title.removeprefix("Programs of ").capitalize()))
            works = sum(state == "works" for _, state in programs)
            result.append(nodes.paragraph(text=f"{works} of {len(programs)} programs work."))
            for f, state in programs:
                source = textwrap.dedent(inspect.getsource(f))
                summary = f"<summary>{f.__name__.replace('_', ' ')}: {state}</summary>"
                result.append(nodes.raw("", f'<details class="program">{summary}', format="html"))
                result.append(nodes.literal_block(source, source, language="python"))
                result.append(nodes.raw("", "</details>", format="html"))
        return result


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("constructs", Constructs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
