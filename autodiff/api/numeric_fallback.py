"""The numeric fallback: C functions without a rule, differentiated numerically on request.

A directional derivative is computed in two ways. Central differences at ±h, ±h/4, … are improved by
Richardson extrapolation of three at a time, which also estimates the error. If the function takes
complex numbers, a complex step, Im f(x + ih)/h, gives it to full precision. The complex step is
used only if the differences agree with it, since the function need not be analytic. If the
differences do not converge, the result is an error and not a number.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from autodiff.api.callback_values import as_pytree
from autodiff.closures.call_template import Template, WrittenError
from autodiff.dispatch.arguments import innermost, of_level
from autodiff.dispatch.call import NO_RULE, outputs
from autodiff.errors import ArgumentError, DifferentiationError, MutationError, way_to_a_rule
from autodiff.trace.jvp_trace import with_tangent
from autodiff.trace.nodes import CallRule
from autodiff.trace.pytree import has_variables, is_perturbable, leaves_of, tangent_of, variables_of
from autodiff.trace.tracer import is_tracer
from chainrules_core import NoTangent, unbroadcast
from chainrules_core.interpreter.noticed import mark, restore
from chainrules_core.rules import name_of

_STEPS = 0.1 * 0.25 ** np.arange(14)
_EPSILON = np.finfo(float).eps
_COMPLEX_STEP = 1e-20
_TOLERANCE = 1e-5  # relative to the largest slope
_NOISE = 1e-11  # relative to the values nearby

_KNOWN = (bool, int, float, complex, type(None), np.ndarray, np.generic)

_asked: ContextVar[bool] = ContextVar("autodiff_numeric_fallback", default=False)
_nothing = contextlib.nullcontext()


def fallback_to(kind: str | None) -> contextlib.AbstractContextManager[None]:
    """Return the context for a ``fallback=`` argument."""
    return _nothing if kind is None else numeric_fallback(kind)


def numeric_fallback(kind: str = "numeric") -> contextlib.AbstractContextManager[None]:
    """Differentiate C functions without a rule by finite differences in a ``with`` block.

    Use it for functions that have no argument ``fallback="numeric"``.

    Parameters
    ----------
    kind : {"numeric"}
        The method.

    Raises
    ------
    ArgumentError
        If `kind` is unknown.
    DifferentiationError
        Inside the block: if the differences do not converge, for complex arguments, and for second
        derivatives of such a function.

    Notes
    -----
    A pullback needs about 30 calls of the function for each number in its traced arguments (for a
    ufunc, for each argument). Forward mode needs about 30 calls in all. ``explain`` shows such
    calls as numeric.

    Examples
    --------
    >>> import ctypes
    >>> from autodiff import gradient
    >>> cube = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x ** 3)
    >>> with numeric_fallback():
    ...     round(gradient(cube, 2.0), 6)
    12.0
    """
    if kind != "numeric":
        raise ArgumentError(f'fallback= is "numeric" or None, not {kind!r}.')
    return _falling_back()


@contextlib.contextmanager
def _falling_back() -> Iterator[None]:
    token = _asked.set(True)
    try:
        yield
    finally:
        _asked.reset(token)


def numerically(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a function that has no rule and differentiate it numerically.

    Returns
    -------
    Any
        The traced result; `NO_RULE` if the fallback is off or nothing is traced.
    """
    if not _asked.get():
        return NO_RULE
    numeric = Numeric(f, args, kwargs)
    return numeric.on_level() if numeric.sources else NO_RULE


