from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from autodiff.compiler.tiering import budget
from autodiff.structured import recorded_calls
from tests import helpers

# Whether a program is made must not depend on how fast the machine is.
budget.SECONDS = budget.AT_ONCE = 600.0
recorded_calls.SECONDS_AS_SOURCE = 600.0


@pytest.fixture(autouse=True)
def rules_of_the_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Take the rules that a test registers away after it: those defined in its own file."""
    yield
    helpers.unregister_rules_of(request.path)


@pytest.fixture
def differences() -> Callable:
    """Return the function that differentiates by central differences."""
    return helpers.differences
