"""Each error is a sentence: the function, the argument, the user's line, the way out."""

from __future__ import annotations

import array
import ctypes
import inspect
import itertools
import math
import pickle
import statistics
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import (
    ArgumentError,
    DifferentiationError,
    LeakedTracerError,
    LostValueError,
    MissingRuleError,
    MutationError,
    OutputError,
    SeedError,
    derivative,
    gradient,
    pullback,
    value_and_gradient,
)
from chainrules.refused import RefusedError
from chainrules_core import ChainRulesError, CotangentError, NoTangent, Tangent, rrule, thunk
from chainrules_core.errors import MutateThunkError, PullbackArityError, TangentTypeError

X = np.array([1.0, -2.0, 3.0])


def my_loss(x: Any, y: Any = 2.0) -> Any:
    return np.sum(x * y)


def raised(error: type[Exception], call: Callable, *parts: str) -> Exception:
    """Check class, message and the user's line; return the error."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    for part in parts:
        assert part in message, message
    assert issubclass(error, ChainRulesError)
    return caught.value


# --------------------------------------------------------------------------------------- outputs


def returns_array(x: Any) -> Any:
    return x * 2.0


def returns_complex(x: Any) -> Any:
    return np.sum(x) * 1j


def returns_none(x: Any) -> Any:
    np.sum(x)


def returns_text(x: Any) -> Any:
    return "text"


def returns_pair(x: Any) -> Any:
    return np.sum(x), x


def returns_generator(x: Any) -> Any:
    return (v for v in x)


@pytest.mark.parametrize(
    "f, parts",
    [
        (
            returns_array,
            ["returns_array returned an array of shape (3,)", "Sum it"],
        ),
        (returns_complex, ["returns_complex returned a complex number", "abs, real or imag"]),
        (returns_none, ["returns_none returned None", "return statement"]),
        (returns_text, ["returns_text returned a str", "has_aux=True"]),
        (returns_pair, ["returns_pair returned a tuple", "has_aux=True"]),
        (returns_generator, ["returns_generator returned a generator"]),
    ],
)
@pytest.mark.parametrize("ask", [gradient, value_and_gradient])
def test_outputs_without_a_gradient(ask: Callable, f: Callable, parts: list[str]) -> None:
    error = raised(OutputError, lambda: ask(f, X), *parts, __file__)
    assert isinstance(error, TypeError)


def test_no_output_has_no_matrix() -> None:
    parts = ["returns_none returned None", "return statement"]
    raised(OutputError, lambda: autodiff.jacobian(returns_none, X), *parts)
    raised(OutputError, lambda: autodiff.jacobian(returns_none, X, mode="forward"), *parts)
    raised(OutputError, lambda: autodiff.derivative(returns_none, 2.0), *parts)


@pytest.mark.parametrize("f", [lambda x: 3.0, lambda x: 3, lambda x: np.sum(X), lambda x: x[0] > 0])
def test_a_constant_output_has_gradient_zero(f: Callable) -> None:
    np.testing.assert_array_equal(gradient(f, X), np.zeros(3))


def test_has_aux_without_a_pair() -> None:
    raised(
        OutputError,
        lambda: value_and_gradient(my_loss, X, argnums=0, has_aux=True),
        "has_aux=True", "my_loss", "a pair", "float64",
    )  # fmt: skip


# -------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    "args, options, parts",
    [
        ((np.arange(3),), {}, ["argument 0 of", "my_loss", "array of int64", "astype(float)"]),
        ((X, np.arange(3)), {}, ["argument 1 of", "my_loss", "int64", "argnums="]),
        ((np.ones(3, bool),), {}, ["argument 0", "array of bool"]),
        ((np.array(["a"]),), {}, ["argument 0", "array of <U1"]),
        ((np.array(["2020-01-01"], "M8[D]"),), {}, ["argument 0", "datetime64[D]"]),
        (("text",), {}, ["nothing to differentiate", "my_loss", "str"]),
        ((True,), {}, ["nothing to differentiate", "bool"]),
        ((None,), {}, ["nothing to differentiate", "NoneType"]),
        (([1, 2], {"a": "b"}), {}, ["nothing to differentiate", "(list, dict)"]),
        ((2.0, "text"), {"argnums": 1}, ["nothing to differentiate", "(str)"]),
        ((2.0, True), {"argnums": (0, 1)}, ["nothing to differentiate", "(bool)"]),
        ((2.0,), {"argnums": 1}, ["argnums has 1", "my_loss", "1 argument"]),
        ((2.0, 3.0), {"argnums": (0, -3)}, ["argnums has -3", "2 arguments"]),
        ((2.0,), {"argnums": 0.5}, ["argnums"]),
        ((2.0,), {"argnums": "x"}, ["argnums"]),
        ((2.0,), {"argnums": ()}, ["argnums"]),
        ((), {}, ["no arguments", "my_loss"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ask", [gradient, value_and_gradient, pullback])
def test_arguments_that_cannot_be_differentiated(
    ask: Callable, args: tuple, options: dict, parts: list[str]
) -> None:
    error = raised(ArgumentError, lambda: ask(my_loss, *args, **options), *parts, __file__)
    assert isinstance(error, TypeError)


@pytest.mark.parametrize("f", [3.0, "text", None, X])
def test_what_is_no_function(f: Any) -> None:
    raised(ArgumentError, lambda: gradient(f, 2.0), "must be a function", type(f).__name__)


@pytest.mark.parametrize("x", [X, 1j, "text", True, [1.0], None])
def test_derivative_takes_one_real_number(x: Any) -> None:
    raised(ArgumentError, lambda: derivative(my_loss, x), "one real number", type(x).__name__)


def test_a_call_that_does_not_fit_the_function_is_pythons_error() -> None:
    with pytest.raises(TypeError, match="positional arguments"):
        gradient(my_loss, 1.0, 2.0, 3.0)
    with pytest.raises(TypeError, match="unexpected keyword"):
        gradient(my_loss, 1.0, n=2)


# ------------------------------------------------------------------------------------------ seeds


def pair_of(x: Any) -> Any:
    return x, x * x


@pytest.mark.parametrize(
    "f, seed, parts",
    [
        (my_loss, "text", ["str"]),
        (my_loss, [1.0], ["list"]),
        (my_loss, np.ones(3), ["shape (3,)", "shape ()"]),
        (returns_array, 1.0, ["shape ()", "shape (3,)"]),
        (returns_array, np.ones(2), ["shape (2,)", "shape (3,)"]),
        (returns_array, np.ones((1, 3)), ["shape (1, 3)", "shape (3,)"]),
        (returns_array, [1.0, 1.0, 1.0], ["list"]),
        (returns_array, np.array(["a", "b", "c"]), []),
        (pair_of, 1.0, ["float", "tuple"]),
        (pair_of, (np.ones(3),), ["2 cotangents", "given 1"]),
        (pair_of, (np.ones(3),) * 3, ["2 cotangents", "given 3"]),
        (pair_of, "ab", ["str", "tuple"]),
        (pair_of, {0: np.ones(3)}, []),
        (pair_of, Tangent[tuple](np.ones(3)), []),
        (pair_of, (1.0, np.ones(3)), ["shape ()", "shape (3,)"]),
        (lambda x: {"a": x}, {"a": np.ones(3), "typo": np.ones(3)}, ["typo"]),
        (lambda x: {"a": x}, [np.ones(3)], ["list", "dict"]),
    ],
)  # fmt: skip
def test_seeds_that_do_not_belong_to_the_output(f: Callable, seed: Any, parts: list[str]) -> None:
    _, back = pullback(f, X)
    error = raised(SeedError, lambda: back(seed), "the pullback of", f.__name__, *parts, __file__)
    assert isinstance(error, ValueError)


def test_a_seed_leaves_out_no_part() -> None:
    _, back = pullback(lambda x: {"a": x, "b": x}, X)
    with pytest.raises(SeedError, match="b"):
        back({"a": np.ones(3)})


@pytest.mark.parametrize("seeds", [(), (1.0, 2.0)])
def test_a_pullback_takes_one_seed(seeds: tuple) -> None:
    _, back = pullback(my_loss, X, argnums=0)
    raised(SeedError, lambda: back(*seeds), "one cotangent", f"given {len(seeds)}")


# ------------------------------------------------------------------------------ values and lines


def line_of(function: Callable) -> str:
    return f"{__file__}, line {function.__code__.co_firstlineno + 1}"


def missing_ufunc(x: Any) -> Any:
    return no_rule_for_this(x)


no_rule_for_this = np.frompyfunc(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(abs), 1, 1)


def missing_attribute(x: Any) -> Any:
    return x.ctypes


def lost_float(x: Any) -> Any:
    return x.__float__()


def lost_hash(x: Any) -> Any:
    return {x}


def lost_pickle(x: Any) -> Any:
    return pickle.dumps(x)


def lost_number(x: Any) -> Any:
    return statistics.NormalDist.from_samples(array.array("d", [x, 2.0])).mean


def bad_write(x: Any) -> Any:
    return np.add(x, x, out=(np.zeros(3, int),))


def missing_option(x: Any) -> Any:
    return np.add(x, x, signature="dd->d")


def missing_transform(x: Any) -> Any:
    return np.fft._pocketfft_umath.fft(x, 1.0, axes=[(0,), (), (0,)])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "f, x, error, parts",
    [
        (missing_option, X, MissingRuleError, ["numpy.add with signature=", "Call it without"]),
        (missing_option, X, MissingRuleError, ["for other calls: <scalar", "ignore_derivatives"]),
        (missing_transform, X, MissingRuleError, ["numpy.fft._pocketfft_umath.fft with axes="]),
        (missing_transform, X, MissingRuleError, ["rrule.register(", "ignore_derivatives"]),
        (missing_ufunc, 2.0, MissingRuleError, ["no rule for (float)", "rrule.register("]),
        (
            missing_attribute,
            X,
            MissingRuleError,
            ["x.ctypes of a traced ndarray", "ignore_derivatives(x).ctypes"],
        ),
        (lost_float, 2.0, LostValueError, ["float()", "traced float", "ignore_derivatives"]),
        (lost_float, np.array(2.0), LostValueError, ["float()", "traced ndarray"]),
        (lost_hash, 2.0, LostValueError, ["set", "traced float"]),
        (lost_pickle, X, LostValueError, ["pickle", "traced ndarray"]),
        (lost_number, 2.0, LostValueError, ["traced float"]),
        (bad_write, X, MutationError, []),
    ],
)
def test_errors_name_the_users_line(f: Callable, x: Any, error: Any, parts: list[str]) -> None:
    found = raised(error, lambda: gradient(f, x), *parts, line_of(f), f.__name__)
    assert isinstance(found, DifferentiationError)
    assert isinstance(found, TypeError)
    assert found.where.startswith(line_of(f))


LEAKED: list[Any] = []


def leaks(x: Any) -> Any:
    LEAKED.append(x)
    return x * x


def uses_leaked(y: Any) -> Any:
    return LEAKED[-1] * y


def reads_leaked(y: Any) -> Any:
    return y * LEAKED[-1][0]


@pytest.mark.parametrize("x, use", [(2.0, uses_leaked), (X, reads_leaked)])
def test_a_leaked_value_names_the_line_that_used_it(x: Any, use: Callable) -> None:
    pullback(leaks, x)
    try:
        found = raised(
            LeakedTracerError, lambda: gradient(use, 1.0), "has ended", "has_aux=True", line_of(use)
        )
    finally:
        LEAKED.clear()
    assert isinstance(found, RuntimeError)


def test_the_way_out_of_a_leak_that_the_message_gives_works() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(autodiff.ignore_derivatives(x))
        return x * kept[-1]

    assert gradient(f, 3.0) == 3.0
    assert type(kept[0]) is float
    assert gradient(lambda y: kept[0] * y, 2.0) == 3.0


def test_an_error_of_a_nested_gradient_names_the_inner_line() -> None:
    def inner(y: Any) -> Any:
        return y * X

    line = inspect.currentframe().f_lineno + 3  # type: ignore[union-attr]

    def outer(x: Any) -> Any:
        return gradient(inner, x) * x

    raised(OutputError, lambda: gradient(outer, 2.0), "inner returned an array", f"line {line}")


# ------------------------------------------------------------- a value that would be lost silently


SILENT: dict[str, tuple[Callable, Any]] = {
    "asarray": (lambda x: np.asarray(x)[0] * 2.0, X),
    "asarray by another name": (lambda x: next(map(np.asarray, [x]))[0], X),
    "asarray unseen": (lambda x: (lambda f: f(x)[0])(eval("np.asarray")), X),
    "inside eval": (lambda x: eval("np.asarray(x)[0] * 2.0", {"np": np, "x": x}), X),
    "float inside eval": (lambda x: eval("float(x)", {"x": x}), 2.0),
    "dlpack": (lambda x: np.from_dlpack(x)[0] * 2.0, X),
    "frombuffer": (lambda x: np.frombuffer(x.tobytes()).copy()[0], X),
    "array interface": (lambda x: np.array(type("A", (), {
        "__array_interface__": x.__array_interface__})())[0] * 1.0, X),
    "fraction": (lambda x: float(Fraction(x)) * 2.0, 3.0),
    "integer ratio": (lambda x: (lambda r: r[0] / r[1])(x.as_integer_ratio()), 3.0),
    "hexadecimal": (lambda x: float.fromhex(x.hex()), 3.0),
    "memoryview": (lambda x: memoryview(x)[0] * 1.0, X),
    "math": (lambda x: math.sin(x) * 2.0, 3.0),
    "accumulate": (lambda x: [*itertools.accumulate([x, x, x])][-1] * x, 3.0),
    "struct": (lambda x: struct.unpack("d", struct.pack("d", x))[0], 3.0),
    "sum of an array": (lambda x: sum(x) * 2.0, X),
    "fsum": (lambda x: math.fsum(x), X),
    "prod": (lambda x: math.prod(x), X),
    "max": (lambda x: max(x) * min(x), X),
    "sorted": (lambda x: sorted(x)[0] ** 2, X),
    "sliding window": (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2).sum(), X),
    "vectorize": (lambda x: np.sum(np.vectorize(lambda v: v * v)(x)), X),
    "apply_along_axis": (lambda x: np.sum(np.apply_along_axis(lambda v: v * v, 0, x)), X),
    "fromiter": (lambda x: np.sum(np.fromiter((v * v for v in x), float)), X),
    "interp": (lambda x: np.interp(x[0], [0.0, 2.0], [0.0, 6.0]), X),
    "poly": (lambda x: np.poly1d(x)(2.0), X),
    "matrix": (lambda x: np.sum(np.asmatrix(x) * 2.0), X),
    "masked": (lambda x: np.ma.masked_array(x, mask=[0, 1, 0]).sum(), X),
    "gradient of numpy": (lambda x: np.sum(np.gradient(x) * X), X),
    "average": (lambda x: np.average(x, weights=[1.0, 2.0, 3.0]), X),
    "cov": (lambda x: np.cov(x) * 1.0, X),
    "trapezoid": (lambda x: np.trapezoid(x) * 1.0, X),
    "convolve": (lambda x: np.sum(np.convolve(x, X)), X),
    "histogram": (lambda x: np.histogram(X, weights=x)[0].sum(), X),
}  # fmt: skip
# Those that are refused; the gradient of the others is right.
REFUSED: dict[str, type[Exception]] = {
    "inside eval": LostValueError,
    "float inside eval": LostValueError,
    "dlpack": AttributeError,
    "frombuffer": LostValueError,
    "array interface": MissingRuleError,
    "fraction": RefusedError,
    "integer ratio": MissingRuleError,
    "hexadecimal": MissingRuleError,
    "memoryview": RefusedError,
    "struct": MissingRuleError,
    "matrix": RefusedError,
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("name", SILENT)
def test_no_way_out_of_tracing_is_silent(name: str) -> None:
    """The gradient is right, or there is an error; a plain copy with derivative zero is neither."""
    f, x = SILENT[name]
    if name in REFUSED:
        with pytest.raises(REFUSED[name]):
            gradient(f, x)
        return
    plain = np.array(x, float)
    h = 1e-6
    expected = np.zeros(plain.shape)
    with np.errstate(all="ignore"):
        for i in np.ndindex(plain.shape):
            step = np.zeros(plain.shape)
            step[i] = h
            back = x if isinstance(x, np.ndarray) else float(x)
            try:
                expected[i] = (f(back + step) - f(back - step)) / (2 * h)
            except TypeError:
                expected[i] = (f(float(back + step)) - f(float(back - step))) / (2 * h)
    np.testing.assert_allclose(gradient(f, x), expected, rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------------- rules, tangents and thunks


def test_a_pullback_with_the_wrong_number_of_cotangents() -> None:
    @rrule.register(my_loss)
    def my_loss_rrule(x: Any, y: Any) -> tuple[Any, Callable]:
        def my_loss_pullback(z_bar: Any) -> tuple:
            return z_bar, z_bar, z_bar, z_bar

        return 1.0, my_loss_pullback

    raised(
        PullbackArityError, lambda: gradient(my_loss, 1.0, 2.0),
        "my_loss_pullback", "my_loss", "4 cotangents for 2 arguments", __file__,
    )  # fmt: skip


@pytest.mark.parametrize("bar", [np.ones(2), np.ones((3, 3)), 1.0, None])
def test_a_cotangent_of_a_wrong_shape(bar: Any) -> None:
    @rrule.register(my_loss)
    def my_loss_rrule(x: Any, y: Any = 2.0) -> tuple[Any, Callable]:
        def my_loss_pullback(z_bar: Any) -> tuple:
            return NoTangent(), bar, z_bar

        return 1.0, my_loss_pullback

    raised(CotangentError, lambda: gradient(my_loss, X, 2.0), "my_loss", "argument 'x'", __file__)


def test_an_unknown_field_in_a_tangent() -> None:
    with pytest.raises(TangentTypeError, match=r"no field 'imagg'.*real, imag|no field 'imagg'"):
        Tangent[Fields](imagg=1.0)


class Fields:
    __slots__ = ("imag", "real")


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.__setitem__(0, 1.0),
        lambda t: t.__iadd__(1.0),
        lambda t: np.add(X, 1.0, out=t),
        lambda t: t.fill(0.0),
    ],
)
def test_a_thunk_written_into(write: Callable) -> None:
    with pytest.raises(MutateThunkError, match="unthunk"):
        write(thunk(lambda: X.copy()))
