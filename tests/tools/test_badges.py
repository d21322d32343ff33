"""The badges of the README say what is true."""

import pytest

from tests.helpers import ROOT
from tools.badges import STATIC, badge, facts


@pytest.mark.parametrize("name", facts())
def test_badge(name):
    label, text = facts()[name]
    assert (STATIC / f"badge_{name}.svg").read_text("utf-8") == badge(label, text), (
        "run python -m tools.badges"
    )
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"![{label}: {text}](docs/_static/badge_{name}.svg)" in readme
