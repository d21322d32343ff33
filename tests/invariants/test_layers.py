"""The layers: who may import whom, read from the source of every module without running any."""

import ast
import functools
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]

MAY_IMPORT = {
    "chainrules_core": {"numpy", "multipledispatch"},
    "chainrules": {"numpy", "scipy", "chainrules_core"},
    "autodiff": {"numpy", "chainrules_core", "chainrules"},
}
ADAPTERS = {
    "hips_autograd": "autograd",
    "jax_calls": "jax",
    "jax_functions": "jax",
    "jax_primitives": "jax",
    "nutpie_models": "nutpie",
    "pytensor_ops": "pytensor",
    "pytorch": "torch",
    "torch_functions": "torch",
}
# What packs functions for other processes, and what reads files.
READ_LATE = {("packing", "cloudpickle"), ("loading", "pyarrow"), ("loading", "zarr")}


class Import(NamedTuple):
    """One imported module: `from a.b import c` may mean the module a.b.c, and is written so."""

    module: str
    line: int
    late: bool  # inside a function
    typing: bool = False  # for a type checker alone

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


@functools.cache
def imports(source: str, package: str) -> tuple[Import, ...]:
    """Every import of a module of `package`; relative and dynamic ones included."""
    parents = package.split(".")
    # Most of a tree are expressions: without a dynamic import, there is none in them.
    is_dynamic = "import_module" in source or "__import__" in source
    waiting: list[tuple[ast.AST, bool, bool]] = [(ast.parse(source), False, False)]
    found = []
    while waiting:
        node, late, typing = waiting.pop()
        match node:
            case ast.Import(names):
                for alias in names:
                    found.append(Import(alias.name, node.lineno, late, typing))
            case ast.ImportFrom(module, names, level):
                base = parents[: len(parents) + 1 - level] if level else []
                base += [module] if module else []
                for alias in names:
                    name = ".".join([*base, alias.name])
                    found.append(Import(name, node.lineno, late, typing))
            case ast.Call(
                ast.Name("__import__" | "import_module") | ast.Attribute(attr="import_module"),
                [ast.Constant(str(module)), *_],
            ):
                found.append(Import(module, node.lineno, late, typing))
            case ast.If(ast.Name("TYPE_CHECKING")):
                waiting += [(child, late, True) for child in node.body]
                waiting += [(child, late, typing) for child in node.orelse]
                continue
            case ast.expr() if not is_dynamic:
                continue
        late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        waiting += [(child, late, typing) for child in ast.iter_child_nodes(node)]
    return tuple(found)


_ADDRESSES = ("scipy", "scipy.special.cython_special")


def allowed(package: str, path: Path, source: str, found: Import) -> bool:
    if package == "autodiff" and found.top == "chainrules":
        return found.module == "chainrules"
    if package == "chainrules_core" and found.top == "scipy":
        # Sparse projectors may import scipy.sparse late, where someone else has loaded it before.
        room = path.relative_to(ROOT).parts[1]
        guarded = room.startswith("projection") and "sys.modules" in source
        return guarded and found.late and found.module.startswith("scipy.sparse")
    if package == "autodiff" and found.top == "rich":
        # The tree of explain and the progress of a fit are drawn with rich, where it is there.
        return found.late and (path.parent.name == "explanation" or path.name == "progress.py")
    if package == "autodiff" and path.parent.name == "optimize":
        # Fits are over SciPy's solvers, and their history is drawn with matplotlib if it is there.
        drawn = found.late and path.name == "history.py" and found.top == "matplotlib"
        if found.module.startswith("scipy.optimize") or drawn:
            return True
    if package == "autodiff" and found.module.startswith("scipy.linalg.blas"):
        # Products are added to arrays in one pass, which NumPy does not offer.
        return path.name == "blas_sums.py"
    if package == "autodiff" and found.module.startswith("scipy.linalg.lapack"):
        # Factors of matrices are kept, which NumPy does not offer.
        return found.late and path.name == "shared_factorisations.py"
    if package == "autodiff" and found.module in _ADDRESSES:
        # The addresses of these functions, for machine code.
        return "native" in path.parts
    if package == "autodiff" and (path.stem, found.top) in READ_LATE:
        return found.late and path.parent.name == "distributed"
    if package == "autodiff" and found.top == "pandas":
        # Loaded when a Series or a function of pandas is met.
        return path.name in ("pandas_columns.py", "pandas_windows.py")
    if package == "autodiff" and found.top == "llvmlite":
        # Programs become machine code where it is installed: these modules are loaded only then.
        # `settings.py` asks for its version.
        return "native" in path.parts or path.name in ("machine_code.py", "settings.py")
    if package == "autodiff" and found.top in ADAPTERS.values():
        # Each adapter is loaded when it is asked for, and imports its own system alone.
        return path.parent.name == "interop" and ADAPTERS.get(path.stem) == found.top
    if package == "chainrules" and found.top == "rich":
        # What prints the table of coverage asks for it at need, and says so where it is absent.
        return found.late and path.relative_to(ROOT).parts[1] == "coverage"
    return found.top in MAY_IMPORT[package] | {package} or found.top in sys.stdlib_module_names


