"""The intermediate representation: the recorded calls in order, and the abstract values.

Every value has a number. A step computes one value from earlier ones. The types, dtypes and shapes
of all values are known, since they follow from those of the inputs and from the guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.mutation.memory_layout import copy_of
from autodiff.trace.tape import FLOAT64 as FLOAT64

FLOAT32 = np.dtype(np.float32)
FLOATS = (FLOAT64, FLOAT32)
"""The dtypes of machine code."""


class Ref:
    """A reference to a value by its number, as an argument of a step."""

    __slots__ = ("i",)

    def __init__(self, i: int) -> None:
        self.i = i

    def __repr__(self) -> str:
        return f"v{self.i}"


class Meta:
    """An abstract value.

    Attributes
    ----------
    type : type
        Its class.
    dtype : numpy.dtype or None
        The dtype of an array or a NumPy number.
    shape : tuple or None
        The shape of an array.
    """

    __slots__ = ("dtype", "shape", "type")

    def __init__(self, kind: type, dtype: Any, shape: Any) -> None:
        self.type = kind
        self.dtype = dtype
        self.shape = shape

    @property
    def is_scalar(self) -> bool:
        """Whether it is a float64, Python's or NumPy's."""
        return self.type is float or self.type is np.float64

    @property
    def size(self) -> int:
        """The number of elements."""
        n = 1
        for extent in self.shape or ():
            n *= extent
        return n

    def __repr__(self) -> str:
        return f"{self.type.__name__}{'' if self.shape is None else list(self.shape)}"


_FLOAT = Meta(float, None, None)
_FLOAT_OF_NUMPY = Meta(np.float64, FLOAT64, None)
_arrays: dict[tuple, Meta] = caches.register("abstract arrays", {})


def meta_of(x: Any) -> Meta:
    """Return the abstract value of `x`."""
    kind = type(x)
    if kind is np.ndarray:
        key = (x.dtype, x.shape)
        meta = _arrays.get(key)
        if meta is None:
            meta = caches.put(_arrays, key, Meta(kind, x.dtype, x.shape), 4096)
        return meta
    if kind is float:
        return _FLOAT
    if kind is np.float64:
        return _FLOAT_OF_NUMPY
    return Meta(kind, getattr(x, "dtype", None), None)


def is_inexact(meta: Meta) -> bool:
    """Whether a value is a real or complex number, or an array of them."""
    return meta.type in (float, complex) or (meta.dtype is not None and meta.dtype.kind in "fc")


NUMBER = meta_of(np.float64(0.0))
"""A NumPy float64."""
TUPLE = Meta(tuple, None, None)
"""The tuple that a step with several results returns."""


def shape_of(x: Any, metas: list[Meta], dtypes: tuple = (FLOAT64,)) -> tuple | None:
    """Return the shape of an argument that is an array with one of some dtypes; None for others."""
    if type(x) is Ref:
        return metas[x.i].shape if metas[x.i].dtype in dtypes else None
    return x.shape if type(x) is np.ndarray and x.dtype in dtypes else None


class Step:
    r"""One call: ``v[out] = f(*args, **kwargs)``.

    Attributes
    ----------
    f : callable
        The function, or one of the markers below.
    args : tuple
        Constants, `Ref`\\ s, and tuples, lists, dicts and slices of them.
    kwargs : dict or None
        Likewise.
    out : int
        The number of the value; -1 for a guard.
    """

    __slots__ = ("args", "f", "kwargs", "out")

    def __init__(self, f: Callable, args: tuple, kwargs: dict | None, out: int) -> None:
        self.f = f
        self.args = args
        self.kwargs = kwargs
        self.out = out

    def __repr__(self) -> str:
        name = getattr(self.f, "__name__", repr(self.f))
        return f"v{self.out} = {name}{self.args}{self.kwargs or ''}"


# -- markers and functional updates ----------------------------------------------------------------


def guard(value: Any, how: Callable, expected: Any) -> None:
    """A step that stops the program unless ``how(value) == expected``."""


def effect(f: str | Callable, *args: Any) -> None:
    """A step with a side effect: a draw from a generator, or a call when the program has ended."""


def raises_again(said: str, f: Callable, *args: Any, **kwargs: Any) -> bool:
    """Whether a call raises the error of which `text_of` gives the text `said`."""
    try:
        f(*args, **kwargs)
    except Exception as error:
        return text_of(error) == said
    return False


def gives_again(expected: str, f: Callable, *args: Any, **kwargs: Any) -> bool:
    """Whether a function with a cache still gives the result that has this text."""
    return text_of_constant(f(*args, **kwargs)) == expected


def text_of_constant(x: Any) -> str:
    """Return the class and the value of a constant; zeros of both signs differ."""
    return f"{type(x)} {x!r}"


def text_of(error: Exception) -> str:
    """Return what a handler can know of an error: its class and what it says."""
    kind = type(error)
    return f"{kind.__module__}.{kind.__qualname__}{error.args!r}"


class GivenObject:
    """An object among the arguments, by its name in the source."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def part(whole: Any, key: Any) -> Any:
    """A step that takes a part of an output that has several."""
    return whole[key] if isinstance(whole, (tuple, list, dict)) else getattr(whole, key)


