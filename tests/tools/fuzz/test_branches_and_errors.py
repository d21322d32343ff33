"""Programs about branches that are not chosen and about floating-point errors: none is wrong."""

from __future__ import annotations

import re
import types

import numpy as np
import pytest

from tools.fuzz.generators import float_errors, not_chosen
from tools.fuzz.judge import judge, load

PHRASES = {
    not_chosen: (not_chosen.CHOOSE, not_chosen.TIES, not_chosen.USE),
    float_errors: (float_errors.COMPUTE, float_errors.USE),
}


@pytest.mark.parametrize("generator", PHRASES)
def test_all_phrases_are_used(generator: types.ModuleType) -> None:
    programs = "\n".join(generator.write(seed) for seed in range(2000))
    for phrases in PHRASES[generator]:
        for phrase in phrases:
            parts = re.split(r"\{\w+\}|\n", phrase)
            assert all(part in programs for part in parts), phrase


@pytest.mark.parametrize("generator", PHRASES)
def test_most_programs_run(generator: types.ModuleType) -> None:
    failed = 0
    with np.errstate(all="ignore"):
        for seed in range(60):
            program, arguments = load(generator.write(seed))
            try:
                program(*arguments)
            except Exception:
                failed += 1
    assert failed < 10


def test_errors_decide_which_path_is_taken() -> None:
    differ = 0
    for seed in range(60):
        source = float_errors.write(seed)
        values = []
        for text in (source, source.replace("='raise'", "='ignore'")):
            program, arguments = load(text)
            with np.errstate(all="ignore"):
                values.append(program(*arguments))
        differ += values[0] != values[1]
    assert differ > 5


@pytest.mark.parametrize("generator", PHRASES)
@pytest.mark.parametrize("block", range(2))
def test_a_short_run_finds_nothing(generator: types.ModuleType, block: int) -> None:
    for seed in range(8 * block, 8 * (block + 1)):
        source = generator.write(seed)
        modes = ("reverse", "forward") if seed % 5 else ("automatic", "compiled")
        failed = [(o.mode, o.detail) for o in judge(source, seed, modes) if o.failed]
        assert failed == [], source
