"""gradient, value_and_gradient, pullback, derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import structures
from autodiff.call import of_level
from autodiff.errors import ArgumentError, OutputError, SeedError
from autodiff.intercept import intercept
from autodiff.structures import is_perturbable, map_leaves
from autodiff.tape import Leaf, Tape, sweep
from autodiff.tracer import is_tracer, untraced, wrap
from chainrules_core import (
    AbstractZero,
    NotImplementedTangent,
    ProjectionError,
    ProjectTo,
    Tangent,
    unthunk,
    zero_tangent,
)
from chainrules_core.rules import name_of


class Linearised:
    """A function traced at a point: its value, and its cotangents by sweeps of the tape.

    Attributes
    ----------
    value : Any
        What the function returned, plain.
    """

    def __init__(
        self,
        f: Callable,
        args: tuple,
        kwargs: dict[str, Any],
        argnums: tuple[int, ...] | None,
        has_aux: bool = False,
    ) -> None:
        self.f = f
        tape = Tape()
        self._argnums = _checked_argnums(f, args, argnums)
        self._arguments = [_promoted(f, args, i, argnums is not None) for i in self._argnums]
        traced_arguments = [_traced(a, tape) for a in self._arguments]
        self._leaves = tape.leaves = len(tape.nodes)
        if not self._leaves:
            raise _nothing_to_differentiate(f, args)
        traced = list(args)
        for i, a in zip(self._argnums, traced_arguments, strict=True):
            traced[i] = a
        try:
            output = intercept(f)(*traced, **kwargs)
        finally:
            self._nodes = tape.close()
        self._tape = tape
        self.aux = None
        if has_aux:
            if not isinstance(output, tuple) or len(output) != 2:
                raise OutputError(
                    f"has_aux=True expects {name_of(f)} to return a pair (value, auxiliary); it "
                    f"returned {type(untraced(output)).__name__}."
                )
            output, aux = output
            self.aux = self._plain(aux)
        self._output = output
        self.value = self._plain(output)

    def _plain(self, x: Any) -> Any:
        tape = self._tape
        if is_tracer(x):
            return of_level(x, tape)
        return map_leaves(x, lambda leaf: of_level(leaf, tape))

    def gradients(self) -> list:
        """Return the gradients of a scalar output: the cotangents for 1."""
        output = self._output
        if is_tracer(output) and output._tape is self._tape:
            return self._rebuilt(self._sweep({output._index: ProjectTo(output)(1.0)}))
        return self._rebuilt([None] * self._leaves)

    def _rebuilt(self, found: list) -> list:
        if len(found) == 1 and len(self._arguments) == 1 and is_perturbable(self._arguments[0]):
            return [_gradient_of_leaf(self._arguments[0], found[0])]
        remaining = iter(found)
        return [_gradient_like(a, remaining) for a in self._arguments]

    def cotangents(self, y_bar: Any) -> list:
        """Return one cotangent for each differentiated argument, in its own nesting."""
        return self._rebuilt(self._sweep(self._seeds(y_bar)))

    def _sweep(self, seeds: dict[int, Any]) -> list:
        """Sweep; once more with strong zeros if 0 · Inf may have made a NaN."""
        nested = self._tape.nested or any(is_tracer(s) for s in seeds.values())
        with np.errstate(all="ignore"):
            found = sweep(self._nodes, self._leaves, seeds, nested=nested)
            if any(_has_nan(bar) for bar in found):
                found = sweep(self._nodes, self._leaves, seeds, nested=nested, strong=True)
        return found

    def _seeds(self, y_bar: Any) -> dict[int, Any]:
        """Return the cotangents of the output's traced parts by their place on the tape."""
        seeds: dict[int, Any] = {}

        def visit(y: Any, bar: Any) -> None:
            bar = unthunk(bar)
            if isinstance(bar, AbstractZero) or bar is None:
                return
            if is_tracer(y):
                if y._tape is self._tape:
                    bar = _seed_like(self.f, y._value, bar)
                    before = seeds.get(y._index)
                    seeds[y._index] = bar if before is None else before + bar
                return
            parts = structures.parts_of(y)
            if parts is None:
                return
            for key, part in parts:
                visit(part, _seed_part(self.f, y, bar, key))

        visit(self._output, y_bar)
        return seeds


