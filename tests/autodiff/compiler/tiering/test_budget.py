"""Making a program has a limit, however many turns a loop has that no program can run."""

import operator
import types

import numpy as np
import pytest

from autodiff import compile, gradient
from autodiff.autocompile import Settings, call_records, program_builder
from autodiff.compiler.compile_errors import BudgetExceededError
from autodiff.compiler.tiering import backoff, budget
from autodiff.compiler.tiering.backoff import Backoff
from autodiff.compiler.tiering.budget import Budget


def prints(x, n):
    y = x
    for i in range(n):
        y = 0.99 * y + 0.1 * np.sin(x * i)
        if i == n:
            print(y)
    return y


def reduces(x, n):
    a = x
    for _ in range(n):
        a = np.hypot.reduce([0.5 * a, 1.0 + 0.1 * x, 0.3])
    return a


def writes_a_block(x, n):
    w = np.full((3, 3), 0.1) * x
    for _ in range(n):
        w[np.ix_([0, 1], [1, 2])] += 0.001 * x
        w = np.tanh(w)
    return np.sum(w)


def takes_turns(x, n):
    def turns(n):
        yield from range(n)

    for _ in turns(n):
        x = x - 0.001 * np.sin(x)
    return x


FUNCTIONS = [prints, reduces, writes_a_block, takes_turns]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("n", [20, 1000])
def test_first_calls_are_right_if_they_give_up(monkeypatch, f, n):
    monkeypatch.setattr(budget, "SECONDS", 0.5)
    compiled = compile(lambda x: gradient(f, x, n, argnums=0))
    found = compiled(0.7)
    traced = gradient(f, 0.7, n, argnums=0)
    np.testing.assert_allclose(found, traced, rtol=1e-9)
    difference = (f(0.7 + 1e-6, n) - f(0.7 - 1e-6, n)) / 2e-6
    np.testing.assert_allclose(found, difference, rtol=1e-4, atol=1e-8)
    if compiled.variants == 0:
        why = compiled.eager_because
        assert "more than 0." in why or "its loops run from their source" in why
        assert "straight line" not in {loop.state for loop in compiled.report().loops}
    np.testing.assert_allclose(compiled(0.8), gradient(f, 0.8, n, argnums=0), rtol=1e-9)


def test_a_recording_that_is_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(budget, "SECONDS", 0.0)
    monkeypatch.setattr(budget, "TIMES", 0)
    compiled = compile(lambda x: gradient(prints, x, 30, argnums=0))
    expected = gradient(prints, 0.7, 30, argnums=0)
    assert compiled(0.7) == expected
    assert compiled.variants == 0
    assert "BudgetExceededError" in compiled.eager_because
    assert "prints" in str(compiled.report())


def test_the_next_recording_waits_until_calls_have_taken_as_long(monkeypatch):
    made = []
    monkeypatch.setattr(budget, "SECONDS", 0.0)
    monkeypatch.setattr(budget, "TIMES", 0)
    monkeypatch.setattr(Budget, "spent", property(lambda b: made.append(b) or 1e9))
    compiled = compile(lambda x: gradient(prints, x, 30, argnums=0))
    for _ in range(5):
        compiled(0.7)
    assert len(set(map(id, made))) == 1
    monkeypatch.undo()
    compiled.clear()
    compiled(0.7)
    assert compiled.variants == 1
    assert compiled.eager_because is None


