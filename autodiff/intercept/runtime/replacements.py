"""intercept(g): what is called in place of `g` inside a traced function.

A function with a rule is replaced by one that applies the rule if an argument is traced. Another
function is replaced by its rewritten code: always if it is the user's, since it may have captured a
traced value; in a library only for calls with a traced argument. What NumPy's protocols reach, and
what cannot hold a traced value, is left as it is.
"""

from __future__ import annotations

import builtins
import contextvars
import datetime
import functools
import itertools
import operator
import re
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.api.stop_gradient import ignore_derivatives
from autodiff.dispatch.arguments import innermost, is_constant
from autodiff.errors import System, system_of, system_of_function, unwrapped
from autodiff.intercept.libraries import compiled_callbacks, functions_behind, packages, validators
from autodiff.intercept.runtime import call_site_cache, replacement_cache, text_calls
from autodiff.intercept.runtime.builtin_calls import (
    CALLED_ELSEWHERE,
    WRAPPERS,
    first_argument,
    get_attribute,
    handing_on,
    has_attribute,
    is_instance,
    listing,
    set_attribute,
    sort_list,
    type_of_value,
)
from autodiff.intercept.runtime.constructors import (
    constructing_for,
    is_generated,
    is_made_in_python,
    maker_of,
    setting_fields,
)
from autodiff.intercept.runtime.hidden_values import may_hide_tracer, may_hold_tracer
from autodiff.intercept.runtime.numpy_calls import (
    ARRAY_CONVERTER,
    MAKERS,
    REPLACED,
    WRITING,
    ArrayConverter,
    array_method,
    calls_back,
    is_of_python,
    keeping_new,
    looking_into_lists,
    making,
    new_array,
    unbound_method,
    vectorized,
)
from autodiff.intercept.runtime.operator_getters import GETTERS
from autodiff.intercept.runtime.rule_wrappers import (
    asking_for,
    has_rule,
    is_of_compiled_module,
    refusing_for,
)
from autodiff.intercept.runtime.write_checks import OUTPUTS, look_of, with_copies
from autodiff.intercept.source import rewritten_code
from autodiff.intercept.source.ast_helpers import helper
from autodiff.intercept.source.library_code import is_library, is_ours
from autodiff.intercept.syntax import (
    attributes,
    context_managers,
    coroutines,
    outer_variables,
    stores,
    syntax_ops,
)
from autodiff.intercept.unseen import frames, unseen_code
from autodiff.mutation import identity
from autodiff.mutation.escape_check import object_holds_traced
from autodiff.trace.checks.conversions import TracedBytes, TracedText
from autodiff.trace.labelled_data import TABLES_OF
from autodiff.trace.sequence_patterns import NoTracedNumber
from autodiff.trace.trace_stack import check_free, passing, program_tape
from autodiff.trace.tracer import bare, is_tracer
from chainrules_core import (
    Closure,
    ignore_derivatives as core_ignore_derivatives,
)
from chainrules_core.interpreter.places import MADE_HERE
from chainrules_core.registry.entries import key_of
from chainrules_core.rule import Rule
from chainrules_core.rules import name_of
from chainrules_core.tangents.fields import in_class

# The engine itself is not traced, but for functions that it makes around the user's. Rules are, as
# a library: their bodies run under nested levels.
_OURS = ("autodiff", "chainrules_core")

_of_ufuncs: dict[Callable, Callable] = caches.register("methods of ufuncs", {})
"""Methods of ufuncs are new objects each time, but equal."""

_CONSTANTS: Any = (int, float, complex, str, bytes, slice, type(None), type(...), np.number)

_lasting, _replacements = replacement_cache.lasting, replacement_cache.replacements
_METHOD = types.MethodType
_FUNCTION = types.FunctionType
_BUILTIN = types.BuiltinFunctionType
_made = rewritten_code.made


def _as_it_is(g: Callable, body: Callable) -> Callable:
    return body


