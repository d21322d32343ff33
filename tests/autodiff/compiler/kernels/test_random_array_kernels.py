"""Random programs on small arrays: their kernels, run as Python, against the eager gradient."""

import warnings

import numpy as np
import pytest

from autodiff.compiler.kernels import row_blocks
from tools.fuzz.compiled import CALLS, compared as compared_kind, of_anything, of_arrays
from tools.fuzz.repeated import compiled_difference, points
from tools.fuzz.sessions import Session
from tools.fuzz.users import user_program

FIRST, GROUP = 40_000, 8


def compared(make, seeds, backend="native"):
    found = {}
    for seed in seeds:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source, program, arguments = make(seed)
            message = compiled_difference(program, points(arguments, seed, CALLS), backend)
        if message:
            found[seed] = f"{message}\n{source}"
    return found


@pytest.mark.parametrize("group", range(6))
def test_kernels_of_small_arrays(group, interpreted):
    first = FIRST + group * GROUP
    assert not compared(of_arrays, range(first, first + GROUP))
    assert interpreted


@pytest.mark.parametrize("group", range(6))
def test_kernels_in_blocks_of_rows(group, interpreted, monkeypatch):
    monkeypatch.setattr(row_blocks, "LARGE", 4)
    monkeypatch.setattr(row_blocks, "BLOCK", 6 + group)
    first = FIRST + (10 + group) * GROUP
    assert not compared(of_arrays, range(first, first + GROUP))
    assert any("for block in" in kernel.source for kernel in interpreted)


@pytest.mark.parametrize("group", range(3))
def test_programs_of_any_kind(group, interpreted):
    first = 3_100_000 + group * GROUP
    assert not compared(of_anything, range(first, first + GROUP))


@pytest.mark.parametrize("group", range(4))
def test_programs_of_users(group, interpreted):
    first, found = 9_100_000 + group * GROUP, {}
    for seed in range(first, first + GROUP):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source, message = compared_kind("users", seed, "native")
        if message:
            found[seed] = f"{message}\n{source}"
    assert not found


def test_a_session_notices_what_differs():
    shared = np.zeros(3)

    def kept(x):
        shared[:] = x
        return shared

    def doubled(x):
        x *= 2.0
        return x[:1] * 1.0

    def session(plain, compiled):
        one = Session(plain, compiled)
        messages = [one.difference("call", lambda k=k: [np.full(3, k)]) for k in (1.0, 2.0)]
        return [m for m in (*messages, one.changed()) if m]

    assert "changed later" in session(lambda x: x * 1.0, kept)[0]
    assert "an argument is changed" in session(lambda x: x[:1] * 2.0, doubled)[0]
    assert "share memory" in session(lambda x: x * 1.0, lambda x: x)[0]
    assert "float32" in session(lambda x: x * 1.0, lambda x: x.astype(np.float32))[0]
    assert "eagerly" in session(lambda x: x * 1.0, lambda x: x * 1.001)[0]
    assert "raises" in session(lambda x: x[5], lambda x: x[0])[0]
    assert not session(lambda x: x * 1.0, lambda x: x + 0.0)


def test_a_difference_is_noticed():
    seen = []

    def impure(x):
        seen.append(1)
        return np.sum(x * x) * len(seen)

    calls = [(np.ones(3),)] * 3
    assert compiled_difference(impure, calls, "python")
    assert not compiled_difference(lambda x: np.sum(x * x), calls, "python")


def test_a_seed_writes_one_program():
    assert of_arrays(5)[0] == of_arrays(5)[0] != of_arrays(6)[0]
    assert user_program(5)[0] == user_program(5)[0] != user_program(6)[0]
