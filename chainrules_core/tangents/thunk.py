"""Thunks: tangents that are computed only when needed, and at most once."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from chainrules_core.errors import MutateThunkError
from chainrules_core.tangents.zero import AbstractTangent, AbstractZero


def unthunk(x: Any) -> Any:
    """Return the value of a thunk, and anything else unchanged.

    It removes one layer; `unthunk_deep` removes all.

    Examples
    --------
    >>> unthunk(thunk(lambda: 1.0 + 1.0)), unthunk(2.0)
    (2.0, 2.0)
    """
    return x._value_now() if isinstance(x, AbstractThunk) else x


def unthunk_deep(x: Any) -> Any:
    """Return the value of `x` without any thunks, including those inside structural tangents.

    Examples
    --------
    >>> unthunk_deep(thunk(lambda: thunk(lambda: 2.0)))
    2.0
    """
    return x._forced_() if isinstance(x, AbstractTangent) else x


def _forcing(op: Callable, name: str, absorbing: bool = False) -> tuple[Callable, Callable]:
    """A binary operator on thunks, and its reflected form.

    A sum with a zero and a product with one are known without computing the thunk's value.
    """
    neutral = op in (operator.add, operator.sub)

    def forward(self: AbstractThunk, other: Any) -> Any:
        if isinstance(other, AbstractZero):
            if neutral:
                return self
            if absorbing:
                return other
        return op(self._forced_(), unthunk_deep(other))

    def reflected(self: AbstractThunk, other: Any) -> Any:
        return op(other, self._forced_())

    forward.__name__, reflected.__name__ = f"__{name}__", f"__r{name}__"
    return forward, reflected


def _refusing(name: str, action: str) -> Callable:
    def refuse(self: AbstractThunk, *_: Any) -> NoReturn:
        raise MutateThunkError(action)

    refuse.__name__ = name
    return refuse


# NumPy's methods that change an array in place.
_MUTATING = frozenset({"byteswap", "fill", "partition", "put", "resize", "setfield", "sort"})


class AbstractThunk(AbstractTangent):
    """Base of delayed tangents, which behave like their value. Any use computes it.

    Only ``.T``, ``.mT``, ``.conj()`` and ``.transpose()`` stay delayed. You cannot write into a
    thunk. A subclass defines a method ``_value_now``.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # as arrays have none: == compares values

    def _value_now(self) -> Any:
        raise NotImplementedError

    def _forced_(self) -> Any:
        value = self._value_now()
        while isinstance(value, AbstractThunk):
            value = value._value_now()
        return value._forced_() if isinstance(value, AbstractTangent) else value

    # -- arithmetic and comparison ---------------------------------------------------------------

    __add__, __radd__ = _forcing(operator.add, "add")
    __sub__, __rsub__ = _forcing(operator.sub, "sub")
    __mul__, __rmul__ = _forcing(operator.mul, "mul", absorbing=True)
    __matmul__, __rmatmul__ = _forcing(operator.matmul, "matmul", absorbing=True)
    __truediv__, __rtruediv__ = _forcing(operator.truediv, "truediv")
    __floordiv__, __rfloordiv__ = _forcing(operator.floordiv, "floordiv")
    __mod__, __rmod__ = _forcing(operator.mod, "mod")
    __pow__, __rpow__ = _forcing(operator.pow, "pow")
    __eq__, __ne__ = _forcing(operator.eq, "eq")[0], _forcing(operator.ne, "ne")[0]
    __lt__, __le__ = _forcing(operator.lt, "lt")[0], _forcing(operator.le, "le")[0]
    __gt__, __ge__ = _forcing(operator.gt, "gt")[0], _forcing(operator.ge, "ge")[0]

    def __neg__(self) -> Any:
        return -self._forced_()

    def __pos__(self) -> AbstractThunk:
        return self

    def __abs__(self) -> Any:
        return abs(self._forced_())

    def __bool__(self) -> bool:
        return bool(self._forced_())

    def __int__(self) -> int:
        return int(self._forced_())

    def __float__(self) -> float:
        return float(self._forced_())

    def __complex__(self) -> complex:
        return complex(self._forced_())

    # -- as a container --------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        return self._forced_()[key]

    def __iter__(self) -> Iterator:
        return iter(self._forced_())

    def __len__(self) -> int:
        return len(self._forced_())

    def __contains__(self, item: Any) -> bool:
        return item in self._forced_()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # protocols that look for a method must not compute anything
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name in _MUTATING and isinstance(self._forced_(), np.ndarray):
            raise MutateThunkError(f"thunk.{name}(...)")
        return getattr(self._forced_(), name)

    # -- as an array -----------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._forced_(), dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.get("out") or ()
        if any(isinstance(o, AbstractThunk) for o in out) or (
            method == "at" and isinstance(inputs[0], AbstractThunk)
        ):
            raise MutateThunkError(f"np.{ufunc.__name__} into a thunk")
        return getattr(ufunc, method)(*map(unthunk_deep, inputs), **options)

    def __array_function__(
        self, function: Callable, types: Any, args: tuple, kwargs: dict[str, Any]
    ) -> Any:
        if isinstance(kwargs.get("out"), AbstractThunk):
            raise MutateThunkError(f"np.{function.__name__} into a thunk")
        return function(*_unthunk_arguments(args), **_unthunk_arguments(kwargs))

    # -- what stays delayed ----------------------------------------------------------------------

    @property
    def T(self) -> Thunk:  # noqa: N802  # NumPy's name
        """The transpose, delayed."""
        return Thunk(lambda: self._forced_().T)

    @property
    def mT(self) -> Thunk:  # noqa: N802  # NumPy's name
        """The transpose of the last two axes, delayed."""
        return Thunk(lambda: self._forced_().mT)

    def conj(self) -> Thunk:
        """The complex conjugate, delayed."""
        return Thunk(lambda: self._forced_().conjugate())  # numbers have no .conj

    conjugate = conj

    def transpose(self, *axes: Any) -> Thunk:
        """The value with its axes permuted, delayed."""
        return Thunk(lambda: self._forced_().transpose(*axes))

    # -- what is refused -------------------------------------------------------------------------

    __setitem__ = _refusing("__setitem__", "thunk[...] = x")
    __delitem__ = _refusing("__delitem__", "del thunk[...]")
    __iadd__ = _refusing("__iadd__", "thunk += x")
    __isub__ = _refusing("__isub__", "thunk -= x")
    __imul__ = _refusing("__imul__", "thunk *= x")
    __imatmul__ = _refusing("__imatmul__", "thunk @= x")
    __itruediv__ = _refusing("__itruediv__", "thunk /= x")
    __ifloordiv__ = _refusing("__ifloordiv__", "thunk //= x")
    __imod__ = _refusing("__imod__", "thunk %= x")
    __ipow__ = _refusing("__ipow__", "thunk **= x")


