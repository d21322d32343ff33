"""Purity facts about library functions: no side effects, no hidden state."""

from __future__ import annotations

import bisect
import collections
import contextlib
import copy
import functools
import heapq
import inspect
import itertools
import math
import operator
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.compiler.recording.function_effects import impurity
from autodiff.functions import facts_of, known
from autodiff.intercept.runtime.numpy_calls import PLACES_OF_OUT as PLACES_OF_OUT
from autodiff.intercept.runtime.rule_wrappers import has_rule
from autodiff.intercept.source.library_code import is_library, is_of_library
from autodiff.numpy_api.out_arguments import WRITERS
from autodiff.numpy_api.pyfunc_loops import python_function
from chainrules_core.calling.signatures import parameter_names

_REFUSED = frozenset(known("reads_memory"))
"""Functions whose results depend on object identity, which programs do not follow."""
_OF_PYTHON = frozenset(
    {
        bisect.insort_left, bisect.insort_right, chr, collections.Counter, collections.OrderedDict,
        collections.defaultdict, collections.deque, copy.copy, copy.deepcopy, heapq.heapify,
        heapq.heappop, heapq.heappush, heapq.heappushpop, heapq.heapreplace, heapq.merge,
        heapq.nlargest, heapq.nsmallest, iter, itertools.chain.from_iterable, next,
        operator.itemgetter, ord,
        *(kind for kind in vars(itertools).values() if isinstance(kind, type)),
    }
)  # fmt: skip
"""Functions and classes of Python that change nothing but iterators, which are never outer values,
and lists that they are given. Unlike those of `autodiff.functions`, they are not functions of
values alone."""
_STATEFUL = frozenset(
    {
        "CU", "callback", "disp", "formatter", "iprint", "options", "outer_v", "plot", "precision",
        "printmessg", "qrng", "random_state", "return_indices", "rng", "rvs", "seed", "show",
        "state", "verbose", "verbosityLevel",
    }
)  # fmt: skip
"""Parameters of functions that draw random numbers, print, call back, or keep their arguments."""
_FIND_ROOTS = frozenset({"bisect", "brenth", "brentq", "newton", "ridder", "toms748"})
"""Functions whose parameter ``disp`` selects whether they raise; it prints nothing."""
_BY_KEY = frozenset(
    {
        bisect.bisect_left, bisect.bisect_right, filter, heapq.nlargest, heapq.nsmallest,
        itertools.dropwhile, itertools.filterfalse, itertools.groupby, itertools.takewhile, max,
        min, sorted,
    }
)  # fmt: skip
_OF_FUNCTIONS = frozenset(
    {
        "bc", "constraints", "f", "fprime", "fun", "func", "func1d", "funclist", "function", "g",
        "gfun", "hess", "hfun", "jac", "op",
    }
)  # fmt: skip
_DERIVATIVES = (
    "cotangents", "derivative", "diag_hessian", "elementwise_grad", "grad", "gradient", "hessian",
    "hvp", "ignore_derivatives", "jacfwd", "jacobian", "jacrev", "jvp", "pullback", "pushforward",
    "stop_gradient", "tangent_of", "value_and_grad", "value_and_gradient", "vhp", "vjp",
)  # fmt: skip


def is_pure(g: Any) -> bool:
    """Whether a library function is known to have no side effects and no hidden state."""
    if isinstance(g, type):
        return _is_pure_class(g)
    try:
        if facts_of(g).is_pure or g in _OF_PYTHON:
            return True
    except TypeError:
        return False
    if isinstance(g, np.ufunc):
        return python_function(g) is None
    return is_derivative(g) or is_pure_by_rule(g)


def is_derivative(g: Any) -> bool:
    """Whether a function is one of the engine's transforms that return derivatives."""
    home = getattr(g, "__globals__", {})
    name = getattr(g, "__name__", "")
    is_ours = home.get("__package__") == "autodiff.api"
    return is_ours and name in _DERIVATIVES and home.get(name) is g


def is_number(x: Any) -> bool:
    """Whether `x` is an immutable NumPy scalar."""
    return type(x).__module__ == "numpy" and isinstance(x, np.generic) and type(x) is not np.void


_CLASSES = frozenset({np.ndarray, np.finfo, np.iinfo, np.dtype})
OBJECTS = frozenset(map(id, (np.c_, np.index_exp, np.mgrid, np.ogrid, np.r_, np.s_)))
"""The ids of NumPy's objects that make arrays and indices by subscription."""