def test_the_next_recording_may_take_as_long_as_some_calls(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(budget, "clock", lambda: now[0])
    monkeypatch.setattr(budget, "SECONDS", 3.0)
    waiting = Backoff()
    waiting.note_too_long(1.8, 0.01)
    assert waiting.has_debt
    assert waiting.budget().left == 3.0
    waiting.note_too_long(1.8, 0.25)
    assert not waiting.has_debt
    assert waiting.budget().left == 5.0


def test_the_next_recording_may_take_as_long_as_all_calls(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(budget, "clock", lambda: now[0])
    monkeypatch.setattr(budget, "SECONDS", 3.0)
    monkeypatch.setattr(backoff.time, "perf_counter", lambda: now[0])
    waiting = Backoff()
    waiting.note_too_long(3.0, 0.1)
    calls = 0
    while waiting.has_debt:
        waiting.pay_off(lambda: now.__setitem__(0, now[0] + 0.1))
        calls += 1
    assert calls in (40, 41)
    for _ in range(60):
        waiting.pay_off(lambda: now.__setitem__(0, now[0] + 0.1))
    assert waiting.budget().left > 10.0


def test_long_operations_have_more_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(budget, "clock", lambda: now[0])
    given = Budget(3.0)
    now[0] = 1.7
    given.check_recording()
    now[0] = 2.0
    with pytest.raises(BudgetExceededError, match=r"more than 1\.8 s"):
        given.check_recording()
    given.inside = 1.0
    now[0] = 11.9
    given.check_recording()
    now[0] = 19.0
    given.check()
    assert given.left == 1.0
    with pytest.raises(BudgetExceededError, match="more than 12 s"):
        given.check_recording()


def test_automatic_compilation_keeps_to_its_limit(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(budget, "clock", lambda: now[0])
    given = Budget(1.0, is_automatic=True)
    given.inside = 1.0
    assert given.has_time_to_compile(0.9)
    assert not given.has_time_to_compile(1.1)
    assert Budget(1.0).has_time_to_compile(1.1)
    with given.uncounted():
        now[0] = 0.3
    given.check_recording()
    now[0] = 0.45
    with pytest.raises(BudgetExceededError, match=r"more than 0\.4 s"):
        given.check_recording()
    now[0] = 0.7
    given.check()
    now[0] = 0.8  # the rest is for Python, which compiles the source
    with pytest.raises(BudgetExceededError):
        given.check()


def test_arrays_may_take_so_much_memory():
    given = Budget(memory=100)
    given.take(60)
    with pytest.raises(BudgetExceededError, match="memory"):
        given.take(60)


def test_machine_code_that_takes_too_long_is_not_made_at_once(monkeypatch):
    from autodiff.compiler.kernels import array_kernels

    if not array_kernels.is_installed():
        pytest.skip("machine code needs llvmlite")
    made = []
    original = array_kernels.Kernel.compiled
    noted = lambda k, *more: made.append(k) or original(k, *more)  # noqa: E731
    monkeypatch.setattr(array_kernels.Kernel, "compiled", noted)
    monkeypatch.setattr(Budget, "allows", staticmethod(operator.not_))
    compiled = compile(lambda x: gradient(prints, x, 30, argnums=0), backend="native")
    for _ in range(3):
        compiled(0.7)
        assert compiled.variants == 1
        assert not made
    assert compiled(0.7) == pytest.approx(gradient(prints, 0.7, 30, argnums=0), rel=1e-12)
    assert made  # it was asked for
    monkeypatch.undo()
    made.clear()
    noted = lambda k, *more: made.append(k) or original(k, *more)  # noqa: E731
    monkeypatch.setattr(array_kernels.Kernel, "compiled", noted)
    compiled = compile(lambda x: gradient(prints, x, 30, argnums=0), backend="native")
    compiled(0.7)
    assert made


def test_automatic_compilation_has_as_long_as_all_calls_took(monkeypatch):
    given = []
    # One of its own, of which no program has been read.
    f = types.FunctionType(reduces.__code__.replace(), reduces.__globals__, "f")

    class Noted(Budget):
        def __init__(self, seconds, memory, is_automatic):
            assert is_automatic
            (record,) = [r for k, r in call_records.records.items() if id(f.__code__) in k]
            assert seconds == min(max(call_records.STALL, 2.0 * record.spent), 3.0)
            given.append(seconds)
            super().__init__(seconds, memory, is_automatic)

    monkeypatch.setattr(program_builder, "Budget", Noted)
    monkeypatch.setattr(Settings, "enabled", True)
    monkeypatch.setattr(Settings, "seconds", 0.0)
    call_records.records.clear()
    for _ in range(60):
        gradient(f, 0.7, 30, argnums=0)
    assert given
    call_records.records.clear()


def test_reading_the_source_of_loops_does_not_count(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(budget, "clock", lambda: now[0])
    given = Budget(3.0)
    now[0] = 1.0
    with given.uncounted():
        now[0] = 6.0
        with given.uncounted():  # a program that runs another one
            now[0] = 9.0
    assert given.spent == 1.0
    given.check_recording()
    now[0] = 9.9
    with pytest.raises(BudgetExceededError):
        given.check_recording()
