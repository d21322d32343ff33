"""The three distributions and the checkout as a whole agree in what they state."""

import re
import tomllib
from pathlib import Path

import pytest

from chainrules_core import __version__

ROOT = Path(__file__).parents[2]
FOLDERS = ["core", "rules", "autodiff"]
# Extras of the checkout that are for who works on it.
OWN = {"demo", "test", "systems", "packages", "bench", "dev", "docs", "browser"}


def project(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]


WHOLE = project(ROOT)
PARTS = {folder: project(ROOT / "packaging" / folder) for folder in FOLDERS}


def test_names():
    assert [part["name"] for part in PARTS.values()] == [
        "chainrules-core", "chainrules-rules", "chainrules-autodiff",
    ]  # fmt: skip
    assert "Private :: Do Not Upload" in WHOLE["classifiers"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_all_state_alike(folder):
    part = PARTS[folder]
    for key in ("license", "authors", "requires-python"):
        assert part[key] == WHOLE[key]
    assert [*part["classifiers"], "Private :: Do Not Upload"] == WHOLE["classifiers"]


def test_each_needs_just_this_version_of_those_below():
    below = {f"chainrules-core=={__version__}", f"chainrules-rules=={__version__}"}
    named = {d for part in PARTS.values() for d in part["dependencies"] if "chainrules" in d}
    assert named == below


def test_the_whole_needs_what_the_parts_need():
    outside = {d for part in PARTS.values() for d in part["dependencies"] if "chainrules" not in d}
    outside.discard("numpy>=2.3")  # of the core, which works with an older one
    assert outside == set(WHOLE["dependencies"])


def test_the_engine_has_the_extras_of_the_whole():
    extras = WHOLE["optional-dependencies"]
    assert PARTS["autodiff"]["optional-dependencies"] == {
        name: needed for name, needed in extras.items() if name not in OWN
    }


def test_newest_release_of_the_changelog_is_this_version():
    released = re.findall(
        r"^## \[(\d.*?)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    )
    assert released[0] == __version__
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
