"""intercept(g): what is called in place of `g` inside a traced function.

A function with a rule becomes one that asks for the rule if an argument is traced. A plain function
becomes its rewritten self: always if it is the user's, since it may hold a traced value in a
closure; in a library only for calls with a traced argument. What NumPy's protocols reach, and what
cannot hold a traced value, is left as it is.
"""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import operator
import sysconfig
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import call as call_module, floats
from autodiff.arguments import innermost
from autodiff.call import NO_RULE, by_rule
from autodiff.errors import MutationError, missing_rule
from autodiff.ignore import ignore_derivatives
from autodiff.intercept import attributes, rewrite, source, syntax
from autodiff.intercept.builtin_calls import WRAPPERS, get_attribute, listing, set_attribute
from autodiff.intercept.numpy_calls import (
    ARRAY_CONVERTER,
    MAKERS,
    REPLACED,
    ArrayConverter,
    buffer,
    calls_back,
    keeping_new,
    looking_into_lists,
    making,
    vectorized,
)
from autodiff.levels import check_free
from autodiff.tracer import FloatTracer, is_tracer
from autodiff.writing import into, into_each
from chainrules_core import (
    Closure,
    frule,
    ignore_derivatives as core_ignore_derivatives,
    rrule,
)
from chainrules_core.registry import key_of
from chainrules_core.rule import Rule

_LIBRARY = tuple(
    {
        path
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
        if (path := sysconfig.get_paths().get(name))
    }
)
# The engine itself is not traced, but for functions that it makes around the user's. Rules are, as
# a library: their bodies run under nested levels.
_OURS = ("autodiff", "chainrules_core", "multipledispatch")

# id(code) → (code, rewritten code or None); the code is held so that its id stays its own.
_rewritten: dict[int, tuple[types.CodeType, types.CodeType | None]] = {}
# Code that the rewriting made, nested functions included: its calls are seen already.
_made: dict[int, types.CodeType] = {}
# id(function) → (weak reference to it, what is called in its place).
_replacements: dict[int, tuple[Callable, Callable]] = {}


_METHOD = types.MethodType
_BUILTIN = types.BuiltinFunctionType


def intercept(g: Any) -> Any:
    """Return what is to be called in place of `g`."""
    kind = type(g)
    if kind is not _METHOD:
        known = _replacements.get(id(g))
        if known is not None and known[0]() is g:
            return known[1]
    if kind is _BUILTIN:
        owner = type(g.__self__)
        if owner in _CONTAINERS and _plain_methods.get((owner, g.__name__)):
            return g
    elif kind is _METHOD:
        function = g.__func__
        known = _replacements.get(id(function))
        if known is not None and known[0]() is function and type(g.__self__) not in watched_types:
            return g if known[1] is function else _METHOD(known[1], g.__self__)
    decide = _BY_KIND.get(kind)
    return decide(g) if decide is not None else _other(g, kind)


# Methods of Python's containers: (class, name) → whether nothing is to be done about them.
_plain_methods: dict[tuple[type, str], bool] = {}
_CONTAINERS = frozenset({list, dict, set, tuple, str, collections.deque, type({}.keys())})


def _remember(g: Any, replacement: Callable) -> Callable:
    key = id(g)

    def forget(_: weakref.ref, table: dict = _replacements) -> None:
        table.pop(key, None)  # at the end of the process the global is gone

    try:
        reference: Callable = weakref.ref(g, forget)
    except TypeError:  # a function made in C, which stays
        reference = functools.partial(_same, g)
    _replacements[key] = (reference, replacement)
    return replacement


def _same(g: Any) -> Any:
    return g


