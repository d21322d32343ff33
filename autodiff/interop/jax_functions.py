"""JAX functions inside a derivative of ours, with derivatives by JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import jax
import jax.numpy as jnp
import numpy as np

from autodiff.errors import ArgumentError, DifferentiationError
from autodiff.interop import flat_call
from autodiff.interop.foreign_call import Back, ForeignCall, foreign_call
from autodiff.interop.jax_calls import is_called_back
from chainrules_core.rules import name_of

P = ParamSpec("P")


def from_jax(f: Callable[P, Any], /) -> Callable[P, Any]:
    """Return a function of NumPy arrays that computes what a JAX function does.

    Parameters
    ----------
    f : callable
        A function of JAX arrays that JAX can differentiate, with or without ``jax.jit``.

    Returns
    -------
    callable
        A function with the arguments of `f`, in which NumPy arrays and floats stand for JAX arrays,
        also inside tuples, lists, dicts and objects. It returns what `f` does, with NumPy arrays
        for JAX arrays, and NumPy scalars for those without axes. It can be called in functions that
        this engine differentiates, by derivatives of any order; they are computed by JAX.

    Raises
    ------
    ArgumentError
        If `f` is no function, or returns an array whose dtype NumPy does not have.
    DifferentiationError
        When it is called by a function that `to_jax` has made part of a compiled JAX program: the
        program would wait for itself.

    Notes
    -----
    While ``jax_enable_x64`` is off, JAX computes in float32, and so are the results; gradients have
    the dtypes of the arguments. Variables that `f` has captured are constants.

    Examples
    --------
    >>> import jax, numpy as np
    >>> from autodiff import gradient
    >>> softplus = from_jax(jax.nn.softplus)
    >>> gradient(lambda x: np.sum(softplus(x) ** 2), np.zeros(2, np.float32)).round(4)
    array([0.6931, 0.6931], dtype=float32)
    """
    if not callable(f):
        raise ArgumentError(f"from_jax takes a function, not {type(f).__name__}: from_jax(f)(x).")

    @functools.wraps(f)
    def f_of_arrays(*args: P.args, **kwargs: P.kwargs) -> Any:
        if is_called_back():
            raise DifferentiationError(
                f"{name_of(f)}, a function made by from_jax, is called inside a compiled JAX "
                "program, by way of to_jax: the program would wait for itself. Call it in JAX "
                "directly, and use to_jax for the rest."
            )
        arrays, inputs = flat_call.taken_out((args, kwargs))
        call = _Called(f, inputs)
        outputs = foreign_call(*arrays, call=call)
        return call.outputs.filled(outputs)

    return f_of_arrays


class _JaxCall(ForeignCall):
    """A flat function of JAX arrays as a foreign call.

    Subclasses have a method ``in_jax(*arrays)``, which returns a tuple of JAX arrays.
    """

    def in_jax(self, *arrays: Any) -> tuple:
        """Return the outputs, as JAX arrays, from inputs that JAX may trace."""
        raise NotImplementedError

    def value(self, *arrays: Any) -> tuple:
        return _out_of_jax(self.in_jax(*map(_into_jax, arrays)))

    def recorded(self, arrays: Sequence[Any], wanted: tuple[int, ...]) -> tuple[tuple, Back]:
        inputs = [_into_jax(x) for x in arrays]
        y, vjp = jax.vjp(_of_some(self.in_jax, inputs, wanted), *(inputs[i] for i in wanted))

        def back(y_bars: Sequence[Any]) -> tuple:
            return _out_of_jax(_pulled(vjp, y, y_bars))

        return _out_of_jax(y), back

    def pullback(self, wanted: tuple[int, ...], given: tuple[int, ...]) -> ForeignCall:
        return _PullbackCall(self, wanted, given)

    def pushforward(self, perturbed: tuple[int, ...]) -> ForeignCall:
        return _PushforwardCall(self, perturbed)


class _Called(_JaxCall):
    """A call of the user's JAX function."""

    outputs: flat_call.Structure

    def __init__(self, f: Callable, inputs: flat_call.Structure) -> None:
        self.f = f
        self.inputs = inputs

    def in_jax(self, *arrays: Any) -> tuple:
        args, kwargs = self.inputs.filled(arrays)
        outputs, self.outputs = flat_call.taken_out(self.f(*args, **kwargs), _is_array)
        return tuple(outputs)


