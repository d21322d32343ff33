"""Programs about sparse arrays that share memory are of many kinds, and none of them is wrong."""

from __future__ import annotations

import pytest

from tools.fuzz.generators import sparse_memory
from tools.fuzz.judge import judge, load


def test_all_phrases_are_used() -> None:
    programs = "\n".join(sparse_memory.write(seed) for seed in range(4000))
    for phrases in (
        sparse_memory.ENTRIES, sparse_memory.MAKE, sparse_memory.DERIVE, sparse_memory.WRITE,
        sparse_memory.READ,
    ):  # fmt: skip
        for phrase in phrases:
            assert max(phrase.partition("\n")[0].split("{"), key=len)[2:] in programs, phrase


def test_most_programs_run() -> None:
    failed = 0
    for seed in range(100):
        program, arguments = load(sparse_memory.write(seed))
        try:
            program(*arguments)
        except Exception:
            failed += 1
    assert failed < 60


@pytest.mark.parametrize("block", range(4))
def test_a_short_run_finds_nothing(block: int) -> None:
    for seed in range(30 * block, 30 * (block + 1)):
        source = sparse_memory.write(seed)
        failed = [(o.mode, o.detail) for o in judge(source, seed) if o.failed]
        assert failed == [], source
