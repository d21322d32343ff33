"""One direction: no circle of imports, late ones counted, and no module assigns into another."""

import ast
import functools
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.invariants.test_layers import ROOT, imports

PACKAGES = ("chainrules_core", "chainrules", "autodiff")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for package in PACKAGES for path in (ROOT / package).rglob("*.py")}


@functools.cache
def imported(name: str) -> set[str]:
    """Return the modules of ours that a module imports when it runs, at its top or late."""
    is_package = MODULES[name].name == "__init__.py"
    package = name if is_package else name.rpartition(".")[0]
    found = set()
    for one in imports(MODULES[name].read_text("utf-8"), package):
        if not one.typing:
            found.add(one.module if one.module in MODULES else one.module.rpartition(".")[0])
    return (found & MODULES.keys()) - {name}


def test_there_is_no_circle_of_imports():
    try:
        TopologicalSorter({name: imported(name) for name in MODULES}).prepare()
    except CycleError as error:
        pytest.fail("a circle of imports: " + " <- ".join(error.args[1]))


def assigned_elsewhere(tree: ast.Module) -> list[str]:
    """Return the statements at the top of a module that assign to an attribute of another one."""
    modules = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if f"{node.module}.{alias.name}" in MODULES
    }
    return [
        ast.unparse(node)
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id in modules
    ]


# A line at the top of a module that may assign to an attribute.
ASSIGNED = re.compile(r"^\w[^\n]*\.\w[^\n]*=", re.MULTILINE)


def test_no_module_assigns_into_another():
    sources = {name: path.read_text("utf-8") for name, path in MODULES.items()}
    trees = {name: ast.parse(text) for name, text in sources.items() if ASSIGNED.search(text)}
    found = {name: assigned_elsewhere(tree) for name, tree in trees.items()}
    assert not {name: statements for name, statements in found.items() if statements}


def test_a_circle_and_an_assignment_would_be_found():
    source = "from autodiff.dispatch import call\ncall.planned = 1\nlocal.planned = 2"
    assert ASSIGNED.search(source)
    tree = ast.parse(source)
    assert assigned_elsewhere(tree) == ["call.planned = 1"]
    assert "autodiff.dispatch.call" in imported("autodiff.wiring")
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()
