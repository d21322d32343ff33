"""When machine code is made, and which of two programs stays."""

from types import SimpleNamespace

import numpy as np
import pytest

from autodiff import compile, gradient
from autodiff.compiler.compile_errors import MISMATCH
from autodiff.compiler.tiering import promotion
from autodiff.compiler.tiering.promotion import TRIALS, Candidate, settle, watch


class Clock:
    """Time goes by where it is told to."""

    now = 0.0

    def __call__(self):
        return self.now

    def taking(self, seconds, value):
        def run(*args):
            self.now += seconds
            return value

        return run


class Stub:
    filename = source = "before"
    written = with_loops = machine_code = None
    is_slower = is_watched = False

    def __init__(self, run):
        self.run = run
        self.program = SimpleNamespace(steps=[None] * 10)

    def forget(self):
        self.filename = None


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(promotion, "clock", clock)
    return clock


def machine(clock, seconds, is_faster, compiling, value="machine"):
    made = (clock.taking(seconds, value), "file", "machine code")
    return lambda: Candidate(compiling, is_faster, lambda: made)


def calls_until(variant, source, most):
    for n in range(1, most):
        variant.run()
        if variant.source == source:
            return n
    return None


def test_what_is_sure_to_be_faster_is_made_after_a_few_calls(clock):
    variant = Stub(clock.taking(1e-6, "python"))
    watch(variant, 300, machine(clock, 1e-7, True, 0.2), lambda: None)
    assert calls_until(variant, "machine code", 100) == promotion.FEW_CALLS
    assert variant.run() == "machine"


@pytest.mark.parametrize("seconds", [1e-4, 1e-3, 0.1])
def test_what_takes_long_to_make_has_to_have_been_paid(clock, seconds):
    variant = Stub(clock.taking(seconds, "python"))
    watch(variant, 300, machine(clock, 1e-7, True, 10.0), lambda: None)
    assert calls_until(variant, "machine code", 100_000) is not None
    assert 10.0 * promotion.SURE <= clock.now <= 10.0 * promotion.SURE + 4100 * seconds


def test_a_long_program_is_not_even_lowered_before_that_can_pay(clock):
    looks = []
    variant = Stub(clock.taking(1e-3, "python"))
    watch(variant, 20_000, lambda: looks.append(clock.now), lambda: looks.append(clock.now))
    for _ in range(2000):
        variant.run()
    assert len(looks) == 2
    assert min(looks) >= promotion.SURE * promotion.PER_STEP * 20_000


@pytest.mark.parametrize("seconds, calls", [(0.05, 3), (1e-5, 30)])
def test_a_short_program_is_looked_at_after_fewer_calls_if_they_take_long(clock, seconds, calls):
    variant, made = Stub(clock.taking(seconds, "python")), []
    candidate = machine(clock, seconds / 10, False, 0.0)
    watch(variant, 10, lambda: made.append(clock.now) or candidate(), lambda: None)
    for _ in range(40):
        variant.run()
    assert made == [pytest.approx(calls * seconds)]


def test_what_may_be_slower_has_to_have_run_for_longer(clock):
    def paid(is_faster):
        variant, clock.now = Stub(clock.taking(1e-3, "python")), 0.0
        watch(variant, 300, None, machine(clock, 1e-4, is_faster, 10.0))
        assert calls_until(variant, "machine code", 100_000) is not None
        return clock.now

    assert 10.0 * promotion.SURE <= paid(True) < 10.0 * promotion.SHARE <= paid(False)


@pytest.mark.parametrize("seconds, stays", [(1e-4, "machine code"), (1e-2, "before")])
def test_the_faster_one_stays(clock, seconds, stays):
    variant = Stub(clock.taking(1e-3, "python"))
    watch(variant, 10, None, machine(clock, seconds, False, 1.0))
    for _ in range(2000):
        assert variant.run() in ("python", "machine")
    assert variant.source == stays
    assert variant.run() == ("machine" if stays == "machine code" else "python")


def test_machine_code_whose_guards_fail_gives_way(clock):
    variant = Stub(clock.taking(1e-3, "python"))
    watch(variant, 10, None, machine(clock, 1e-5, False, 0.1, MISMATCH))
    assert {variant.run() for _ in range(1000 + 4 * TRIALS)} == {"python"}
    before = clock.now
    assert variant.run() == "python"
    assert clock.now - before < 1.005e-3  # nothing else is tried


def test_where_there_is_none_nothing_is_counted_any_more(clock):
    run = clock.taking(1e-3, "python")
    variant = Stub(run)
    watch(variant, 300, lambda: None, lambda: None)
    for _ in range(1000):
        variant.run()
    assert variant.run is run


