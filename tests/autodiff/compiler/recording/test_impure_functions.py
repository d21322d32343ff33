"""compile: what is refused, what runs as it is, and what the source looks like."""

import contextlib
import io
import random
import sys
import time
import traceback
import types
from pathlib import Path

import numpy as np
import pytest

import autodiff
from autodiff import CompileError, compile, gradient
from autodiff.errors import ArgumentError

X = np.array([0.3, -0.2, 0.9])
COUNTER = 0


def square_sum(x):
    return np.sum(x * x)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


# ------------------------------------------------------------------------------------------ impure

IMPURE = {
    "np.random": lambda x: x * np.random.normal(),  # noqa: NPY002
    "random": lambda x: x * random.random(),
    "random.gauss": lambda x: x * random.gauss(0.0, 1.0),
    "unseeded": lambda x: x * np.random.default_rng().random(),
    "unseeded state": lambda x: x * np.random.RandomState().rand(),
    "unseeded by None": lambda x: x * random.Random(None).random(),
    "captured state": lambda x: x * STATE.rand(),
    "captured generator": lambda x: x * GENERATOR.random(),
    "clock": lambda x: x * time.time(),
    "counter": lambda x: x * time.perf_counter(),
    "input": lambda x: x * float(input()),
    "file": lambda x: x * float(open("numbers.txt").read()),  # noqa: SIM115
}
GENERATOR, STATE = np.random.default_rng(0), np.random.RandomState(0)


@pytest.mark.parametrize("name", IMPURE)
def test_what_is_not_pure_is_refused(name):
    with pytest.raises(CompileError, match="compiled function would give the same") as caught:
        compile(IMPURE[name])(2.0)
    assert Path(__file__).name in str(caught.value)


def test_a_generator_among_the_arguments_is_drawn_from():
    def noisy(x, rng):
        z = rng.normal(size=3)
        return np.sum(x * z) if z[0] > 0 else -np.sum(x * z)

    f = lambda x, rng: gradient(lambda y: noisy(y, rng), x)  # noqa: E731
    compiled = compile(f)
    a, b = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(12):
        close(compiled(X, a), f(X, b))
    assert compiled.variants == 2
    assert a.random() == b.random()


def test_draws_are_undone_where_python_raises():
    def f(x, given):
        z = given["rng"].normal(size=2)
        return z[0] / x[0] + z[1]

    compiled = compile(f)
    a, b = {"rng": np.random.default_rng(1)}, {"rng": np.random.default_rng(1)}
    with np.errstate(all="ignore"):
        for x in (X, X, 0.0 * X, X):
            np.testing.assert_array_equal(compiled(x, b), f(x, a))
    assert a["rng"].random() == b["rng"].random()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState, random.Random])
def test_a_seeded_generator_made_inside_is_a_constant(make):
    def f(x):
        rng = make(3)
        for _ in range(2):
            x = x * rng.random() + rng.uniform(0.0, 1.0)
        return x

    compiled = compile(f)
    for x in (2.0, 2.0, -1.5):
        assert compiled(x) == f(x)
    slope = compile(lambda x: gradient(f, x))
    assert slope(2.0) == slope(1.0) == gradient(f, 2.0)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState, random.Random])
def test_a_generator_that_writes_is_not_recorded(make):
    def f(x):
        r = np.arange(5.0)
        s = np.sum(r * x)
        make(0).shuffle(r)
        return s + np.sum(r * x**2)

    x = np.array([0.5, 1.5, -1.0, 2.0, 0.1])
    compiled = compile(f)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-12)
    assert "NotRecordedError" in compiled.eager_because


def test_what_is_open_is_closed_after_the_error():
    def f(x):
        opened = types.SimpleNamespace(closed=0.0)
        try:
            return x * time.monotonic()
        finally:
            opened.closed = time.monotonic()

    with pytest.raises(CompileError, match="monotonic") as caught:
        compile(f)(1.0)
    frames = [frame.f_locals for frame, _ in traceback.walk_tb(caught.tb)]
    assert [names["opened"].closed > 0.0 for names in frames if "opened" in names] == [True]


def test_an_error_that_is_caught_lets_nothing_pass():
    def f(x):
        try:
            x = x * time.time()
        except Exception:
            x = x * 2.0
        return x * time.time()

    with pytest.raises(CompileError, match="time"):
        compile(f)(1.0)


def test_printing_is_done_each_time(capsys):
    def f(x):
        print("x is", x, sep="=")
        return x * 2 if x > 0 else x

    compiled = compile(f)
    for x in (1.0, 2.0, -1.0):
        compiled(x)
    assert capsys.readouterr().out == "x is=1.0\nx is=2.0\nx is=-1.0\n"


def printed_to_a_file(x):
    text = io.StringIO()
    print(x > 0.0, file=text)
    return x * len(text.getvalue())


def printed_by_another_name(x):
    text, show = io.StringIO(), print
    show(1, 2, sep="-", file=text, flush=True)
    return x * len(text.getvalue())


def printed_elsewhere(x):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print("abc")
    return x * len(text.getvalue())


def printed_by_writing(x):
    written = []
    print("abc", file=types.SimpleNamespace(write=written.append))
    return x * len(written)


def printed_first(x):
    old = sys.stdout
    sys.stdout = io.StringIO()
    try:
        print("abc")
        return x * len(sys.stdout.getvalue())
    finally:
        sys.stdout = old


