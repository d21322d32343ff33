"""Code for expressions is written at the first call here, where a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autodiff.dispatch import dispatch_cache
from tests.helpers import forget_fused


@pytest.fixture
def fused_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have code written at the first call, and forget what was written before and after."""
    monkeypatch.setattr(dispatch_cache, "OFTEN", 1)
    forget_fused()
    yield
    forget_fused()
