"""Functions of NumPy for which its protocol is not enough inside a traced function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.arguments import innermost
from autodiff.call import NO_RULE, as_array, by_rule
from autodiff.tape import CONSTANT
from autodiff.tracer import Tracer, is_tracer
from chainrules_core import rrule


def buffer(x: np.ndarray) -> Tracer:
    """Return an array as one that holds nothing traced yet, but may be written into."""
    return Tracer(x, CONSTANT, -1)


def making(g: Callable, asking_for: Callable) -> Callable:
    """A function that makes an array, into which traced values may be written later."""
    asking = looking_into_lists(asking_for(g) if rrule.entry(g) is not None else g, g)

    def made_by(*args: Any, **kwargs: Any) -> Any:
        made = asking(*args, **kwargs)
        # What is handed on as it is (asarray) or a view is somebody else's.
        is_new = type(made) is np.ndarray and made.base is None and all(made is not a for a in args)
        return buffer(made) if is_new and made.dtype.kind in "fc" else made

    return made_by


MAKERS: frozenset[Any] = frozenset(
    {
        np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.arange, np.concatenate,
        np.copy, np.diag, np.empty, np.empty_like, np.eye, np.full, np.full_like, np.geomspace,
        np.hstack, np.identity, np.linspace, np.logspace, np.ones, np.ones_like, np.repeat,
        np.stack, np.tile, np.tri, np.vander, np.vstack, np.zeros, np.zeros_like,
    }
)  # fmt: skip


def looking_into_lists(g: Callable, key: Callable) -> Callable:
    """A function of NumPy whose arguments may be lists that hold traced values.

    Its protocol looks at the arguments themselves, and would not find those. The rules are those of
    `key`.
    """

    def looking(*args: Any, **kwargs: Any) -> Any:
        if (
            any(type(a) in (list, tuple) for a in args)
            and not any(is_tracer(a) for a in args)
            and innermost(args, kwargs) is not None
        ):
            # The rules of ufuncs are for arrays; others may have one for lists.
            result = NO_RULE if isinstance(key, np.ufunc) else by_rule(key, args, kwargs)
            if result is not NO_RULE:
                return result
            args = tuple([as_array(a) if _holds_traced(a) else a for a in args])
        return g(*args, **kwargs)

    return looking


def _holds_traced(x: Any) -> bool:
    return type(x) in (list, tuple) and innermost((x,), {}) is not None


def vectorized(g: np.vectorize, intercept: Callable) -> Callable:
    """``np.vectorize``: its C loop would lose traced values, so the loop is run here."""

    def looped(*args: Any, **kwargs: Any) -> Any:
        if innermost(args, kwargs) is None or g.signature is not None or kwargs or g.excluded:
            return g(*args, **kwargs)
        shape = np.broadcast_shapes(*[np.shape(a) for a in args])
        flat = [np.reshape(np.broadcast_to(a, shape), (-1,)) for a in args]
        function = intercept(g.pyfunc)
        results = [function(*values) for values in zip(*flat, strict=True)]
        if results and isinstance(results[0], tuple):
            return tuple(np.reshape(np.stack(r), shape) for r in zip(*results, strict=True))
        return np.reshape(np.stack(results), shape)

    return looped


def _array_converter() -> Any:
    """Return NumPy's helper for converting arguments, by which its Python functions start."""
    module = getattr(np, "_core", None)
    return getattr(getattr(module, "_multiarray_umath", None), "_array_converter", None)


ARRAY_CONVERTER = _array_converter()


class ArrayConverter:
    """What NumPy's `_array_converter` is to NumPy's functions, for arguments that may be traced."""

    def __new__(cls, *args: Any) -> Any:
        """Return NumPy's own where nothing is traced."""
        if innermost(args, {}) is None:
            return ARRAY_CONVERTER(*args)
        return super().__new__(cls)

    def __init__(self, *args: Any) -> None:
        self._scalars = [np.ndim(a) == 0 and not isinstance(a, np.ndarray) for a in args]
        self._arrays = [a if is_tracer(a) else np.asanyarray(a) for a in args]

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, i: int) -> Any:
        return self._arrays[i]

    @property
    def scalar_input(self) -> tuple[bool, ...]:
        """Which arguments were numbers."""
        return tuple(self._scalars)

    def as_arrays(self, *, subok: bool = True, pyscalars: str = "convert_if_no_array") -> tuple:
        """Return the arguments as arrays."""
        return tuple(self._arrays)

    def result_type(self, extra_dtype: Any = None, ensure_inexact: bool = False) -> np.dtype:
        """Return the dtype of a result."""
        dtypes = [a.dtype for a in self._arrays]
        if extra_dtype is not None:
            dtypes.append(extra_dtype)
        found = np.result_type(*dtypes)
        return found if found.kind in "fc" or not ensure_inexact else np.dtype(float)

    def wrap(self, result: Any, to_scalar: bool | None = None) -> Any:
        """Return a result as it is: traced values have no other form."""
        return result
