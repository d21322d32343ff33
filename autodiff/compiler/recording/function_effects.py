"""Facts about functions: whether results have a fixed abstract value, side effects, impurity."""

from __future__ import annotations

import builtins
import functools
import io
import operator
import pathlib
import random
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.recording.ir import Ref, set_flat, set_item
from autodiff.functions import facts_of, named
from autodiff.trace.tracer import bare, is_tracer
from chainrules_core.operations.scattering import scatter

_OF_SCIPY = (
    "cholesky cho_factor cho_solve solve_triangular solve inv det lu_solve solve_banded "
    "solveh_banded solve_toeplitz expm"
)
_known_of_scipy: set[Any] = set()


def has_fixed_form(f: Any) -> bool:
    """Whether the abstract value of a result of `f` follows from those of the arguments."""
    if facts_of(f).has_fixed_form or isinstance(f, np.ufunc) or f in _STEPS:
        return True
    if not _known_of_scipy:
        linalg = sys.modules.get("scipy.linalg")  # only if it is already imported
        if not hasattr(linalg, "solve_triangular"):
            return False
        _known_of_scipy.update(named(linalg, _OF_SCIPY))
    return f in _known_of_scipy


_STEPS = frozenset({scatter, set_item, set_flat})
_LARGEST_IN_STEPS = 32


def fit_steps(x: Any, largest: float = _LARGEST_IN_STEPS) -> bool:
    """Whether the arrays among the arguments are small: of float64, and of integers beside it."""
    arrays = _arrays_among(x)
    reals = [a for k, a in enumerate(arrays) if not (k and a.dtype.kind in "iu")]
    is_small = all(max(a.shape[-2:], default=0) <= largest for a in arrays)
    return is_small and all(a.dtype == np.float64 for a in reals)


def _arrays_among(x: Any) -> list[np.ndarray]:
    if type(x) in (tuple, list):
        return [a for y in x for a in _arrays_among(y)]
    value = bare(x) if is_tracer(x) else x
    return [value] if isinstance(value, np.ndarray) else []


STRUCTURAL = frozenset(
    {
        "axis", "axes", "axis1", "axis2", "shape", "newshape", "reps", "k", "offset", "n", "N",
        "num", "indices_or_sections", "source", "destination", "start", "keepdims",
    }
)  # fmt: skip
"""The names of arguments that determine the shape and dtype of a result."""


