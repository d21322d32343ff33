"""PyTorch: functions of ours with tensors, and torch functions within a derivative of ours.

`to_torch` makes each call one ``torch.autograd.Function`` of a flat call. Its backward, its forward
mode and its ``vmap`` apply the same Function to the pullback, the pushforward and the batched form
of that call, so that torch can differentiate these again.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec

import numpy as np
import torch
from torch.autograd import forward_ad

from autodiff.interop.flat_call import FlatCall, Pull, array_of, check_function, flat_call
from autodiff.interop.foreign_call import Back, Foreign, ForeignCall
from chainrules_core.rules import name_of

P = ParamSpec("P")
Tensors = Sequence[torch.Tensor]


def to_torch(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Turn a function into one of tensors, with derivatives by this engine.

    Parameters
    ----------
    f : callable
        Any function that :func:`autodiff.pullback` accepts: Python, NumPy and SciPy code.

    Returns
    -------
    callable
        A function with the arguments of `f`. It accepts tensors in place of arrays, also inside
        tuples, lists, dicts and objects, and returns tensors in place of arrays and floats. An
        argument that is not a tensor is passed on unchanged, and is a constant.

    Raises
    ------
    ArgumentError
        If the function is called with a tensor that has no NumPy array (a sparse or a bfloat16
        one).
    OutputError
        Under ``torch.vmap``, if `f` returns something besides arrays that differs between rows.

    Warns
    -----
    UserWarning
        Once, if a tensor is not on the CPU: it is copied there, and the results are copied back to
        its device.

    Notes
    -----
    All of torch's derivatives work: ``backward``, ``torch.autograd.grad`` with ``create_graph``,
    ``torch.autograd.forward_ad``, and the transformations of ``torch.func``. Higher derivatives are
    nested derivatives of this engine.

    A tensor on the CPU and its array share memory. If a gradient is needed, tensors of up to 64 KiB
    are copied, and `f` must not write into larger ones. If somebody writes into an argument or a
    result before the backward pass, torch raises an error.

    A tensor without dimensions is a NumPy scalar in `f`. Results have the dtypes that `f` computes:
    float64 for a Python float, whatever ``torch.get_default_dtype()`` is. Gradients of complex
    tensors are ``∂f/∂re + i ∂f/∂im``, as everywhere in torch.

    Examples
    --------
    >>> import scipy, torch
    >>> gammainc = to_torch(scipy.special.gammainc)
    >>> a = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> y = gammainc(a, torch.tensor(1.0, dtype=torch.float64))
    >>> y.sum().backward()
    >>> a.grad
    tensor([-0.3898, -0.2762], dtype=torch.float64)
    """
    check_function(f, "to_torch")

    @functools.wraps(f)
    def f_of_tensors(*args: Any, **kwargs: Any) -> Any:
        tensors, call = flat_call(f, args, kwargs, _is_tensor)
        outputs = _apply(_Step(call, _device_of(tensors), _wanted(tensors)), tensors)
        return call.outputs.filled(outputs)

    return f_of_tensors


def _is_tensor(x: Any) -> bool:
    return isinstance(x, torch.Tensor)


def _wanted(tensors: Tensors) -> tuple[int, ...]:
    """Return the positions of the tensors that torch will ask cotangents for, as far as it says."""
    if not torch.is_grad_enabled():
        return ()
    return tuple(i for i, t in enumerate(tensors) if t.requires_grad)


