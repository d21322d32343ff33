"""The fuzzer of what changes outside of functions."""

import pytest

from autodiff.compiler.recording.content_guards import Snapshot
from tools.fuzz.changes import HOLDERS, change_difference, change_program


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_some_programs(first):
    found = {seed: change_difference(seed) for seed in range(first, len(HOLDERS), 60)}
    assert not any(found.values()), found


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_some_programs_with_loops(first):
    seeds = range(len(HOLDERS) + first, 3 * len(HOLDERS), 60)
    found = {seed: change_difference(seed) for seed in seeds}
    assert not any(found.values()), found


def test_it_notices_what_is_not_compared(monkeypatch):
    monkeypatch.setattr(Snapshot, "has_changed", lambda self: False)
    seeds = [seed for seed, line in enumerate(HOLDERS) if "self.k = 2.0;o_ = C() | o_.k" in line]
    assert seeds
    assert any(change_difference(seed) for seed in seeds), change_program(seeds[0])
