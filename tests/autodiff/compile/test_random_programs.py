"""Random programs on small arrays: their kernels, run as Python, against the eager gradient."""

import warnings

import numpy as np
import pytest

from tools.fuzz.compiled import difference, of_anything, of_arrays

FIRST, GROUP = 40_000, 8


def compared(make, seeds, backend="numba"):
    found = {}
    for seed in seeds:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source, program, arguments = make(seed)
            message = difference(program, arguments, backend)
        if message:
            found[seed] = f"{message}\n{source}"
    return found


@pytest.mark.parametrize("group", range(6))
def test_kernels_of_small_arrays(group, interpreted):
    first = FIRST + group * GROUP
    assert not compared(of_arrays, range(first, first + GROUP))
    assert interpreted


@pytest.mark.parametrize("group", range(3))
def test_programs_of_any_kind(group, interpreted):
    first = 3_100_000 + group * GROUP
    assert not compared(of_anything, range(first, first + GROUP))


def test_a_difference_is_noticed():
    calls = []

    def impure(x):
        calls.append(1)
        return np.sum(x * x) * len(calls)

    assert difference(impure, (np.ones(3),), "python")
    assert not difference(lambda x: np.sum(x * x), (np.ones(3),), "python")


def test_a_seed_writes_one_program():
    assert of_arrays(5)[0] == of_arrays(5)[0] != of_arrays(6)[0]