def _checked_argnums(f: Callable, args: tuple, argnums: tuple[int, ...] | None) -> tuple[int, ...]:
    if not callable(f):
        raise ArgumentError(
            f"the first argument must be a function, not {type(f).__name__}: gradient(f, x)."
        )
    if not args:
        raise ArgumentError(f"no arguments to differentiate {name_of(f)} with respect to.")
    if argnums is None:
        return tuple(range(len(args)))
    for i in argnums:
        if not -len(args) <= i < len(args):
            raise ArgumentError(
                f"argnums has {i}, but {name_of(f)} was given {len(args)} arguments."
            )
    return tuple(i % len(args) for i in argnums)


def _promoted(f: Callable, args: tuple, i: int, chosen: bool) -> Any:
    """Return an argument in the form in which it is differentiated; an int becomes a float."""
    x = args[i]
    plain = untraced(x)
    if type(plain) is int or isinstance(plain, np.integer):
        return float(x) if type(plain) is int else np.float64(x)
    if isinstance(plain, np.ndarray) and plain.dtype.kind not in "fcO":
        raise ArgumentError(
            f"argument {i} of {name_of(f)} is an array of {plain.dtype}, which cannot be "
            "perturbed. Convert it (x.astype(float)) to differentiate with respect to it, or name "
            "the arguments to differentiate with argnums=."
        )
    if chosen and isinstance(plain, (str, bytes, bool, type(None))):
        raise _nothing_to_differentiate(f, (x,))
    return x


def _nothing_to_differentiate(f: Callable, args: tuple) -> ArgumentError:
    kinds = ", ".join(type(untraced(a)).__name__ for a in args)
    return ArgumentError(
        f"there is nothing to differentiate {name_of(f)} with respect to: an argument must be or "
        f"contain a float, a complex number or an array of them; given was ({kinds})."
    )


def _traced(x: Any, tape: Tape) -> Any:
    """Return a nest with its leaves traced on `tape`."""

    def trace(leaf: Any) -> Any:
        if not is_perturbable(leaf):
            return leaf
        return wrap(leaf, tape, tape.add(Leaf(ProjectTo(leaf))))

    return map_leaves(x, trace)


def _gradient_like(x: Any, bars: Any) -> Any:
    """Return the nest of cotangents for a nest of arguments; None where nothing can be perturbed.

    Leaves without cotangent have a zero of their own shape.
    """

    def gradient(leaf: Any) -> Any:
        return _gradient_of_leaf(leaf, next(bars)) if is_perturbable(leaf) else None

    return map_leaves(x, gradient)


def _gradient_of_leaf(leaf: Any, bar: Any) -> Any:
    if isinstance(bar, NotImplementedTangent):
        raise bar.error()
    if bar is None or isinstance(bar, AbstractZero):
        return zero_tangent(leaf)
    return ProjectTo(leaf)(bar)


def _has_nan(bar: Any) -> bool:
    bar = untraced(bar)
    if type(bar) is float:
        return bar != bar
    if isinstance(bar, (np.ndarray, np.generic)) and bar.dtype.kind in "fc":
        total = bar.sum()
        return bool(total != total)
    return False


def _seed_like(f: Callable, y: Any, bar: Any) -> Any:
    """Check a seed against the output it belongs to."""
    plain = untraced(bar)
    if not isinstance(plain, (int, float, complex, np.ndarray, np.generic)):
        raise SeedError(
            f"the pullback of {name_of(f)} was given a {type(plain).__name__} for an output that "
            f"is a {type(untraced(y)).__name__}; it takes a number or array like the output."
        )
    if np.shape(plain) != np.shape(y):
        raise SeedError(
            f"the pullback of {name_of(f)} was given a cotangent of shape {np.shape(plain)} for an "
            f"output of shape {np.shape(y)}; the two must agree."
        )
    try:
        return ProjectTo(y)(bar)
    except ProjectionError as error:
        raise SeedError(f"the pullback of {name_of(f)}: {error}") from error


