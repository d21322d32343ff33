"""The template for rules passes its own tests, run as its page says."""

import subprocess
import sys

from tests.helpers import ROOT


def test_template():
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_rules.py"],
        cwd=ROOT / "docs" / "rule_author" / "template",
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "14 passed" in run.stdout