class _PullbackCall(_JaxCall):
    def __init__(self, call: _JaxCall, wanted: tuple[int, ...], given: tuple[int, ...]) -> None:
        self.call = call
        self.wanted = wanted
        self.given = given

    def in_jax(self, *arrays: Any) -> tuple:
        n = len(arrays) - len(self.given)
        inputs, bars = arrays[:n], arrays[n:]
        run = _of_some(self.call.in_jax, inputs, self.wanted)
        y, vjp = jax.vjp(run, *(inputs[i] for i in self.wanted))
        y_bars: list[Any] = [None] * len(y)
        for k, bar in zip(self.given, bars, strict=True):
            y_bars[k] = bar
        return _pulled(vjp, y, y_bars)


class _PushforwardCall(_JaxCall):
    def __init__(self, call: _JaxCall, perturbed: tuple[int, ...]) -> None:
        self.call = call
        self.perturbed = perturbed

    def in_jax(self, *arrays: Any) -> tuple:
        n = len(arrays) - len(self.perturbed)
        inputs, dots = arrays[:n], arrays[n:]
        primals = tuple(jnp.asarray(inputs[i]) for i in self.perturbed)
        tangents = tuple(_like(dot, x) for dot, x in zip(dots, primals, strict=True))
        y, y_dots = jax.jvp(_of_some(self.call.in_jax, inputs, self.perturbed), primals, tangents)
        return tuple(y_dot for part, y_dot in zip(y, y_dots, strict=True) if _is_inexact(part))


def _of_some(f: Callable, inputs: Sequence[Any], places: tuple[int, ...]) -> Callable[..., tuple]:
    """Return `f` as a function of the inputs at `places`; the others are constants."""

    def f_of_some(*some: Any) -> tuple:
        arrays = list(inputs)
        for i, x in zip(places, some, strict=True):
            arrays[i] = x
        return f(*arrays)

    return f_of_some


def _pulled(vjp: Callable, y: tuple, y_bars: Sequence[Any]) -> tuple:
    """Apply JAX's pullback, whose cotangents are the conjugates of ours."""
    given = tuple(
        np.zeros(part.shape, jax.dtypes.float0)
        if not _is_inexact(part)
        else jnp.zeros_like(part)
        if bar is None
        else jnp.conj(_like(bar, part))
        for part, bar in zip(y, y_bars, strict=True)
    )
    return tuple(map(jnp.conj, vjp(given)))


def _like(dot: Any, x: Any) -> Any:
    """Return a tangent or cotangent in the dtype of its primal."""
    if jnp.iscomplexobj(dot) and not jnp.iscomplexobj(x):
        dot = jnp.real(dot)
    return jnp.asarray(dot).astype(x.dtype)


def _is_array(x: Any) -> bool:
    return isinstance(x, jax.Array)


def _is_inexact(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.inexact))


def _into_jax(x: Any) -> Any:
    # A copy: JAX may share the memory of an array, which the user may write into.
    return jnp.array(x) if isinstance(x, (np.ndarray, np.generic)) else x


def _out_of_jax(y: Sequence[Any]) -> tuple:
    found = []
    for part in y:
        array = np.array(part)  # a copy, since JAX's memory is read-only
        if array.dtype.kind not in "biufc":
            raise ArgumentError(
                f"a JAX function returns an array of {part.dtype}, which NumPy cannot compute "
                "with. Convert it in the function: y.astype(jax.numpy.float32)."
            )
        found.append(array[()])
    return tuple(found)