class Numeric(Template):
    """A call that is differentiated numerically."""

    __slots__ = ("is_elementwise", "name", "takes_complex", "way")

    def __init__(self, f: Callable, args: tuple, kwargs: dict[str, Any]) -> None:
        super().__init__(f, args, kwargs)
        self.name, self.way = name_of(f), way_to_a_rule(f)
        self.takes_complex = True
        self.is_elementwise = isinstance(f, np.ufunc) and f.signature is None and not kwargs

    def on_level(self) -> Any:
        """Make the call on the innermost trace level of its arguments."""
        tape: Any = innermost(tuple(self.sources), {})
        tape.check_open()
        values = [of_level(x, tape) for x in self.sources]
        wanted = [i for i, x in enumerate(self.sources) if x._tape is tape]
        self._check(values)
        try:
            y = self.plain(values)
        except WrittenError:
            raise MutationError(
                f"{self.name} has no rule and writes into an array that it is given, which is not "
                "followed. Write the computation with functions that have a rule."
            ) from None
        self._check_output(y)
        if not has_variables(y):
            return y
        if tape.forward:
            dots = {i: self.sources[i]._index for i in wanted}
            return with_tangent(y, self._push(values, dots, y), tape)
        self.hold(tape)

        def numeric_pullback(y_bar: Any) -> list:
            flat = _flat_cotangent(y, y_bar)
            return [self._pull(values, i, y, flat) for i in wanted]

        parents = tuple([self.sources[i]._index for i in wanted])
        positions = tuple(range(len(wanted)))
        rule = CallRule(numerically, "numeric", self.name)
        return outputs(y, tape, rule, parents, positions, numeric_pullback)

    def _check(self, values: list) -> None:
        """Raise for values that cannot be differentiated numerically."""
        if any(is_tracer(v) for v in values):
            raise DifferentiationError(
                f"{self.name} has no rule; it is differentiated numerically, and that cannot be "
                f"done twice. {self.way}."
            )
        if any(np.iscomplexobj(v) for v in values):
            raise DifferentiationError(
                f"{self.name} has no rule, and the numeric fallback is for real arguments. "
                f"{self.way}, or call a function of the real and imaginary parts."
            )

    def _check_output(self, y: Any) -> None:
        """Raise if the output has a leaf that may hide a dependence on the arguments."""
        for leaf in leaves_of(y):
            kind = leaf.dtype.kind if isinstance(leaf, np.ndarray) else "-"
            if kind == "O" or not isinstance(leaf, _KNOWN):
                what = "an array of objects" if kind == "O" else f"a {type(leaf).__name__}"
                raise DifferentiationError(
                    f"{self.name} has no rule, and it returned {what}, which the numeric fallback "
                    "cannot differentiate. Give a rule to a function of your own that calls it and "
                    "returns numbers (@chainrules_core.rrule.register(...))."
                )

    def _push(self, values: list, dots: dict[int, Any], y: Any) -> Any:
        """Return the tangent of the output: the derivative along the direction of all tangents."""
        if any(is_tracer(dot) for dot in dots.values()):
            raise DifferentiationError(
                f"{self.name} has no rule; its pushforward is found numerically and cannot be "
                f"differentiated with respect to the tangent. {self.way}."
            )
        size = min(_size(values[i]) / max(_largest(dot), 1e-300) for i, dot in dots.items())
        if not any(np.any(dot) for dot in dots.values()):
            found: Any = np.zeros(_flat(y).size)
        else:
            steps = {i: np.asarray(dot, np.float64) * size for i, dot in dots.items()}
            found = self._along(values, steps, y) / size
        return _like(y, found)

    def _pull(self, values: list, i: int, y: Any, y_bar: Any) -> Any:
        """Return the cotangent of one argument, by a derivative along each of its elements."""
        x = values[i]
        if self.is_elementwise and is_perturbable(y):
            sizes = np.maximum(np.abs(np.asarray(x, np.float64)), 0.01)
            slope = self._along(values, {i: sizes}, y).reshape(np.shape(y)) / sizes
            return unbroadcast(np.conj(slope) * np.reshape(y_bar, np.shape(y)), np.shape(x))
        bars = []
        for place in np.ndindex(np.shape(x)):
            step = np.zeros(np.shape(x))
            step[place] = size = _size(np.asarray(x)[place])
            column = self._along(values, {i: step}, y) / size
            bars.append(np.real(np.sum(np.conj(column) * y_bar)))
        return np.reshape(np.stack(bars), np.shape(x)) if bars else np.zeros(np.shape(x))

    def _along(self, values: list, steps: dict[int, Any], y: Any) -> np.ndarray:
        """Return the derivative of the flat output along `steps`, for a step of length one."""
        size = _flat(y).size

        def at(t: Any) -> np.ndarray:
            """Return the flat output at t steps from here; NaN if it cannot be computed."""
            moved = list(values)
            for i, step in steps.items():
                x = np.asarray(values[i], np.float64) + t * step
                moved[i] = x if isinstance(values[i], np.ndarray) else x[()].item()
            before = mark()
            try:
                with np.errstate(all="ignore"):
                    found = _flat(self.plain(moved))
            except Exception:  # outside its domain
                restore(before)
                return np.full(size, np.nan)
            return found if found.size == size else np.full(size, np.nan)

        slope, error, largest = differences(at, size)
        scale = np.max(np.abs(slope), initial=0.0, where=np.isfinite(slope))
        if self.takes_complex and not np.iscomplexobj(_flat(y)):
            with warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                exact = np.imag(at(1j * _COMPLEX_STEP)) / _COMPLEX_STEP
            if np.any(exact) and np.all(np.abs(exact - slope) <= 1e-4 * scale + 10 * error):
                return exact
            self.takes_complex = False
        if not np.all(error <= _TOLERANCE * scale + _NOISE * largest):
            raise DifferentiationError(
                f"{self.name} has no rule, and its differences do not converge: it is not smooth "
                "where it was called, too noisy, or at the end of its domain. Call it elsewhere. "
                f"Or: {self.way}."
            )
        return slope


