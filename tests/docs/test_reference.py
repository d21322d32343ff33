"""The reference lists every public name of the packages, and no other."""

import re
from types import ModuleType

import pytest

import autodiff
import chainrules_core
from autodiff import distributed, interop, optimize
from chainrules_core import authoring, engine, testing
from tests.helpers import ROOT


def public(module):
    names = [name for name in vars(module) if not name.startswith("_")]
    return set(getattr(module, "__all__", names)) - {
        name for name in names if isinstance(getattr(module, name), ModuleType)
    }


def listed(page):
    text = (ROOT / "docs" / "reference" / f"{page}.rst").read_text("utf-8")
    names = re.findall(r"^   (\w+)$", text, re.M)
    assert len(names) == len(set(names))
    return set(names)


@pytest.mark.parametrize(
    "page, module",
    [
        ("optimize", optimize),
        ("distributed", distributed),
        ("core", chainrules_core),
        ("testing", testing),
    ],
)
def test_package(page, module):
    assert listed(page) == public(module)


def test_interop():
    assert listed("interop") == set(interop.__all__)  # which are loaded when they are first used


def test_autodiff():
    assert listed("autodiff") == public(autodiff) | {"compile"}


@pytest.mark.parametrize("page, module", [("authoring", authoring), ("engine", engine)])
def test_names_beyond_the_core(page, module):
    elsewhere = public(chainrules_core) | (listed("authoring") if page == "engine" else set())
    assert listed(page) == public(module) - elsewhere
