"""The public rrule and frule: a zero is a zero, and what nobody has written says so.

Generated from the table of samples, and from calls that give numbers to options: an argument that a
call depends on is never answered by `NoTangent` or `ZeroTangent`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import fftpack, ndimage, signal

from chainrules_core import (
    NoTangent,
    NotImplementedTangent,
    ZeroTangent,
    frule,
    rrule,
)
from chainrules_core.frame import can_be_perturbed
from chainrules_core.tangents import AbstractZero, unthunk
from tests.chainrules.coverage.test_samples import cases

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


def outcome(f: Any, args: tuple) -> Any:
    with np.errstate(all="ignore"):
        return f(*args)


def flat(y: Any) -> np.ndarray:
    parts = y if isinstance(y, (tuple, list)) else [y]
    return np.concatenate([np.ravel(np.asarray(p)).astype(complex) for p in parts])


def moves(f: Any, args: tuple, i: int) -> bool:
    """Whether the value depends on a number or array among the arguments."""
    moved = list(args)
    moved[i] = args[i] + np.float64(1e-3) if np.ndim(args[i]) else args[i] + 1e-3
    try:
        before, after = flat(outcome(f, args)), flat(outcome(f, tuple(moved)))
    except Exception:
        return False
    return before.shape == after.shape and not np.array_equal(before, after, equal_nan=True)


def zeros(f: Any, args: tuple) -> list[int]:
    """Return the arguments that are answered by a zero although the value depends on them."""
    with np.errstate(all="ignore"):
        found = rrule(f, *args)
    if found is None or any(r.kind == "non_differentiable" for r in rrule.methods(f)):
        return []
    y, pullback = found
    if not isinstance(y, (float, np.floating, np.ndarray)) or not can_be_perturbed(y):
        return []
    bars = pullback(np.ones_like(y) if isinstance(y, np.ndarray) else 1.0)[1:]
    return [
        i
        for i, (a, bar) in enumerate(zip(args, bars, strict=False))
        if isinstance(a, (float, np.ndarray)) and can_be_perturbed(a)
        and isinstance(unthunk(bar), AbstractZero) and moves(f, args, i)
    ]  # fmt: skip


SAMPLES = [
    case
    for case in cases()
    if not getattr(case.values[0], "__name__", "").startswith(("<", "bound", "call"))
]


@pytest.mark.parametrize("f, args", SAMPLES)
def test_no_silent_zero_in_the_samples(f: Any, args: tuple) -> None:
    try:
        known = rrule.resolve(f, args, {})
    except TypeError:
        known = None
    if known is None or known[0].takes_config or known[0].kind in ("refused", "opt_out"):
        return
    assert zeros(f, args) == []


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