by_program: Callable[[Any, Callable], Callable] = _as_it_is


def connect(calling: Callable[[Any, Callable], Callable]) -> None:
    """Put in the function of an upper module that this one calls; see :mod:`autodiff.wiring`.

    Parameters
    ----------
    calling : callable
        ``calling(g, body)`` returns what is called in place of a function with loops.
    """
    globals().update(by_program=calling)


def intercept(g: Any) -> Any:
    """Return what is to be called in place of `g`."""
    kind = type(g)
    if kind is _METHOD:
        function = g.__func__
        try:
            replacement, code, defaults = _lasting[function]
        except (KeyError, TypeError):  # what is called need not be a function
            pass
        else:
            if function.__code__ is code and function.__defaults__ is defaults:
                return _METHOD(replacement, g.__self__)
    elif kind is _FUNCTION:
        lasting = _lasting.get(g)
        if lasting is not None:
            if g.__code__ is lasting[1] and g.__defaults__ is lasting[2]:
                return lasting[0]
        elif id(g.__code__) in _made:
            has_program = rewritten_code.has_loops(g) and not is_library(g)
            return by_program(g, g) if has_program else g
    elif kind is _BUILTIN and type(g.__self__) is np.ndarray:
        return _METHOD(array_method(g.__name__), g.__self__)
    known = _replacements.get(id(g))
    if known is not None and known[0]() is g and _is_made_of(g, known[2]):
        return known[1]
    known = passing().get(id(g))
    if known is not None and known[0] is g and _is_made_of(g, known[2]):
        return known[1]
    decide = _BY_KIND.get(kind)
    return decide(g) if decide is not None else _other(g, kind)


def _is_made_of(g: Any, parts: tuple | None) -> bool:
    """Whether a function has the code and defaults that it had; others have no parts."""
    return parts is None or (
        g.__code__ is parts[0] and g.__defaults__ is parts[1] and g.__kwdefaults__ is parts[2]
    )


def see(g: Any, slot: int) -> Any:
    """Return what is to be called in place of `g`, and remember it for the next such call."""
    replacement = intercept(g)
    known = _replacements.get(id(g))
    if (known is not None and known[0]() is g) or (type(g) is _FUNCTION and g in _lasting):
        call_site_cache.fill(slot, g, replacement)
    return replacement


# Methods of Python's containers: (class, name) → whether nothing is to be done about them.
_plain_methods: dict[tuple[type, str], bool] = caches.register("methods of containers", {})


def _stays(g: types.FunctionType) -> bool:
    """Whether a function is one of a module, or of a class there whose methods are not impure."""
    return "<locals>" not in g.__qualname__ and not any(
        getattr(kind, g.__name__, None) is g for kind in watched_types
    )


def _remember(g: Any, replacement: Callable) -> Callable:
    lasts = type(g) is _FUNCTION and not g.__kwdefaults__ and _stays(g)
    return replacement_cache.remember(g, replacement, lasts)


def _function(g: types.FunctionType) -> Callable:
    return _remember(g, watch(g) or _of_python(g))


def _of_python(g: types.FunctionType) -> Callable:
    """Return what is called in place of a function of Python, whether or not it is pure."""
    if g is core_ignore_derivatives:
        return ignore_derivatives
    if g in MAKERS:
        return making(g, asking_for)
    if g in frames.REPLACED:
        return frames.REPLACED[g]
    if (g.__module__, g.__qualname__) in CALLED_ELSEWHERE:
        return handing_on(g, _body(g))
    of_package = packages.instead(g)
    if of_package is not None:
        return of_package(_body(g))
    of_text = text_calls.of_function(g)
    if of_text is not None:
        return of_text(asking_for(g) if has_rule(g) else _body(g))
    if has_rule(g):
        asking = asking_for(g)
        return listing(asking) if g.__module__ == "statistics" else asking
    if "array_api_compat." in (g.__module__ or ""):
        # The array API's spelling of a function of NumPy, by which SciPy's own code calls it.
        if g.__name__ in _MAKERS_BY_NAME:
            return keeping_new(_body(g))
        if g.__name__ == "solve" and g.__module__.endswith("numpy.linalg"):
            return intercept(np.linalg.solve)  # the same since NumPy 2
    return _body(g)


