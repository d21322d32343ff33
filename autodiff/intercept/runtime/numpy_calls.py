"""Functions of NumPy for which its protocol is not enough inside a traced function."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls, dispatch_cache
from autodiff.dispatch.arguments import cells_as_numbers, innermost, is_constant, place_of_out
from autodiff.dispatch.call import NO_RULE, as_array, by_rule
from autodiff.fastpath.elementwise import NOT_HERE
from autodiff.fastpath.gather_scalars import as_traced_array, gathered, takes_lists_as_arrays
from autodiff.functions import known
from autodiff.intercept.runtime import object_arrays, text_calls
from autodiff.intercept.runtime.write_checks import check_out
from autodiff.intercept.syntax import syntax_ops
from autodiff.mutation.escape_check import HELD_ONCE
from autodiff.mutation.views import refuse
from autodiff.numpy_api import array_iterators, array_subclasses, protocols
from autodiff.numpy_api.array_iterators import Flat, flattened
from autodiff.numpy_api.methods import method_of_array
from autodiff.numpy_api.out_arguments import WRITERS, all_arrays, into
from autodiff.numpy_api.pyfunc_loops import (
    each_element,
    from_iterator,
    python_function,
    vectorized as vectorized,
)
from autodiff.python_operators import BINARY
from autodiff.trace.checks.conversions import check_texts
from autodiff.trace.checks.number_classes import check_class
from autodiff.trace.tape import CONSTANT
from autodiff.trace.trace_stack import check_free, may_hold_traced
from autodiff.trace.tracer import FloatTracer, Tracer, bare, is_tracer, note_view
from chainrules_core import rrule
from chainrules_core.define import DecomposeRule


def buffer(x: np.ndarray) -> Tracer:
    """Return a tracer of a plain array, into which traced values may be written."""
    return Tracer(x, CONSTANT, -1)


def making(g: Callable, asking_for: Callable) -> Callable:
    """A function that makes an array, into which traced values may be written later."""
    return keeping_new(looking_into_lists(asking_for(g) if rrule.entry(g) is not None else g, g))


_SIZES = frozenset({int, float, complex, bool, np.float64, np.int64, type, type(None)})


_HOLD_NO_ARRAY = _SIZES | {
    np.ndarray, Tracer, FloatTracer, list, tuple, range, str, np.float32, np.bool_,
    types.FunctionType, *map(type, map(np.dtype, "?bhilqBHILQefdgFDG")),
}  # fmt: skip
"""Classes of which no object returns an array that it keeps (an argument itself is looked for)."""


def keeping_new(make: Callable) -> Callable:
    """A function whose new arrays can take traced values."""

    def made_by(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        text_calls.check_array(made, args)
        is_view = type(made) is np.ndarray and made.base is not None
        if is_view and all(type(a) in _SIZES for a in (*args, *kwargs.values())):
            made = made.copy()  # np.linspace gives a view of an array that nobody else has
        # An argument that is returned (asarray) and a view belong to somebody else.
        is_new = type(made) is np.ndarray and made.base is None and all(made is not a for a in args)
        if is_new and not _HOLD_NO_ARRAY.issuperset(map(type, (*args, *kwargs.values()))):
            is_new = sys.getrefcount(made) == HELD_ONCE  # else an object has given its array
        return buffer(made) if is_new and may_hold_traced(made) else made

    return made_by


_CHANGING = frozenset(
    {"byteswap", "fill", "itemset", "partition", "put", "resize", "setfield", "sort"}
)
WRITING = frozenset(
    {
        "__setitem__", "__delitem__", "__setattr__", "__setstate__",
        *(f"__i{o.name}__" for o in BINARY.values()),
    }
)  # fmt: skip
"""Special methods that write into an array."""
PLACES_OF_OUT = {
    **dict.fromkeys(["conj", "conjugate"], 0),
    **dict.fromkeys(["all", "any", "argmax", "argmin", "choose", "dot", "max", "min", "ptp"], 1),
    "round": 1,
    **dict.fromkeys(
        ["clip", "compress", "cumprod", "cumsum", "mean", "prod", "std", "sum", "take", "var"], 2
    ),
    "accumulate": 3,
    "reduce": 3,
    **dict.fromkeys(["astype", "reduceat", "trace"], 4),
}
"""Methods → at which place they take an array to write into, or that nothing is copied."""


def new_array(asking: Callable) -> Callable:
    """``np.ndarray(shape, dtype)`` makes an array as ``np.empty`` does; `asking` asks for its rule.

    Only with a buffer it reads the memory of another object.
    """

    def made_by(*args: Any, **kwargs: Any) -> Any:
        given = args[2] if len(args) > 2 else kwargs.get("buffer")
        if given is None:
            return keep(*args, **kwargs)
        made = asking(*args, **kwargs)
        if is_constant(given) and is_tracer(made) and made._origin is None:
            note_view(made, given, refuse)  # a write into one of them could not be followed
        return made

    keep = keeping_new(asking)
    return made_by


_COPYING = frozenset({"copy", "astype", "flatten"})


@functools.cache
def array_method(name: str) -> Callable:
    """A method of an array that is not traced, as a function of it: its arguments may be."""
    is_changing, is_copying = name in _CHANGING, name in _COPYING
    place = PLACES_OF_OUT.get(name, 1000)

    def method(owner: np.ndarray, *args: Any, **kwargs: Any) -> Any:
        if is_changing:
            check_free(owner)
        if kwargs or len(args) > place:
            check_free(kwargs.get("out", args[place] if len(args) > place else None))
        if (args or kwargs) and innermost(args, kwargs) is not None:
            return method_of_array(name, owner, args, kwargs)
        if name in object_arrays.CONVERTING and (numbers := cells_as_numbers(owner)) is not owner:
            return getattr(numbers, name)(*args, **kwargs)
        made = getattr(owner, name)(*args, **kwargs)
        if is_copying and owner.dtype.kind in "US":
            text_calls.check_read(made, "an array of texts")
        is_copy = is_copying and made is not owner
        return buffer(made) if is_copy and may_hold_traced(made) else made

    return method


def unbound_method(g: Any) -> Callable:
    """``np.ndarray.sum(x)``: on a traced value its own method."""

    def unbound(*args: Any, **kwargs: Any) -> Any:
        if args and is_tracer(args[0]):
            if not isinstance(args[0], g.__objclass__):
                return g(bare(args[0]), *args[1:], **kwargs)  # an error in its own words
            return getattr(args[0], g.__name__)(*args[1:], **kwargs)
        is_of_array = args and g.__objclass__ is np.ndarray
        if is_of_array and type(args[0]) is array_subclasses.ArrayInstance:
            return getattr(array_subclasses.base, g.__name__)(*args, **kwargs)
        if args and type(args[0]) is np.ndarray and type(g) is types.MethodDescriptorType:
            return array_method(g.__name__)(*args, **kwargs)
        if args and g.__name__ in WRITING:
            check_free(args[0])
        made = g(*args, **kwargs)
        is_text = g.__objclass__ is str and text_calls.is_traced(args)
        return text_calls.marked(made) if is_text else made

    return unbound


MAKERS = frozenset(known("is_container"))


_LISTS = frozenset({list, tuple, Flat, np.poly1d})
# Functions of NumPy that call a function, which may hold a traced value in a closure.
_CALLING = frozenset({np.apply_along_axis, np.apply_over_axes, np.fromfunction, np.piecewise})
_OF_LISTS = frozenset({np.array, np.asarray, np.asanyarray})
_DTYPE = frozenset({"dtype"})
# Their rules are for arrays, as those of ufuncs are; the rules of others may know lists.
_FOR_ARRAYS = frozenset(
    {np.angle, np.clip, np.i0, np.imag, np.nan_to_num, np.real, np.real_if_close, np.sinc}
)


def looking_into_lists(g: Callable, key: Any) -> Callable:
    """A function of NumPy whose arguments may be lists that hold traced values.

    Its protocol looks at the arguments themselves, and would not find those. The rules are those of
    `key`.
    """
    if key in _CALLING:
        return _calling(key)
    if isinstance(key, np.ufunc):
        pyfunc = python_function(key)
        if pyfunc is not None:
            return _looping(key, pyfunc)
        return _of_ufunc(key)
    looking = _of_function(g, key)
    if key in _OF_LISTS:
        return _of_lists(key, looking)
    return object_arrays.of_numbers(looking) if key in object_arrays.STATISTICS else looking


def _of_function(g: Callable, key: Any) -> Callable:
    is_function = g is key
    is_writer = key in WRITERS
    place = place_of_out(key)[0]
    known = dispatch_cache.ways_of(key)

    def looking(*args: Any, **kwargs: Any) -> Any:
        way = dispatch_cache.find(known, args, kwargs)
        if way is not None:
            result = way(*args, **kwargs)
            if result is not NO_RULE:
                return result
        if args and type(args[0]) is list:
            result = calls.planned(key, args, kwargs)
            if result is not NO_RULE:
                return result
        if not kwargs and _NUMBERS.issuperset(map(type, args)):
            if len(args) > place or is_writer:
                check_out(key, args, kwargs)
            elif is_function:
                dispatch_cache.add(g, args, kwargs, g)
            return g(*args)
        return general(args, kwargs)

    general = _general(g, key, place, looking)
    return looking


def _of_lists(key: Any, looking: Callable) -> Callable:
    def of_list(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) in (list, tuple) and _DTYPE.issuperset(kwargs):
            made = gathered(key, args[0], kwargs)
            if made is not NOT_HERE:
                return made
        if args and type(args[0]) in array_subclasses.CONVERTED:
            made = array_subclasses.converted(key, *args, **kwargs)
            if made is not None:
                return made
        if args and object_arrays.is_of_objects(args[1] if len(args) > 1 else kwargs.get("dtype")):
            return object_arrays.cells(key, args, kwargs)
        return looking(*args, **kwargs)

    return of_list


def _of_ufunc(ufunc: np.ufunc) -> Callable:
    known = dispatch_cache.ways_of(ufunc)

    def of_ufunc(*args: Any, **kwargs: Any) -> Any:
        """NumPy's own search for the engine takes as long as all this."""
        way = dispatch_cache.find(known, args, kwargs)
        if way is not None:
            result = way(*args, **kwargs)
            if result is not NO_RULE:
                return result
        traced = False
        for a in args:
            kind = type(a)
            if kind is Tracer or kind is FloatTracer:
                traced = True
            elif kind not in _NUMBERS:
                return general(args, kwargs)
        if kwargs or len(args) != ufunc.nin:
            return general(args, kwargs)
        return protocols.ufunc(ufunc, "__call__", args, kwargs) if traced else ufunc(*args)

    general = _general(ufunc, ufunc, ufunc.nin, of_ufunc)
    return of_ufunc