def differences(
    at: Callable[[float], np.ndarray], size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the derivative of each element of ``at(t)`` at t = 0, and what is known of its error.

    Parameters
    ----------
    at : callable
        Takes a float; returns a 1-D array.
    size : int
        The length of that array.

    Returns
    -------
    slope, error, largest : ndarray
        For each element its derivative, the estimated error (infinite if the differences do not
        converge) and the largest absolute value.

    Examples
    --------
    >>> slope, error, _ = differences(lambda t: np.array([np.sin(t), t]), 2)
    >>> bool(np.all(np.abs(slope - 1) < 1e-10) and np.all(error < 1e-9))
    True
    """
    with np.errstate(all="ignore"):
        ahead = np.array([at(h) for h in _STEPS])
        behind = np.array([at(-h) for h in _STEPS])
        steps = _STEPS[:, np.newaxis]
        second = (ahead - behind) / (2 * steps)
        fourth = (16 * second[1:] - second[:-1]) / 15
        sixth = (256 * fourth[1:] - fourth[:-1]) / 255
        values = np.maximum(np.abs(ahead), np.abs(behind))
        rounding = 4 * _EPSILON * (values[:-2] + np.abs(sixth)) / steps[2:]
        error = np.abs(sixth - fourth[1:]) + rounding
        error[~np.isfinite(error)] = np.inf
        # An estimate that smaller steps contradict has only seemed to converge.
        for k in range(len(sixth) - 1):
            apart = np.abs(sixth[k] - sixth[k + 1 :]) > error[k] + 2 * error[k + 1 :]
            error[k, np.any(apart, axis=0)] = np.inf
        best = np.argmin(error, axis=0)
        found = np.arange(size)
        largest = np.max(values, axis=0, initial=0.0, where=np.isfinite(values))
        return np.nan_to_num(sixth[best, found]), error[best, found], largest


def _size(x: Any) -> float:
    """Return a length for steps from a value."""
    return max(_largest(x), 0.01)


def _largest(x: Any) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def _flat(y: Any) -> np.ndarray:
    """Return the inexact numbers in an output as a 1-D array."""
    parts = [np.ravel(leaf) for leaf in variables_of(y)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _flat_cotangent(y: Any, y_bar: Any) -> Any:
    """Return a cotangent in the order of `_flat`; it may be traced."""
    leaves = leaves_of(as_pytree(y, y_bar))
    found = [np.reshape(bar, (-1,)) for bar in leaves if bar is not None]
    return found[0] if len(found) == 1 else np.concatenate(found)


def _like(y: Any, flat: np.ndarray) -> Any:
    """Return the tangent of an output from its numbers in the order of `_flat`."""
    place = [0]

    def one(leaf: Any) -> Any:
        if not is_perturbable(leaf):
            return NoTangent()
        start = place[0]
        place[0] += np.size(leaf)
        part = flat[start : place[0]].reshape(np.shape(leaf))
        return part if isinstance(leaf, np.ndarray) else part[()]

    return tangent_of(y, one)
