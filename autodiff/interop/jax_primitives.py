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

import collections
import copy
import functools
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, partial_eval

from autodiff.errors import ArgumentError, OutputError
from autodiff.interop.flat_call import FlatCall, Pull, Structure, flat_call, taken_out
from autodiff.closures.captured_values import Hole
from autodiff.trace.pytree import leaves_of, map_leaves
from chainrules_core.abstract_array import AbstractArray
from chainrules_core.facts import abstract_value

Level = tuple[tuple[int | None, ...], int]
"""One batch: for each input whether its axis 0 is that of the batch (0) or not (None); its size."""
Form = tuple[tuple[int, ...], np.dtype]
"""Shape and dtype of an array."""


def to_jax(
    f: Callable[..., Any], /, *, out: Any = None, example: tuple | None = None
) -> Callable[..., Any]:
    """Return a function of JAX arrays that computes what `f` does, with derivatives by this engine.

    Parameters
    ----------
    f : callable
        Any function that :func:`autodiff.pullback` takes: Python, NumPy and SciPy code.
    out : pytree or callable, optional
        What `f` returns, with a ``jax.ShapeDtypeStruct`` (or anything that has a shape and a dtype)
        in the place of each array and float; or a function that returns that, when it is given the
        arguments of a call with a ``ShapeDtypeStruct`` in the place of each array.
    example : tuple, optional
        Positional arguments at which `f` is called to find out what it returns. Each number or
        array in it is broadcast to the shape that the argument has in the call.

    Returns
    -------
    callable
        A function with the arguments of `f`, in which JAX and NumPy arrays stand for arrays, also
        inside tuples, lists, dicts and objects. It returns what `f` does, with JAX arrays for the
        arrays and floats. Other arguments, Python floats among them, are passed on as they are.

    Raises
    ------
    ArgumentError
        When the function is called with an array whose dtype NumPy does not have (bfloat16).
    OutputError
        While JAX traces a call (``jax.jit``, ``jax.lax.scan``, …), if the shapes of the results are
        not known: `f` is not elementwise or linear, and neither `out` nor `example` is given; when
        a call is executed, if the results are not what was known of them.

    Notes
    -----
    All of JAX's transformations work: ``jit``, ``grad``, ``jvp``, ``vjp``, ``hessian``, ``vmap``,
    ``lax.scan``, ``checkpoint``. Derivatives of second and higher orders differentiate `f` by nested
    derivatives of this engine. ``vmap`` calls `f` for each row.

    `f` must be pure: JAX may call it again, or not at all. It runs on the CPU, and gets copies of
    JAX's arrays, which are read-only. It must not call JAX itself (not even by `from_jax`) when it
    is part of a compiled program. What it returns beside arrays must not depend on their elements.

    While ``jax_enable_x64`` is off, results of float64 become float32, as everywhere in JAX; `f`
    itself computes in the precision of its arguments.

    Examples
    --------
    >>> import jax, scipy
    >>> gammainc = to_jax(scipy.special.gammainc)
    >>> slope = jax.jit(jax.grad(lambda a: gammainc(a, jax.numpy.ones(2)).sum()))
    >>> slope(jax.numpy.array([0.5, 2.0])).round(4)
    Array([-0.3764, -0.3188], dtype=float32)
    """
    if not callable(f):
        raise ArgumentError(f"to_jax takes a function, not {type(f).__name__}: to_jax(f)(array).")
    spec = _Spec(out, example)

    @functools.wraps(f)
    def f_in_jax(*args: Any, **kwargs: Any) -> Any:
        arrays, call = flat_call(f, args, kwargs, _is_array)
        arrays = [_in_jax(x, call) for x in arrays]
        outputs = call_p.bind(*arrays, call=call, spec=spec, recorded=None, levels=())
        return call.outputs.filled(outputs)

    return f_in_jax


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


# --------------------------------------------------------------------- what is known of the outputs


class _Spec:
    """What the user says about the outputs of a function; see `to_jax`."""

    def __init__(self, out: Any, example: tuple | None) -> None:
        self.out = out
        self.example = example


def _canonical(dtype: Any) -> np.dtype:
    return np.dtype(jax.dtypes.canonicalize_dtype(dtype))


def _form(x: Any) -> Form:
    return tuple(x.shape), _canonical(x.dtype)