def order_of(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return the memory order in which a function reads elements."""
    place = facts_of(f).order
    if not place:
        return "C"
    return args[place] if len(args) > place else kwargs.get("order", "C")


_CLOCKS = frozenset(
    {
        "time", "datetime", "secrets", "uuid", "os", "posix", "nt", "subprocess", "socket",
        "random", "genericpath", "glob", "shutil", "tempfile", "sqlite3", "urllib", "http",
        "requests", "zipfile", "tarfile", "gzip", "bz2", "lzma", "mmap", "fileinput", "linecache",
        "imageio", "h5py", "netCDF4", "psutil",
    }
)  # fmt: skip
"""Modules and packages whose functions read files, clocks or the system."""
_READERS = ("scipy.io", "pandas.io", "skimage.io", "numpy.lib.format", "numpy.lib._format_impl")
_OF_PATHS = frozenset(
    {
        "abspath", "exists", "expanduser", "expandvars", "isdir", "isfile", "islink", "ismount",
        "lexists", "realpath", "relpath", "samefile",
    }
)  # fmt: skip
_PATH_MODULES = ("posixpath", "ntpath")
_OF_FILES = frozenset(dir(pathlib.Path)).difference(dir(pathlib.PurePath))
_OF_TEXTS = frozenset({"fspath", "fsencode", "fsdecode"})
_OF_DATES = frozenset({"now", "today", "utcnow"})
_STATES: tuple[type, ...] = (np.random.RandomState, random.Random, random.SystemRandom)
_OTHERS: frozenset[Any] = frozenset({builtins.input, builtins.open, np.random.seed})
_OF_NUMPY = named(
    np, "load loadtxt genfromtxt fromfile fromregex save savez savez_compressed savetxt"
)
_FILES: tuple[type, ...] = (io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.FileIO)
SEEDED: tuple[Any, ...] = (np.random.default_rng, np.random.RandomState, random.Random)
"""Constructors of random generators; the seed determines their numbers."""
_CACHE = functools._lru_cache_wrapper
IMPURE_OWNERS: frozenset[type] = frozenset({np.random.Generator, _CACHE, *_STATES, *_FILES})
"""The types of objects whose methods are impure."""


def impurity(g: Any) -> str:
    """Say why a function is impure; "" if it is pure.

    Functions written in Python are analysed elsewhere; here only those count that read files,
    clocks or the system.
    """
    kind = type(g)
    if kind is types.FunctionType:
        return _world(g)
    if any(g is made for made in SEEDED):
        return "depends on the world outside"
    if kind is type:
        return "reads or writes a file" if g is np.memmap else ""
    owner = None if isinstance(g, type) else getattr(g, "__self__", None)
    if isinstance(owner, np.random.Generator):
        return "draws random numbers from a generator that is no argument"
    if isinstance(owner, _STATES):
        return "draws random numbers from a hidden state"
    if isinstance(owner, _FILES):
        return "reads or writes a file"
    if isinstance(owner, type) and owner.__module__ == "datetime":
        return "reads the time or the system" if g.__name__ in _OF_DATES else ""
    if kind is types.BuiltinFunctionType:
        return _world(g)
    try:
        return "depends on the world outside" if g in _OTHERS or g in _OF_NUMPY else ""
    except TypeError:
        return ""


def _world(g: Any) -> str:
    """Say what a function reads of files, clocks or the system; "" if nothing."""
    if g in _OTHERS:
        return "depends on the world outside"
    module = getattr(g, "__module__", None) or ""
    first, name = _module(g), g.__name__
    if first in _CLOCKS:
        is_of_texts = name in _OF_TEXTS or name.startswith("_path_")  # work on the text of a path
        return "" if is_of_texts else "reads the time or the system"
    if first in _PATH_MODULES:
        return "reads the time or the system" if name in _OF_PATHS else ""
    is_reader = name in _OF_FILES if first == "pathlib" else module.startswith(_READERS)
    return "reads or writes a file" if is_reader or g in _OF_NUMPY else ""


_SETTINGS = named(
    np,
    "get_printoptions getbufsize geterr geterrcall set_printoptions setbufsize seterr seterrcall",
)
_STATELESS = frozenset(
    {
        "abc", "ast", "base64", "binascii", "bisect", "builtins", "cmath", "codecs", "collections",
        "colorsys", "contextlib", "copy", "copyreg", "dataclasses", "difflib", "dis", "enum",
        "fnmatch", "fractions", "functools", "graphlib", "hashlib", "heapq", "hmac", "html",
        "inspect", "ipaddress", "itertools", "json", "keyword", "math", "ntpath", "numbers",
        "operator", "pathlib", "pickle", "posixpath", "pprint", "re", "reprlib", "shlex",
        "statistics", "string", "struct", "textwrap", "token", "tokenize", "types", "typing",
        "unicodedata", "zlib",
    }
)  # fmt: skip
"""Modules of Python's library whose functions have no state: they compute from their arguments."""
_DECIDED = _STATELESS | _CLOCKS
_CALLABLE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def may_have_state(g: Any) -> bool:
    """Whether a function may read or change a state that no guard compares.

    So may all functions of Python's library (`threading`, `gc`, `decimal`, `locale`, `warnings`)
    but those that are known, and NumPy's settings.
    """
    try:
        if g in _SETTINGS:
            return True
    except TypeError:  # a method of what has no hash
        return False
    if not isinstance(g, _CALLABLE):
        return False
    if isinstance(getattr(g, "__self__", None), _CACHE):
        return True  # `cache_clear`, `cache_info`
    package = (getattr(g, "__module__", None) or "").partition(".")[0]
    return package in sys.stdlib_module_names and _module(g) not in _DECIDED


_SPARSE_EIGENVALUES = "scipy.sparse.linalg._eigen"


def is_iterative(g: Any) -> bool:
    """Whether a function iterates over products with a sparse matrix, in compiled code."""
    is_function = isinstance(g, types.FunctionType)
    return is_function and (g.__module__ or "").startswith(_SPARSE_EIGENVALUES)


def goes_on(g: Any) -> bool:
    """Whether a function continues from the state of an object of `scipy.integrate.ode`.

    The integrator keeps its state in its own memory, where a program would find the state after
    the previous run.
    """
    function = g.__func__ if type(g) is types.MethodType else g
    if type(function) is not types.FunctionType or function.__module__ != "scipy.integrate._ode":
        return False
    return function.__name__ in ("integrate", "run", "step", "run_relax")


def _module(g: Callable) -> str:
    return (getattr(g, "__module__", None) or "").partition(".")[0].lstrip("_")


def may_write(f: Callable) -> bool:
    """Whether a function may write into its arguments, as far as is known."""
    is_known = facts_of(f).has_fixed_form or isinstance(f, np.ufunc) or f in _STEPS
    return not is_known and f is not operator.getitem


def arrays_in(x: Any) -> list[np.ndarray]:
    """Return the writable arrays among arguments and inside their lists, tuples and dicts."""
    if type(x) is np.ndarray:
        return [x] if x.flags.writeable and x.dtype.kind != "O" else []
    if type(x) in (tuple, list):
        return [a for part_ in x for a in arrays_in(part_)]
    return [a for part_ in x.values() for a in arrays_in(part_)] if type(x) is dict else []


OPEN: frozenset[Any] = frozenset({operator.getitem, np.where, operator.pow})
"""Functions with a fixed abstract value whose calls `is_open` still has to look at."""


def is_open(f: Callable, args: tuple, y: Any) -> bool:
    """Whether the abstract value of a result may depend on the values of the arguments."""
    if f is operator.getitem:
        index = args[1] if type(args[1]) is tuple else (args[1],)
        return type(y) is np.ndarray and any(type(p) is Ref for p in index)
    if f is np.where:
        return len(args) == 1  # the places of what is not zero
    if f is operator.pow and type(y) is complex:
        return True  # -2.0 ** 1.5 is complex, -2.0 ** 2.0 is not
    return not has_fixed_form(f)
