"""JAX: functions of ours under JAX's transformations.

`to_jax` makes each call one application of a primitive, `call_p`. Its derivative is one of a second
primitive, `linear_p`, which is linear in its last arguments: the pushforward of a flat call, or its
pullback. Each of the two is the transpose of the other, and the derivative of either is again a
`linear_p`, of the flat call that it evaluates; so JAX has derivatives of every order.

Compiled programs call back into Python with NumPy arrays. Nothing here runs JAX inside such a
callback, which could wait for the program that waits for the callback.

JAX pairs a cotangent with a tangent as ``Re(ȳ·ẏ)``, flat calls as ``Re(conj(ȳ)·ẏ)``: what is
transposed is conjugated before and after.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, partial_eval

from autodiff.errors import ArgumentError
from autodiff.interop.adapted import Adapted
from autodiff.interop.captures import check_captures
from autodiff.interop.flat_call import FlatCall, check_function, flat_call
from autodiff.interop.jax_calls import (
    KEPT,
    KEY,
    Form,
    Level,
    Linear,
    Spec,
    called_back,
    form_of,
    forms_of,
    run_call,
    run_linear,
    run_pushed,
    sizes,
)  # fmt: skip


def to_jax(
    f: Callable[..., Any], /, *, out: Any = None, example: tuple | None = None
) -> Callable[..., Any]:
    """Turn a function into one of JAX arrays, with derivatives by this engine.

    Parameters
    ----------
    f : callable
        Any function that :func:`autodiff.pullback` accepts: Python, NumPy and SciPy code.
    out : pytree or callable, optional
        The output of `f`, with a ``jax.ShapeDtypeStruct`` (or anything that has a shape and a
        dtype) in place of each array and float. Or a function that returns this. It gets the
        arguments of a call, with a ``ShapeDtypeStruct`` in place of each array.
    example : tuple, optional
        Positional arguments for one call of `f`, which shows what it returns. Each number or array
        is broadcast to the shape of the argument in the actual call.

    Returns
    -------
    callable
        A function with the arguments of `f`. It accepts JAX and NumPy arrays in place of arrays,
        also inside tuples, lists, dicts and objects, and returns JAX arrays in place of arrays and
        floats. Other arguments, including Python floats, are passed on unchanged.

    Raises
    ------
    ArgumentError
        If the function is called with an array whose dtype NumPy does not have (bfloat16).
    OutputError
        While JAX traces a call (``jax.jit``, ``jax.lax.scan``, …), if the shapes of the results are
        unknown, because no rule of `f` tells them and neither `out` nor `example` is given.
        When a call runs, if its results have other shapes or dtypes than announced.

    Notes
    -----
    All of JAX's transformations work: ``jit``, ``grad``, ``jvp``, ``vjp``, ``hessian``, ``vmap``,
    ``lax.scan``, ``checkpoint``. Derivatives of second and higher orders differentiate `f` by
    nested derivatives of this engine. ``vmap`` calls `f` for each row, and a
    ufunc once.

    `f` must be pure: JAX may call it again, or not at all. It runs on the CPU, and gets copies of
    its arrays, because JAX's arrays are read-only. Inside a compiled program it must not call JAX
    itself, not even through `from_jax`. Everything that it returns besides arrays must not depend
    on their elements.

    While ``jax_enable_x64`` is off, results of float64 become float32, as everywhere in JAX (`out`
    may also say float32 where `f` returns float64); `f` computes in the precision of its
    arguments.

    Examples
    --------
    >>> import jax, scipy
    >>> gammainc = to_jax(scipy.special.gammainc)
    >>> slope = jax.jit(jax.grad(lambda a: gammainc(a, jax.numpy.ones(2)).sum()))
    >>> slope(jax.numpy.array([0.5, 2.0]))
    Array([-0.389..., -0.276...], dtype=float32)
    """
    check_function(f, "to_jax")
    spec = Spec(out, example)

    def f_in_jax(*args: Any, **kwargs: Any) -> Any:
        check_captures(f, _is_traced, "JAX")
        arrays, call = flat_call(f, args, kwargs, _is_array, are_values=True)
        arrays = [_in_jax(x, call) for x in arrays]
        outputs = call_p.bind(*arrays, call=call, spec=spec, recorded=None, levels=())
        return call.outputs.filled(outputs)

    return Adapted(f_in_jax, to_jax, f, out=out, example=example)


def _is_array(x: Any) -> bool:
    return isinstance(x, (jax.Array, np.ndarray, np.generic))


def _in_jax(x: Any, call: FlatCall) -> jax.Array:
    kind = x.dtype.kind if isinstance(x.dtype, np.dtype) else "V"
    if kind not in "biufc":
        raise ArgumentError(
            f"{call.name} is given an array of {x.dtype}, which NumPy cannot compute with. "
            "Convert it first: x.astype(jax.numpy.float32)."
        )
    return jnp.asarray(x)


# ----------------------------------------------------------------------------------- primitives

call_p = Primitive("autodiff_call")
"""A flat call of its arguments.

