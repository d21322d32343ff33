"""NumPy's iterators over arrays, for traced ones: ``x.flat``, ``np.nditer``, ``np.broadcast``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import innermost
from autodiff.dispatch.call import as_array, call
from autodiff.errors import DifferentiationError
from autodiff.mutation.assignment import assign_item, overwritten_value
from autodiff.mutation.memory_layout import is_order_seen
from autodiff.numpy_api.out_arguments import element_of, repeated, with_axis
from autodiff.trace.trace_stack import check_free
from autodiff.trace.tracer import Tracer, bare, is_tracer, untraced


class Flat:
    """``x.flat`` of a traced array: its elements in order, to be read and written.

    Attributes
    ----------
    base : Tracer
        The array.
    index : int
        How many elements the iteration has passed.
    """

    __slots__ = ("base", "index")

    def __init__(self, array: Tracer) -> None:
        self.base: Any = array
        self.index = 0

    @property
    def coords(self) -> tuple[int, ...]:
        """The index of the next element."""
        shape = np.shape(self.base)
        if self.index < math.prod(shape):
            return tuple([int(i) for i in np.unravel_index(self.index, shape)])
        return (*shape[:1], *(0,) * (len(shape) - 1))

    def array(self) -> Any:
        """Return the elements as a traced vector."""
        return np.reshape(self.base, (-1,))

    def copy(self) -> Any:
        """Return the elements as a vector of their own."""
        return np.copy(self.array())

    def __len__(self) -> int:
        return int(np.size(self.base))

    def __iter__(self) -> Flat:
        self.index = 0
        return self

    def __next__(self) -> Any:
        if self.index >= len(self):
            raise StopIteration
        place = self.coords
        self.index += 1
        return self.base[place]

    def __getitem__(self, index: Any) -> Any:
        elements = self.array()[index]
        return elements if isinstance(index, (int, np.integer)) else np.copy(elements)

    def __setitem__(self, index: Any, value: Any) -> None:
        index = untraced(index)

        def write(to: np.ndarray, new: np.ndarray) -> None:
            to.flat[index] = new

        if is_order_seen(bare(self.base), bare(value), write):
            raise overwritten_value()
        places = element_of(np.arange(len(self)), index)
        values = repeated(value, np.arange(np.size(places)))
        if np.ndim(places) == 0 and np.ndim(values) == 1:
            values = values[0]
        array = with_axis(self.base)
        assign_item(array, np.unravel_index(places, np.shape(array)), values)

    def __array_function__(self, f: Any, kinds: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        return f(*[flattened(a) for a in args], **{k: flattened(v) for k, v in kwargs.items()})

    def __array_ufunc__(self, f: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(f, method)(*[flattened(a) for a in inputs], **kwargs)


def flattened(x: Any) -> Any:
    """Return the elements of ``x.flat`` as a vector, anything else as it is."""
    return x.array() if type(x) is Flat else x


def set_flat(array: Tracer, value: Any) -> None:
    """Do ``x.flat = value``."""
    Flat(array)[:] = value


class Broadcast:
    """``np.broadcast`` for arguments some of which are traced."""

    def __new__(cls, *args: Any) -> Any:
        """Return NumPy's own where nothing is traced."""
        return np.broadcast(*args) if innermost(args, {}) is None else super().__new__(cls)

    def __init__(self, *args: Any) -> None:
        plain = np.broadcast(*[untraced(a) for a in args])
        self.shape, self.size, self.ndim = plain.shape, plain.size, plain.ndim
        self.nd, self.numiter = plain.ndim, len(args)
        arrays = [np.broadcast_to(as_array(a), self.shape) for a in args]
        self.iters = tuple([a.flat for a in arrays])
        self.index = 0

    def reset(self) -> None:
        """Begin again."""
        self.index = 0

    def __iter__(self) -> Broadcast:
        return self

    def __next__(self) -> tuple:
        if self.index >= self.size:
            raise StopIteration
        self.index += 1
        return tuple([it[self.index - 1] for it in self.iters])


_FLAGS = frozenset(
    {"multi_index", "refs_ok", "zerosize_ok", "buffered", "grow_inner", "delay_bufalloc"}
)