_MAKERS_BY_NAME = frozenset(g.__name__ for g in MAKERS)


def _is_ours(g: types.FunctionType) -> bool:
    """Whether a function is the engine's own or the core's, and runs as it is."""
    module = g.__globals__.get("__name__", "")
    # Those of traced arrays are made by functions, those of traced floats are written.
    if module == "autodiff.numpy_api.methods" or g.__code__.co_filename.startswith(MADE_HERE):
        return True
    return module.partition(".")[0] in _OURS and "<locals>" not in g.__qualname__


def _body(g: types.FunctionType) -> Callable:
    """Return what is called in place of a function of Python without a rule."""
    if _is_ours(g):
        return g
    if is_generated(g):
        return setting_fields(g)
    system = system_of_function(g)
    return _seen(g) if system is None else _of_system(g, system)


def _of_system(g: types.FunctionType, system: System) -> Callable:
    """Return what is called in place of a function of another system.

    Many of them only look at their arguments, so they are traced. One that computes with a traced
    value fails sooner or later, which is an error that names it.
    """
    body = _seen(g)

    @functools.wraps(g)
    def tracing(*args: Any, **kwargs: Any) -> Any:
        try:
            return body(*args, **kwargs)
        except Exception as error:
            if innermost(args, kwargs) is None:
                raise
            # A method of an object of that system (a layer) goes by the name of its class.
            owner = type(args[0]) if args and system_of(type(args[0])) is system else g
            raise unwrapped(f"{owner.__module__}.{owner.__qualname__}", system) from error

    return tracing


def _seen(g: types.FunctionType) -> Callable:
    """Return the rewritten function; for a library's function one that decides at each call."""
    if not is_library(g) or hasattr(g, "__wrapped__") or calls_back(g) or frames.looks_at_frames(g):
        body = unseen_code.seen_or_guarded(g)
        return by_program(g, body) if rewritten_code.has_loops(g) else body

    made: Callable | None = None
    look = look_of(g)
    is_of_tables = (g.__module__ or "").partition(".")[0] in TABLES_OF

    @functools.wraps(g)
    def deciding(*args: Any, **kwargs: Any) -> Any:
        nonlocal made
        if is_of_tables and not _shows_traced((*args, *kwargs.values())):
            # Its columns know what to do.
            return g(
                *map(_seen_function, args), **{k: _seen_function(v) for k, v in kwargs.items()}
            )
        values = (*args, *kwargs.values()) if kwargs else args
        if look.is_trusted:  # NumPy and SciPy convert arrays, or ask `isinstance`
            sees = (
                innermost(args, kwargs) is not None
                or object_holds_traced(args)
                or may_hide_tracer(values)
            )
        else:  # it may ask for type(a), or write into what it makes of an array
            sees = may_hold_tracer(values)
        if not sees:
            return _plainly(g, look, args, kwargs, values)
        if made is None:
            made = unseen_code.seen_or_guarded(g)
        return made(*args, **kwargs)

    return deciding


def _plainly(g: Callable, look: Any, args: tuple, kwargs: dict[str, Any], values: tuple) -> Any:
    """Call a library's function as it is."""
    look(args, kwargs)
    if kwargs and any(is_constant(kwargs.get(name)) for name in OUTPUTS):
        return with_copies(g, args, kwargs, OUTPUTS)
    if look.is_trusted and look.is_told_to_write(args, kwargs):
        return with_copies(g, args, kwargs)
    found = compiled_callbacks.calling_back(g, args, kwargs)
    if not _TEXTS.isdisjoint(map(type, values)):
        return text_calls.marked(text_calls.check_read(found, f"{g.__name__}(text)"))
    return found


