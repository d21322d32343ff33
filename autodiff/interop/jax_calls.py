"""What `to_jax` runs, with NumPy arrays: calls, linear maps, and what is known of their results.

Nothing here calls JAX with values: most of it runs inside callbacks of compiled programs.
"""

from __future__ import annotations

import collections
import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from autodiff.closures.captured_values import Hole
from autodiff.errors import OutputError
from autodiff.interop.declared_outputs import check_structure, declared, known_by_rule
from autodiff.interop.flat_call import FlatCall, Pull, as_scalar, for_some, placed
from autodiff.trace.pytree import parts_of
from chainrules_core.values.abstract_array import AbstractArray

Level = tuple[tuple[int | None, ...], int]
"""One batch: for each input whether its axis 0 is that of the batch (0) or not (None); its size."""
Form = tuple[tuple[int, ...], np.dtype]
"""Shape and dtype of an array, the dtype being one that JAX has now."""


# --------------------------------------------------------------------- what is known of the outputs


class Spec:
    """What the user says about the outputs of a function; see `to_jax`."""

    def __init__(self, out: Any, example: tuple | None) -> None:
        self.out = out
        self.example = example


def _canonical(dtype: Any) -> np.dtype:
    return np.dtype(jax.dtypes.canonicalize_dtype(dtype))


def form_of(x: Any) -> Form:
    """Return shape and dtype of something that has them."""
    return tuple(x.shape), _canonical(x.dtype)


def forms_of(call: FlatCall, spec: Spec, avals: Sequence[Any]) -> list[Form]:
    """Return the forms of the outputs, and set ``call.outputs``.

    Parameters
    ----------
    call : FlatCall
        The call.
    spec : Spec
        What the user says about it.
    avals : sequence
        The forms of the inputs, as JAX has them.
    """
    if spec.out is not None:
        given = [_struct(a) for a in avals]
        return list(map(form_of, declared(call, spec.out, given, _struct)))
    if spec.example is not None:
        return _probed(call, spec.example, avals)
    abstract = [AbstractArray(tuple(a.shape), np.dtype(a.dtype)) for a in avals]
    found = known_by_rule(call, abstract, _struct)
    if found is not None:
        return list(map(form_of, found))
    raise OutputError(
        f"JAX traces a call of {call.name} and needs the shapes of what it returns, which are not "
        "known before it runs. Give them, to_jax(f, out=jax.ShapeDtypeStruct(shape, dtype)), or a "
        "function of the arguments' shapes, to_jax(f, out=lambda x: jax.ShapeDtypeStruct(x.shape, "
        "x.dtype)), or arguments at which f can be called, to_jax(f, example=(0.5,))."
    )


def _struct(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(*form_of(x))


def _probed(call: FlatCall, example: tuple, avals: Sequence[Any]) -> list[Form]:
    """Return the forms of what the function returns at an example."""
    args = call.inputs.tree[0] if call.is_named else call.inputs.tree
    pairs = _paired(args, tuple(example))
    arrays = {
        int(place): _spread(value, avals[int(place)], call)
        for place, value in pairs or ()
        if type(place) is Hole
    }
    if pairs is None or len(arrays) != len(avals):
        raise OutputError(
            f"the example of to_jax({call.name}, example=…) does not have the structure of the "
            "positional arguments of the call, or the call has arrays among its keyword "
            "arguments. Give one value for each argument, in a tuple, or out=."
        )
    outputs = call.plain(*(arrays[i][()] for i in range(len(avals))))
    return [form_of(np.asarray(y)) for y in outputs]


def _paired(a: Any, b: Any) -> list[tuple[Any, Any]] | None:
    """Return pairs of the leaves of two pytrees; None if their structures differ.

    Parts are found by their keys, since JAX sorts those of dicts.
    """
    parts, others = parts_of(a), parts_of(b)
    if parts is None or others is None:
        return [(a, b)] if parts is others else None
    by_key = dict(others)
    if by_key.keys() != dict(parts).keys():
        return None
    found: list[tuple[Any, Any]] = []
    for key, part in parts:
        pairs = _paired(part, by_key[key])
        if pairs is None:
            return None
        found += pairs
    return found


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


# ------------------------------------------------------------------------------- kept pullbacks


Batch = tuple[int, ...]
"""The sizes of the batches over whose rows one call is made, the outermost first."""


class _Kept:
    """The pullbacks that forward passes have made for the backward pass of the same call.

    A recorded call returns a key as one more output, an array, so that JAX carries it from the
    forward to the backward pass as it does the primals. A pullback that is not here any more is
    made again, so what is dropped costs time only.
    """

    MOST = 64

    def __init__(self) -> None:
        self._kept: collections.OrderedDict[bytes, tuple[tuple[int, ...], Pull, Batch]] = (
            collections.OrderedDict()
        )
        self._lock = threading.RLock()  # a finalizer may run while it is held
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, wanted: tuple[int, ...], back: Pull, batch: Batch) -> np.ndarray:
        """Keep a pullback for the inputs `wanted` and the rows of a batch; return its key."""
        key = np.array(divmod(next(self._numbers), 1 << 32), np.uint32)
        with self._lock:
            self._kept[key.tobytes()] = wanted, back, batch
            while len(self._kept) > self.MOST:
                self._kept.popitem(last=False)
        return key

    def find(self, keys: np.ndarray, wanted: tuple[int, ...], batch: Batch) -> Pull | None:
        """Return the pullback for some inputs and the rows of a batch, or None."""
        first, *others = _each(keys)
        entry = self._kept.get(first)
        if entry is None or entry[2] != batch or not set(wanted) <= set(entry[0]):
            return None
        if any(key != first for key in others):
            return None
        return for_some(entry[1], entry[0], wanted)

    def drop(self, keys: np.ndarray) -> None:
        """Forget the pullbacks for one or several keys."""
        with self._lock:
            for key in _each(keys):
                self._kept.pop(key, None)