class NDIter:
    """``np.nditer`` for arrays some of which are traced.

    Each step yields a view of one element of each array, writable as ``op_flags`` say. Buffers,
    external loops, ``op_axes`` and casts are not supported.
    """

    def __new__(cls, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Return NumPy's own where nothing is traced."""
        given = op if isinstance(op, (list, tuple)) else (op,)
        is_plain = all(type(x) is np.ndarray for x in given)  # with cells, perhaps
        if is_plain or (not any(map(is_tracer, given)) and innermost(tuple(given), {}) is None):
            if len(args) > 1 or "op_flags" in kwargs:
                for x in given:
                    check_free(x)
            return np.nditer(op, *args, **kwargs)
        return super().__new__(cls)

    def __init__(
        self,
        op: Any,
        flags: Any = None,
        op_flags: Any = None,
        op_dtypes: Any = None,
        order: str = "K",
        **options: Any,
    ) -> None:
        flags = frozenset(flags or ())
        unknown = [*(flags - _FLAGS), *options, *(["op_dtypes"] if op_dtypes else [])]
        if unknown or (order not in ("K", "C") and "multi_index" in flags):
            raise DifferentiationError(
                f"np.nditer over a traced array is followed without {', '.join(unknown) or order}. "
                "Go through the elements with x.flat or np.ndindex(x.shape), or write the loop as "
                "operations on whole arrays."
            )
        given = tuple(op) if isinstance(op, (list, tuple)) else (op,)
        made = [None if a is None else as_array(a) for a in given]
        shape = np.broadcast_shapes(*[np.shape(a) for a in made if a is not None])
        first = next(a for a in made if is_tracer(a))
        self.operands = tuple(
            [call(np.zeros_like, (first,), {"shape": shape}) if a is None else a for a in made]
        )
        self.shape, self.itersize, self.nop = shape, math.prod(shape), len(given)
        self.ndim, self.index = len(shape), 0
        self._written = [_writes(op_flags, i, a) for i, a in enumerate(made)]
        self._views = [
            a if np.shape(a) == shape else np.broadcast_to(a, shape) for a in self.operands
        ]
        self._places = _in_memory_order(self._views, shape, order)
        self.value: Any = self._element() if self._places else None

    @property
    def finished(self) -> bool:
        """Whether all elements have been visited."""
        return self.index >= self.itersize

    @property
    def multi_index(self) -> tuple[int, ...]:
        """The index of the element."""
        return self._places[self.index]

    def _element(self) -> Any:
        place: Any = self._places[self.index]
        parts = tuple(
            [
                view[(*place, ...)] if writes else np.copy(view[(*place, ...)])
                for view, writes in zip(self._views, self._written, strict=True)
            ]
        )
        return parts[0] if len(parts) == 1 else parts

    def __getitem__(self, i: int) -> Any:
        return self.value if self.nop == 1 else self.value[i]

    def __len__(self) -> int:
        return self.nop

    def iternext(self) -> bool:
        """Go on; return whether there is an element."""
        self.index += 1
        if self.finished:
            return False
        self.value = self._element()
        return True

    def reset(self) -> None:
        """Begin again."""
        self.index = 0
        self.value = self._element() if self._places else None

    def close(self) -> None:
        """Do nothing: writes are made at once."""

    def __enter__(self) -> NDIter:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        while not self.finished:
            yield self.value
            self.iternext()


def _writes(op_flags: Any, i: int, operand: Any) -> bool:
    """Whether an operand is written into."""
    if operand is None:
        return True
    if not op_flags:
        return False
    own = op_flags if isinstance(op_flags[0], str) else op_flags[i]
    return "readwrite" in own or "writeonly" in own


def _in_memory_order(views: list, shape: tuple[int, ...], order: str) -> list[tuple[int, ...]]:
    """Return the indices of the elements in the order in which NumPy visits them."""
    plain = [untraced(v) for v in views]
    begin: Any = np.nditer
    walk = begin(
        [np.broadcast_to(v, shape) for v in plain],
        flags=["multi_index", "zerosize_ok", "refs_ok"],
        order=order,
    )
    return [walk.multi_index for _ in walk]


REPLACED: dict[Any, Callable] = {np.nditer: NDIter, np.broadcast: Broadcast}
"""Classes of NumPy → what is used in their place in a traced function."""
