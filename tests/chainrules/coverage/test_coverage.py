"""The table of public functions: complete for NumPy and Python, and as the registry says."""

import json
import re
import sys
from pathlib import Path

import pytest
from scipy import stats

from chainrules.coverage import MODULES, Row, coverage
from chainrules.coverage.command import main
from chainrules.coverage.known import (
    FILES,
    KINDS,
    NUMPY,
    PYTHON,
    SCIPY,
    WORDS,
    known_of,
    known_of_methods,
)
from chainrules.coverage.rows import CONSTANT, ERROR, MISSING, OUT, STATES, owner_of, public
from chainrules.coverage.writing import as_json, as_markdown
from chainrules.random.draws import DISCRETE, REJECTION
from chainrules.refused import MEMORY, refuse
from chainrules_core import frule, non_differentiable, rrule, scalar_rule

OF_POINTS = "ConvexHull HalfspaceIntersection KDTree Rectangle SphericalVoronoi Voronoi cKDTree"
DISTRIBUTIONS = (stats.rv_continuous, stats.rv_discrete)
ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "coverage.md"


@pytest.fixture(scope="module")
def rows():
    return coverage((*PYTHON, *NUMPY))


def row_of(module, name):
    return next(row for row in coverage([module]) if row.name == name)


def test_every_public_callable_of_numpy_and_python_is_in_a_class(rows):
    # A new release brings new names: state in chainrules/coverage/facts what they are.
    assert [row[:2] for row in rows if row.kind == "unknown"] == []


def test_no_function_of_numpy_and_python_is_missing(rows):
    assert [row[:2] for row in rows if row.state == MISSING] == []
    assert all(row.detail for row in rows if row.state == ERROR)


def test_few_functions_that_mathematics_differentiates_are_errors():
    errors = [row for row in coverage(MODULES) if row.state == ERROR]
    assert sum(row.module in MODULES for row in errors) <= 20
    # Methods are rows of each class that inherits them.
    assert len({(row.name, row.detail) for row in errors if row.module not in MODULES}) <= 10
    assert all(row.detail and row.kind in ("differentiable", "higher-order") for row in errors)


def test_there_are_as_many_as_there_should_be(rows):
    assert len(rows) > 1100
    assert len(coverage(MODULES)) > 7500
    assert sum(row.module == "numpy" for row in rows) > 400


def test_every_class_that_is_differentiable_has_its_methods_in_the_table():
    """By introspection: of the public classes and objects of SciPy and NumPy's arrays."""
    named = {row.module for row in coverage(MODULES)}
    without = [
        f"{module}.{name}"
        for module in SCIPY
        for name in public(owner_of(module))
        if isinstance(member := getattr(owner_of(module), name), type)
        and known_of(module).kinds.get(name) in ("differentiable", "higher_order")
        and name not in known_of(module).errors
        and any(not attribute.startswith("_") for attribute in dir(member))
        and f"{module}.{name}" not in named
    ]
    # Trees, hulls and diagrams: what they hold is asked of the function that makes them.
    assert set(without) <= {f"scipy.spatial.{name}" for name in OF_POINTS.split()}
    distributions = [name for name in vars(stats) if isinstance(vars(stats)[name], DISTRIBUTIONS)]
    assert len(distributions) > 100
    assert [name for name in distributions if f"scipy.stats.{name}" not in named] == []


def test_methods_of_a_class_are_what_is_said_of_the_nearest_class():
    rows = {row.name: row for row in coverage(["scipy.stats.cauchy"])}
    assert rows["pdf"].kind == "differentiable"
    assert (rows["mean"].kind, rows["mean"].state) == ("non-differentiable", CONSTANT)
    assert coverage(["scipy.stats.norm"])[0].module == "scipy.stats.norm"
    assert known_of_methods("no.class", int).kinds == {}


@pytest.mark.parametrize("module", MODULES)
def test_each_name_is_stated_once(module):
    known = known_of(module)
    assert known.kinds
    assert known.traced <= known.kinds.keys()
    assert known.errors.keys() <= known.kinds.keys()
    assert not known.traced & known.errors.keys()


def test_modules_without_facts_are_unknown():
    row = row_of("textwrap", "dedent")
    assert row == Row("textwrap", "dedent", "unknown", MISSING, "")
    with pytest.raises(ModuleNotFoundError):
        coverage(["no_such_module"])
    with pytest.raises(ModuleNotFoundError):
        coverage(["numpy.no_such_class"])


