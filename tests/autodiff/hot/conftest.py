import pytest

from autodiff import compile, hot
from autodiff.hot import making, records

# The compiler has rules of its own, and what is known is forgotten where rules come.
assert making
compile(lambda x: x)(1.0)


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
