from __future__ import annotations

from collections.abc import Iterator

import pytest

from chainrules_core import frule, rrule


@pytest.fixture(autouse=True)
def rules_of_the_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Take the rules that a test registers away after it: those defined in its own file."""
    yield
    for table in (rrule, frule):
        ours = [r for r in table.methods() if r.defined_at.startswith(str(request.path))]
        for f in dict.fromkeys(r.f for r in ours):
            table.unregister(f)