_TEXTS = frozenset({TracedText, TracedBytes})
_NESTS = frozenset({list, tuple, dict})


def _shows_traced(values: tuple) -> bool:
    """Whether a traced value is among some values, or in a list, tuple or dict of them."""
    return any(
        is_tracer(v) or (type(v) in _NESTS and innermost((v,), {}) is not None) for v in values
    )


def _seen_function(x: Any) -> Any:
    """Return a user's function with its calls seen; anything else as it is."""
    return intercept(x) if type(x) is _FUNCTION and not is_library(x) else x


def traced_body(g: Callable) -> Callable:
    """Return `g` with its calls intercepted, whoever wrote it; `g` itself if this is impossible."""
    if type(g) is types.FunctionType:
        if rewritten_code.is_rewritten(g):
            return g
        return (
            rewritten_code.rewritten(g)
            if is_library(g) or is_ours(g)
            else unseen_code.seen_or_guarded(g)
        )
    if type(g) is types.MethodType:
        return types.MethodType(traced_body(g.__func__), g.__self__)
    if type(g) is Closure:
        return intercept(g.function)
    call = None if isinstance(g, type) else getattr(type(g), "__call__", None)  # noqa: B004
    unbound = _call_without_self(g, type(g))
    if unbound is not None:
        return traced_body(unbound)
    return types.MethodType(traced_body(call), g) if type(call) is types.FunctionType else g


def _unwatched(g: Any) -> Callable | None:
    return None


watch: Callable[[Any], Callable | None] = _unwatched
watched_types: frozenset[type] = frozenset()


def watch_impure(replacement: Callable[[Any], Callable | None], owners: frozenset[type]) -> None:
    """Intercept calls of impure functions from now on.

    Parameters
    ----------
    replacement : callable
        Returns what is called in place of a function; None if it is pure.
    owners : frozenset of type
        The types of objects whose methods are impure.
    """
    globals().update(watch=replacement, watched_types=owners)
    forget()


def unwatched(g: Any) -> Callable:
    """Return what is called in place of an impure function while no program is written down."""
    kind = type(g)
    if kind is _FUNCTION:
        return _of_python(g)
    if kind is _METHOD:  # writes in it are to be seen
        return _METHOD(unwatched(g.__func__), g.__self__)
    if kind is _BUILTIN:
        return _made_in_c(g) or _c_method(g)
    if isinstance(g, type):
        return _of_class(g)[0]
    return asking_for(g) if has_rule(g) else refusing_for(g)


def _method(g: types.MethodType) -> Callable:
    if type(g.__self__) in watched_types:
        watched = watch(g)
        if watched is not None:
            return watched
    function = intercept(g.__func__)
    return g if function is g.__func__ else types.MethodType(function, g.__self__)


def _is_plain_method(g: Any, kind: type) -> bool:
    name = g.__name__
    if (kind, name) not in _plain_methods:
        plain = name != "sort" and not has_rule(key_of(g)[0]) and watch(g) is None
        _plain_methods[kind, name] = plain
    return _plain_methods[kind, name]


_CAPSULE = type(datetime.datetime_CAPI)  # types.CapsuleType in Python 3.13
"""The class of what functions made by pybind11 are bound to, in place of their module."""


def _builtin(g: Any) -> Callable:
    owner = g.__self__
    kind = type(owner)
    if kind in text_calls.OWNERS and (of_text := text_calls.of_method(g)) is not None:
        return of_text
    if kind in call_site_cache.CONTAINERS and _is_plain_method(g, kind):
        return g
    if kind in watched_types:
        watched = watch(g)
        if watched is not None:
            return watched
    replacement = watch(g) if _is_function(g) or kind is type else None
    if replacement is None:
        replacement = _made_in_c(g)
    return _c_method(g) if replacement is None else _remember(g, replacement)


