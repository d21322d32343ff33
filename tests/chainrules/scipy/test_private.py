"""SciPy's private names: in one place, and what a version lacks costs nothing else."""

import ast
import re
from pathlib import Path

import pytest
import scipy

from chainrules.scipy import private
from chainrules.scipy.private import MissingNameError, Private
from tests.helpers import run_python

ROOT = Path(__file__).parents[3]
PACKAGES = ("chainrules_core", "chainrules", "autodiff")
MODULES = """
from scipy import (
    cluster, differentiate, fft, fftpack, integrate, interpolate, linalg, ndimage, optimize, signal,
    sparse, spatial, special, stats,
)
import scipy.cluster.hierarchy, scipy.cluster.vq, scipy.sparse.csgraph, scipy.sparse.linalg
import scipy.spatial.transform, scipy.stats.qmc
"""


def test_what_is_there_is_what_scipy_has():
    from scipy.stats import _stats_py

    module = Private("stats._stats_py")
    assert module.has()
    assert module.has("rankdata")
    assert module.rankdata is module.get("rankdata") is _stats_py.rankdata
    assert module.module() is _stats_py


def test_what_is_missing_is_stood_in_for():
    module = Private("stats._no_such_module")
    assert not module.has()
    assert module.get("name") is None
    assert vars(module.module()).keys() >= {"__name__"}
    with pytest.raises(MissingNameError, match=r"has no scipy\.stats\._no_such_module\.helper,"):
        module.helper(1.0)
    private.stood_in.remove("scipy.stats._no_such_module.helper")

    class Own(module.Base):
        """A class that a rule derives from what is missing."""

    private.stood_in.remove("scipy.stats._no_such_module.Base")


SCRIPT = """
import sys
from chainrules.scipy import private
missing = sys.argv[1]
if missing != "nothing":
    private._found = lambda name, found=private._found: (
        None if missing in ("all", name) else found(name))
    private.Private.__init__ = lambda self, name, owner=None: self.__dict__.update(
        _name=f"scipy.{name}", _found=None if missing == "all" else owner or private._found(
            f"scipy.{name}"))
MODULES
import numpy as np
import autodiff
found = autodiff.gradient(lambda x: np.sum(special.expit(x) * x), np.zeros(2))
np.testing.assert_allclose(found, [0.5, 0.5])
from chainrules_core.registry.pending import load_imported
load_imported()
print(*private.stood_in, sep="\\n")
""".replace("MODULES", MODULES)


def stood_in(missing):
    return run_python("-c", SCRIPT, missing).stdout.split()


def test_no_private_name_is_missing():
    # A new version of SciPy comes with other names: see what has become of these.
    assert [name for name in stood_in("nothing") if name not in GONE] == []


# What versions of SciPy have dropped, or did not have yet; its rules are for the others.
GONE: set[str] = set()


def test_nothing_private_is_needed_for_the_rest():
    assert len(stood_in("all")) > 30


def private_names(path):
    """The private names of NumPy and SciPy that a file imports, or reads of their modules."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            root: ast.expr = node
            while isinstance(root, ast.Attribute):
                root = root.value
            is_theirs = isinstance(root, ast.Name) and root.id in ("np", "numpy", "scipy")
            names = [ast.unparse(node)] if is_theirs else []
        else:
            continue
        for name in names:
            first, *rest = name.split(".")
            if first in ("np", "numpy", "scipy") and any(re.match("_[^_]", n) for n in rest):
                yield name


def test_private_names_are_used_in_one_place():
    allowed = {ROOT / "chainrules_core/interpreter/no_value.py"}
    found = {
        path: names
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if (names := [*private_names(path)]) and path not in allowed
    }
    assert found == {}
    assert scipy.__version__
