"""Each name of a module or class of the engine stands for one thing, and folders stay small."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ["autodiff", "chainrules_core"]
# The settings of a room are read together with its name: `autocompile.Settings`, `calls.Settings`.
SHARED = {"Settings"}
LARGEST_FOLDER = 18  # modules


def _modules(package: str) -> list[Path]:
    return [path for path in (ROOT / package).rglob("*.py") if path.name != "__init__.py"]


def _repeated(names: list[str]) -> set[str]:
    return {name for name, n in Counter(names).items() if n > 1}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_two_modules_have_one_name(package: str) -> None:
    assert _repeated([path.stem for path in _modules(package)]) == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_two_public_classes_have_one_name(package: str) -> None:
    classes = [
        node.name
        for path in _modules(package)
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert len(classes) > 50
    assert _repeated(classes) <= SHARED


@pytest.mark.parametrize("package", [*PACKAGES, "chainrules"])
def test_folders_are_small(package: str) -> None:
    sizes = Counter(path.parent.relative_to(ROOT).as_posix() for path in _modules(package))
    assert {folder: n for folder, n in sizes.items() if n > LARGEST_FOLDER} == {}


def test_a_repeated_name_is_seen() -> None:
    assert _repeated(["ir", "kinds", "ir"]) == {"ir"}