def _function(g: types.FunctionType) -> Callable:
    if g is core_ignore_derivatives:
        return ignore_derivatives
    if id(g.__code__) in _made:
        return g
    if g in MAKERS:
        return _remember(g, making(g, _asking))
    watched = watch(g)
    if watched is not None:
        return _remember(g, watched)
    if has_rule(g):
        asking = _asking(g)
        return _remember(g, listing(asking) if g.__module__ == "statistics" else asking)
    if g.__name__ in _MAKERS_BY_NAME and ".array_api_compat." in (g.__module__ or ""):
        # The array API's spelling of a function of NumPy, by which SciPy's own code calls it.
        return _remember(g, keeping_new(_body(g)))
    return _remember(g, _body(g))


_MAKERS_BY_NAME = frozenset(g.__name__ for g in MAKERS)


def has_rule(g: Callable) -> bool:
    """Whether there is a rule of either mode for a key."""
    return rrule.entry(g) is not None or frule.entry(g) is not None


# Whether arguments of a type can neither be traced nor hold or capture what is.
_HOLD_NOTHING = frozenset(
    {
        float, int, bool, complex, str, bytes, type(None), slice, range, np.ndarray, np.float64,
        np.float32, np.int64, np.bool_, np.dtype,
    }
)  # fmt: skip


