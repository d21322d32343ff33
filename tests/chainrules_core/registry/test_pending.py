"""Modules of rules that are loaded when somebody needs them."""

from __future__ import annotations

import pytest

from chainrules_core import rrule, rules


def test_another_thread_loads_the_rules_during_a_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lookup has found none, and this thread has nothing left to load."""

    def f(x: float) -> float:
        return x

    def loaded_by_another() -> None:
        rrule.register(f)(lambda x: (x, lambda y_bar: y_bar))

    found = rrule.entry(f)
    assert found is None
    with monkeypatch.context() as patch:
        calls = iter([loaded_by_another])
        patch.setattr(rules, "load_imported", lambda: next(calls, lambda: None)())
        entry = rrule.entry(f)
    assert entry is not None
    assert len(entry.rules) == 1
