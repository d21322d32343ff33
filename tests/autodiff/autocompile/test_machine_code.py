"""Machine code of automatically compiled functions: the values and warnings are the traced ones."""

import gc
import math
import warnings
import weakref

import numpy as np
import pytest

from autodiff import automatic_compile, gradient, hvp, jacobian, value_and_gradient
from autodiff.autocompile import call_records, program_builder
from autodiff.compiler.compile_errors import MISMATCH
from autodiff.compiler.tiering import promotion
from autodiff.functions import known
from chainrules_core.interpreter.quiet import raising
from tests.helpers import one_in
from tools.fuzz.compiled import of_arrays

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("machine_code")

SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 5e-324, 1e-308, 1e-200, 1e200, 709.5, 710.0, 800.0,
    -800.0, 1e17, 1.7e308, -1.7e308, math.inf, -math.inf, math.nan,
)  # fmt: skip
UFUNCS = [
    f for f in known("loops")
    if isinstance(f, np.ufunc) and any(t.startswith("d" * f.nin + "->") for t in f.types)
]  # fmt: skip


def outcome(take, f, *args, **options):
    """Return a result with the warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = take(f, *args, **options)
    return y, [(w.category, str(w.message)) for w in seen]


def traced(take, f, *args, **options):
    before = automatic_compile(False)
    try:
        return outcome(take, f, *args, **options)
    finally:
        automatic_compile(before)


def check(take, f, *args, rtol=1e-11, **options):
    """Compare a call with the traced one; return whether it warns.

    What exactly is said depends on whether loops have run by their source before.
    """
    expected, expected_warnings = traced(take, f, *args, **options)
    found, found_warnings = outcome(take, f, *args, **options)
    assert bool(found_warnings) == bool(expected_warnings)
    if not program_builder.agree(found, expected, 0.0):
        np.testing.assert_allclose(found, expected, rtol=rtol)
    return bool(expected_warnings)


def sources():
    return [v.source for r in call_records.records.values() for v in r.variants]


def learn(take, f, *args, **options):
    """Call a function until it is machine code."""
    for _ in range(6):
        take(f, *args, **options)
    assert [s for s in sources() if "def kernel" in s], [
        r.why for r in call_records.records.values()
    ]


def benign(f, size):
    """Return arguments for which NumPy does not warn."""
    low = 1.25 if f is np.arccosh else 0.25
    return [np.linspace(low, low + 0.3 + 0.1 * k, size) for k in range(f.nin)]


@pytest.mark.parametrize("size", [5, 40])
@pytest.mark.parametrize("f", UFUNCS, ids=lambda f: f.__name__)
def test_each_warning_of_a_function_is_noticed(f, size, monkeypatch):
    monkeypatch.setattr(promotion, "_MOST_ERRORS", 1000)  # it does not go back to NumPy source

    def one(x):
        return np.sum((f(x * 1.5) * 0.5 - x) * (x + 0.25) + x * x)

    def two(x, y):
        return np.sum((f(x * 1.5, y) * 0.5 - x) * (x + 0.25) + x * y)

    loss = one if f.nin == 1 else two
    given = benign(f, size)
    learn(value_and_gradient, loss, *given)
    for k in range(f.nin):
        for special in SPECIAL:
            args = [x.copy() for x in given]
            args[k][size // 2] = special
            check(value_and_gradient, loss, *args)


def raised(run, *given):
    """Return the result of a program, or whether it raises an error."""
    try:
        return raising(run, *given), False
    except (ArithmeticError, ValueError):
        return None, True


@pytest.mark.parametrize("first", range(70_000, 70_048, 24))
def test_machine_code_of_generated_programs_raises_errors_where_the_source_does(first, monkeypatch):
    pairs = []
    use = promotion.use

    def note(variant, made):
        pairs.append((made[0], variant.run))
        use(variant, made)

    monkeypatch.setattr(promotion, "use", note)
    same = 0
    for seed in range(first, first + 24, one_in(4)):
        source, f, given = of_arrays(seed)
        for _ in range(5):
            outcome(value_and_gradient, f, *given)
        rng = np.random.default_rng(seed)
        for special in (*SPECIAL, 1.0, 0.3):
            args = [x.copy() for x in given]
            chosen = args[rng.integers(2)]
            chosen.flat[rng.integers(chosen.size)] = special
            for quick, before in pairs:
                found, is_error = raised(quick, f, *args)
                expected, is_source_error = raised(before, f, *args)
                assert is_error or found is MISMATCH or not is_source_error, (seed, special, source)
                if not is_error and found is not MISMATCH:
                    assert program_builder.agree(found, expected, 1.0), (seed, special, source)
                    same += 1
        pairs.clear()
        call_records.records.clear()
    assert same


def mixture(p, x):
    z = (x[:, None] - p["mu"]) / np.exp(p["ls"])
    terms = p["w"] - 0.5 * z**2 - p["ls"]
    top = np.max(terms, axis=1, keepdims=True)
    return -np.mean(top[:, 0] + np.log(np.sum(np.exp(terms - top), axis=1)))


def variation(u):
    dx, dy = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
    return np.sum(np.sqrt(dx**2 + dy**2 + 1e-6))


def ratios(u):
    return np.sum(u[:, 1:] / np.cumsum(np.abs(u), axis=1)[:, :-1] * np.log(np.abs(u[:, 1:])))


def powers(u):
    return np.sum(np.exp(u) ** 3 / (1.0 + np.exp(u)) + np.sqrt(np.abs(u)) * np.tanh(u))


@pytest.mark.parametrize("f", [variation, ratios, powers], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_losses_over_arrays(f, dtype):
    x = np.random.default_rng(1).normal(size=(30, 50)).astype(dtype)
    learn(value_and_gradient, f, x)
    tolerance = 1e-11 if dtype == np.float64 else 1e-3
    check(value_and_gradient, f, x * 2, rtol=tolerance)
    assert gradient(f, x).dtype == dtype
    kinds = set()
    for special in (0.0, 90.0, 250.0, 800.0, 3e38, 1e200, math.inf, -math.inf, math.nan):
        y = x.copy()
        with np.errstate(all="ignore"):
            y[3, 7] = special
        kinds.add(check(value_and_gradient, f, y, rtol=tolerance))
    assert kinds == {True, False}


def test_parameters_in_a_dict():
    p = {"mu": np.array([-1.0, 0.5, 2.0]), "ls": np.zeros(3), "w": np.zeros(3)}
    x = np.random.default_rng(2).normal(size=500)
    learn(gradient, mixture, p, x, argnums=0)
    check(gradient, mixture, p, x * 1.1, argnums=0)
    assert check(gradient, mixture, {**p, "ls": np.array([0.0, -800.0, 0.0])}, x, argnums=0)


def test_other_derivatives():
    def f(x):
        return np.tanh(x) * np.exp(-x * x) / (1.0 + x * x)

    x = np.linspace(-2.0, 2.0, 9)
    for take, args in ((hvp, (lambda x: np.sum(f(x)), x, x)), (jacobian, (f, x))):
        learn(take, *args)
        check(take, *args)


def test_errors_are_raised_and_warnings_are_errors_if_the_user_says_so():
    def f(x):
        return np.sum(np.log(x) * x + np.exp(x) / x)

    x = np.linspace(0.5, 2.0, 40)
    learn(gradient, f, x)
    x[3] = 0.0
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        gradient(f, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            gradient(f, x)
        with np.errstate(all="ignore"):
            gradient(f, x)


def test_a_record_begins_again_with_machine_code():
    def f(x):
        return np.sum(np.exp(-x * x) * np.tanh(x) + x * x)

    x = np.linspace(0.5, 2.0, 40)
    learn(gradient, f, x)
    (record,) = call_records.records.values()
    compared = []
    before = program_builder.make_machine_code

    def note(record, *given):
        compared.append(record.hits)
        before(record, *given)

    program_builder.make_machine_code = note
    try:
        record.begin_again(0.0)
        for _ in range(20):
            gradient(f, x)
    finally:
        program_builder.make_machine_code = before
    assert compared == [1, 2, 4, 8, 16]
    assert not record.why


def test_calls_with_nan_go_back_to_numpy():
    """A comparison with NaN is an error of the processor, of which NumPy does not warn."""

    def f(x):
        return np.sum(np.maximum(x, 0.5) * np.exp(-x) + np.where(x > 1.0, x * x, -x))

    x = np.linspace(0.0, 2.0, 40)
    learn(gradient, f, x)
    x[5] = math.nan
    (record,) = call_records.records.values()
    quick = record.variants[0].run
    for _ in range(promotion._MOST_ERRORS + 1):
        check(gradient, f, x)
    assert record.variants[0].run is not quick


def test_a_program_that_waits_for_machine_code_keeps_no_arrays(monkeypatch):
    monkeypatch.setattr(promotion, "paid", lambda variant, spent, most: None)

    def f(x):
        return np.sum(np.exp(-x * x) * np.tanh(x) + x * x)

    x = np.linspace(0.5, 2.0, 40)
    for _ in range(6):
        gradient(f, x)
    ((variant,),) = [r.variants for r in call_records.records.values()]
    assert variant.machine_code is not None
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


def test_a_loop_that_is_recorded_turn_by_turn():
    def f(v):
        x, y = v[0], v[1]
        for _ in range(50):
            x, y = x + 0.01 * y, y - 0.01 * math.sin(x)
        return x * y

    learn(gradient, f, [0.5, 1.0])
    check(gradient, f, [0.7, -1.0])
    with pytest.raises(ValueError, match=r"math domain|expected a finite"):
        gradient(f, [math.inf, 1.0])
