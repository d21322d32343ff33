"""The generator of observations: its programs run, and the judge finds nothing wrong in some."""

import warnings

import numpy as np
import pytest

from autodiff import CompileError, compile
from tools.fuzz.generators.observations import PHRASES, write
from tools.fuzz.judge import judge, load


def test_programs_are_told_by_their_seeds():
    assert write(7) == write(7) != write(8)


@pytest.mark.parametrize("section", ["of truth", "of integer", "of row"])
def test_each_way_observes_a_value(section):
    assert all("VALUE" in phrase for phrase in PHRASES[section])


def test_most_programs_run():
    failed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(300):
            program, arguments = load(write(seed))
            try:
                program(*arguments)
            except Exception:
                failed += 1
    assert failed < 30


@pytest.mark.parametrize("seed", range(40))
def test_traced_programs(seed):
    assert not [o for o in judge(write(seed), seed) if o.failed]


@pytest.mark.parametrize("seed", range(60))
def test_compiled_programs(seed):
    program, (x, s) = load(write(seed))
    compiled = compile(program, backend="python")
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(8):
            try:
                expected = program(x, s)
            except Exception as error:
                with pytest.raises(type(error)):
                    compiled(x, s)
            else:
                try:
                    np.testing.assert_allclose(compiled(x, s), expected, rtol=1e-12)
                except CompileError:
                    break
            x, s = rng.uniform(-1, 1, 4), float(rng.uniform(-1, 1))