def _general(g: Callable, key: Any, place: int, begin: Callable) -> Callable:
    """Return what calls a function of NumPy with arguments of any kind.

    Its argument at `place`, if it is given, is an array to write into. ``begin(*args)`` begins the
    call again with other arguments.
    """
    is_function = g is key and not isinstance(key, np.ufunc)
    is_writer = key in WRITERS

    def call(args: tuple, kwargs: dict[str, Any]) -> Any:
        if kwargs.get("out") is ... and isinstance(key, np.ufunc):
            del kwargs["out"]
            return all_arrays(begin(*args, **kwargs))
        traced = listed = False
        for a in (*args, *kwargs.values()) if kwargs else args:
            kind = type(a)
            if kind is Tracer or kind is FloatTracer:
                traced = True
            elif kind in _LISTS:
                listed = True
            elif kind in array_subclasses.CONVERTED and _takes_arrays(key, kind):
                plain = map(array_subclasses.plain_array, args)
                named = {k: array_subclasses.plain_array(v) for k, v in kwargs.items()}
                return begin(*plain, **named)
            elif kind not in _NUMBERS and syntax_ops.converts(kind):
                result = _with_objects(begin, key, a, args, kwargs)
                if result is not NOT_HERE:
                    return result
        if listed:
            for a in args:
                if type(a) is list or type(a) is tuple:
                    check_texts(a)
            args = tuple([_elements_converted(flattened(a)) for a in args])
            if any(map(_holds_traced, (*args, *kwargs.values()))):
                return _with_lists(g, key, args, kwargs)
        if traced and is_function:  # NumPy itself does not look at each argument
            return protocols.function(key, args, kwargs)
        if "out" in kwargs or len(args) > place or is_writer:
            check_out(key, args, kwargs)
        return g(*args, **kwargs)

    return call


