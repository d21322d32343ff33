"""Torch functions inside a derivative of ours, with derivatives by torch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from autodiff.interop.flat_call import check_function
from autodiff.interop.foreign_call import Back, Foreign, ForeignCall
from autodiff.interop.pytorch import CPU, as_array, as_tensor, is_inexact, is_tensor
from chainrules_core.rules import name_of


def from_torch(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Return a function of arrays that computes what a torch function does.

    Parameters
    ----------
    f : callable
        A function of tensors, or a ``torch.nn.Module``.

    Returns
    -------
    callable
        A function that may be called with arrays, and in functions that are differentiated here.
        Arrays and floats in its arguments, also inside tuples, lists, dicts and objects, are
        tensors for `f`; a float that is a keyword argument stays a float, unless it is being
        differentiated. Tensors that `f` returns are arrays. Dtypes are kept: a module of float32
        takes arrays of float32.

    Raises
    ------
    ArgumentError
        If `f` is not a function.

    Notes
    -----
    Torch differentiates `f`, for derivatives of every order; forward mode here is the adjoint of
    its backward pass. For second derivatives, `f` runs again: it must return the same (no dropout).

    Parameters of a module are constants, and their ``grad`` is left alone. To differentiate with
    respect to them, pass them: ``from_torch(lambda p, x: torch.func.functional_call(module, p,
    (x,)))`` takes a dict of arrays.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from autodiff import gradient
    >>> softplus = from_torch(torch.nn.functional.softplus)
    >>> gradient(lambda x: np.sum(softplus(x) ** 2), np.array([0.0, 1.0]))
    array([0.69314718, 1.92014245])
    """
    check_function(f, "from_torch")
    return Foreign(f, functools.partial(_TorchCall.of, f), is_tensor)


class _TorchCall(ForeignCall):
    """A function of tensors that returns a list of tensors."""

    function: Callable[[list], list]

    @classmethod
    def of(cls, f: Any, function: Callable[[list], list]) -> _TorchCall:
        """Return the call of `function`, named after `f`."""
        call = cls(name_of(f))
        call.function = function
        return call

    def value(self, *arrays: Any) -> list[np.ndarray]:
        with torch.no_grad():
            return _arrays(self.function(_tensors(arrays)))

    def recorded(self, arrays: tuple, wanted: tuple[int, ...]) -> tuple[list, Back]:
        tensors = _tensors(arrays)
        points = [tensors[i].requires_grad_() for i in wanted]
        with torch.enable_grad():
            outputs = self.function(tensors)
        inexact = [y for y in outputs if is_inexact(y)]

        def back(y_bars: Sequence[Any]) -> list[np.ndarray]:
            return _arrays(_pulled(inexact, points, _tensors(y_bars), create_graph=False))

        return _arrays(outputs), back

    def pullback(self, wanted: tuple[int, ...], given: tuple[int, ...]) -> _TorchCall:
        n = len(given)

        def pulled(tensors: list) -> list:
            create_graph = torch.is_grad_enabled()
            inputs, y_bars = tensors[: len(tensors) - n], tensors[len(tensors) - n :]
            for i in wanted:
                if not inputs[i].requires_grad:
                    inputs[i] = inputs[i].detach().requires_grad_()
            with torch.enable_grad():
                outputs = self.function(inputs)
                return _pulled(
                    [outputs[k] for k in given], [inputs[i] for i in wanted], y_bars, create_graph
                )

        return self.of(self, pulled)


def _pulled(
    outputs: list[torch.Tensor], points: list[torch.Tensor], y_bars: list, create_graph: bool
) -> list[torch.Tensor]:
    """Return the cotangents of `points`; zeros where the outputs do not depend on them."""
    active = [k for k, y in enumerate(outputs) if y.requires_grad]
    if not active:
        return [torch.zeros_like(x) for x in points]
    return list(
        torch.autograd.grad(
            [outputs[k] for k in active],
            points,
            [y_bars[k] for k in active],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
            materialize_grads=True,
        )
    )


def _tensors(arrays: Iterable[Any]) -> list[torch.Tensor]:
    return [as_tensor(np.asarray(x), CPU) for x in arrays]


def _arrays(tensors: Iterable[torch.Tensor]) -> list[np.ndarray]:
    return [as_array(t) for t in tensors]
