"""The generator of programs for code without source finds what it is for."""

from __future__ import annotations

import ast
import linecache
import random
from collections import Counter
from typing import Any

import pytest

from tools.fuzz import judge
from tools.fuzz.generators import unverified


def load(source: str) -> tuple:
    """Run a program whose text is not kept."""
    linecache.cache.pop(judge.FILE, None)
    namespace: dict[str, Any] = {"__name__": "fuzzed"}
    exec(compile(source, "<string>", "exec"), namespace)
    return namespace["program"], namespace["ARGUMENTS"]


def test_it_writes_the_same_program_for_a_seed() -> None:
    state = random.getstate()
    assert unverified.write(7) == unverified.write(7)
    assert random.getstate() == state
    assert len({unverified.write(seed) for seed in range(50)}) == 50
    for seed in range(50):
        ast.parse(unverified.write(seed))


def test_its_programs_are_right_or_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "load", load)
    kinds: Counter = Counter()
    for seed in range(60):
        source = unverified.write(seed)
        for outcome in judge.judge(source, seed):
            assert not outcome.failed, f"{outcome}\n{source}"
            kinds[outcome.kind] += 1
    assert kinds["right"] > 5
    assert kinds["error"] > 5
