"""The generator of programs about memory: it is broad, and a short run finds nothing wrong."""

from __future__ import annotations

import pytest

from tools.fuzz.generators import aliasing
from tools.fuzz.judge import judge, load


def test_the_same_seed_writes_the_same_program() -> None:
    assert aliasing.write(3) == aliasing.write(3)
    assert len({aliasing.write(seed) for seed in range(50)}) > 45


def test_all_phrases_are_used() -> None:
    programs = "\n".join(aliasing.write(seed) for seed in range(3000))
    for phrases in (aliasing.MAKE, aliasing.USE, aliasing.WRITE, aliasing.FORM, aliasing.LOOK):
        for phrase in phrases:
            start = phrase.partition("\n")[0].partition("{k}")[0]
            assert start.replace("{{", "{").replace("}}", "}") in programs, phrase


def test_programs_run() -> None:
    failed = 0
    for seed in range(100):
        program, arguments = load(aliasing.write(seed))
        try:
            program(*arguments)
        except Exception:
            failed += 1
    assert failed < 10


@pytest.mark.parametrize("block", range(4))
def test_a_short_run_finds_nothing(block: int) -> None:
    for seed in range(40 * block, 40 * (block + 1)):
        source = aliasing.write(seed)
        failed = [(o.mode, o.detail) for o in judge(source, seed) if o.failed]
        assert failed == [], source
