"""Each file, function and class that a page names, as `trace/tape.sweep`, is there."""

import ast
import re

import pytest

from tests.helpers import ROOT

REFERENCE = re.compile(r"`(\w+(?:/\w+)+)((?:\.\w+)*)`")
PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if REFERENCE.search(page.read_text("utf-8"))
]
FOLDERS = ["autodiff", "benchmarks", "chainrules", "chainrules_core", "docs", "examples", "tests"]
PATHS = {
    "/" + str(path.relative_to(ROOT))
    for folder in [*FOLDERS, "tools"]
    for path in (ROOT / folder).rglob("*")
    if "_build" not in path.parts and "__pycache__" not in path.parts
}


def ends_with(end):
    return [path for path in PATHS if path.endswith("/" + end)]


def has(text, names):
    """Whether a module defines ``Class.method`` and the like at its top."""
    body = ast.parse(text).body
    for name in names:
        found = [node for node in body if name in names_of(node)]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True


def names_of(node):
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def is_there(path, dotted):
    """Whether a reference, such as ``("trace/tape", ".sweep")``, names something."""
    if ends_with(path + dotted):  # a folder, or a file with its suffix
        return True
    modules = ends_with(path + ".py")
    names = dotted.split(".")[1:]
    return any(has((ROOT / module[1:]).read_text("utf-8"), names) for module in modules)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_references(page):
    references = REFERENCE.findall(page.read_text("utf-8"))
    assert [path + dotted for path, dotted in references if not is_there(path, dotted)] == []


def test_what_is_not_there_is_found():
    assert is_there("trace/tape", ".Tape.close")
    assert not is_there("trace/tape", ".Tape.absent")
    assert not is_there("trace/tape", ".absent")
    assert not is_there("trace/absent", "")
    assert not is_there("trace/absent", ".py")
