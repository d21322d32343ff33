"""JAX functions inside a derivative of ours, with derivatives by JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autodiff.errors import ArgumentError, DifferentiationError
from autodiff.interop.flat_call import check_function
from autodiff.interop.foreign_call import Back, Foreign, ForeignCall
from autodiff.interop.jax_calls import is_called_back
from chainrules_core.rules import name_of


def from_jax(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Turn a JAX function into a function of NumPy arrays that you can use in a gradient.

    Parameters
    ----------
    f : callable
        A function of JAX arrays that JAX can differentiate, with or without ``jax.jit``.

    Returns
    -------
    callable
        A function that you can call with arrays, and inside functions that you differentiate. `f`
        gets JAX arrays for the arrays in its arguments, including those inside tuples, lists, dicts
        and objects. JAX traces floats, unless they are keyword arguments that are not being
        differentiated. JAX arrays that `f` returns become NumPy arrays, or NumPy scalars if they
        have no axes.

    Raises
    ------
    ArgumentError
        If `f` is not a function, or returns an array with a dtype that NumPy does not have.
    DifferentiationError
        If it is called inside a compiled JAX program, by a function that `to_jax` returned: the
        program would wait for itself.

    Notes
    -----
    JAX differentiates `f`, to any order. Forward mode is the adjoint of JAX's pullback. Arrays are
    copied. While ``jax_enable_x64`` is off, JAX computes in float32, and results are float32;
    gradients have the dtypes of the arguments. Captured variables of `f` are constants.

    Examples
    --------
    >>> import jax, numpy as np
    >>> from autodiff import gradient
    >>> softplus = from_jax(jax.nn.softplus)
    >>> gradient(lambda x: np.sum(softplus(x) ** 2), np.zeros(2, np.float32)).round(4)
    array([0.6931, 0.6931], dtype=float32)
    """
    check_function(f, "from_jax")
    return Foreign(f, functools.partial(_JaxCall, name_of(f)), _is_array)


class _JaxCall(ForeignCall):
    """A function of a list of JAX arrays that returns a list of them.

    Parameters
    ----------
    name : str
        The name of the user's function.
    function : callable
        The function.
    """

    function: Callable[[list], list]

    def __new__(cls, name: str, function: Callable[[list], list]) -> _JaxCall:
        call = super().__new__(cls, name)
        call.function = function
        return call

    def value(self, *arrays: Any) -> list[np.ndarray]:
        self._check_may_run()
        return _out_of_jax(self.function(_into_jax(arrays)))

    def recorded(self, arrays: tuple, wanted: tuple[int, ...]) -> tuple[list, Back]:
        self._check_may_run()
        inputs = _into_jax(arrays)
        run = _of_some(self.function, inputs, wanted)
        outputs, vjp = jax.vjp(run, *(inputs[i] for i in wanted))
        given = tuple(k for k, y in enumerate(outputs) if _is_inexact(y))

        def back(y_bars: Sequence[Any]) -> list[np.ndarray]:
            return _out_of_jax(_pulled(vjp, outputs, given, y_bars))

        return _out_of_jax(outputs), back

    def pullback(self, wanted: tuple[int, ...], given: tuple[int, ...]) -> _JaxCall:
        def pulled(arrays: list) -> list:
            n = len(arrays) - len(given)
            inputs = arrays[:n]
            run = _of_some(self.function, inputs, wanted)
            outputs, vjp = jax.vjp(run, *(inputs[i] for i in wanted))
            return _pulled(vjp, outputs, given, arrays[n:])

        return _JaxCall(self, pulled)

    def _check_may_run(self) -> None:
        if is_called_back():
            raise DifferentiationError(
                f"{self}, a function made by from_jax, is called inside a compiled JAX program, by "
                "way of to_jax: the program would wait for itself. Call it in JAX directly, and "
                "use to_jax for the rest."
            )


def _of_some(
    f: Callable[[list], list], inputs: list, places: tuple[int, ...]
) -> Callable[..., list]:
    """Return `f` as a function of the inputs at `places`; the others are constants."""

    def f_of_some(*some: Any) -> list:
        arrays = list(inputs)
        for i, x in zip(places, some, strict=True):
            arrays[i] = x
        return f(arrays)

    return f_of_some


def _pulled(
    vjp: Callable, outputs: list, given: tuple[int, ...], y_bars: Sequence[Any]
) -> list[jax.Array]:
    """Apply JAX's pullback, whose cotangents are the conjugates of ours."""
    bars: list[Any] = [np.zeros(y.shape, jax.dtypes.float0) for y in outputs]
    for k, bar in zip(given, y_bars, strict=True):
        bars[k] = jnp.conj(jnp.asarray(bar).astype(outputs[k].dtype))
    return list(map(jnp.conj, vjp(bars)))


def _is_array(x: Any) -> bool:
    return isinstance(x, jax.Array)


def _is_inexact(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.inexact))


def _into_jax(arrays: Iterable[Any]) -> list:
    # Copies: JAX may share the memory of an array, which the user may write into.
    return [jnp.array(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in arrays]


def _out_of_jax(outputs: Iterable[Any]) -> list[np.ndarray]:
    found = [np.array(y) for y in outputs]  # copies, since JAX's memory is read-only
    for array in found:
        if array.dtype.kind not in "biufc":
            raise ArgumentError(
                f"a JAX function returns an array of {array.dtype}, which NumPy cannot compute "
                "with. Convert it in the function: y.astype(jax.numpy.float32)."
            )
    return found