def _is_function(g: Any) -> bool:
    """Whether what was made in C is a function of a module, not a method."""
    return g.__self__ is None or type(g.__self__) in (types.ModuleType, _CAPSULE)


def _made_in_c(g: Any) -> Callable | None:
    """Return what stands for a function of a module, and for a method that is named here."""
    special, wrapper = _SPECIAL.get(g), WRAPPERS.get(g) or text_calls.wrapper_of(g)
    if wrapper is not None:
        return wrapper(special or (asking_for(g) if has_rule(g) else g))
    if special is not None or not _is_function(g):
        return special
    if g in MAKERS:
        return making(g, asking_for)
    if has_rule(g):
        return asking_for(g)
    return g if g.__self__ is builtins else refusing_for(g)


def _c_method(g: Any) -> Callable:
    owner = g.__self__
    if type(owner) is list and g.__name__ == "sort":
        return functools.partial(sort_list, owner)
    if type(owner) is contextvars.Context and g.__name__ == "run":
        return first_argument(g)
    if has_rule(key_of(g)[0]):
        if type(owner) is not np.ufunc:
            return asking_for(g)
        return _of_ufuncs.get(g) or caches.put(_of_ufuncs, g, asking_for(g), 1024)
    if type(owner).__module__ == "builtins":
        return g
    refusing = refusing_for(g)
    of_pydantic = type(owner).__module__.startswith("pydantic_core")
    return validators.of_method(g, refusing) if of_pydantic else refusing


def _class(g: type) -> Callable:
    watched = watch(g)
    if watched is not None:
        return _remember(g, watched)
    replacement, lasts = _of_class(g)
    return _remember(g, replacement) if lasts else replacement


def _of_class(g: type) -> tuple[Callable, bool]:
    """Return what stands for a class, and whether that may be remembered."""
    if g is np.ndarray:
        return new_array(asking_for(g)), True
    special = _SPECIAL.get(g)
    wrapper = WRAPPERS.get(g) or text_calls.of_class(g)
    replacement = special or (asking_for(g) if has_rule(g) else maker_of(g) or _of_c(g))
    if wrapper is not None:
        replacement = wrapper(replacement)
    elif special is None:
        if issubclass(g, compiled_callbacks.FUNCTION_POINTER):
            return compiled_callbacks.making_pointer(g), False
        if not caches.stays(g):  # the replacement holds the class, which may be made at each call
            return replacement, False
    return replacement, True


def _of_c(g: type) -> Callable:
    """Return what is called for a class whose instances are not made in Python."""
    return refusing_for(g) if is_of_compiled_module(g) else g


def _partial(g: functools.partial) -> Callable:
    return functools.partial(intercept(g.func), *g.args, **g.keywords)


def _cached(g: Any) -> Callable:
    """A cache would keep traced values, and take one for another that is equal."""
    remembering = functions_behind.remembering(g, type(g))
    assert remembering is not None  # each such cache has a function behind it
    function = g.__wrapped__
    if type(function) is _FUNCTION and (is_library(function) or is_ours(function)):
        return functools.wraps(g)(functions_behind.unless_traced(g, remembering))
    called = functions_behind.unless_traced(_noting_kept(g), _noting_kept(remembering, name_of(g)))

    def settled(*args: Any, **kwargs: Any) -> Any:
        program = program_tape()
        if program is not None:  # integers of a recording are no keys of the user's cache
            args = program.settled(args)
            kwargs = dict(zip(kwargs, program.settled([*kwargs.values()]), strict=True))
        return called(*args, **kwargs)

    return functools.wraps(g)(settled)


