"""Packages name their rules by an entry point; distributions that clash are named."""

import shutil
import subprocess
import sys
import textwrap
import tomllib
import warnings
from pathlib import Path

import pytest

from chainrules_core.installed import DistributionWarning, warn_of_clashes

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "examples" / "package_with_rules"


def distribution(folder, name, version="0.1", entry_points=""):
    """Install the metadata of a distribution in a folder."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if entry_points:
        (info / "entry_points.txt").write_text(entry_points)


def entry_points_of(pyproject):
    """What an installer makes of the entry points of a pyproject.toml."""
    groups = tomllib.loads(pyproject.read_text("utf-8"))["project"]["entry-points"]
    return "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in groups.items()
    )


@pytest.fixture
def installed(tmp_path):
    """Install the sample package of examples/ in a folder, as an installer does."""
    if not SAMPLE.exists():
        pytest.skip("the sample package is not part of the distribution that is tested")
    shutil.copytree(SAMPLE / "growth", tmp_path / "growth")
    distribution(tmp_path, "growth", entry_points=entry_points_of(SAMPLE / "pyproject.toml"))
    return tmp_path


def run(folder, code, *options):
    command = [sys.executable, *options, "-c", textwrap.dedent(code)]
    path = f"import sys; sys.path.append({str(folder)!r})\n"
    command[-1] = path + command[-1]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_rules_are_found_once_the_package_is_imported(installed):
    code = """
    from chainrules_core import rrule, frule
    assert rrule(max, 1.0, 2.0) is None and "growth" not in sys.modules
    import growth
    assert "growth.rules" not in sys.modules
    y, pullback = rrule(growth.logistic, 2.0, 0.5)
    assert "growth.rules" in sys.modules
    h = 1e-6
    slope = (growth.logistic(2.0 + h, 0.5) - growth.logistic(2.0 - h, 0.5)) / (2 * h)
    assert abs(pullback(1.0)[1] - slope) < 1e-8
    assert abs(frule((0.0, 1.0, 0.0), growth.logistic, 2.0, 0.5)[1] - slope) < 1e-8
    """
    found = run(installed, code)
    assert found.returncode == 0, found.stderr


def test_a_package_that_is_being_imported_is_waited_for(installed):
    # It asks for a rule before its own functions are there, which its rules name.
    text = (installed / "growth" / "__init__.py").read_text()
    early = "from chainrules_core import rrule\nassert rrule(len, ()) is None\n"
    (installed / "growth" / "__init__.py").write_text(early + text)
    found = run(
        installed,
        """
        import growth
        from chainrules_core import rrule
        assert rrule(growth.logistic, 2.0, 0.5)
        """,
    )
    assert found.returncode == 0, found.stderr


def test_rules_of_ones_own_are_not_replaced_by_those_that_come_later(installed):
    found = run(
        installed,
        """
        import growth
        from chainrules_core import rrule, scalar_rule
        scalar_rule(growth.logistic, 7.0, 8.0)
        assert rrule(growth.logistic, 2.0, 0.5)[1](1.0)[1:] == (7.0, 8.0)
        """,
    )
    assert found.returncode == 0, found.stderr


def test_rules_that_fail_name_their_distribution(installed):
    (installed / "growth" / "rules.py").write_text("import absent_module")
    found = run(
        installed,
        """
        import growth
        from chainrules_core import rrule
        rrule(growth.logistic, 2.0, 0.5)
        """,
    )
    assert "ModuleNotFoundError" in found.stderr
    assert "growth.rules has the rules of growth" in found.stderr
    assert "distribution growth (group chainrules.rules)" in found.stderr


@pytest.mark.parametrize(
    "names, said",
    [
        (["chainrules-core", "chainrules-python"], "installed side by side"),
        (["chainrules-autodiff", "chainrules-python"], "or chainrules-autodiff, but not both"),
        (["autodiff"], "then install chainrules-autodiff again"),
        (["autodiff", "chainrules-python"], "then install chainrules-python again"),
        (["chainrules-core", "chainrules-rules", "chainrules-autodiff"], ""),
    ],
)
def test_distributions_that_clash_are_named(tmp_path, names, said):
    for name in names:
        distribution(tmp_path, name)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn_of_clashes([str(tmp_path), "/not/there"])
    assert [w.category for w in found] == [DistributionWarning] * bool(said)
    assert not said or said in str(found[0].message)


def test_the_first_import_looks_for_distributions_that_clash(tmp_path):
    distribution(tmp_path, "autodiff")
    found = run(tmp_path, "import chainrules_core")
    assert "DistributionWarning" in found.stderr
    assert "pip uninstall autodiff" in found.stderr