class _Step:
    """One application of `_Function`: the flat call, and what its forward pass keeps.

    Parameters
    ----------
    call : FlatCall
        The call.
    device : torch.device
        Where the results are put.
    wanted : tuple of int
        The positions of the tensors to record the pullback for.

    Attributes
    ----------
    kept : callable or None
        The pullback for `wanted`.
    """

    __slots__ = ("call", "device", "kept", "wanted")

    def __init__(self, call: FlatCall, device: torch.device, wanted: tuple[int, ...] = ()) -> None:
        self.call = call
        self.device = device
        self.wanted = wanted
        self.kept: Pull | None = None

    def outputs(self, tensors: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the outputs; keep the pullback if one is wanted."""
        arrays = [_array(t, self.call) for t in tensors]
        if self.wanted:
            found, self.kept = self.call.recorded(arrays, self.wanted, is_frozen=True)
        else:
            found = self.call.value(*arrays)
        return tuple(_tensor(y, self.device) for y in found)

    def pullback(self, wanted: tuple[int, ...], given: tuple[int, ...]) -> _Step:
        """Return the application of the pullback."""
        kept = None
        if self.kept is not None and set(wanted) <= set(self.wanted):
            kept = functools.partial(_chosen, self.kept, [self.wanted.index(i) for i in wanted])
        return _Step(self.call.pullback(wanted, given, kept), self.device)


def _is_dual() -> bool:
    """Whether forward mode is on: tensors may then have tangents."""
    return forward_ad._current_level >= 0


def _chosen(back: Pull, places: list[int], y_bars: Sequence[Any]) -> list:
    """Return the cotangents at some places of those that `back` returns."""
    bars = back(y_bars)
    return [bars[i] for i in places]


def _apply(step: _Step, tensors: Tensors) -> tuple[torch.Tensor, ...]:
    """Apply a step; where torch would not record it, without torch."""
    if not (torch.is_grad_enabled() or torch._C._are_functorch_transforms_active() or _is_dual()):
        return step.outputs(tensors)
    return _Function.apply(step, *tensors)


# What torch would make of `forward` anew at each call, in 30 µs.
def _with_signature(f: Any) -> Any:
    f.__signature__ = inspect.signature(f)
    return f


class _Function(torch.autograd.Function):
    """A flat call as torch sees it."""

    @staticmethod
    @_with_signature
    def forward(step: _Step, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return step.outputs(tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        ctx.step, *tensors = inputs
        ctx.inputs, ctx.outputs = len(tensors), len(output)
        ctx.given = tuple(k for k, y in enumerate(output) if _is_inexact(y))
        ctx.mark_non_differentiable(*(y for y in output if not _is_inexact(y)))
        # The pullback that is kept needs its outputs, too: torch sees to it that nobody writes.
        ctx.save_for_backward(*tensors, *(output if ctx.step.wanted else ()))
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *y_bars: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        tensors = ctx.saved_tensors[: ctx.inputs]
        wanted = tuple(
            i for i, t in enumerate(tensors) if ctx.needs_input_grad[i + 1] and _is_inexact(t)
        )
        x_bars: list[torch.Tensor | None] = [None] * (ctx.inputs + 1)
        step = ctx.step.pullback(wanted, ctx.given)
        bars = _apply(step, [*tensors, *(y_bars[k] for k in ctx.given)])
        for i, bar in zip(wanted, bars, strict=True):
            x_bars[i + 1] = bar
        return tuple(x_bars)

    @staticmethod
    def jvp(ctx: Any, _: None, *dots: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        tensors = ctx.saved_tensors[: ctx.inputs]
        perturbed = tuple(
            i
            for i, (t, dot) in enumerate(zip(tensors, dots, strict=True))
            if dot is not None and _is_inexact(t)
        )
        step = _Step(ctx.step.call.pushforward(perturbed), ctx.step.device)
        given: list[Any] = [*tensors, *(dots[i] for i in perturbed)]
        found = iter(_apply(step, given))
        return tuple(next(found) if k in ctx.given else None for k in range(ctx.outputs))

    @staticmethod
    def vmap(info: Any, in_dims: tuple, step: _Step, *tensors: torch.Tensor) -> tuple[Any, Any]:
        call = step.call.batched(in_dims[1:], info.batch_size)
        outputs = _apply(_Step(call, step.device, _wanted(tensors)), tensors)
        return outputs, (0,) * len(outputs)


def _is_inexact(t: torch.Tensor) -> bool:
    return t.is_floating_point() or t.is_complex()


def _array(t: torch.Tensor, call: FlatCall) -> np.ndarray:
    """Return the array of a tensor, which shares its memory if that is on the CPU."""
    return array_of(t, _numpy, call, _WITH_ARRAY)


def _numpy(t: torch.Tensor) -> np.ndarray:
    return t.numpy(force=True)


_WITH_ARRAY = (
    "Convert it first: t.to(torch.float32), t.to_dense(). For a batch of gradients use "
    "torch.func.vmap; is_grads_batched=True and vectorize=True of torch.autograd know no functions "
    "made in Python."
)


def _tensor(y: np.ndarray, device: torch.device) -> torch.Tensor:
    """Return the tensor of an array, on `device`; on the CPU it shares the array's memory."""
    if not y.flags.writeable or any(stride < 0 for stride in y.strides):
        y = y.copy()
    tensor = torch.from_numpy(y)
    return tensor if device == _CPU else tensor.to(device)


_CPU = torch.device("cpu")


@functools.cache
def _warn_of(device: str) -> None:
    warnings.warn(
        f"a function made by to_torch runs on the CPU: its tensors are copied there from {device}, "
        "and its results back. This is said once.",
        stacklevel=4,
    )


def _device_of(tensors: Tensors) -> torch.device:
    """Return the device for results: the first one that is not the CPU."""
    for t in tensors:
        if t.device != _CPU:
            _warn_of(t.device.type)
            return t.device
    return _CPU


# -- torch functions within a derivative of ours --------------------------------------------------


def from_torch(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Turn a torch function into one of NumPy arrays that you can use in a gradient.

    Parameters
    ----------
    f : callable
        A function of tensors, or a ``torch.nn.Module``.

    Returns
    -------
    callable
        A function that you can call with arrays, and inside functions that you differentiate. `f`
        gets tensors for the arrays and floats in its arguments, including those inside tuples,
        lists, dicts and objects. A float keyword argument stays a float, unless it is being
        differentiated. Tensors that `f` returns become arrays. Dtypes are kept: a float32 module
        takes float32 arrays.

    Raises
    ------
    ArgumentError
        If `f` is not a function.

    Notes
    -----
    Torch differentiates `f`, to any order. Forward mode is the adjoint of its backward pass. For
    second derivatives `f` runs again, so it must return the same result: no dropout.

    Parameters of a module are constants, and their ``grad`` does not change. To differentiate with
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
    return Foreign(f, functools.partial(_TorchCall.of, f), _is_tensor)


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
        inexact = [y for y in outputs if _is_inexact(y)]

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
    return [_tensor(np.asarray(x), _CPU) for x in arrays]


def _arrays(tensors: Iterable[torch.Tensor]) -> list[np.ndarray]:
    return [_numpy(t) for t in tensors]