def _is_pure_class(kind: type) -> bool:
    """Whether constructing an object of a library class is pure."""
    if facts_of(kind).is_pure or kind in _CLASSES or kind in _OF_PYTHON:
        return True
    if issubclass(kind, np.generic) or kind.__module__ == "numbers":
        return True
    return issubclass(kind, BaseException) and kind.__module__ == "builtins"


@caches.of_functions(1024)
def is_pure_by_rule(g: Any) -> bool:
    """Whether a library function has a rule, and accesses nothing but its arguments."""
    package = (getattr(g, "__module__", None) or "").partition(".")[0]
    if (
        package not in ("numpy", "scipy", "statistics")
        or g in WRITERS
        or g in _REFUSED
        or impurity(g)
        or not has_rule(g)
    ):
        return False
    parameters = set(_parameters(g))
    if g.__name__ in _FIND_ROOTS:
        parameters.discard("disp")
    return bool(parameters) and _STATEFUL.isdisjoint(parameters)


_OF_DISTRIBUTIONS = frozenset(
    {
        "cdf", "entropy", "expect", "isf", "kurtosis", "logcdf", "logpdf", "logpmf", "logsf",
        "mean", "median", "moment", "pdf", "pmf", "ppf", "sf", "skew", "stats", "std", "var",
    }
)  # fmt: skip


def is_pure_method(owner: Any, name: str) -> bool:
    """Whether a method of a library object is known to be pure."""
    kind = type(owner)
    is_distribution = kind.__module__.startswith("scipy.stats.") and is_of_library(kind)
    return is_distribution and name in _OF_DISTRIBUTIONS


def _is_of_python(g: Any) -> bool:
    """Whether a function belongs to Python and is pure."""
    if g in _OF_PYTHON:
        return True
    package = (getattr(g, "__module__", None) or "numpy").partition(".")[0]
    return facts_of(g).is_pure and package != "numpy"


def place_of_out(g: Any) -> int | None:
    """Return the position of a function's first output argument; None if it has none.

    If the signature is unknown, assume the third position.
    """
    if isinstance(g, np.ufunc):
        return g.nin
    if g is np.nan_to_num:
        return 1
    if isinstance(g, type) or _is_of_python(g) or is_derivative(g):
        return None
    parameters = _parameters(g)
    if not parameters:
        return 2
    places = (
        i for i, name in enumerate(parameters) if is_written_into(name) and _is_positional(g, name)
    )
    return next(places, None)


def is_written_into(name: str) -> bool:
    """Whether a parameter of this name is an output array, or lets the function write into one."""
    return name in ("copy", "out", "output") or name.startswith("overwrite")


def passed_on(g: Any, given: float) -> float:
    """Return the most arguments that `g`, called with `given`, passes to its function arguments."""
    if g is map:
        return given - 1
    if g in (functools.partial, itertools.starmap):
        return math.inf
    if isinstance(g, np.ufunc) or (type(g) is types.FunctionType and not is_library(g)):
        return 0  # the proof covers the code of user-defined functions
    if isinstance(g, type) or _is_of_python(g):
        return 2 if g in (functools.reduce, itertools.accumulate) else 1 if g in _BY_KEY else 0
    return 0 if _OF_FUNCTIONS.isdisjoint(_parameters(g)) and _parameters(g) else math.inf


_parameters = caches.of_functions(1024)(parameter_names)


def _is_positional(g: Any, name: str) -> bool:
    """Whether a parameter can be passed by position."""
    kind = inspect.signature(g).parameters[name].kind
    return kind is not inspect.Parameter.KEYWORD_ONLY


def function_behind(x: Any) -> Any:
    """Return the user's function that a cache or `contextlib.contextmanager` wraps; else None."""
    is_cache = type(x) is functools._lru_cache_wrapper
    is_manager = getattr(x, "__code__", None) is _MANAGER
    return x.__wrapped__ if is_cache or is_manager else None


@contextlib.contextmanager
def _managed() -> Iterator[None]:
    yield


_MANAGER = getattr(_managed, "__code__", None)


MUTATING = frozenset(
    {
        "add", "append", "appendleft", "at", "byteswap", "clear", "difference_update", "discard",
        "extend", "extendleft", "fill", "insert", "intersection_update", "itemset", "move_to_end",
        "partition", "pop", "popitem", "popleft", "put", "remove", "resize", "reverse", "rotate",
        "setdefault", "setfield", "setflags", "sort", "subtract", "symmetric_difference_update",
        "update",
    }
)  # fmt: skip
"""Methods that mutate containers and arrays."""

REFUSED = frozenset(
    {"base", "ctypes", "data", "dump", "flags", "strides", "throw", "tobytes", "tofile"}
)
"""Attributes that expose memory, or do something that programs do not follow."""