def test_what_has_no_machine_code_runs_as_it_is(clock):
    def fails():
        raise np.exceptions.AxisError("unknown")

    run = clock.taking(1e-3, "python")
    variant = Stub(run)
    watch(variant, 300, fails, lambda: None)
    assert [variant.run() for _ in range(9)] == ["python"] * 9
    assert variant.run is run


@pytest.mark.parametrize(
    "seconds, written, stays",
    [(1e-3, 1e-4, "written"), (1e-3, 2e-3, "python"), (1e-5, 1e-6, "python")],
)
@pytest.mark.parametrize("by_machine", [False, True])
def test_on_large_arrays_the_function_as_it_is_written_may_stay(
    clock, seconds, written, stays, by_machine
):
    variant = Stub(clock.taking(seconds, "python"))
    variant.written = clock.taking(written, "written")
    if by_machine:
        watch(variant, 300, None, lambda: None)
    else:
        settle(variant, variant.run)
    for _ in range(100_000):
        assert variant.run() in ("python", "written")
    assert variant.run() == stays
    assert variant.is_slower == (stays == "written")


def test_other_arguments_than_those_of_the_trial_go_to_the_program(clock):
    variant = Stub(clock.taking(1e-3, "python"))
    variant.written = lambda x: "written" if x == 1 else MISMATCH
    settle(variant, variant.run)
    for _ in range(4 * TRIALS):
        variant.run(1)
    assert [variant.run(1), variant.run(2)] == ["written", "python"]


@pytest.mark.parametrize("backend", ["python", "auto"])
def test_a_compiled_function_that_may_step_aside_gives_the_same(monkeypatch, backend):
    monkeypatch.setattr(promotion, "OVERHEAD", 0.0)
    monkeypatch.setattr(promotion, "_FIRST_LOOK", 0.0)
    compiled = compile(lambda x: gradient(lambda x: np.sum(np.sin(x) * x), x), backend=backend)
    for n in (5, 5, 5, 5, 5, 5, 7, 5) * 8:
        x = np.linspace(0.1, 1.0, n)
        np.testing.assert_allclose(compiled(x), np.cos(x) * x + np.sin(x), rtol=1e-14)
    assert compiled.variants == 2


@pytest.mark.parametrize("seconds, is_kept", [(1e-4, True), (1e-2, False)])
def test_a_program_with_loops_takes_turns_after_a_while(clock, seconds, is_kept):
    variant = Stub(clock.taking(1e-3, "turns"))
    other = Stub(clock.taking(seconds, "loops"))
    other.loops, asked = ["machine code"], []
    variant.with_loops = lambda args: asked.append(args) or other
    promotion.contest(variant, variant.run)
    while not asked:
        assert variant.run(1.0) == "turns"
    assert promotion.WITH_LOOPS <= clock.now <= promotion.WITH_LOOPS + 0.1
    for _ in range(2 * TRIALS):
        variant.run(1.0)
    assert {variant.run(1.0) for _ in range(100)} == {"loops" if is_kept else "turns"}
    assert getattr(variant, "loops", None) == (other.loops if is_kept else None)
    assert asked == [(1.0,)]


def test_calls_that_make_machine_code_do_not_count(clock):
    variant, asked = Stub(None), []
    long = iter([1e-5, 1e-5, 2.0, 1.0])
    variant.run = lambda *args: clock.taking(next(long, 1e-5), "turns")(*args)
    variant.with_loops = lambda args: asked.append(args)
    promotion.contest(variant, variant.run)
    for _ in range(1000):
        variant.run(1.0)
    assert not asked
    while not asked:
        variant.run(1.0)
    assert clock.now - 3.0 >= 0.99 * promotion.WITH_LOOPS


def test_a_program_with_loops_that_fails_gives_way(clock):
    def fails(*args):
        raise RuntimeError

    variant, other = Stub(clock.taking(1e-3, "turns")), Stub(fails)
    variant.with_loops = lambda args: other
    promotion.contest(variant, variant.run)
    assert {variant.run(1.0) for _ in range(1000)} == {"turns"}


def smoothed(x, n):
    s = 0.0
    for _ in range(n):
        x = np.tanh(x[::-1] * 0.9 + np.roll(x, 1) * 0.3)
        s = s + np.max(x) * x[0]
    return np.sum(x * x) + s


def test_turns_become_a_loop(monkeypatch):
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(promotion, "WITH_LOOPS", 0.0)
    monkeypatch.setattr(promotion, "_trial", lambda quick, run, use, keep: use() or quick)
    compiled = compile(lambda x: gradient(lambda z: smoothed(z * 1.0, 8), x))
    for k in range(12):
        x = np.cos(np.arange(300.0) + k)
        expected = gradient(lambda z: smoothed(z * 1.0, 8), x)
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-12, atol=1e-13)
    assert [loop.state for loop in compiled.report().loops] == ["machine code"]
    assert compiled.eager_because is None