def _seed_part(f: Callable, y: Any, bar: Any, key: Any) -> Any:
    """Return the part of a seed that belongs to part `key` of the output `y`."""
    if isinstance(bar, (Tangent, dict)):
        return bar[key]
    if isinstance(y, (tuple, list)) and isinstance(bar, (tuple, list)):
        if len(bar) != len(y):
            raise SeedError(
                f"the pullback of {name_of(f)} takes {len(y)} cotangents, one for each part of the "
                f"output; it was given {len(bar)}."
            )
        return bar[key if type(key) is int else type(y)._fields.index(key)]  # type: ignore[union-attr] # a namedtuple
    if hasattr(bar, str(key)) and type(bar) is type(y):
        return getattr(bar, key)
    raise SeedError(
        f"the pullback of {name_of(f)} was given a {type(bar).__name__} for an output that is a "
        f"{type(y).__name__}; give the same nesting."
    )


def _argnums(argnums: int | tuple[int, ...] | None) -> tuple[int, ...] | None:
    return (argnums,) if isinstance(argnums, int) else argnums


def pullback(
    f: Callable, *args: Any, argnums: int | tuple[int, ...] | None = None, **kwargs: Any
) -> tuple[Any, Callable]:
    """Evaluate a function and return its pullback at that point.

    Parameters
    ----------
    f : callable
        Any function.
    *args : Any
        Its arguments: numbers, arrays, or nests of them.
    argnums : int or tuple of int, optional
        Which arguments to differentiate with respect to; all by default.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    y : Any
        The value.
    back : callable
        ``back(y_bar)``, any number of times: the cotangent of the argument, or a tuple of them
        where there are several, each in the nesting of its argument.

    Raises
    ------
    ArgumentError
        If there is nothing to differentiate with respect to.

    Examples
    --------
    >>> y, back = pullback(lambda x: x ** 2, np.array([1.0, 2.0]))
    >>> back(np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
    traced = Linearised(f, args, kwargs, _argnums(argnums))
    single = isinstance(argnums, int) or (argnums is None and len(args) == 1)

    def back(*y_bar: Any) -> Any:
        if len(y_bar) != 1:
            raise SeedError(
                f"the pullback of {name_of(f)} takes one cotangent, for its output; it was given "
                f"{len(y_bar)}. For an output of several parts give them as one tuple."
            )
        bars = traced.cotangents(y_bar[0])
        return bars[0] if single else tuple(bars)

    return traced.value, back


def value_and_gradient(
    f: Callable,
    *args: Any,
    argnums: int | tuple[int, ...] | None = None,
    has_aux: bool = False,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Evaluate a function and its gradient.

    Parameters
    ----------
    f : callable
        A function that returns a real number.
    *args : Any
        Its arguments: numbers, arrays, or nests (tuples, lists, dicts, namedtuples, dataclasses,
        objects) of them. An int is promoted to float.
    argnums : int or tuple of int, optional
        Which arguments to differentiate with respect to; all by default.
    has_aux : bool
        Whether `f` returns a pair, of which the second part is passed through.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    value : float
        The value; ``(value, aux)`` with `has_aux`.
    gradient : Any
        As from :func:`gradient`.

    Raises
    ------
    OutputError
        If the output is not a real number.
    ArgumentError
        If an argument cannot be differentiated with respect to.

    Examples
    --------
    >>> value_and_gradient(lambda x: x * x, 3.0)
    (9.0, 6.0)
    """
    traced = Linearised(f, args, kwargs, _argnums(argnums), has_aux)
    _check_scalar(f, traced.value)
    bars = traced.gradients()
    single = isinstance(argnums, int) or (argnums is None and len(args) == 1)
    value = (traced.value, traced.aux) if has_aux else traced.value
    return value, bars[0] if single else tuple(bars)