@pytest.mark.parametrize(
    "module, name, state, detail",
    [
        ("numpy", "tanh", "ruled", "reverse, forward"),
        ("numpy", "argmax", "non-differentiable", "declared"),
        ("numpy", "iinfo", "non-differentiable", ""),
        ("numpy", "piecewise", "ruled", "by another body"),
        ("numpy", "apply_along_axis", "traced", ""),
        ("numpy", "matrix", OUT, "refused: the operators of matrices are not those of arrays"),
        ("numpy", "ndarray", ERROR, MEMORY.partition(". ")[0]),
        ("numpy.random", "beta", CONSTANT, f"refused: {REJECTION.partition('. ')[0]}"),
        ("numpy.random.Generator", "poisson", CONSTANT, f"refused: {DISCRETE.partition('. ')[0]}"),
        ("numpy.ndarray", "sum", "traced", ""),
        ("numpy.ndarray", "item", "ruled", "reverse, forward"),
        ("numpy.random", "normal", "ruled", "reverse, forward"),
        ("numpy.random.Generator", "normal", "ruled", "reverse, forward"),
        ("numpy.random.Generator", "choice", "ruled", "by another body"),
        ("builtins", "ValueError", "out of scope", ""),
        ("builtins", "sum", "traced", ""),
        ("math", "sin", "ruled", "reverse, forward"),
        ("math", "floor", "non-differentiable", "declared"),
    ],
)
def test_rows(module, name, state, detail):
    row = row_of(module, name)
    assert (row.state, row.detail) == (state, detail)


def test_the_table_follows_the_registry():
    def changed(x):
        return x

    name = "changed"
    sys.modules[__name__].__dict__[name] = changed  # now public
    rows = lambda: row_of(__name__, name)  # noqa: E731
    try:
        assert rows().state == MISSING
        scalar_rule(changed, 1)
        assert rows()[3:] == ("ruled", "reverse, forward")
        frule.unregister(changed)
        assert rows()[3:] == ("ruled", "reverse")
        rrule.unregister(changed)
        non_differentiable(changed)
        assert rows()[3:] == ("non-differentiable", "declared")
        rrule.unregister(changed)
        frule.unregister(changed)
        refuse(changed, "a reason. And what to do.")
        assert rows()[3:] == (ERROR, "a reason")
    finally:
        del sys.modules[__name__].__dict__[name]
        for table in (rrule, frule):
            if table.methods(changed):
                table.unregister(changed)


# ---------------------------------------------------------------------------------- the command


def test_printed(capsys):
    pytest.importorskip("rich")
    assert main(["coverage", "math", "numpy.linalg"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"solve +│ differentiable +│ ruled +│ reverse, forward", out)
    n = len(coverage(["math", "numpy.linalg"]))
    assert f"{n} public callables:" in out


def test_one_state_only(capsys):
    pytest.importorskip("rich")
    main(["coverage", "math", "--state", "non-differentiable"])
    out = capsys.readouterr().out
    assert "floor" in out
    assert "sinh" not in out


def test_written(tmp_path, capsys):
    page, data = tmp_path / "page.md", tmp_path / "data.json"
    main(["coverage", "math", "--markdown", str(page), "--json", str(data)])
    assert "public callables" in capsys.readouterr().out
    assert "| `sin` | differentiable | ruled | reverse, forward |" in page.read_text("utf-8")
    assert [Row(**row) for row in json.loads(data.read_text("utf-8"))] == coverage(["math"])


def test_an_unknown_module_is_an_error(capsys):
    with pytest.raises(SystemExit):
        main(["coverage", "no_such_module"])
    assert "No module named 'no_such_module'" in capsys.readouterr().err


def test_without_rich(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(SystemExit, match="pip install rich, or write the table to a file"):
        main(["coverage", "math"])


# ------------------------------------------------------------------------------------- the page


def rows_of_page():
    """The rows of the page in the docs: (module, name) → the cells that follow."""
    found, module = {}, None
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            module = line[3:]
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if module and line.startswith("| `"):
            name, owner = cells[0].strip("`"), module
            if module.endswith(": methods"):
                last, _, name = name.rpartition(".")
                owner = f"{module.removesuffix(': methods')}.{last}"
            found[owner, name] = cells[1:]
    return found


def test_the_page_is_up_to_date(rows):
    """For NumPy and Python; names that only one of two releases has do not count."""
    page = rows_of_page()
    changed = [
        (row.module, row.name)
        for row in rows
        if (row.module, row.name) in page
        and page[row.module, row.name] != [c for c in (row.kind, row.state, row.detail) if c]
    ]
    assert changed == [], "run `make coverage`"
    absent = [row[:2] for row in rows if row[:2] not in page]
    if sys.version_info[:2] == (3, 11):
        assert absent == [], "run `make coverage`"
    assert len(absent) < 50


def test_the_page_names_every_module():
    text = PAGE.read_text("utf-8")
    assert [m for m in MODULES if f"\n## {m}\n" not in text] == []
    assert "| `norm.pdf` |" in text


def test_forms_of_the_table():
    ruled = Row("m", "f", "differentiable", "ruled", "a | b")
    rows = [ruled, Row("m", "g", "unknown", MISSING, "")]
    text = as_markdown(rows)
    assert "| `f` | differentiable | ruled | a \\| b |" in text
    assert f"| `m` | 1 |{'  |' * (len(STATES) - 2)} 1 |" in text
    assert json.loads(as_json(rows))[1]["state"] == MISSING


def test_constants_of_the_package():
    assert set(KINDS) == set(WORDS)
    assert len(set(MODULES)) == len(MODULES) == len(PYTHON) + len(NUMPY) + len(SCIPY)
    folder = ROOT / "chainrules" / "coverage" / "facts"
    assert sorted(FILES) == sorted(path.stem for path in folder.glob("*.toml"))
