import math

import pytest

from autodiff import autocompile, compile
from autodiff.autocompile import call_records, program_builder
from autodiff.compiler.tiering import promotion

# The compiler has rules of its own, and what is known is forgotten where rules come.
assert program_builder
compile(lambda x: x)(1.0)


@pytest.fixture
def soon(monkeypatch):
    """Make programs after the second call."""
    monkeypatch.setattr(autocompile.Settings, "enabled", True)
    monkeypatch.setattr(autocompile.Settings, "calls", 2)
    monkeypatch.setattr(autocompile.Settings, "seconds", 0.0)
    monkeypatch.setattr(autocompile.Settings, "loading", 0.0)
    monkeypatch.setattr(call_records, "STALL", 60.0)
    monkeypatch.setattr(call_records, "RECORDING_RATIO", 0.0)
    call_records.records.clear()
    yield
    call_records.records.clear()


@pytest.fixture
def machine_code(soon, monkeypatch):
    """Make machine code of each program when its first call is compared, and keep it."""
    paid = promotion.paid
    monkeypatch.setattr(promotion, "paid", lambda variant, spent, most: paid(variant, math.inf))
    monkeypatch.setattr(program_builder, "clock", lambda: 0.0)
