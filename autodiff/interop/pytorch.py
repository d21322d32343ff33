"""PyTorch: functions of ours with tensors.

`to_torch` makes each call one ``torch.autograd.Function`` of a flat call. Its backward, its forward
mode and its ``vmap`` apply the same Function to the pullback, the pushforward and the batched form
of that call, so that torch can differentiate these again.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, ParamSpec

import numpy as np
import torch
from torch._C._functorch import peek_interpreter_stack
from torch._functorch.pyfunctorch import temporarily_pop_interpreter_stack
from torch.autograd import forward_ad

from autodiff.errors import ArgumentError
from autodiff.interop.adapted import Adapted
from autodiff.interop.captures import check_captures
from autodiff.interop.flat_call import (
    FlatCall,
    Pull,
    array_of,
    check_function,
    flat_call,
    for_some,
)
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
        When the function is called with a tensor that has no NumPy array (a sparse one, or one of
        bfloat16); when `f` reads a tensor that torch differentiates and that it was not given;
        while torch records a program (``torch.func.linearize``, ``torch.jit.trace``).
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

    def f_of_tensors(*args: Any, **kwargs: Any) -> Any:
        _check_not_recorded(f)
        check_captures(f, _is_variable, "PyTorch")
        tensors, call = flat_call(f, args, kwargs, is_tensor)
        outputs = _apply(_Step(call, _device_of(tensors), _wanted(tensors)), tensors)
        return call.outputs.filled(outputs)

    # A compiled program is interrupted by the call: it cannot look into the engine.
    return Adapted(torch.compiler.disable(f_of_tensors), to_torch, f)


def is_tensor(x: Any) -> bool:
    """Whether a leaf is a tensor."""
    return isinstance(x, torch.Tensor)


def _check_not_recorded(f: Callable) -> None:
    """Raise while torch writes down a program, which would hold the results as constants."""
    if torch.jit.is_tracing() or any(map(torch._C._get_dispatch_mode, _RECORDING)):
        raise ArgumentError(
            f"{name_of(f)} is called while torch records what is computed (torch.func.linearize, "
            "make_fx, torch.jit.trace), which does not see NumPy. Use torch.func.jvp, torch.func."
            "vjp or torch.compile; these call the function as it is."
        )


_MODES = torch._C._TorchDispatchModeKey
_RECORDING = (_MODES.PROXY, _MODES.FAKE, _MODES.FUNCTIONAL)


def _is_variable(x: Any) -> bool:
    """Whether torch differentiates a value, in reverse or forward mode, or makes a batch of it."""
    if not isinstance(x, torch.Tensor):
        return False
    return (
        (x.requires_grad and torch.is_grad_enabled())
        or torch._C._functorch.is_functorch_wrapped_tensor(x)
        or (forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None)
    )


def _wanted(tensors: Tensors) -> tuple[int, ...]:
    """Return the positions of the tensors that torch will ask cotangents for, as far as it says."""
    if not torch.is_grad_enabled():
        return ()
    return tuple([i for i, t in enumerate(tensors) if t.requires_grad])


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
    batched : tuple or None
        The axes of the inputs in a batch, and the step that was applied to all of its rows.
    source : tuple or None
        Of a pullback: the step that it belongs to, and its own `wanted` and `given`.
    """

    __slots__ = ("batched", "call", "device", "is_grad", "kept", "source", "wanted")

    def __init__(self, call: FlatCall, device: torch.device, wanted: tuple[int, ...] = ()) -> None:
        self.call = call
        self.device = device
        self.wanted = wanted
        self.kept: Pull | None = None
        self.batched: tuple[tuple, _Step] | None = None
        self.source: tuple[_Step, tuple[int, ...], tuple[int, ...]] | None = None
        # The mode of the call, in which torch refuses to make arrays of what it differentiates.
        self.is_grad = torch.is_grad_enabled()

    def outputs(self, tensors: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the outputs; keep the pullback if one is wanted."""
        arrays = [_array(t, self.call) for t in tensors]
        before = torch.is_grad_enabled()
        torch._C._set_grad_enabled(self.is_grad)
        try:
            if self.wanted:
                found, self.kept = self.call.recorded(arrays, self.wanted, is_frozen=True)
            else:
                found = self.call.value(*arrays)
        finally:
            torch._C._set_grad_enabled(before)
        return tuple([as_tensor(y, self.device) for y in found])

    def has_kept(self, wanted: tuple[int, ...]) -> bool:
        """Whether the pullback for these inputs is kept."""
        return self.kept is not None and (wanted == self.wanted or set(wanted) <= set(self.wanted))

    def pulled(
        self, wanted: tuple[int, ...], given: tuple[int, ...], y_bars: Tensors
    ) -> list[torch.Tensor]:
        """Return the cotangents that the kept pullback makes of those of the outputs `given`."""
        assert self.kept is not None
        bars: list[Any] = [None] * len(y_bars)
        for k in given:
            bars[k] = _array(y_bars[k], self.call)
        found = for_some(self.kept, self.wanted, wanted)(bars)
        return [as_tensor(bar, self.device) for bar in found]

    def pullback(self, wanted: tuple[int, ...], given: tuple[int, ...]) -> _Step:
        """Return the application of the pullback."""
        kept = None
        if self.has_kept(wanted):
            assert self.kept is not None
            kept = for_some(self.kept, self.wanted, wanted)
        step = _Step(self.call.pullback(wanted, given, kept), self.device)
        step.source = self, wanted, given
        return step

    def pushed(self, duals: _Duals) -> tuple[torch.Tensor, ...]:
        """Return the outputs with their tangents, from one run."""
        is_func = duals.top is not None
        with temporarily_pop_interpreter_stack() if is_func else contextlib.nullcontext():
            both = duals.primals, duals.dots
            primals, dots = ([_array(t, self.call) for t in ts] for ts in both)
            found = self.call.pushed(primals, duals.perturbed, dots)
            outputs, y_dots = ([as_tensor(y, self.device) for y in ys] for ys in found)
        rest = iter(y_dots)
        return tuple(forward_ad.make_dual(y, next(rest)) if is_inexact(y) else y for y in outputs)


def _is_recorded() -> bool:
    """Whether torch may differentiate, or make batches of, what is computed now."""
    return (
        torch.is_grad_enabled()
        or torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
    )


def _apply(step: _Step, tensors: Tensors) -> tuple[torch.Tensor, ...]:
    """Apply a step; where torch would not record it, without torch."""
    if not _is_recorded():
        return step.outputs(tensors)
    duals = _duals(tensors) if forward_ad._current_level >= 0 else None
    if duals is not None:
        return step.pushed(duals)
    is_func = torch._C._are_functorch_transforms_active()
    return (_Function if is_func else _PlainFunction).apply(step, *tensors)


class _Duals(NamedTuple):
    """Tensors with tangents, on one level of forward mode and no other level of derivatives."""

    top: Any  # of torch.func
    primals: list[torch.Tensor]
    perturbed: tuple[int, ...]
    dots: list[torch.Tensor]


def _duals(tensors: Tensors) -> _Duals | None:
    """Return the tensors and their tangents as plain tensors; None if they are not plain.

    Torch asks for values first and for tangents then, which takes two runs of a function. Where
    nothing but these tangents is differentiated, one run gives both.
    """
    top = peek_interpreter_stack()
    if top is not None and top.key() != torch._C._functorch.TransformType.Jvp:
        return None
    primals, dots = [], {}
    for i, t in enumerate(tensors):
        primal, dot = forward_ad.unpack_dual(t)
        plain = _without_level(primal, top)
        if plain is None or (plain.requires_grad and torch.is_grad_enabled()):
            return None
        primals.append(plain)
        if dot is not None and is_inexact(t):
            plain = _without_level(dot, top)
            if plain is None or (plain.requires_grad and torch.is_grad_enabled()):
                return None
            dots[i] = plain
    return _Duals(top, primals, tuple(dots), list(dots.values())) if dots else None


def _without_level(t: torch.Tensor, top: Any) -> torch.Tensor | None:
    """Return a tensor of the innermost level of ``torch.func`` as one of no level, if it is one."""
    functorch = torch._C._functorch
    if top is not None and functorch.maybe_get_level(t) == top.level():
        t = functorch.get_unwrapped(t)
    return None if functorch.is_functorch_wrapped_tensor(t) or t._is_zerotensor() else t


def _keep(ctx: Any, step: _Step, tensors: Tensors, outputs: Tensors) -> None:
    """Keep what the derivatives of an application need."""
    ctx.step = step
    ctx.inputs, ctx.outputs = len(tensors), len(outputs)
    ctx.given = tuple([k for k, y in enumerate(outputs) if is_inexact(y)])
    if len(ctx.given) < len(outputs):
        ctx.mark_non_differentiable(*(y for y in outputs if not is_inexact(y)))
    # The pullback that is kept needs its outputs, too: torch sees to it that nobody writes.
    ctx.save_for_backward(*tensors, *(outputs if step.wanted else ()))
    ctx.save_for_forward(*tensors)


@torch.compiler.disable  # a compiled program may hold the backward pass
def _pulled(ctx: Any, *y_bars: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    """Return the cotangents of the inputs: the `backward` of an application."""
    tensors = ctx.saved_tensors[: ctx.inputs]
    step: _Step = ctx.step
    needed = ctx.needs_input_grad
    wanted = tuple([i for i, t in enumerate(tensors) if needed[i + 1] and is_inexact(t)])
    if step.has_kept(wanted) and not _is_recorded():
        bars: Tensors = step.pulled(wanted, ctx.given, y_bars)
    else:
        given = [*tensors, *(y_bars[k] for k in ctx.given)]
        bars = _apply(step.pullback(wanted, ctx.given), given)
    x_bars: list[torch.Tensor | None] = [None] * (ctx.inputs + 1)
    for i, bar in zip(wanted, bars, strict=True):
        x_bars[i + 1] = bar
    return tuple(x_bars)


@torch.compiler.disable
def _pushed(ctx: Any, _: None, *dots: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
    """Return the tangents of the outputs: the `jvp` of an application."""
    tensors = ctx.saved_tensors[: ctx.inputs]
    perturbed = tuple(
        i
        for i, (t, dot) in enumerate(zip(tensors, dots, strict=True))
        if dot is not None and is_inexact(t)
    )
    step = _Step(ctx.step.call.pushforward(perturbed), ctx.step.device)
    given: list[Any] = [*tensors, *(dots[i] for i in perturbed)]
    found = iter(_apply(step, given))
    return tuple(next(found) if k in ctx.given else None for k in range(ctx.outputs))


class _PlainFunction(torch.autograd.Function):
    """A flat call as torch sees it outside of ``torch.func``, in the form that costs least."""

    @staticmethod
    def forward(ctx: Any, step: _Step, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs = step.outputs(tensors)
        _keep(ctx, step, tensors, outputs)
        return outputs

    backward = staticmethod(_pulled)
    jvp = staticmethod(_pushed)


# What torch would make of `forward` anew at each call, in 30 µs.
def _with_signature(f: Any) -> Any:
    f.__signature__ = inspect.signature(f)
    return f


class _Function(torch.autograd.Function):
    """A flat call as ``torch.func`` sees it."""

    @staticmethod
    @_with_signature
    def forward(step: _Step, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return step.outputs(tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        step, *tensors = inputs
        _keep(ctx, step, tensors, output)

    backward = staticmethod(_pulled)
    jvp = staticmethod(_pushed)

    @staticmethod
    @torch.compiler.disable
    def vmap(info: Any, in_dims: tuple, step: _Step, *tensors: torch.Tensor) -> tuple[Any, Any]:
        dims = in_dims[1:]
        found = _pulled_by_kept(step, dims, info.batch_size, tensors)
        if found is not None:
            return found
        call = step.call.batched(dims, info.batch_size)
        wanted = tuple(sorted({*step.wanted, *_wanted(tensors)}))
        rows = _Step(call, step.device, wanted)
        step.batched = dims, rows
        outputs = _apply(rows, tensors)
        return outputs, (0,) * len(outputs)


def _pulled_by_kept(
    step: _Step, dims: tuple, size: int, tensors: Tensors
) -> tuple[Any, Any] | None:
    """Pull back the rows of a batch by what the forward pass of all of them has kept.

    None if nothing is kept for these rows, or rows share an input: its cotangent would be a sum.
    """
    if step.source is None:
        return None
    source, wanted, given = step.source
    if source.batched is None:
        return None
    point, rows = source.batched
    n = len(point)
    if rows.kept is None or dims[:n] != point or any(point[i] is None for i in wanted):
        return None
    bars = [
        bar.expand(size, *bar.shape) if axis is None else bar.movedim(axis, 0)
        for bar, axis in zip(tensors[n:], dims[n:], strict=True)
    ]
    found = _apply(rows.pullback(wanted, given), [*tensors[:n], *bars])
    return found, tuple(point[i] for i in wanted)


def is_inexact(t: torch.Tensor) -> bool:
    """Whether a tensor holds real or complex floating-point numbers."""
    return t.is_floating_point() or t.is_complex()


def _array(t: torch.Tensor, call: FlatCall) -> np.ndarray:
    """Return the array of a tensor, which shares its memory if that is on the CPU."""
    return array_of(t, as_array, call, _WITH_ARRAY)


def as_array(t: torch.Tensor) -> np.ndarray:
    """Return the array of a tensor, or raise what torch raises."""
    return t.numpy(force=True)


_WITH_ARRAY = (
    "Convert it first: t.to(torch.float32), t.to_dense(). For a batch of gradients use "
    "torch.func.vmap; is_grads_batched=True and vectorize=True of torch.autograd know no functions "
    "made in Python."
)


def as_tensor(y: np.ndarray, device: torch.device) -> torch.Tensor:
    """Return the tensor of an array, on `device`; on the CPU it shares the array's memory."""
    flags = y.flags
    if not flags.writeable or not (flags.forc or min(y.strides) >= 0):
        y = y.copy()
    tensor = torch.from_numpy(y)
    return tensor if device == CPU else tensor.to(device)


CPU = torch.device("cpu")


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
        if t.device != CPU:
            _warn_of(t.device.type)
            return t.device
    return CPU
