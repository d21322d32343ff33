"""What all tests share: rules that were checked are noted, for the check that none is left out."""

import json
import os
from pathlib import Path

import pytest

from chainrules_core.testing import exercised_rules

FOLDER = os.environ.get("CHAINRULES_EXERCISED")

# The testing kit's own tests make it forget, so what it has noted is collected after each test.
_checked: set[str] = set()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Collect the rules that a test has checked."""
    if FOLDER:
        _checked.update(exercised_rules())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write down which rules this process has checked, if somebody asks for it."""
    if FOLDER:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        Path(FOLDER).mkdir(parents=True, exist_ok=True)
        (Path(FOLDER) / f"{worker}.json").write_text(json.dumps(sorted(_checked)))