def _noting_kept(g: Any, name_of_body: str = "") -> Callable:
    """Return a function with a cache that notes in a recording what the cache keeps.

    A constant is guarded: what a cache keeps depends on earlier calls. If it may change, the
    recording must not go on: what it did to the kept object would be done twice. `name_of_body`
    is given for what has a cache for each trace, of which earlier calls know nothing.
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        program = program_tape()
        if program is None:
            return g(*args, **kwargs)
        name = name_of_body or name_of(g)
        if not name_of_body:
            program.check_variables(f"{name}, which has a cache, is called")
        try:
            y = g(*args, **kwargs)
        except Exception:
            program.spoil(f"{name}, which has a cache, raises an error")
            raise
        if not _never_changes(y):
            program.refuse(f"a cache keeps what {name} returns, a {type(y).__name__}")
        if not name_of_body and not _holds_traced(y):
            program.note_kept(g, args, kwargs, y)
        return y

    return called


def _holds_traced(x: Any) -> bool:
    return any(map(_holds_traced, x)) if type(x) is tuple else is_tracer(x)


def _never_changes(x: Any) -> bool:
    if type(x) is tuple:
        return all(map(_never_changes, x))
    return is_tracer(x) or isinstance(x, _CONSTANTS)


def _wrapper(g: Any) -> Callable:
    """``super().__call__`` of a metaclass makes an instance."""
    owner = g.__self__
    if type(owner) in (np.ndarray, memoryview) and g.__name__ in WRITING:
        check_free(owner)
        if g.__name__ == "__setitem__":
            return lambda index, value: stores.store(value, owner, index)
    if type(owner) is str:
        return text_calls.of_method(g) or g
    if type(owner) in _DESCRIPTORS and g.__name__ == "__get__":
        return functools.partial(_described, owner)
    if g.__name__ == "__call__" and isinstance(owner, type) and is_made_in_python(owner):
        return constructing_for(owner)
    return _other(g, type(g))


_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)


def _described(descriptor: Any, *args: Any) -> Any:
    """Read an attribute by its descriptor in C; on a traced value as on its value."""
    if args and is_tracer(args[0]):
        if isinstance(args[0], descriptor.__objclass__):
            return get_attribute(args[0], descriptor.__name__)
        args = (bare(args[0]), *args[1:])  # an error in its own words
    return descriptor.__get__(*args)


def _other(g: Any, kind: type) -> Callable:
    """Decide on a callable of some class: by its metaclass, or by the class's ``__call__``."""
    if isinstance(g, type):
        return _class(g)
    if kind is np.vectorize:
        return vectorized(g, intercept)
    behind = functions_behind.behind(g, kind)
    if behind is not None and not has_rule(g):
        return functions_behind.unless_traced(_by_its_class(g, kind), behind)
    return _by_its_class(g, kind)


def _call_without_self(g: Any, kind: type) -> Callable | None:
    """Return what is called where ``__call__`` is a static or class method, else None."""
    call: Any = None if isinstance(g, type) else in_class(kind, "__call__")
    return call.__get__(g, kind) if type(call) in (staticmethod, classmethod) else None


def _by_its_class(g: Any, kind: type) -> Callable:
    """Decide on a callable object by the ``__call__`` of its class."""
    call: Any = getattr(kind, "__call__", None)  # noqa: B004 - the function itself is wanted
    unbound = _call_without_self(g, kind)
    if unbound is not None:
        return intercept(unbound)
    if type(call) is types.FunctionType and not is_tracer(g):
        return types.MethodType(intercept(call), g)
    if type(call).__name__ == "cython_function_or_method" and has_rule(call):
        return functools.partial(intercept(call), g)
    if is_tracer(g) or not callable(g):
        return g
    if kind.__name__ == "cython_function_or_method":
        watched = watch(g)
        if watched is not None:
            return _remember(g, watched)
    # Objects whose class is made in C: the functions of scipy.fft are of this kind.
    return _remember(g, asking_for(g)) if has_rule(g) else refusing_for(g)