def _check_scalar(f: Callable, y: Any) -> None:
    """Raise where an output has no gradient."""
    plain = untraced(y)
    name = name_of(f)
    if plain is None:
        raise OutputError(f"{name} returned None. Does it lack a return statement?")
    if isinstance(plain, (np.ndarray, np.generic)) and plain.shape != ():
        raise OutputError(
            f"{name} returned an array of shape {plain.shape}; a gradient is that of one real "
            "number. Sum it up, or use pullback(f, x), or jacobian(f, x)."
        )
    if isinstance(plain, (complex, np.complexfloating)) or (
        isinstance(plain, np.ndarray) and plain.dtype.kind == "c"
    ):
        raise OutputError(
            f"{name} returned a complex number; a gradient is that of one real number. Return "
            "its abs, real or imag, or use pullback(f, x) with a cotangent of your choice."
        )
    if not isinstance(plain, (int, float, np.number, np.ndarray, np.bool_)):
        raise OutputError(
            f"{name} returned a {type(plain).__name__}; a gradient is that of one real number. "
            "To return more beside it, use has_aux=True."
        )


def gradient(
    f: Callable,
    *args: Any,
    argnums: int | tuple[int, ...] | None = None,
    **kwargs: Any,
) -> Any:
    """Return the gradient of a function.

    Parameters
    ----------
    f : callable
        A function that returns a real number: any Python and NumPy code.
    *args : Any
        Its arguments: numbers, arrays, or nests (tuples, lists, dicts, namedtuples, dataclasses,
        objects) of them. An int is promoted to float.
    argnums : int or tuple of int, optional
        Which arguments to differentiate with respect to; all by default.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    Any
        For one argument its gradient, for several a tuple: each in the nesting, shape and precision
        of its argument, zero where nothing depends on it, None where it cannot be perturbed (a
        string, a bool, an int inside a nest). For complex arguments it is
        ``∂f/∂re + i ∂f/∂im``, the conjugate of what JAX and autograd return.

    Raises
    ------
    OutputError
        If the output is not a real number.
    ArgumentError
        If an argument cannot be differentiated with respect to.

    Examples
    --------
    >>> gradient(lambda x: np.sum(x ** 2), np.array([1.0, 2.0]))
    array([2., 4.])
    >>> gradient(lambda a, b: a * b, 2.0, 3.0)
    (3.0, 2.0)
    """
    return value_and_gradient(f, *args, argnums=argnums, **kwargs)[1]


def derivative(f: Callable, x: Any, **kwargs: Any) -> Any:
    """Return the derivative of a function of one real number.

    Parameters
    ----------
    f : callable
        A function of a number; it may return a number, an array, or a nest of them.
    x : float
        Where.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    Any
        ``df/dx``, in the shape of the output.

    Raises
    ------
    ArgumentError
        If `x` is not a real number.

    Examples
    --------
    >>> derivative(lambda x: x ** 3, 2.0)
    12.0
    >>> derivative(lambda x: np.array([1.0, 2.0]) * x, 2.0)
    array([1., 2.])
    """
    plain = untraced(x)
    if not isinstance(plain, (int, float, np.integer, np.floating)) or isinstance(plain, bool):
        raise ArgumentError(
            f"derivative is for a function of one real number, not {type(plain).__name__}. Use "
            "gradient(f, x), or pullback(f, x)."
        )
    traced = Linearised(f, (x,), kwargs, None)

    def of(y: Any) -> Any:
        if np.shape(y) == ():
            return one_cotangent(1.0)
        return np.reshape(np.array([one_cotangent(e) for e in _units(y)]), np.shape(y))

    def one_cotangent(bar: Any) -> Any:
        return traced.cotangents(bar)[0]

    return of(traced.value)


def _units(y: Any) -> Any:
    """Yield the arrays of the shape of `y` with a single one."""
    for i in range(np.size(y)):
        unit = np.zeros(np.shape(y))
        unit.flat[i] = 1.0
        yield unit
