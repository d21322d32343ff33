"""When programs are made, and how many are kept."""

import types

import numpy as np
import pytest

from autodiff import gradient
from autodiff.autocompile import call_records, derivative_dispatch, program_builder
from autodiff.compiler.recording import recorder
from autodiff.structured import recorded_calls, runtime
from tests.helpers import run_python

pytestmark = pytest.mark.usefixtures("soon")


def again(f, *args, n=8):
    for _ in range(n):
        gradient(f, *args)


def record_of(f):
    (found,) = [r for key, r in call_records.records.items() if key[1] == id(f.__code__)]
    return found


def test_few_programs_are_kept():
    def make(k):
        return lambda x: x * k

    for k in range(call_records.MOST_PROGRAMS + 10):
        again(make(float(k)), 1.0, n=4)
    assert (
        sum(bool(r.variants) for r in call_records.records.values()) <= call_records.MOST_PROGRAMS
    )


def test_a_long_function_waits(monkeypatch):
    monkeypatch.setattr(program_builder, "_stall", lambda record: 0.0)  # however fast it is

    def f(x):
        for _ in range(100):
            x = x * 1.01
        return x

    again(f, 1.0)
    record = record_of(f)
    assert not record.variants
    assert not record.why
    assert record.recorded > 0.0
    monkeypatch.setattr(call_records, "RECORDING_RATIO", 2.0)
    record.recorded = record.spent  # the next one waits until calls have taken twice as long
    assert not record.is_due()
    record.recorded = record.spent / 3
    assert record.is_due()


def test_what_takes_too_long_for_the_longest_stall_is_given_up(monkeypatch):
    monkeypatch.setattr(call_records, "LONGEST_STALL", 0.0)

    def f(x):
        for _ in range(100):
            x = x * 1.01
        return x

    again(f, 1.0, n=800)
    record = record_of(f)
    assert record.failures == 3
    assert "takes more than" in record.why


def test_loops_that_could_run_from_their_source_are_recorded_turn_by_turn(monkeypatch):
    """The program takes turns with the function as it is written, and the faster one stays."""
    monkeypatch.setattr(recorder, "_FIRST_LOOK", 40)
    monkeypatch.setattr(recorded_calls, "LONG", 40)
    monkeypatch.setattr(runtime, "has_llvm", bool)

    def f(x):
        for _ in range(30):
            x = x + 0.01 * np.sin(x[::-1])
        return np.sum(x)

    again(f, np.arange(3.0))
    record = record_of(f)
    assert not record.why
    assert record.variants


def test_recordings_that_take_much_memory_are_given_up(monkeypatch):
    monkeypatch.setattr(call_records, "MOST_BYTES", 10_000)

    def f(x):
        for _ in range(10):
            x = np.tanh(x)
        return np.sum(x)

    again(f, np.ones(3))
    assert record_of(f).variants
    again(f, np.ones(500))
    assert len(record_of(f).variants) == 1


def test_what_the_first_calls_took_longer_is_not_counted(monkeypatch):
    """Loops are traced at first: a program of all turns saves nothing of that."""
    now = [0.0]

    def clock():
        now[0] += 1000.0 if now[0] < 1000.0 else 1.0
        return now[0]

    monkeypatch.setattr(derivative_dispatch, "time", types.SimpleNamespace(perf_counter=clock))

    def f(x):
        return x * 1.01

    again(f, 1.0, n=3)
    record = record_of(f)
    assert record.spent == record.calls * 1.0


FIRST = """
from autodiff import gradient
from autodiff.autocompile import call_records

def f(x):
    return x * x + 1.0

call_records.Settings.loading = call_records.Settings.seconds = 0.0
for _ in range(40):
    gradient(f, 2.0)
print(*[(r.calls, len(r.variants)) for r in call_records.records.values()])
"""


def test_the_first_program_stays(tmp_path):
    """Loading the compiler loads rules, which would drop it."""
    (tmp_path / "first.py").write_text(FIRST)
    found = run_python(tmp_path / "first.py", AUTODIFF_COMPILE="1").stdout.split()
    assert found[1] == "1)"
    assert int(found[0].strip("(,")) < 25