def _each(keys: np.ndarray) -> list[bytes]:
    """Return the bytes of one or several keys."""
    if keys.ndim == 1:
        return [keys.tobytes()]
    return [key.tobytes() for key in keys.reshape(-1, 2)]


KEPT = _Kept()
KEY: Form = ((2,), np.dtype(np.uint32))


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
                "a function is called for each row of a batch, and there is none: the shapes of "
                "its results are not known. Call it under jax.jit, with out= of to_jax."
            )
        return [np.empty((*sizes(levels), *shape), dtype) for shape, dtype in forms]
    rows = [
        [x if axis is None else x[i] for x, axis in zip(arrays, axes, strict=True)]
        for i in range(size)
    ]
    found = [_over_rows(run, tuple(inner), row, forms) for row in rows]
    return [np.stack(y) for y in zip(*found, strict=True)]


def sizes(levels: tuple[Level, ...]) -> tuple[int, ...]:
    """Return the sizes of the batches, the outermost first, as the axes of outputs have them."""
    return tuple(size for _, size in reversed(levels))


def run_call(
    arrays: list,
    forms: list[Form] | None,
    *,
    call: FlatCall,
    spec: Spec,
    recorded: tuple[int, ...] | None,
    levels: tuple[Level, ...],
) -> list[np.ndarray]:
    """Return the outputs of a `call_p`; see there."""

    def run(xs: list, batch: Batch = ()) -> list[np.ndarray]:
        mine = call.copy()  # another thread may run it, too
        whole = _of_rows(mine, batch, len(xs))
        inputs = [_ours(x) for x in xs]
        if recorded is None:
            outputs = [np.asarray(y) for y in whole.plain(*inputs)]
        else:
            outputs, back = whole.recorded(list(map(np.asarray, inputs)), recorded, is_frozen=True)
        check_structure(call, mine.outputs)
        if forms is not None:
            outputs = _fitted(outputs, _of_batch(forms, batch), call)
        if recorded is None:
            return outputs
        key = KEPT.add(recorded, back, batch)
        return [*outputs, np.broadcast_to(key, (*batch, 2)) if batch else key]

    if levels and call.takes_rows and all(sizes(levels)):
        return run([_with_rows(x, i, levels) for i, x in enumerate(arrays)], sizes(levels))
    return _over_rows(run, levels, arrays, forms and [*forms, KEY][: len(forms) + bool(recorded)])