def _unthunk_arguments(x: Any) -> Any:
    """Unthunk what NumPy's functions take: arguments, and lists or tuples of arrays among them."""
    if type(x) in (list, tuple):
        return type(x)([_unthunk_arguments(item) for item in x])
    if type(x) is dict:
        return {key: _unthunk_arguments(value) for key, value in x.items()}
    return unthunk_deep(x)


class Thunk(AbstractThunk):
    """A tangent that is computed by calling `f` when it is first needed.

    Use it in a pullback for a costly cotangent that nobody may need. Do not use it for a value that
    already exists, or if there is only one cotangent. Two threads that need the same thunk compute
    it once. After that, the thunk drops `f` and everything that `f` refers to.

    Parameters
    ----------
    f : callable
        Takes no arguments and returns the tangent.

    Examples
    --------
    >>> a_bar = thunk(lambda: np.ones(2) * 3)
    >>> a_bar + 1
    array([4., 4.])

    You can also use it as a decorator:

    >>> @thunk
    ... def b_bar():
    ...     return 2.0
    >>> float(b_bar)
    2.0
    """

    __slots__ = ("__weakref__", "_content", "_lock")

    def __init__(self, f: Callable[[], Any]) -> None:
        self._content = f
        self._lock: Any = _allocate_lock()

    def _value_now(self) -> Any:
        lock = self._lock
        if lock is None:
            return self._content
        lock.acquire()  # half as dear as a with statement
        try:
            if self._lock is not None:  # no other thread has been faster
                f = self._content
                try:
                    self._content = f()
                except Exception as error:
                    _say_where(error, f)
                    raise
                self._lock = None  # only now: the sign that the content is the value
            return self._content
        finally:
            lock.release()

    def __reduce__(self) -> tuple:
        return _computed, (self._forced_(),)  # closures cannot be copied; values can

    def __repr__(self) -> str:
        if self._lock is None:
            return f"{type(self).__name__}({self._content!r})"
        return f"{type(self).__name__}(<not computed, made at {_origin(self._content)}>)"


_allocate_lock = type(threading.RLock())  # the class: threading.RLock is a function around it

thunk = Thunk
"""Delay a computation: ``thunk(lambda: a @ b)``, or a decorator. The same as `Thunk`."""


class InplaceableThunk(Thunk):
    """A thunk that can also add its value into a buffer, without computing it separately.

    `add_inplace` does so if it may change the accumulator. Everything else uses the thunk.

    Parameters
    ----------
    add_into : callable
        ``add_into(buffer)`` adds the value into `buffer` in place and returns `buffer`.
    f : Thunk or callable
        The value as a thunk, or a function that computes it.

    Examples
    --------
    >>> def add_into(x_bar):
    ...     x_bar[1] += 5.0
    ...     return x_bar
    >>> item_bar = InplaceableThunk(add_into, lambda: np.array([0.0, 5.0, 0.0]))
    >>> item_bar.add_into(np.ones(3))
    array([1., 6., 1.])
    >>> item_bar * 2
    array([ 0., 10.,  0.])
    """

    __slots__ = ("add_into",)

    def __init__(
        self, add_into: Callable[[Any], Any], f: AbstractThunk | Callable[[], Any]
    ) -> None:
        self.add_into = add_into
        self._content = f._value_now if isinstance(f, AbstractThunk) else f
        self._lock = _allocate_lock()


def _computed(value: Any) -> Thunk:
    """A thunk that is computed already."""
    done = Thunk.__new__(Thunk)
    done._content, done._lock = value, None
    return done


def _origin(f: Any) -> str:
    code = getattr(f, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(f)


def _say_where(error: Exception, f: Any) -> None:
    """Note on an exception where the thunk was made: its traceback shows where it was forced."""
    if isinstance(getattr(f, "__self__", None), AbstractThunk):
        return  # the inner thunk has said it
    hint = "" if callable(f) else "; thunk() takes a function, as in thunk(lambda: a @ b)"
    error.add_note(f"While computing the thunk made at {_origin(f)}{hint}.")