def set_item(before: Any, index: Any, value: Any) -> Any:
    """Return an array: `before` with ``[index]`` replaced. `before` may be a number."""
    after = copy_of(before) if type(before) is np.ndarray else np.array(before)
    if not after.flags.writeable:  # broadcast, as the cotangent of a mean
        after = before.copy()
    after[index] = value
    return after


def set_flat(before: Any, places: Any, value: Any) -> Any:
    """Return `before` with the elements at flat places replaced."""
    after = before.copy()
    after.reshape(-1)[places] = value
    return after


def set_real(before: Any, places: Any, value: Any) -> Any:
    """Return complex `before` with the real parts at flat places replaced."""
    after = before.copy()
    after.reshape(-1).real[places] = value
    return after


def set_imaginary(before: Any, places: Any, value: Any) -> Any:
    """Return complex `before` with the imaginary parts at flat places replaced."""
    after = before.copy()
    after.reshape(-1).imag[places] = value
    return after


def add_item(before: Any, index: Any, value: Any) -> Any:
    """Return `before` with `value` added at ``[index]``, a place that holds no element twice."""
    after = before.copy(order="K")
    after[index] += value
    return after


def sub_item(before: Any, index: Any, value: Any) -> Any:
    """Return `before` with `value` subtracted at ``[index]``."""
    after = before.copy(order="K")
    after[index] -= value
    return after


def is_transpose(step: Step) -> bool:
    """Whether a step transposes an array by reversing all of its axes."""
    return step.f is np.transpose and len(step.args) == 1 and not step.kwargs


def is_outer(step: Step) -> bool:
    """Whether a step makes an outer product of its last two arguments."""
    return step.f is np.outer or (step.f is np.einsum and step.args[0] == "i,j->ij")


def described(value: Any) -> tuple:
    """Return what a guard of an abstract value compares."""
    if type(value) is list or isinstance(value, tuple):
        return (type(value), *[described(v) for v in value])
    return type(value), getattr(value, "dtype", None), getattr(value, "shape", None)


class Program:
    r"""Steps, inputs and outputs.

    Attributes
    ----------
    steps : list of Step
        In order.
    metas : list of Meta
        By the numbers of values.
    inputs : list of int
        The numbers of the inputs.
    outputs : list
        `Ref`\\ s and constants: the leaves of the result.
    exact : set of int
        The values that are computed as they were recorded, to the last bit.
    """

    __slots__ = ("exact", "inputs", "metas", "outputs", "steps")

    def __init__(
        self,
        steps: list[Step],
        metas: list[Meta],
        inputs: list[int],
        outputs: list,
        exact: frozenset[int] = frozenset(),
    ) -> None:
        self.exact = exact
        self.steps = steps
        self.metas = metas
        self.inputs = inputs
        self.outputs = outputs


def read_by_guards(steps: list[Step]) -> frozenset[int]:
    """Return the values on which branches depend."""
    found: set[int] = set()
    for step in reversed(steps):
        is_branch = step.f is guard and step.args[1] is not described
        if is_branch or step.out in found:
            found.update(refs_of(step))
    return frozenset(found)


def refs_in(x: Any) -> Iterator[int]:
    """Yield the numbers of the values that an argument mentions."""
    kind = type(x)
    if kind is Ref:
        yield x.i
    elif kind is tuple or kind is list:
        for part_ in x:
            yield from refs_in(part_)
    elif kind is dict:
        for part_ in x.values():
            yield from refs_in(part_)
    elif isinstance(x, tuple):
        for part_ in x:
            yield from refs_in(part_)


def refs_of(step: Step) -> list[int]:
    """The numbers of the values that a step reads."""
    found = []
    for a in step.args:
        kind = type(a)
        if kind is Ref:
            found.append(a.i)
        elif kind is tuple or kind is list or kind is dict or isinstance(a, tuple):
            found.extend(refs_in(a))
    if step.kwargs:
        for a in step.kwargs.values():
            found.extend(refs_in(a))
    return found


def replaced(x: Any, new: Callable[[int], Any]) -> Any:
    """Return an argument with ``new(number)`` in place of each value."""
    kind = type(x)
    if kind is Ref:
        return new(x.i)
    if kind is tuple or kind is list:
        return kind([replaced(p, new) for p in x])
    if kind is dict:
        return {k: replaced(p, new) for k, p in x.items()}
    if isinstance(x, tuple) and hasattr(x, "_make"):
        return type(x)._make([replaced(p, new) for p in x])
    return x


def renamed(step: Step, new: Callable[[int], Any]) -> Step:
    """Return a step with ``new(number)`` in place of each value that it reads."""
    args = tuple([replaced(a, new) for a in step.args])
    kwargs = {k: replaced(v, new) for k, v in (step.kwargs or {}).items()}
    return Step(step.f, args, kwargs or None, step.out)


def reads_of(steps: list[Step], outputs: list | tuple = ()) -> dict[int, int]:
    """Return how often values are read by steps, and are outputs."""
    reads: dict[int, int] = {}
    for step in steps:
        for i in refs_of(step):
            reads[i] = reads.get(i, 0) + 1
    for x in outputs:
        if type(x) is Ref:
            reads[x.i] = reads.get(x.i, 0) + 1
    return reads


def has_refs(x: Any) -> bool:
    """Whether an argument mentions a value."""
    return next(refs_in(x), None) is not None