Parameters: `call`, a FlatCall; `spec`, what is known of its outputs; `recorded`, None or the inputs
whose pullback is kept, whose key is then one more output; `levels`, the batches over which the call
is made row by row, the innermost first.
"""
linear_p = Primitive("autodiff_linear_call")
"""A linear map of its last arguments, with parameters that depend on the first.

Parameters: `linear`, a Linear; `avals`, the forms of what it returns for one row; `levels` as
above.
"""
call_p.multiple_results = linear_p.multiple_results = True


def _row_avals(avals: Sequence[Any], levels: tuple[Level, ...]) -> list[jax.ShapeDtypeStruct]:
    """Return the forms of the arguments for one row."""
    shapes = [tuple(a.shape) for a in avals]
    for axes, _ in reversed(levels):
        shapes = [s if axis is None else s[1:] for s, axis in zip(shapes, axes, strict=True)]
    return [jax.ShapeDtypeStruct(s, a.dtype) for s, a in zip(shapes, avals, strict=True)]


def _stacked_avals(forms: Sequence[Form], levels: tuple[Level, ...]) -> list[ShapedArray]:
    """Return what JAX knows of outputs, from their forms for one row."""
    return [ShapedArray((*sizes(levels), *shape), dtype) for shape, dtype in forms]


def _call_forms(
    avals: Sequence[Any], call: FlatCall, spec: Spec, levels: tuple[Level, ...]
) -> list[Form]:
    return forms_of(call, spec, _row_avals(avals, levels))


@call_p.def_abstract_eval
def _call_abstract(
    *avals: Any,
    call: FlatCall,
    spec: Spec,
    recorded: tuple[int, ...] | None,
    levels: tuple[Level, ...],
) -> list[ShapedArray]:
    forms = _call_forms(avals, call, spec, levels)
    return _stacked_avals(forms if recorded is None else [*forms, KEY], levels)


@linear_p.def_abstract_eval
def _linear_abstract(
    *args: Any, linear: Linear, avals: tuple[Form, ...], levels: tuple[Level, ...]
) -> list[ShapedArray]:
    return _stacked_avals(avals, levels)


@call_p.def_impl
def _call_impl(*arrays: Any, **params: Any) -> list[jax.Array]:
    outputs = run_call(_in_numpy(arrays), None, **params)
    found = [jnp.array(y) for y in outputs]
    if params["recorded"] is not None:  # the pullback goes when JAX drops its key
        weakref.finalize(found[-1], KEPT.drop, outputs[-1])
    return found


@linear_p.def_impl
def _linear_impl(*arrays: Any, **params: Any) -> list[jax.Array]:
    outputs = run_linear(_in_numpy(arrays), list(params["avals"]), **params)
    return [jnp.array(y) for y in outputs]


def _called_back(ctx: Any, args: Sequence[Any], run: Callable[[list], list]) -> Sequence[Any]:
    """Lower a primitive to a call of `run` with NumPy arrays."""
    return mlir.emit_python_callback(
        ctx, called_back(run), None, list(args), ctx.avals_in, ctx.avals_out,
        has_side_effect=False, returns_token=False,
    )[0]  # fmt: skip


def _call_lowering(ctx: Any, *args: Any, **params: Any) -> Sequence[Any]:
    forms = _call_forms(ctx.avals_in, params["call"], params["spec"], params["levels"])

    def run(arrays: list) -> list[np.ndarray]:
        return run_call(arrays, forms, **params)

    return _called_back(ctx, args, run)


def _linear_lowering(ctx: Any, *args: Any, **params: Any) -> Sequence[Any]:
    linear: Linear = params["linear"]

    def run(arrays: list) -> list[np.ndarray]:
        found = run_linear(arrays, list(params["avals"]), **params)
        if linear.keyed and not linear.forward:  # most programs go back once
            KEPT.drop(arrays[linear.arity])
        return found

    return _called_back(ctx, args, run)


mlir.register_lowering(call_p, _call_lowering, cacheable=False)
mlir.register_lowering(linear_p, _linear_lowering, cacheable=False)


# ------------------------------------------------------------------------------------ derivatives


def _is_zero(dot: Any) -> bool:
    return type(dot) is ad.Zero or jax.typeof(dot).dtype == jax.dtypes.float0


def _zero_of(y: Any) -> ad.Zero:
    return ad.Zero(jax.typeof(y).to_tangent_aval())


def _call_jvp(
    primals: Sequence[Any],
    dots: Sequence[Any],
    *,
    call: FlatCall,
    spec: Spec,
    recorded: tuple[int, ...] | None,
    levels: tuple[Level, ...],
) -> tuple[list, list]:
    moved = tuple(i for i, dot in enumerate(dots) if not _is_zero(dot))
    keyed = recorded is not None
    if not keyed and not levels and not any(map(_is_traced, (*primals, *dots))):
        return _pushed(call, primals, moved, [dots[i] for i in moved])
    if not keyed and any(isinstance(dots[i], partial_eval.JaxprTracer) for i in moved):
        # The tangents are not known yet: JAX linearises, most likely to go back.
        recorded = moved
    found = call_p.bind(*primals, call=call, spec=spec, recorded=recorded, levels=levels)
    outputs, key = (found, []) if recorded is None else (found[:-1], found[-1:])
    inexact = tuple(k for k, y in enumerate(outputs) if jnp.issubdtype(y.dtype, jnp.inexact))
    forms = [form_of(_row(outputs[k], levels)) for k in inexact]
    linear = Linear(call, True, moved, inexact, inexact, len(primals), bool(key))
    moving = [dots[i] for i in moved]
    y_dots = linear_p.bind(
        *primals, *key, *moving, linear=linear, avals=tuple(forms),
        levels=_extended(levels, range(len(primals)), [0] * len(key), moved),
    )  # fmt: skip
    found_dots: list[Any] = [_zero_of(y) for y in found]
    for k, y_dot in zip(inexact, y_dots, strict=True):
        found_dots[k] = y_dot
    return (found if keyed else outputs), found_dots[: len(found if keyed else outputs)]


def _is_traced(x: Any) -> bool:
    return isinstance(x, jax.core.Tracer)


def _pushed(
    call: FlatCall, primals: Sequence[Any], moved: tuple[int, ...], dots: list
) -> tuple[list, list]:
    """Return outputs and their tangents where JAX traces nothing: one run for both."""
    values, y_dots = run_pushed(call, _in_numpy(primals), moved, _in_numpy(dots))
    outputs = list(map(jnp.array, values))
    found = map(jnp.array, y_dots)
    is_inexact = [jnp.issubdtype(y.dtype, jnp.inexact) for y in outputs]
    return outputs, [
        next(found) if flag else _zero_of(y) for y, flag in zip(outputs, is_inexact, strict=True)
    ]


def _in_numpy(arrays: Sequence[Any]) -> list[np.ndarray]:
    return list(map(np.asarray, arrays))


def _row(y: Any, levels: tuple[Level, ...]) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(y.shape[len(levels) :], y.dtype)


def _extended(
    levels: tuple[Level, ...],
    fixed: Sequence[int],
    more: Sequence[int | None],
    moving: Sequence[int],
) -> tuple[Level, ...]:
    """Return levels for other arguments: some of the present ones, some with `more`, and some."""
    return tuple(
        ((*(axes[i] for i in fixed), *more, *(axes[i] for i in moving)), size)
        for axes, size in levels
    )


def _linear_jvp(
    primals: Sequence[Any],
    dots: Sequence[Any],
    *,
    linear: Linear,
    avals: tuple[Form, ...],
    levels: tuple[Level, ...],
) -> tuple[list, list]:
    params = {"linear": linear, "avals": avals, "levels": levels}
    outputs = linear_p.bind(*primals, **params)
    n, fixed = linear.arity, linear.fixed
    if all(map(_is_zero, dots[:fixed])):
        moving = [ad.instantiate_zeros(dot) for dot in dots[fixed:]]
        return outputs, linear_p.bind(*primals[:fixed], *moving, **params)
    places = (*range(n), *range(fixed, len(primals)))
    moved = tuple(j for j, i in enumerate(places) if not _is_zero(dots[i]))
    results = linear.results
    inexact = tuple(range(len(linear.inexact if linear.forward else linear.inputs)))
    derived = Linear(linear.flat(), True, moved, results, inexact, len(places), keyed=False)
    y_dots = linear_p.bind(
        *(primals[i] for i in places), *(dots[places[j]] for j in moved), linear=derived,
        avals=avals, levels=_extended(levels, places, (), [places[j] for j in moved]),
    )  # fmt: skip
    return outputs, y_dots


def _linear_transpose(
    y_bars: Sequence[Any],
    *args: Any,
    linear: Linear,
    avals: tuple[Form, ...],
    levels: tuple[Level, ...],
) -> list:
    fixed = linear.fixed
    wanted = [j for j, x in enumerate(args[fixed:]) if ad.is_undefined_primal(x)]
    given = [k for k, bar in enumerate(y_bars) if type(bar) is not ad.Zero]
    found: list[Any] = [None] * len(args)
    if not given:
        for j in wanted:
            found[fixed + j] = ad.Zero(args[fixed + j].aval)
        return found
    origin, target = linear.inputs, linear.outputs
    if not linear.forward:
        origin, target = target, origin
    origin, target = tuple(origin[j] for j in wanted), tuple(target[k] for k in given)
    transposed = linear._replace(
        forward=not linear.forward,
        inputs=origin if linear.forward else target,
        outputs=target if linear.forward else origin,
    )
    undefined = [args[fixed + j].aval for j in wanted]
    # One argument that rows share gets the sum of the cotangents of all rows.
    shared = [[axes[fixed + j] is None for axes, _ in reversed(levels)] for j in wanted]
    rows = [
        ShapedArray(aval.shape[len(levels) - sum(flags) :], aval.dtype)
        for aval, flags in zip(undefined, shared, strict=True)
    ]
    bars = linear_p.bind(
        *args[:fixed], *(_conjugate(y_bars[k]) for k in given), linear=transposed,
        avals=tuple(map(form_of, rows)),
        levels=tuple(((*axes[:fixed], *(0 for _ in given)), size) for axes, size in levels),
    )  # fmt: skip
    for j, bar, flags in zip(wanted, bars, shared, strict=True):
        axes = tuple(axis for axis, is_shared in enumerate(flags) if is_shared)
        found[fixed + j] = _conjugate(jnp.sum(bar, axes) if axes else bar)
    return found


def _conjugate(x: Any) -> Any:
    return jnp.conj(x) if jnp.issubdtype(x.dtype, jnp.complexfloating) else x


def _batched(primitive: Primitive, args: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
    size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    moved = [
        x if d is None or d == 0 else jnp.moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True)
    ]
    axes = tuple(None if d is None else 0 for d in dims)
    outputs = primitive.bind(*moved, **{**params, "levels": (*params["levels"], (axes, size))})
    return outputs, [0] * len(outputs)


ad.primitive_jvps[call_p] = _call_jvp
ad.primitive_jvps[linear_p] = _linear_jvp
ad.primitive_transposes[linear_p] = _linear_transpose
batching.primitive_batchers[call_p] = functools.partial(_batched, call_p)
batching.primitive_batchers[linear_p] = functools.partial(_batched, linear_p)