@pytest.mark.parametrize("written, stays", [(1e-4, "written"), (1e-2, "machine")])
def test_machine_code_is_measured_against_the_function_as_written(clock, written, stays):
    variant = Stub(clock.taking(5e-3, "python"))
    variant.written = clock.taking(written, "written")
    watch(variant, 300, None, machine(clock, 1e-3, False, 0.1))
    promotion.contest(variant, variant.run)
    for _ in range(1000):
        variant.run()
    assert variant.run() == stays
    assert variant.is_slower == (stays == "written")


def test_a_version_that_is_much_slower_runs_twice(clock):
    variant, calls = Stub(clock.taking(1e-3, "python")), []
    variant.written = lambda: calls.append(1) or clock.taking(1.0, "written")()
    settle(variant, variant.run)
    for _ in range(100):
        variant.run()
    assert len(calls) == promotion.FEW_TRIALS


def f_of(p, x, power=2.0):
    return {"y": p["a"] * x**power, "b": [p["b"], x]}


def test_arguments_of_any_structure_are_tried_as_written(monkeypatch):
    monkeypatch.setattr(promotion, "OVERHEAD", 0.0)
    monkeypatch.setattr(promotion, "_trial", lambda quick, run, use, keep: use() or quick)
    compiled = compile(f_of, backend="python")
    x = np.arange(3.0)
    for k in range(2 * TRIALS):
        for p in ({"a": 2.0, "b": (1, x)}, {"a": 3.0, "b": (k, x)}, {"a": x, "b": (1, x)}):
            found = compiled(p, x, power=3.0)
            np.testing.assert_array_equal(found["y"], p["a"] * x**3)
            assert found["b"][0] == p["b"]
    assert "slower" in str(compiled.report())


def _in_place(x, k):
    x *= k
    return x


def _by_out(x, k):
    return np.multiply(x, k, out=x)


def _of_items(x, k):
    x[0] = x[0] * k
    x.append(k)
    return x[0] * k


@pytest.mark.parametrize(
    "f, given",
    [(_in_place, np.ones(3)), (_by_out, np.ones(3)), (_of_items, [1.0])],
    ids=["in place", "out", "list"],
)
def test_no_version_writes_into_arguments(monkeypatch, f, given):
    monkeypatch.setattr(promotion, "OVERHEAD", 0.0)
    monkeypatch.setattr(promotion, "_trial", lambda quick, run, use, keep: use() or quick)
    compiled = compile(f, backend="python")
    expected = f(given.copy(), 2.0)
    for _ in range(3 * TRIALS):
        x = given.copy()
        np.testing.assert_array_equal(compiled(x, 2.0), expected)
        np.testing.assert_array_equal(x, given)
    assert compiled.eager_because is None


def test_machine_code_is_handed_over_once_when_compiling_has_paid(clock):
    variant = Stub(clock.taking(1e-3, "python"))
    variant.machine_code = machine(clock, 1e-4, False, 0.5)
    assert promotion.paid(variant, 0.01) is None
    assert promotion.paid(variant, 0.4) is None
    made = promotion.paid(variant, 0.6)
    assert promotion.paid(variant, 0.6) is None
    promotion.use(variant, made)
    assert (variant.run(), variant.source) == ("machine", "machine code")


def test_machine_code_that_takes_longer_than_a_call_may_wait_is_not_made(clock):
    variant = Stub(clock.taking(1e-3, "python"))
    variant.machine_code = machine(clock, 1e-4, True, 4.0)
    assert promotion.paid(variant, 9.0, 3.0) is None
    assert variant.machine_code is None


def test_machine_code_that_cannot_be_made_is_not_asked_for_again():
    variant = Stub(None)
    for find in (lambda: None, lambda: Candidate(0.1, False, lambda: 1 // 0)):
        variant.machine_code = find
        assert promotion.paid(variant, 1.0) is None
        assert variant.machine_code is None


@pytest.mark.parametrize("error", [ValueError, ZeroDivisionError, FloatingPointError])
def test_machine_code_that_sees_errors_where_there_are_none_gives_way(error):
    def fails():
        raise error

    def run():
        return "python"

    variant = Stub(run)
    promotion.use(variant, (fails, "file", "machine code"))
    for _ in range(promotion._MOST_ERRORS):
        assert variant.run is not run
        assert variant.run() == "python"
    assert variant.run is run


def test_errors_of_both_are_raised_and_machine_code_stays():
    def fails():
        raise FloatingPointError

    variant = Stub(fails)
    promotion.use(variant, (fails, "file", "machine code"))
    for _ in range(20):
        with pytest.raises(FloatingPointError):
            variant.run()
    assert variant.run is not fails