def run_pushed(
    call: FlatCall, arrays: list, moved: tuple[int, ...], dots: list
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the outputs and the tangents of those in floating point, from one run."""
    mine = call.copy()
    inputs, tangents = ([np.asarray(_ours(x)) for x in xs] for xs in (arrays, dots))
    outputs, y_dots = mine.pushed(inputs, moved, tangents)
    check_structure(call, mine.outputs)
    return outputs, y_dots


def _fitted(outputs: Sequence[np.ndarray], forms: list[Form], call: FlatCall) -> list[np.ndarray]:
    """Return the outputs in the dtypes that JAX expects."""
    if len(outputs) != len(forms) or not all(map(_fits, outputs, forms)):
        found = [(y.shape, y.dtype) for y in outputs]
        raise OutputError(
            f"{call.name} has returned {_shown(found)} where JAX expects {_shown(forms)}, which is "
            "what out= of to_jax says, or its example or a rule has shown. The shapes and dtypes "
            "of results must follow from those of the arguments."
        )
    return [np.asarray(y, dtype) for y, (_, dtype) in zip(outputs, forms, strict=True)]


def _fits(y: np.ndarray, form: Form) -> bool:
    """Whether an output is of a form, or can be by halving its precision."""
    shape, dtype = form
    halved = dtype.kind == y.dtype.kind and 2 * dtype.itemsize == y.dtype.itemsize
    return y.shape == shape and (y.dtype == dtype or halved)


def _shown(forms: Sequence[Form]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in forms) or "nothing"


class Linear(NamedTuple):
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

    def flat(self) -> FlatCall:
        """Return the map as a flat call of the inputs and the moving arguments."""
        if not self.forward:
            return self.call.pullback(self.inputs, self.outputs)
        return self.call.pushforward(self.inputs)

    def y_bars(self, moving: Iterable[Any]) -> list[Any]:
        """Return the moving arguments of a pullback in the places of the outputs of the call."""
        return placed(self.outputs, moving, 1 + max(self.outputs))

    @property
    def results(self) -> tuple[int, ...]:
        """Which outputs of the flat call are the results of the map."""
        if not self.forward:
            return tuple(range(len(self.inputs)))
        return tuple(self.inexact.index(k) for k in self.outputs)


def run_linear(
    arrays: list, forms: list[Form], *, linear: Linear, avals: Any, levels: tuple[Level, ...]
) -> list[np.ndarray]:
    """Return the outputs of a `linear_p`; see there."""
    n, fixed = linear.arity, linear.fixed
    if levels and linear.call.takes_rows and all(sizes(levels)):
        outputs = _linear_of_rows(arrays, linear, levels)
        found = [np.asarray(outputs[k]) for k in linear.results]
        return _fitted(found, _of_batch(forms, sizes(levels)), linear.call)
    shared: Pull | None = None
    if (
        levels
        and not (linear.forward or linear.keyed)
        and all(axis is None for axes, _ in levels for axis in axes[:n])
    ):  # all rows are cotangents at one point
        point = [np.asarray(_ours(x)) for x in arrays[:n]]
        shared = linear.call.recorded(point, linear.inputs, is_frozen=True)[1]

    def run(xs: list) -> list[np.ndarray]:
        kept = KEPT.find(xs[n], linear.inputs, ()) if linear.keyed else shared
        if kept is not None and not linear.forward:
            # A sweep does not write into cotangents, and what it returns is no view of them.
            found = kept(linear.y_bars(map(as_scalar, xs[fixed:])))
        else:
            outputs = linear.flat().plain(*map(_ours, (*xs[:n], *xs[fixed:])))
            found = [np.asarray(outputs[k]) for k in linear.results]
        return _fitted(found, forms, linear.call)

    return _over_rows(run, levels, arrays, forms)


# ------------------------------------------------------------- all rows of a batch by one call


def _of_rows(call: FlatCall, batch: Batch, n: int) -> FlatCall:
    """Return the call of `n` arrays for all rows of a batch, which each array has."""
    for size in reversed(batch):
        call = call.batched((0,) * n, size)
    return call


def _of_batch(forms: Sequence[Form], batch: Batch) -> list[Form]:
    """Return the forms of outputs for all rows."""
    return [((*batch, *shape), dtype) for shape, dtype in forms]


def _with_rows(x: np.ndarray, i: int, levels: tuple[Level, ...]) -> np.ndarray:
    """Return the argument `i` with an axis for each level, the outermost first."""
    has_axis = [axes[i] is not None for axes, _ in reversed(levels)]
    batch, shape = sizes(levels), x.shape[sum(has_axis) :]
    lengths = [n if has else 1 for n, has in zip(batch, has_axis, strict=True)]
    return np.broadcast_to(x.reshape((*lengths, *shape)), (*batch, *shape))


def _linear_of_rows(
    arrays: list, linear: Linear, levels: tuple[Level, ...]
) -> Sequence[np.ndarray]:
    """Return the outputs of the flat call of a `linear_p` for all rows."""
    n, fixed, batch = linear.arity, linear.fixed, sizes(levels)
    if linear.forward:
        places = (*range(n), *range(fixed, len(arrays)))
        given = [_with_rows(arrays[i], i, levels) for i in places]
        return _of_rows(linear.flat(), batch, len(given)).plain(*given)
    # Levels on which cotangents alone differ need no run of their own.
    is_point = [any(axis is not None for axis in axes[:n]) for axes, _ in levels]
    points = tuple(level for level, flag in zip(levels, is_point, strict=True) if flag)
    back = KEPT.find(arrays[n], linear.inputs, sizes(points)) if linear.keyed else None
    if back is None:
        point = [_with_rows(x, i, points) for i, x in enumerate(arrays[:n])]
        whole = _of_rows(linear.call, sizes(points), n)
        back = whole.recorded(point, linear.inputs, is_frozen=True)[1]
    others = [k for k, flag in enumerate(reversed(is_point)) if not flag]
    front = range(len(others))
    y_bars = linear.y_bars(
        [
            np.moveaxis(_with_rows(arrays[i], i, levels), others, front)
            for i in range(fixed, len(arrays))
        ]
    )
    count = [batch[k] for k in others]
    rows = [
        back([None if bar is None else bar[index] for bar in y_bars])
        for index in np.ndindex(*count)
    ]
    stacked = [np.stack(bars) for bars in zip(*rows, strict=True)]
    return [np.moveaxis(x.reshape((*count, *x.shape[1:])), front, others) for x in stacked]


# ------------------------------------------------------------------------------------- callbacks

_callbacks = threading.local()


def is_called_back() -> bool:
    """Whether this thread runs a callback of a compiled JAX program."""
    return getattr(_callbacks, "depth", 0) > 0


def called_back(run: Callable[[list], list]) -> Callable[..., list]:
    """Return `run` as a callback of a compiled program."""

    def callback(*arrays: np.ndarray) -> list:
        _callbacks.depth = getattr(_callbacks, "depth", 0) + 1
        try:
            return run(list(arrays))
        finally:
            _callbacks.depth -= 1

    return callback