def _of_numpy(g: Any) -> Callable:
    """A function of NumPy: its protocol sees traced arguments."""
    if g in text_calls.READERS:
        return _remember(g, text_calls.reading(g))
    if is_of_python(g):
        return looking_into_lists(g, g)
    return _remember(g, making(g, asking_for) if g in MAKERS else looking_into_lists(g, g))


_SPECIAL: dict[Any, Callable] = {
    type: type_of_value,
    isinstance: is_instance,
    hasattr: has_attribute,
    getattr: get_attribute,
    setattr: set_attribute,
    ARRAY_CONVERTER: ArrayConverter,
    **REPLACED,
    **identity.REPLACED,
    **frames.REPLACED,
    operator.call: first_argument(operator.call),
    # Traced step by step, though they have rules.
    **{g: g for g in (map, functools.reduce, itertools.accumulate)},
    **{getattr(operator, f"i{name}"): f for name, f in syntax_ops.IN_PLACE.items()},
}  # fmt: skip

_BY_KIND: dict[type, Callable[[Any], Callable]] = {
    types.FunctionType: _function,
    types.MethodType: _method,
    types.BuiltinFunctionType: _builtin,
    type(re.compile("").sub): _builtin,  # another type than other methods made in C have
    types.MethodDescriptorType: unbound_method,
    types.WrapperDescriptorType: unbound_method,
    types.MethodWrapperType: _wrapper,
    type: _class,
    functools.partial: _partial,
    **GETTERS,
    functools._lru_cache_wrapper: _cached,
    np.ufunc: _of_numpy,
    type(np.sum): _of_numpy,
    Closure: traced_body,
}


def forget(rule: Rule | None = None) -> None:
    """After a change of the rules, decide anew."""
    for table in (_replacements, _lasting, _of_ufuncs, _plain_methods):
        table.clear()
    call_site_cache.forget()
    attributes.forget()


def give_variables(functions: Iterable[types.FunctionType], names: set[str]) -> None:
    """Have recordings give functions values of their own for global variables."""
    if rewritten_code.give(functions, names):
        forget()


caches.on_rule_change(forget)
_CALLED_BY_NAME: tuple[Callable, ...] = (
    intercept, see, attributes.read, attributes.write, context_managers.async_context,
    context_managers.context, context_managers.unless_ours, coroutines.async_iterate,
    coroutines.awaited, identity.alone, identity.matched, identity.same,
    outer_variables.variable, slice,
    stores.attribute_place, stores.change_attribute, stores.change_item,
    stores.change_item_in_attribute, stores.change_item_in_item, stores.change_item_local,
    stores.item_place, stores.store, stores.store_in_attribute, stores.store_in_item,
    stores.store_local, stores.store_local_in_library, syntax_ops.contains, syntax_ops.item,
    syntax_ops.iterate, syntax_ops.mapping, syntax_ops.truth, text_calls.formatted,
    text_calls.joined, text_calls.source_text, type,
)  # fmt: skip
_HELPERS: dict[str, Any] = {
    **{f.__name__: f for f in _CALLED_BY_NAME},
    "special": get_attribute,
    NoTracedNumber.__name__: NoTracedNumber,
    "known": call_site_cache.known,
    "replaced": call_site_cache.replaced,
    **{f"known_{name}": had for name, had in call_site_cache.made_of.items()},
    "quiet": call_site_cache.quiet,
    **{
        f"of_{name}": call_site_cache.method_called(name, intercept, array_method, attributes.read)
        for name in call_site_cache.METHODS
    },
    **syntax_ops.BINARY,
    **syntax_ops.COMPARISON,
    **syntax_ops.UNARY,
    **{f"i{name}": f for name, f in syntax_ops.IN_PLACE.items()},
    **{f"i{name}_local": f for name, f in syntax_ops.IN_PLACE_LOCAL.items()},
}
rewritten_code.helpers.update({helper(name): value for name, value in _HELPERS.items()})