def violations(package: str, path: Path, source: str) -> list[str]:
    parent = ".".join(path.relative_to(ROOT).parent.parts)
    return [
        f"{path.relative_to(ROOT)}:{found.line} imports {found.module}"
        for found in imports(source, parent)
        if not allowed(package, path, source, found)
    ]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_one_way(package):
    paths = sorted((ROOT / package).rglob("*.py"))
    assert paths
    assert [v for p in paths for v in violations(package, p, p.read_text("utf-8"))] == []


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_every_folder_of_modules_is_a_package(package):
    folders = {path.parent for path in (ROOT / package).rglob("*.py")}
    assert [str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").exists()] == []


@pytest.mark.parametrize(
    "path, source",
    [
        ("chainrules_core/rules.py", "import chainrules"),
        ("chainrules_core/rules.py", "from autodiff.trace.tape import Tape"),
        ("chainrules_core/rules.py", "def f(): import scipy"),
        ("chainrules_core/projection/project_to.py", "import sys, scipy.sparse; sys.modules"),
        ("chainrules_core/projection/project_to.py", "def f(): import scipy.sparse"),
        ("chainrules_core/projection/project_to.py", "def f(): sys.modules; import scipy.linalg"),
        ("chainrules/linalg/norms.py", "import autodiff"),
        ("chainrules/linalg/norms.py", "importlib.import_module('autodiff.trace.tape')"),
        ("chainrules/linalg/norms.py", "from tests.helpers import draw"),
        ("chainrules/linalg/norms.py", "def f(): import rich"),
        ("chainrules/coverage/writing.py", "import rich"),
        ("autodiff/dispatch/call.py", "from chainrules import linalg"),
        ("autodiff/dispatch/call.py", "def f(): import chainrules.linalg.norms"),
        ("autodiff/dispatch/call.py", "import scipy"),
        ("autodiff/dispatch/call.py", "def f(): import torch"),
        ("autodiff/interop/pytorch.py", "import jax"),
        ("autodiff/dispatch/call.py", "from benchmarks import timing"),
        ("autodiff/optimize/fits.py", "from scipy import linalg"),
        ("autodiff/optimize/fits.py", "def f(): import rich"),
        ("autodiff/optimize/history.py", "import matplotlib"),
        ("autodiff/optimize/progress.py", "import rich"),
        ("autodiff/distributed/packing.py", "import cloudpickle"),
        ("autodiff/distributed/workers.py", "def f(): import distributed"),
    ],
)
def test_a_violation_is_seen(path, source):
    assert len(violations(path.partition("/")[0], ROOT / path, source)) == 1


@pytest.mark.parametrize(
    "path, source",
    [
        ("chainrules_core/projection/sparse.py", "def f(): sys.modules; from scipy import sparse"),
        ("chainrules/linalg/norms.py", "from ..names import Array; from . import einsum"),
        ("chainrules/coverage/writing.py", "def f(): from rich.table import Table"),
        ("autodiff/interop/pytorch.py", "import torch.nn"),
        ("autodiff/optimize/fits.py", "from scipy import optimize"),
        ("autodiff/optimize/history.py", "def f(): from matplotlib import pyplot"),
        (
            "autodiff/dispatch/call.py",
            "import chainrules, math, numpy.linalg; from .tape import Tape",
        ),
    ],
)
def test_what_is_allowed_passes(path, source):
    assert violations(path.partition("/")[0], ROOT / path, source) == []