def _has_form(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype")


def _forms_of(call: FlatCall, spec: _Spec, avals: Sequence[Any]) -> list[Form]:
    """Return the forms of the outputs, and set ``call.outputs``.

    Parameters
    ----------
    call : FlatCall
        The call.
    spec : _Spec
        What the user says about it.
    avals : sequence
        The forms of the inputs, as JAX has them.
    """
    if spec.out is not None:
        return _declared(call, _said(call, spec.out, avals))
    if spec.example is not None:
        return _probed(call, spec.example, avals)
    found = _by_rule(call, avals)
    if found is not None:
        return found
    raise OutputError(
        f"JAX traces a call of {call.name} and needs the shapes of what it returns, which are not "
        "known before it runs. Give them, to_jax(f, out=jax.ShapeDtypeStruct(shape, dtype)), or a "
        "function of the arguments' shapes, to_jax(f, out=lambda x: jax.ShapeDtypeStruct(x.shape, "
        "x.dtype)), or arguments at which f can be called, to_jax(f, example=(0.5,))."
    )


def _said(call: FlatCall, out: Any, avals: Sequence[Any]) -> Any:
    """Return the pytree of forms that the user's `out` stands for."""
    if callable(out) and not _has_form(out):
        args, kwargs = call.inputs.filled([jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals])
        out = out(*args, **kwargs)
    if any(isinstance(leaf, (float, complex)) for leaf in leaves_of(out)):
        raise OutputError(
            f"out= of to_jax({call.name}) has a number in it. Where {call.name} returns a number, "
            "give jax.ShapeDtypeStruct((), float)."
        )
    return out


def _declared(call: FlatCall, out: Any) -> list[Form]:
    """Return the forms in a pytree of them."""

    def fresh(leaf: Any) -> Any:  # one object may stand for several arrays
        return jax.ShapeDtypeStruct(*_form(leaf)) if _has_form(leaf) else leaf

    found, call.outputs = taken_out(map_leaves(out, fresh), _has_form)
    return [_form(y) for y in found]


def _probed(call: FlatCall, example: tuple, avals: Sequence[Any]) -> list[Form]:
    """Return the forms of what the function returns at an example."""
    places, given = leaves_of(call.inputs.tree[0]), leaves_of(tuple(example))
    arrays: dict[int, np.ndarray] = {}
    if len(places) == len(given):
        for place, value in zip(places, given, strict=True):
            if type(place) is Hole:
                arrays[int(place)] = _spread(value, avals[int(place)], call)
    if len(arrays) != len(avals):
        raise OutputError(
            f"the example of to_jax({call.name}, example=…) does not have the structure of the "
            "positional arguments of the call, or the call has arrays among its keyword "
            "arguments. Give one value for each argument, in a tuple, or out=."
        )
    outputs = call.plain(*(arrays[i][()] for i in range(len(avals))))
    return [_form(np.asarray(y)) for y in outputs]


def _spread(value: Any, aval: Any, call: FlatCall) -> np.ndarray:
    """Return a part of an example as an array of the form of the argument."""
    try:
        return np.array(np.broadcast_to(value, aval.shape), aval.dtype)
    except ValueError as error:
        raise OutputError(
            f"the example of to_jax({call.name}, example=…) has an array of shape "
            f"{np.shape(value)} where the call has one of shape {aval.shape}. Give a number or an "
            "array that can be broadcast to it, or out=."
        ) from error


def _by_rule(call: FlatCall, avals: Sequence[Any]) -> list[Form] | None:
    """Return the forms that a rule of the function knows, or None."""
    args, kwargs = call.inputs.filled([AbstractArray(a.shape, np.dtype(a.dtype)) for a in avals])
    found = abstract_value(call.f, *args, **kwargs)
    if found is None:
        return None
    return _declared(call, tuple(map(_in_form, found)) if type(found) is tuple else _in_form(found))


def _in_form(y: AbstractArray) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(y.shape, y.dtype)


# ------------------------------------------------------------------------------- kept pullbacks


class _Kept:
    """The pullbacks that forward passes have made for the backward pass of the same call.

    A recorded call returns a key as one more output, an array, so that JAX carries it from the
    forward to the backward pass as it does the primals. A pullback that is not here any more is made
    again, so what is dropped costs time only.
    """

    MOST = 64

    def __init__(self) -> None:
        self._kept: collections.OrderedDict[int, tuple[tuple[int, ...], Pull]] = (
            collections.OrderedDict()
        )
        self._lock = threading.RLock()  # a finalizer may run while it is held
        self._numbers = itertools.count(1)

    def add(self, wanted: tuple[int, ...], back: Pull) -> np.ndarray:
        """Keep a pullback for the inputs `wanted`; return its key."""
        number = next(self._numbers)
        with self._lock:
            self._kept[number] = wanted, back
            while len(self._kept) > self.MOST:
                self._kept.popitem(last=False)
        return np.array([number >> 32, number & 0xFFFFFFFF], np.uint32)

    def find(self, key: np.ndarray, wanted: tuple[int, ...]) -> Pull | None:
        """Return the pullback for a key and some inputs, or None."""
        entry = self._kept.get(_number(key))
        if entry is None or not set(wanted) <= set(entry[0]):
            return None
        places = [entry[0].index(i) for i in wanted]

        def back(y_bars: Sequence[Any]) -> list:
            bars = entry[1](y_bars)
            return [bars[i] for i in places]

        return back

    def drop(self, keys: np.ndarray) -> None:
        """Forget the pullbacks for one or several keys."""
        with self._lock:
            for key in keys.reshape(-1, 2):
                self._kept.pop(_number(key), None)


def _number(key: np.ndarray) -> int:
    return (int(key[0]) << 32) | int(key[1])


_KEPT = _Kept()
_KEY: Form = ((2,), np.dtype(np.uint32))


# ------------------------------------------------------------------------------ with NumPy arrays


def _ours(x: np.ndarray) -> Any:
    """Return a copy: JAX's arrays are read-only, which compiled functions do not all accept."""
    return x[()] if not x.ndim else x.copy()


def _over_rows(
    run: Callable[[list], list], levels: tuple[Level, ...], arrays: list, forms: list[Form] | None
) -> list[np.ndarray]:
    """Call `run` for each row of a batch of batches, and stack what it returns."""
    if not levels:
        return run(arrays)
    *inner, (axes, size) = levels
    if not size:
        if forms is None:
            raise OutputError(
                "a function is called for each row of a batch, and there is none: the shapes of its "
                "results are not known. Call it under jax.jit, with out= of to_jax."
            )
        return [np.empty((*_sizes(levels), *shape), dtype) for shape, dtype in forms]
    rows = [
        [x if axis is None else x[i] for x, axis in zip(arrays, axes, strict=True)]
        for i in range(size)
    ]
    found = [_over_rows(run, tuple(inner), row, forms) for row in rows]
    return [np.stack(y) for y in zip(*found, strict=True)]


def _sizes(levels: tuple[Level, ...]) -> tuple[int, ...]:
    """Return the sizes of the batches, the outermost first, as the axes of outputs have them."""
    return tuple(size for _, size in reversed(levels))


def _run_call(
    arrays: list,
    forms: list[Form] | None,
    *,
    call: FlatCall,
    spec: _Spec,
    recorded: tuple[int, ...] | None,
    levels: tuple[Level, ...],
) -> list[np.ndarray]:
    """Return the outputs of a `call_p`; see there."""

    def run(xs: list) -> list[np.ndarray]:
        mine = copy.copy(call)  # another thread may run it, too
        inputs = [_ours(x) for x in xs]
        if recorded is None:
            outputs = [np.asarray(y) for y in mine.plain(*inputs)]
        else:
            outputs, back = mine.recorded(list(map(np.asarray, inputs)), recorded, is_frozen=True)
        _check_structure(call, mine.outputs)
        if forms is not None:
            outputs = _fitted(outputs, forms, call)
        return outputs if recorded is None else [*outputs, _KEPT.add(recorded, back)]

    return _over_rows(run, levels, arrays, forms and [*forms, _KEY][: len(forms) + bool(recorded)])


def _check_structure(call: FlatCall, found: Structure) -> None:
    """Raise if a run has returned something else beside arrays than what is known of the call."""
    known: Structure | None = vars(call).get("outputs")
    if known is None:
        call.outputs = found
        return
    before, now = known.constants(), found.constants()
    if len(before) != len(now) or any(
        a is not b and not (type(a) is type(b) and np.array_equal(a, b))
        for a, b in zip(before, now, strict=True)
    ):
        raise OutputError(
            f"{call.name} has returned a result of another structure, or with other values beside "
            f"arrays, than JAX knows of this call: {now} where {before} is expected (arrays are "
            "numbered). Return these values as arrays, and no array twice; or mend out= of to_jax."
        )


def _fitted(outputs: Sequence[np.ndarray], forms: list[Form], call: FlatCall) -> list[np.ndarray]:
    """Return the outputs in the dtypes that JAX expects."""
    found = [_form(y) for y in outputs]
    if found != forms:
        raise OutputError(
            f"{call.name} has returned {_shown(found)} where JAX expects {_shown(forms)}, which is "
            "what out= of to_jax says, or its example or an earlier call has shown. The shapes and "
            "dtypes of results must follow from those of the arguments."
        )
    return [np.asarray(y, dtype) for y, (_, dtype) in zip(outputs, forms, strict=True)]


def _shown(forms: Sequence[Form]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in forms) or "nothing"


class _Linear(NamedTuple):
    """A linear map, of which `linear_p` is the application.

    Attributes
    ----------
    call : FlatCall
        The flat call whose derivative it is.
    forward : bool
        Whether it is the pushforward; if not, the pullback.
    inputs, outputs : tuple of int
        Inputs and outputs of the call between whose tangents or cotangents it maps.
    inexact : tuple of int
        The outputs of the call that have derivatives.
    arity : int
        The number of inputs of the call.
    keyed : bool
        Whether a key for a kept pullback follows these inputs.
    """

    call: FlatCall
    forward: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    inexact: tuple[int, ...]
    arity: int
    keyed: bool

    @property
    def fixed(self) -> int:
        """The number of arguments in which it is not linear: those after them are moving."""
        return self.arity + self.keyed

    def flat(self, kept: Pull | None = None) -> FlatCall:
        """Return the map as a flat call of the inputs and the moving arguments."""
        if not self.forward:
            return self.call.pullback(self.inputs, self.outputs, kept)
        return self.call.pushforward(self.inputs)

    @property
    def results(self) -> tuple[int, ...]:
        """Which outputs of the flat call are the results of the map."""
        if not self.forward:
            return tuple(range(len(self.inputs)))
        return tuple(self.inexact.index(k) for k in self.outputs)


def _run_linear(
    arrays: list, forms: list[Form], *, linear: _Linear, avals: Any, levels: tuple[Level, ...]
) -> list[np.ndarray]:
    """Return the outputs of a `linear_p`; see there."""
    n, fixed = linear.arity, linear.fixed
    shared: Pull | None = None
    if (
        levels
        and not (linear.forward or linear.keyed)
        and all(axis is None for axes, _ in levels for axis in axes[:n])
    ):  # all rows are cotangents at one point
        point = [np.asarray(_ours(x)) for x in arrays[:n]]
        shared = linear.call.recorded(point, linear.inputs, is_frozen=True)[1]

    def run(xs: list) -> list[np.ndarray]:
        kept = _KEPT.find(xs[n], linear.inputs) if linear.keyed else shared
        outputs = linear.flat(kept).plain(*map(_ours, (*xs[:n], *xs[fixed:])))
        found = [np.asarray(outputs[k]) for k in linear.results]
        return _fitted(found, forms, linear.call)

    return _over_rows(run, levels, arrays, forms)


# ----------------------------------------------------------------------------------- primitives

call_p = Primitive("autodiff_call")
"""A flat call of its arguments.

Parameters: `call`, a FlatCall; `spec`, what is known of its outputs; `recorded`, None or the inputs
whose pullback is kept, whose key is then one more output; `levels`, the batches over which the call
is made row by row, the innermost first.
"""
linear_p = Primitive("autodiff_linear_call")
"""A linear map of its last arguments, with parameters that depend on the first.

Parameters: `linear`, a _Linear; `avals`, the forms of what it returns for one row; `levels` as above.
"""
call_p.multiple_results = linear_p.multiple_results = True


def _row_avals(avals: Sequence[Any], levels: tuple[Level, ...]) -> list[jax.ShapeDtypeStruct]:
    """Return the forms of the arguments for one row."""
    shapes = [tuple(a.shape) for a in avals]
    for axes, _ in reversed(levels):
        shapes = [s if axis is None else s[1:] for s, axis in zip(shapes, axes, strict=True)]
    return [jax.ShapeDtypeStruct(s, a.dtype) for s, a in zip(shapes, avals, strict=True)]


def _stacked_avals(
    forms: Sequence[Form], levels: tuple[Level, ...], like: Sequence[Any]
) -> list[ShapedArray]:
    """Return what JAX knows of outputs, from their forms for one row."""
    sizes = _sizes(levels)
    return [ShapedArray((*sizes, *shape), dtype) for shape, dtype in forms]


def _call_forms(
    avals: Sequence[Any], call: FlatCall, spec: _Spec, levels: tuple[Level, ...]
) -> list[Form]:
    return _forms_of(call, spec, _row_avals(avals, levels))


@call_p.def_abstract_eval
def _call_abstract(
    *avals: Any,
    call: FlatCall,
    spec: _Spec,
    recorded: tuple[int, ...] | None,
    levels: tuple[Level, ...],
) -> list[ShapedArray]:
    forms = _call_forms(avals, call, spec, levels)
    return _stacked_avals(forms if recorded is None else [*forms, _KEY], levels, avals)


@linear_p.def_abstract_eval
def _linear_abstract(
    *args: Any, linear: _Linear, avals: tuple[Form, ...], levels: tuple[Level, ...]
) -> list[ShapedArray]:
    return _stacked_avals(avals, levels, args)


@call_p.def_impl
def _call_impl(*arrays: Any, **params: Any) -> list[jax.Array]:
    outputs = _run_call(list(map(np.asarray, arrays)), None, **params)
    found = [jnp.array(y) for y in outputs]
    if params["recorded"] is not None:  # the pullback goes when JAX drops its key
        weakref.finalize(found[-1], _KEPT.drop, outputs[-1])
    return found


@linear_p.def_impl
def _linear_impl(*arrays: Any, **params: Any) -> list[jax.Array]:
    outputs = _run_linear(list(map(np.asarray, arrays)), list(params["avals"]), **params)
    return [jnp.array(y) for y in outputs]


def _called_back(ctx: Any, args: Sequence[Any], run: Callable[..., Sequence]) -> Sequence[Any]:
    """Lower a primitive to a call of `run` with NumPy arrays."""
    return mlir.emit_python_callback(
        ctx, run, None, list(args), ctx.avals_in, ctx.avals_out,
        has_side_effect=False, returns_token=False,
    )[0]  # fmt: skip


def _call_lowering(ctx: Any, *args: Any, **params: Any) -> Sequence[Any]:
    forms = _call_forms(ctx.avals_in, params["call"], params["spec"], params["levels"])

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        return _run_call(list(arrays), forms, **params)

    return _called_back(ctx, args, run)


def _linear_lowering(ctx: Any, *args: Any, **params: Any) -> Sequence[Any]:
    linear: _Linear = params["linear"]

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        found = _run_linear(list(arrays), list(params["avals"]), **params)
        if linear.keyed and not linear.forward:  # most programs go back once
            _KEPT.drop(arrays[linear.arity])
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
    spec: _Spec,
    recorded: tuple[int, ...] | None,
    levels: tuple[Level, ...],
) -> tuple[list, list]:
    moved = tuple(i for i, dot in enumerate(dots) if not _is_zero(dot))
    keyed = recorded is not None
    if not keyed and any(isinstance(dots[i], partial_eval.JaxprTracer) for i in moved):
        # The tangents are not known yet: JAX linearises, most likely to go back.
        recorded = moved
    found = call_p.bind(*primals, call=call, spec=spec, recorded=recorded, levels=levels)
    outputs, key = (found, []) if recorded is None else (found[:-1], found[-1:])
    inexact = tuple(k for k, y in enumerate(outputs) if jnp.issubdtype(y.dtype, jnp.inexact))
    forms = [_form(_row(outputs[k], levels)) for k in inexact]
    linear = _Linear(call, True, moved, inexact, inexact, len(primals), bool(key))
    moving = [dots[i] for i in moved]
    y_dots = linear_p.bind(
        *primals, *key, *moving, linear=linear, avals=tuple(forms),
        levels=_extended(levels, range(len(primals)), [0] * len(key), moved),
    )  # fmt: skip
    found_dots: list[Any] = [_zero_of(y) for y in found]
    for k, y_dot in zip(inexact, y_dots, strict=True):
        found_dots[k] = y_dot
    return (found if keyed else outputs), found_dots[: len(found if keyed else outputs)]


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
    linear: _Linear,
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
    derived = _Linear(linear.flat(), True, moved, results, inexact, len(places), keyed=False)
    y_dots = linear_p.bind(
        *(primals[i] for i in places), *(dots[places[j]] for j in moved), linear=derived,
        avals=avals, levels=_extended(levels, places, (), [places[j] for j in moved]),
    )  # fmt: skip
    return outputs, y_dots


def _linear_transpose(
    y_bars: Sequence[Any],
    *args: Any,
    linear: _Linear,
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
        avals=tuple(map(_form, rows)),
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
        x if d is None or d == 0 else jnp.moveaxis(x, d, 0)
        for x, d in zip(args, dims, strict=True)
    ]
    axes = tuple(None if d is None else 0 for d in dims)
    outputs = primitive.bind(*moved, **{**params, "levels": (*params["levels"], (axes, size))})
    return outputs, [0] * len(outputs)


ad.primitive_jvps[call_p] = _call_jvp
ad.primitive_jvps[linear_p] = _linear_jvp
ad.primitive_transposes[linear_p] = _linear_transpose
batching.primitive_batchers[call_p] = functools.partial(_batched, call_p)
batching.primitive_batchers[linear_p] = functools.partial(_batched, linear_p)
