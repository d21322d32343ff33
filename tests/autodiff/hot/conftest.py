import pytest

from autodiff import hot
from autodiff.hot import records


@pytest.fixture
def soon(monkeypatch):
    """Make programs after the second call."""
    monkeypatch.setattr(hot.Settings, "enabled", True)
    monkeypatch.setattr(hot.Settings, "calls", 2)
    monkeypatch.setattr(hot.Settings, "seconds", 0.0)
    monkeypatch.setattr(hot.Settings, "loading", 0.0)
    monkeypatch.setattr(records, "SECONDS_BY_STEP", 1e-9)
    monkeypatch.setattr(records, "TIMES", 0.0)
    records.records.clear()
    yield
    records.records.clear()