@pytest.mark.parametrize(
    "f",
    [
        printed_to_a_file,
        printed_by_another_name,
        printed_elsewhere,
        printed_by_writing,
        printed_first,
    ],
)
def test_what_is_printed_may_be_read(f):
    value, slope = compile(f), compile(lambda x: autodiff.value_and_gradient(f, x))
    for x in (1.5, -2.0, 1.5):
        assert value(x) == f(x) != 0.0
        assert slope(x) == (f(x), f(x) / x)


def test_printing_shows_plain_values_where_nothing_is_compiled(capsys):
    compile(square_sum)(X)

    def f(x):
        print([x], x)
        return x * x

    assert gradient(f, 3.0) == 6.0
    assert capsys.readouterr().out == "[3.0] 3.0\n"


def counting(x):
    global COUNTER
    COUNTER += 1
    return x * COUNTER


LOG: list[float] = []


def logging(x):
    LOG.append(1.0)
    return x * len(LOG)


def text(x):
    return float(f"{x:.1f}")


@pytest.mark.parametrize(
    "f, xs, why",
    [
        (counting, [1.0, 1.0], "global variable 'COUNTER'"),
        (text, [1.23, 4.56], "text"),
        (logging, [1.0, 1.0, 1.0, 2.0, 2.0], "changes 'LOG'"),
    ],
)
def test_what_cannot_be_followed_runs_as_it_is(f, xs, why):
    global COUNTER
    COUNTER = 0
    expected = [f(x) for x in xs]
    COUNTER = 0
    LOG.clear()
    compiled = compile(f)
    assert [compiled(x) for x in xs] == expected
    assert why in compiled.eager_because
    assert compiled.variants == 0


@pytest.mark.parametrize("backend", ["python", "native"])
def test_a_switch_is_set_once_in_a_call_that_gives_nan(backend):
    switch = {"on": False}

    def f(x):
        switch["on"] = not switch["on"]
        return np.sum(x * (2.0 if switch["on"] else 3.0))

    compiled = compile(lambda x: gradient(f, x), backend=backend)
    given = [np.array([np.nan, 1.0]), np.ones(2), np.ones(2), np.array([np.nan, 1.0])]
    found = [compiled(x)[0] for x in given]
    assert found == [2.0, 3.0, 2.0, 3.0]
    assert "changes" in compiled.eager_because


def test_errors_of_the_function_are_its_own():
    def f(x):
        if x > 1.0:
            raise KeyError("too large")
        return 1.0 / x

    compiled = compile(f)
    assert compiled(0.5) == 2.0
    with pytest.raises(KeyError, match="too large"):
        compiled(2.0)
    with pytest.raises(ZeroDivisionError):
        compiled(0.0)


def test_nan_makes_zeros_strong_as_eagerly():
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0))

    for g in (
        lambda x: gradient(f, x),
        lambda x: autodiff.jvp(f, (x,), (np.ones(3),)),
    ):
        compiled = compile(g)
        with np.errstate(all="ignore"):
            for x in (np.abs(X), np.array([1.0, 0.0, 4.0]), np.array([1.0, -1.0, 4.0])):
                for found, expected in zip(compiled(x), g(x), strict=True):
                    close(found, expected)


@pytest.mark.parametrize("bad", [{"maxsize": 0}, {"maxsize": 1.5}, {"backend": "fortran"}])
def test_arguments_are_checked(bad):
    with pytest.raises(ArgumentError):
        compile(square_sum, **bad)
    with pytest.raises(ArgumentError, match="takes a function"):
        compile(3)


# ------------------------------------------------------------------------------------------ source


def test_the_source_can_be_read():
    compiled = compile(lambda x: gradient(square_sum, x))
    compiled(X)
    source = compiled.source
    assert source.startswith("def f(a0):")
    assert "return MISMATCH" in source
    assert source.count("\n") <= 15
    assert "add(v0, v0)" in source


def test_dead_code_is_gone():
    def f(x):
        np.sum(np.exp(x))
        return x * 2.0

    compiled = compile(f)
    compiled(X)
    assert "exp(" not in compiled.source


def test_common_subexpressions_are_shared():
    compiled = compile(lambda x: np.sin(x) * np.sin(x) + np.sin(x))
    compiled(X)
    assert compiled.source.count("sin(") == 1


def test_constants_are_folded():
    c = np.arange(3.0)
    compiled = compile(lambda x: x * (np.exp(c) + 1.0))
    compiled(X)
    assert "exp(" not in compiled.source


def test_metadata():
    compiled = compile(square_sum)
    assert compiled.__name__ == "square_sum"
    assert "compiled" in repr(compiled)
    assert compile(maxsize=3)(square_sum)(X) == square_sum(X)


class Stepper:
    """An object that gets an attribute when it is used for the first time."""

    def step(self, x):
        self.last = 2.0 * x
        return x * x


STEPPER = Stepper()


def by_a_method(x):
    return STEPPER.step(x)


def by_a_name(x):
    owner = STEPPER
    owner.last = 2.0 * x
    return x * x


def by_a_text(x):
    setattr(STEPPER, "last", 2.0 * x)  # noqa: B010 - as users write
    return x * x


@pytest.mark.parametrize("f", [by_a_method, by_a_name, by_a_text])
def test_attributes_that_an_outer_object_gets(f):
    compiled = compile(f)
    vars(STEPPER).clear()
    for x in (1.0, 2.0, 3.0):
        assert compiled(x) == x * x
        assert STEPPER.last == 2.0 * x