def _takes_arrays(key: Any, kind: type) -> bool:
    """Whether a function of NumPy takes objects of a class as arrays, and asks none of its methods.

    A ufunc asks its ``__array_ufunc__``, ``np.mean(s)`` calls ``s.mean()``.
    """
    if isinstance(key, np.ufunc) or hasattr(kind, "__array_function__"):
        return False
    body = getattr(key, "_implementation", None)
    return type(body) is not types.FunctionType or not hasattr(kind, key.__name__)


def _with_objects(begin: Callable, key: Any, x: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call it with objects that stand for arrays as these; `NOT_HERE` if `x` is none."""
    check_class(type(x))
    body = getattr(key, "_implementation", None)
    if body is not None and hasattr(x, key.__name__):
        return calls.body_of(body)(*args, **kwargs)  # it calls the object's own method
    if syntax_ops.converted(x) is x:
        return NOT_HERE
    named = {name: syntax_ops.converted(value) for name, value in kwargs.items()}
    return begin(*map(syntax_ops.converted, args), **named)


def is_of_python(g: Any) -> bool:
    """Whether a ufunc calls a Python function: such a ufunc may be made at each call."""
    return isinstance(g, np.ufunc) and python_function(g) is not None


_NUMBERS = frozenset({float, int, bool, complex, np.float64, np.ndarray})


def _elements_converted(x: Any) -> Any:
    """Return a list with the objects in it that stand for arrays as these."""
    if type(x) not in (list, tuple) or not any(syntax_ops.converts(type(v)) for v in x):
        return x
    return [syntax_ops.converted(v) for v in x]


def _with_lists(g: Callable, key: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a function of NumPy on lists that hold traced values."""
    if key in WRITERS:
        return WRITERS[key](*args, **kwargs)
    out = kwargs.get("out")
    if isinstance(key, np.ufunc) and out is not None:  # arrays that are given in a tuple, too
        outs = out if type(out) is tuple else (out,)
        return protocols.ufunc(key, "__call__", args, {**kwargs, "out": outs})
    if is_tracer(out) or type(out) is np.ndarray:
        rest = {name: value for name, value in kwargs.items() if name != "out"}
        return into(out, _with_lists(g, key, args, rest))
    if key in protocols.BY_BODY:
        return protocols.function(key, args, kwargs)
    for_arrays = isinstance(key, np.ufunc) or key in _FOR_ARRAYS
    if not for_arrays and takes_lists_as_arrays(key):
        args = tuple([as_traced_array(a) for a in args])
    result = NO_RULE if for_arrays else by_rule(key, args, kwargs)
    if result is not NO_RULE:
        return result
    body = getattr(key, "_implementation", None)
    if type(body) is types.FunctionType and rrule.entry(key) is None:
        return protocols.by_body(body, args, kwargs)  # to it, a list may mean something else
    return g(*map(_array_of, args), **{name: _array_of(a) for name, a in kwargs.items()})


def _holds_traced(x: Any) -> bool:
    return type(x) in _LISTS and innermost((x,), {}) is not None


def _array_of(x: Any) -> Any:
    """Return the array that NumPy would make of a list or polynomial, if it holds traced values."""
    if type(x) is np.poly1d:
        return x.coeffs
    return as_array(x) if _holds_traced(x) else x


def _calling(g: Any) -> Callable:
    """A function of NumPy that calls a function: its body is traced whatever the arguments are."""

    def traced(*args: Any, **kwargs: Any) -> Any:
        entry = rrule.entry(g)
        rule = None if entry is None or not entry.rules else entry.rules[0]
        body = rule.body if isinstance(rule, DecomposeRule) else g._implementation
        return protocols.by_body(body, args, kwargs)

    return traced


def _looping(f: np.ufunc, pyfunc: Callable) -> Callable:
    """A function made by ``np.frompyfunc``."""

    def looped(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return f(*args, **kwargs)
        return each_element(pyfunc, f.nout, args)

    return looped


def calls_back(g: types.FunctionType) -> bool:
    """Whether a library's function may meet traced values that its arguments do not show.

    They stand in a slice (``np.r_[a:b:3j]``) or in the closure of a function that it calls.
    """
    return (g.__module__, g.__qualname__) in _CALLING_BACK


_CALLING_BACK = frozenset(
    {
        ("numpy.lib._index_tricks_impl", "nd_grid.__getitem__"),
        ("numpy.lib._index_tricks_impl", "AxisConcatenator.__getitem__"),
        ("numpy.polynomial.chebyshev", "Chebyshev.interpolate"),
        ("numpy.polynomial.chebyshev", "chebinterpolate"),
    }
)


def fromiter(*args: Any, **kwargs: Any) -> Any:
    """As ``np.fromiter``, from an iterator of traced values too."""
    return from_iterator(syntax_ops.iterate, *args, **kwargs)


REPLACED: dict[Any, Callable] = {np.fromiter: fromiter, **array_iterators.REPLACED}
"""Replacements of classes and C functions of NumPy in a traced function."""


def _array_converter() -> Any:
    """Return NumPy's helper for converting arguments, by which its Python functions start."""
    module = getattr(np, "_core", None)
    return getattr(getattr(module, "_multiarray_umath", None), "_array_converter", None)


ARRAY_CONVERTER = _array_converter()


def _as_any_array(x: Any) -> Any:
    return _array_of(x) if _holds_traced(x) else np.asanyarray(x)


class ArrayConverter:
    """What NumPy's `_array_converter` is to NumPy's functions, for arguments that may be traced."""

    def __new__(cls, *args: Any) -> Any:
        """Return NumPy's own where nothing is traced."""
        if innermost(args, {}) is None:
            return ARRAY_CONVERTER(*args)
        return super().__new__(cls)

    def __init__(self, *args: Any) -> None:
        self._arrays = [a if is_tracer(a) else _as_any_array(a) for a in args]
        self._scalars = [
            np.ndim(array) == 0 and not isinstance(a, np.ndarray)
            for a, array in zip(args, self._arrays, strict=True)
        ]

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
