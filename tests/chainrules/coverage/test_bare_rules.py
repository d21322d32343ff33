"""The public rrule and frule: a zero is a zero, and what nobody has written says so.

Generated from the table of samples, and from calls that give numbers to options: an argument that a
call depends on is never answered by `NoTangent` or `ZeroTangent`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import fftpack, ndimage, signal

from chainrules_core import (
    NoTangent,
    NotImplementedTangent,
    Tangent,
    TangentTypeError,
    ZeroTangent,
    frule,
    rrule,
)
from chainrules_core.calling.frame import can_be_perturbed
from chainrules_core.define import ScalarRule
from chainrules_core.registry.facts import rules
from chainrules_core.tangents import AbstractZero, unthunk
from tests.chainrules.coverage.test_samples import cases
from tools.calls import numpy_calls, scipy_calls
from tools.calls.draw import Draw

X = np.array([0.3, -0.7, 1.1, 0.4, -0.2, 0.6, 0.9, -0.5])
M = np.outer(X[:4], X[4:])

# Calls whose last arguments are numbers that a rule has for options, or is not linear in.
OPTIONS: list[tuple] = [
    (fftpack.shift, X, 0.4),
    (fftpack.tilbert, X, 0.5),
    (fftpack.itilbert, X, 0.5),
    (fftpack.cs_diff, X, 0.5, 0.3),
    (fftpack.sc_diff, X, 0.5, 0.3),
    (fftpack.ss_diff, X, 0.5, 0.3),
    (fftpack.cc_diff, X, 0.5, 0.3),
    (fftpack.diff, X, 1, 3.0),
    (signal.convolve2d, M, M[:2, :2], "full", "fill", 0.7),
    (signal.correlate2d, M, M[:2, :2], "full", "fill", 0.7),
    (ndimage.gaussian_filter1d, X, 1.3),
    (ndimage.gaussian_filter, X, 1.3),
    (ndimage.fourier_shift, X, 0.4),
    (ndimage.fourier_gaussian, X, 0.4),
    (np.nan_to_num, np.append(X, np.nan), True, 0.5),
    (np.pad, X, 1, "constant"),
]


def flat(y: Any) -> np.ndarray:
    """The numbers of an output that may have tangents."""
    if isinstance(y, (tuple, list)):
        return np.concatenate([np.zeros(0), *map(flat, y)])
    y = np.asarray(y)
    return np.ravel(y).astype(complex) if y.dtype.kind in "fc" else np.zeros(0)


def direction(a: Any) -> Any:
    """A tangent of an argument, as lists where it is a list; None for what has no tangent."""
    if isinstance(a, (tuple, list)):
        return [direction(part) for part in a]
    if not can_be_perturbed(a):
        return None
    return np.cos(np.arange(np.size(a))).reshape(np.shape(a)).astype(np.asarray(a).dtype)[()]


def moved(a: Any, step: float, dot: Any) -> Any:
    if isinstance(a, (tuple, list)):
        return [moved(part, step, d) for part, d in zip(a, dot, strict=True)]
    return a if dot is None else type(a)(a + step * dot) if np.ndim(a) == 0 else a + step * dot


def tangent(a: Any, dot: Any) -> Any:
    if isinstance(a, (tuple, list)):
        return Tangent[type(a)](*[tangent(part, d) for part, d in zip(a, dot, strict=True)])
    return NoTangent() if dot is None else dot


def moves(f: Any, args: tuple, options: dict, i: int) -> bool:
    """Whether the value changes with an argument, by a jump at this point not counted."""
    plain = flat(f(*args, **options))
    steps = (1e-4, 1e-6)
    changes = []
    for step in steps:
        a = moved(args[i], step, direction(args[i]))
        try:
            y = flat(f(*args[:i], a, *args[i + 1 :], **options))
        except Exception:
            return False
        if y.shape != plain.shape:
            return False
        changes.append(np.nanmax(np.abs(y - plain), initial=0.0))
    least = 1e-13 * np.nanmax(np.abs(plain), initial=1.0)
    # What moves smoothly moves less by the smaller step.
    return least < changes[1] < 0.1 * changes[0]


def seed(y: Any) -> Any:
    if isinstance(y, (tuple, list)):
        return Tangent[type(y)](*map(seed, y))
    return np.ones_like(y)[()] if can_be_perturbed(y) else NoTangent()


def zeros(f: Any, args: tuple, options: dict | None = None) -> list:
    """Return the arguments that are answered by a zero although the value depends on them."""
    options = options or {}
    found = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recorded = rrule(f, *args, **options)
        if recorded is None or not can_be_perturbed(recorded[0]):
            return []
        bars = recorded[1](seed(recorded[0]))[1:]
        for i, a in enumerate(args):
            if not can_be_perturbed(a):
                continue
            dots: list = [NoTangent(), *[ZeroTangent()] * len(args)]
            dots[i + 1] = tangent(a, direction(a))
            ways = [("rrule", lambda i=i: bars[i])]
            if not isinstance(a, (tuple, list)):
                ways.append(("frule", lambda dots=dots: frule(tuple(dots), f, *args, **options)[1]))
            for mode, way in ways:
                if isinstance(unthunk(way()), AbstractZero) and moves(f, args, options, i):
                    found.append((mode, i))
    return found


def answers(f: Any, args: tuple, options: dict) -> bool:
    """Whether a rule differentiates the call by itself."""
    try:
        known = rrule.resolve(f, args, options)
    except TypeError:
        return False
    return known is not None and not known[0].takes_config and known[0].kind != "refused"


SAMPLES = [
    case
    for case in cases()
    if not getattr(case.values[0], "__name__", "").startswith(("<", "bound", "call"))
]


@pytest.mark.parametrize("f, args", SAMPLES)
def test_no_silent_zero_in_the_samples(f: Any, args: tuple) -> None:
    if answers(f, args, {}):
        assert zeros(f, args) == []


LINES = numpy_calls.LINES + scipy_calls.LINES
# A call that is drawn may be one that the function refuses.
REFUSED = (TypeError, ValueError, TangentTypeError)


@pytest.mark.parametrize(
    "number, line", list(enumerate(LINES)), ids=[f"{i}-{a.name}" for i, a in enumerate(LINES)]
)
def test_no_silent_zero_in_drawn_calls(number: int, line: Any) -> None:
    for draw in range(4):
        args, options = line.make(Draw(1000 * draw + number))
        options = dict(options)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not answers(line.f, args, options):
                continue
            try:
                found = zeros(line.f, args, options)
            except REFUSED:
                continue
        assert found == [], (args, options)


def test_no_silent_zero_in_the_examples_of_rules() -> None:
    import scipy.fft
    import scipy.interpolate
    import scipy.linalg
    import scipy.spatial
    import scipy.special
    import scipy.stats  # noqa: F401 - their rules

    found, n = [], 0
    for row in rules():
        example = None if row.requires else row.example()
        if example is None:
            continue
        n += 1
        args, options = example
        try:
            wrong = zeros(row.f, args, options)
        except REFUSED:
            continue
        found += [(row.name, *one) for one in wrong]
    assert found == []
    assert n > 850


def constant_positions(rule: ScalarRule) -> list[int]:
    """The arguments by which all partial derivatives are said to be zero, or not to exist."""

    def is_zero(constant: Any) -> bool:
        return isinstance(constant, AbstractZero) or (
            isinstance(constant, (int, float)) and constant == 0
        )

    return [j for j in range(rule.n) if all(is_zero(row[j].constant) for row in rule.partials)]


def scalar_rules() -> list[ScalarRule]:
    import scipy.special  # noqa: F401 - its rules

    found = [row.rule for row in rules() if isinstance(row.rule, ScalarRule)]
    # SciPy computes ellipsoidal harmonics by integrals that fail with a message of their own.
    return [rule for rule in found if constant_positions(rule) and "ellip" not in rule.name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rule", scalar_rules(), ids=lambda rule: rule.name)
def test_no_elementwise_function_moves_where_its_partial_is_zero(rule: ScalarRule) -> None:
    # At whole numbers and at others, since what is counted may be computed for any.
    rng = np.random.default_rng(0)
    for draw in range(60):
        args = (rng.integers(1, 6, rule.n).astype(float), rng.uniform(0, 3, rule.n))[draw % 2]
        args = tuple(args.tolist())
        with np.errstate(all="ignore"):
            try:
                if not can_be_perturbed(rule.f(*args)):
                    continue
            except (TypeError, ValueError):
                continue
            for j in constant_positions(rule):
                assert not moves(rule.f, args, {}, j), (j, args)


@pytest.mark.parametrize("call", OPTIONS, ids=lambda call: call[0].__name__)
def test_no_silent_zero_of_an_option(call: tuple) -> None:
    f, *args = call
    if rrule.resolve(f, tuple(args), {}) is None:
        return
    assert zeros(f, tuple(args)) == []


@pytest.mark.parametrize("call", OPTIONS[:9], ids=lambda call: call[0].__name__)
def test_the_missing_derivative_names_rule_and_argument(call: tuple) -> None:
    f, *args = call
    y, pullback = rrule(f, *args)
    bar = pullback(np.ones_like(y))[-1]
    assert isinstance(bar, NotImplementedTangent)
    assert f.__name__ in bar.reason
    assert isinstance(pullback(ZeroTangent())[-1], AbstractZero)
    dots = [NoTangent(), *[ZeroTangent() for _ in args[:-1]], 1.0]
    assert isinstance(frule(tuple(dots), f, *args)[1], NotImplementedTangent)
    for zero in (0.0, ZeroTangent(), NoTangent()):
        dots[-1] = zero
        assert not isinstance(frule(tuple(dots), f, *args)[1], NotImplementedTangent)


def test_what_cannot_be_perturbed_has_no_tangent() -> None:
    _, pullback = rrule(np.sum, M, 0)
    assert isinstance(pullback(np.ones(4))[2], NoTangent)
    _, pullback = rrule(signal.convolve2d, M, M, "full", "fill", 0)
    assert [type(bar) for bar in pullback(np.ones((7, 7)))[3:]] == [NoTangent] * 3
    y, moved = frule((NoTangent(), M, 1), np.sum, M, 0)
    np.testing.assert_array_equal(y, moved)


@pytest.mark.parametrize("f, args", SAMPLES)
def test_tensors_have_no_rule_or_the_right_derivative(f: Any, args: tuple) -> None:
    torch = pytest.importorskip("torch", reason="its tensors are what is tested")
    if not any(isinstance(a, np.ndarray) for a in args) or not answers(f, args, {}):
        return
    given = tuple(torch.from_numpy(a.copy()) if isinstance(a, np.ndarray) else a for a in args)
    found = rrule(f, *given)
    assert (found is None) == (frule.resolve(f, given, {}) is None)
    if found is None or not isinstance(found[0], (float, np.ndarray)):
        return
    y, pullback = rrule(f, *args)
    y_bar = np.ones_like(y)
    for bar, expected in zip(found[1](y_bar), pullback(y_bar), strict=True):
        bar, expected = unthunk(bar), unthunk(expected)
        if isinstance(expected, np.ndarray):
            np.testing.assert_allclose(np.asarray(bar), expected)
