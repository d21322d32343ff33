from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers import unregister_rules_of


@pytest.fixture(autouse=True)
def rules_of_the_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Take the rules that a test registers away after it: those defined in its own file."""
    yield
    unregister_rules_of(request.path)