def _asking(g: Callable) -> Callable:
    """Return a function that asks for a rule if an argument is traced."""
    is_python = type(g) is types.FunctionType

    @functools.wraps(g)
    def asking(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            if len(args) == 1 and not is_python:
                kind = type(args[0])
                if kind in _HOLD_NOTHING:
                    return g(args[0])
                if kind is FloatTracer:
                    record = floats.unary[g]
                    if record is not None:
                        return record(args[0])
            elif all(map(_HOLD_NOTHING.__contains__, map(type, args))):
                # A function of Python may still have captured a traced value.
                return traced_body(g)(*args) if is_python else g(*args)
        out = kwargs.get("out")
        if is_tracer(out[0] if type(out) is tuple and out else out):
            del kwargs["out"]
            result = asking(*args, **kwargs)
            return into_each(out, result) if type(out) is tuple else into(out, result)
        result = by_rule(g, args, kwargs)
        return traced_body(g)(*args, **kwargs) if result is NO_RULE else result

    return asking


def _body(g: types.FunctionType) -> Callable:
    """Return the rewritten function; for a library's function one that decides at each call."""
    module = g.__globals__.get("__name__", "")
    if module.partition(".")[0] in _OURS and "<locals>" not in g.__qualname__:
        return g
    if not is_library(g) or hasattr(g, "__wrapped__") or calls_back(g):
        return rewritten(g)

    @functools.wraps(g)
    def deciding(*args: Any, **kwargs: Any) -> Any:
        if innermost(args, kwargs) is None:
            return g(*args, **kwargs)
        return rewritten(g)(*args, **kwargs)

    return deciding


def traced_body(g: Callable) -> Callable:
    """Return `g` with its calls seen, whoever wrote it; `g` itself where that is not possible."""
    if type(g) is types.FunctionType:
        return g if id(g.__code__) in _made else rewritten(g)
    if type(g) is types.MethodType:
        return types.MethodType(traced_body(g.__func__), g.__self__)
    if type(g) is Closure:
        return intercept(g.function)
    call = None if isinstance(g, type) else getattr(type(g), "__call__", None)  # noqa: B004
    return types.MethodType(traced_body(call), g) if type(call) is types.FunctionType else g


def is_library(g: types.FunctionType) -> bool:
    """Whether a function belongs to the standard library or an installed package."""
    filename = g.__code__.co_filename
    return filename.startswith(_LIBRARY) or filename.startswith("<frozen")


def rewritten(g: types.FunctionType) -> Callable:
    """Return a function with its calls seen; itself where its source is not to be had."""
    code = g.__code__
    known = _rewritten.get(id(code))
    if known is None:
        known = _rewritten[id(code)] = (code, _rewrite(g))
        if known[1] is not None:
            _note_made(known[1])
    if known[1] is None:
        return g
    return source.rebuilt(g, known[1], _HELPERS)


def _rewrite(g: types.FunctionType) -> types.CodeType | None:
    found = source.definition_of(g)
    if found is None:
        return None
    node = rewrite.rewritten(found.node, g.__code__, g.__globals__)
    return source.compiled_like(found, g.__code__, node, tuple(_HELPERS))


def _note_made(code: types.CodeType) -> None:
    _made[id(code)] = code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _note_made(constant)


def _unwatched(g: Any) -> Callable | None:
    return None


watch: Callable[[Any], Callable | None] = _unwatched
"""Returns what is called in place of an impure function; set by autodiff.compile."""
watched_types: frozenset[type] = frozenset()
"""The types of objects whose methods are impure."""


def _method(g: types.MethodType) -> Callable:
    if type(g.__self__) in watched_types:
        return watch(g) or g
    function = intercept(g.__func__)
    return g if function is g.__func__ else types.MethodType(function, g.__self__)


def _is_plain_method(g: Any, kind: type) -> bool:
    name = g.__name__
    if (kind, name) not in _plain_methods:
        plain = name != "sort" and not has_rule(key_of(g)[0]) and watch(g) is None
        _plain_methods[kind, name] = plain
    return _plain_methods[kind, name]


def _builtin(g: Any) -> Callable:
    owner = g.__self__
    if type(owner) in _CONTAINERS and _is_plain_method(g, type(owner)):
        return g
    if type(owner) in watched_types:
        return watch(g) or g
    if owner is None or type(owner) is types.ModuleType:
        watched = watch(g)
        if watched is not None:
            return _remember(g, watched)
    special = _SPECIAL.get(g)
    wrapper = WRAPPERS.get(g)
    if wrapper is not None:
        return _remember(g, wrapper(special or (_asking(g) if has_rule(g) else g)))
    if special is not None:
        return special
    if owner is None or type(owner) is types.ModuleType:
        if g in MAKERS:
            return _remember(g, making(g, _asking))
        if has_rule(g):
            return _remember(g, _asking(g))
        return _remember(g, g if owner is builtins else _refusing(g))
    if type(owner) is list and g.__name__ == "sort":
        return _with_key(g)
    if type(owner) is np.ndarray:
        return _array_method(g, owner)
    if has_rule(key_of(g)[0]):
        return _asking(g)
    return g if type(owner).__module__ == "builtins" else _refusing(g)


_CHANGING = frozenset({"fill", "partition", "put", "resize", "sort", "itemset", "setfield"})


def _array_method(g: Any, owner: np.ndarray) -> Callable:
    """A method of an array that is not traced: its arguments may be."""

    def method(*args: Any, **kwargs: Any) -> Any:
        if g.__name__ in _CHANGING:
            check_free(owner)
        if innermost(args, kwargs) is None:
            made = g(*args, **kwargs)
            is_copy = g.__name__ in ("copy", "astype", "flatten") and made is not owner
            return buffer(made) if is_copy and made.dtype.kind in "fc" else made
        from autodiff.methods import method_of_array  # it needs this module

        return method_of_array(g.__name__, owner, args, kwargs)

    return method


def _class(g: type) -> Callable:
    special = _SPECIAL.get(g)
    wrapper = WRAPPERS.get(g)
    if wrapper is not None:
        return _remember(g, wrapper(special or (_asking(g) if has_rule(g) else g)))
    if special is not None:
        return special
    replacement = _asking(g) if has_rule(g) else _constructing(g) if _has_init(g) else g
    # What is called in place of a class holds it: one made at each call must not be kept.
    return replacement if "<locals>" in g.__qualname__ else _remember(g, replacement)


def _has_init(g: type) -> bool:
    """Whether instances are made by an ``__init__`` written in Python."""
    return type(g).__call__ is type.__call__ and type(g.__init__) is types.FunctionType  # type: ignore[misc]


def _constructing(g: type) -> Callable:
    """Return what makes an instance of a class with the calls of its ``__init__`` seen."""

    def constructing(*args: Any, **kwargs: Any) -> Any:
        new: Any = g.__new__
        made = new(g) if new is object.__new__ else intercept(new)(g, *args, **kwargs)
        if isinstance(made, g):
            hooked = _with_post_init(g)
            if hooked is not None:
                object.__setattr__(made, "__class__", hooked)
                try:
                    getattr(hooked, "__init__")(made, *args, **kwargs)  # noqa: B009 - as a function
                finally:
                    object.__setattr__(made, "__class__", g)
            else:
                intercept(type(made).__init__)(made, *args, **kwargs)
        return made

    return constructing


def _with_post_init(g: type) -> type | None:
    """Return a passing subclass of a dataclass whose ``__post_init__`` has its calls seen.

    The ``__init__`` of a dataclass is generated and has no source; it calls ``__post_init__`` by
    name.
    """
    post = getattr(g, "__post_init__", None)
    if type(post) is not types.FunctionType or not hasattr(g, "__dataclass_fields__"):
        return None
    return type(g.__name__, (g,), {"__post_init__": traced_body(post), "__slots__": ()})


def _partial(g: functools.partial) -> Callable:
    return functools.partial(intercept(g.func), *g.args, **g.keywords)


def _cached(g: Any) -> Callable:
    """A cache would keep traced values, and take one for another that is equal."""

    @functools.wraps(g)
    def uncached(*args: Any, **kwargs: Any) -> Any:
        if innermost(args, kwargs) is None:
            return g(*args, **kwargs)
        return intercept(g.__wrapped__)(*args, **kwargs)

    return uncached


def _descriptor(g: Any) -> Callable:
    """``np.ndarray.sum(x)``: on a traced value its own method."""

    def unbound(*args: Any, **kwargs: Any) -> Any:
        if args and is_tracer(args[0]):
            return getattr(args[0], g.__name__)(*args[1:], **kwargs)
        return g(*args, **kwargs)

    return unbound


def _other(g: Any, kind: type) -> Callable:
    """Decide on a callable of some class: by its metaclass, or by the class's ``__call__``."""
    if isinstance(g, type):
        return _class(g)
    if kind is np.vectorize:
        return vectorized(g, intercept)
    call = getattr(kind, "__call__", None)  # noqa: B004 - the function itself is wanted
    if type(call) is types.FunctionType and not is_tracer(g):
        return types.MethodType(intercept(call), g)
    if is_tracer(g) or not callable(g):
        return g
    if kind.__name__ == "cython_function_or_method":
        watched = watch(g)
        if watched is not None:
            return _remember(g, watched)
    # Objects whose class is made in C: the functions of scipy.fft are of this kind.
    return _remember(g, _asking(g)) if has_rule(g) else _refusing(g)


def _refusing(g: Callable) -> Callable:
    """Return a C function that explains itself if it cannot take a traced value."""

    @functools.wraps(g, updated=())
    def refusing(*args: Any, **kwargs: Any) -> Any:
        try:
            return g(*args, **kwargs)
        except Exception as error:
            result = call_module.numerically(g, args, kwargs)
            if result is not NO_RULE:
                return result
            # What a function that it calls has raised is not its own.
            inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            if inside or innermost(args, kwargs) is None:
                raise
            raise missing_rule(g, args) from error

    return refusing


def _type(*args: Any, **kwargs: Any) -> Any:
    """``type(x)`` is the type of the value."""
    if len(args) == 1 and not kwargs and is_tracer(args[0]):
        return args[0].__class__
    return type(*args, **kwargs)


def _first_argument(g: Callable) -> Callable:
    """A C function that calls its first argument."""

    def with_first(f: Any, *args: Any, **kwargs: Any) -> Any:
        return g(intercept(f), *args, **kwargs)

    return with_first


def _second_argument(g: Callable) -> Callable:
    """A C function that calls its second argument, if there is one."""

    def with_second(first: Any, *args: Any, **kwargs: Any) -> Any:
        if args:
            args = (intercept(args[0]), *args[1:])
        if "func" in kwargs:
            kwargs["func"] = intercept(kwargs["func"])
        return g(first, *args, **kwargs)

    return with_second


def _with_key(g: Callable) -> Callable:
    """A C function that calls its ``key=``."""

    def with_key(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("key") is not None:
            kwargs["key"] = intercept(kwargs["key"])
        return g(*args, **kwargs)

    return with_key


def _of_numpy(g: Any) -> Callable:
    """A function of NumPy: its protocol sees traced arguments."""
    return _remember(g, making(g, _asking) if g in MAKERS else looking_into_lists(g, g))


_SPECIAL: dict[Any, Callable] = {
    type: _type,
    getattr: get_attribute,
    setattr: set_attribute,
    ARRAY_CONVERTER: ArrayConverter,
    **REPLACED,
    **{
        g: _first_argument(g)
        for g in (
            map, filter, functools.reduce, operator.call, itertools.starmap, itertools.takewhile,
            itertools.dropwhile, itertools.filterfalse,
        )
    },
    itertools.accumulate: _second_argument(itertools.accumulate),
    itertools.groupby: _with_key(itertools.groupby),
    **{g: _with_key(g) for g in (sorted, min, max)},
}  # fmt: skip

_BY_KIND: dict[type, Callable[[Any], Callable]] = {
    types.FunctionType: _function,
    types.MethodType: _method,
    types.BuiltinFunctionType: _builtin,
    types.MethodDescriptorType: _descriptor,
    types.WrapperDescriptorType: _descriptor,
    type: _class,
    functools.partial: _partial,
    functools._lru_cache_wrapper: _cached,
    np.ufunc: _of_numpy,
    type(np.sum): _of_numpy,
    Closure: traced_body,
}


def _forget(rule: Rule) -> None:
    """After a change of the rules, decide anew."""
    _replacements.clear()
    _plain_methods.clear()
    attributes.forget()


def store(value: Any, target: Any, index: Any) -> None:
    """Do ``target[index] = value``; an array from outside cannot take a traced value."""
    if type(target) is np.ndarray:
        check_free(target)
        if type(value) is not np.ndarray and innermost((value,), {}) is not None:
            raise MutationError(
                "a traced value is written into an array that was made outside the function being "
                "differentiated, and its derivative would be lost. Make the array inside it "
                "(np.zeros(n), x.copy()), or hand it in as an argument to be differentiated."
            )
    elif not syntax.is_plain(type(target)):
        method = syntax.special(type(target), "__setitem__")
        if method is not None:
            intercept(method)(target, index, value)
            return
    target[index] = value


rrule.watch(_forget)
frule.watch(_forget)
call_module.body_of = traced_body
syntax.intercept = intercept
syntax.is_library = is_library


def _change_item(owner: Any, index: Any) -> Callable:
    return syntax.augment_item(owner, index, store)


def _change_attribute(owner: Any, name: str) -> Callable:
    before = attributes.read(owner, name)
    return syntax.augment_attribute(owner, before, name, attributes.write)


_HELPERS: dict[str, Any] = {
    rewrite.INTERCEPT: intercept,
    rewrite.READ: attributes.read,
    rewrite.WRITE: attributes.write,
    rewrite.STORE: store,
    rewrite.SLICE: slice,
    rewrite.ITEM: syntax.item,
    rewrite.CHANGE_ITEM: _change_item,
    rewrite.CHANGE_ATTRIBUTE: _change_attribute,
    rewrite.CONTAINS: syntax.contains,
    rewrite.ITERATE: syntax.iterate,
    rewrite.CONTEXT: syntax.context,
    rewrite.TRUTH: syntax.truth,
    rewrite.TEXT: syntax.as_text,
    **{rewrite.helper(name): f for name, f in syntax.BINARY.items()},
    **{rewrite.helper(f"i{name}"): f for name, f in syntax.IN_PLACE.items()},
    **{rewrite.helper(name): f for name, f in syntax.COMPARISON.items()},
    **{rewrite.helper(name): f for name, f in syntax.UNARY.items()},
}
