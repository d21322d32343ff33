"""The arguments of a call with traced values: strips the innermost trace level."""

from __future__ import annotations

import functools
import inspect
import numbers
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.errors import MutationError, array_of_objects
from autodiff.trace.checks.conversions import TracedText
from autodiff.trace.checks.number_classes import check_class
from autodiff.trace.pytree import (
    TABLES,
    facts_of,
    is_flat,
    is_sparse,
    leaves_of,
    map_leaves,
    part_of_tangent,
    parts_of,
    rebuilt,
)
from autodiff.trace.tape import CONSTANT, Tape
from autodiff.trace.trace_stack import may_hold_traced
from autodiff.trace.tracer import TRACERS, FloatTracer, Tracer, bare, is_tracer
from chainrules_core import (
    AbstractZero,
    CotangentError,
    NotImplementedTangent,
    ProjectTo,
    Tangent,
    unthunk,
)
from chainrules_core.calling.frame import named_projection
from chainrules_core.calling.signatures import signature_of
from chainrules_core.interpreter.no_value import NO_VALUE
from chainrules_core.rule import Rule

# Types that hold no traced value: they are not looked into.
PLAIN = frozenset(
    {
        float, int, bool, complex, str, bytes, type(None), slice, type(Ellipsis), type, range,
        np.ndarray, np.float64, np.float32, np.int64, np.bool_, np.dtype, np.ufunc,
        types.FunctionType, types.BuiltinFunctionType, types.ModuleType, object, type(NO_VALUE),
        TracedText,
        *map(type, map(np.dtype, "?bhilqBHILQefdgFDG")),
    }
)  # fmt: skip


_FIXED = frozenset({int, type(Ellipsis), type(None), np.int64, np.int32})
"""The types of indices that choose elements by their positions, each once, and stay as they are."""


def is_fixed(index: Any) -> bool:
    """Whether an index is basic, without arrays in it: a bound may be an array without axes."""
    if type(index) is tuple:
        return _FIXED.issuperset(map(type, index)) or all(map(is_fixed, index))
    return type(index) in _FIXED or (
        type(index) is slice
        and _FIXED.issuperset((type(index.start), type(index.stop), type(index.step)))
    )


def innermost(args: tuple, kwargs: dict[str, Any]) -> Tape | None:
    """Return the tape of the innermost level among the arguments; None if nothing is traced."""
    found: Tape | None = None
    for a in (*args, *kwargs.values()) if kwargs else args:
        kind = type(a)
        if kind is FloatTracer or kind is Tracer:
            tape = a._tape
        elif kind is np.ndarray and a.dtype.kind == "O":
            tape = innermost(tuple(a.flat), {})
        elif kind in PLAIN or (facts_of(kind).is_leaf and not issubclass(kind, Tracer)):
            continue
        elif is_flat(a):
            tape = innermost(tuple(a), {})
        else:
            tape = innermost(tuple([x for x in leaves_of(a) if is_tracer(x) or has_cells(x)]), {})
        if tape is None or tape is CONSTANT:
            continue
        if found is None or tape.serial > found.serial:
            found = tape
    return found


def has_cells(x: Any) -> bool:
    """Whether `x` is an array of objects, which may be traced."""
    return type(x) is np.ndarray and x.dtype.kind == "O"


def is_constant(x: Any) -> bool:
    """Whether `x` is an array of the traced function that holds nothing traced."""
    return type(x) is Tracer and x._tape is CONSTANT


def of_level(x: Any, tape: Tape) -> Any:
    """Return a value with the level of `tape` stripped off, if it has it."""
    return x._value if is_tracer(x) and (x._tape is tape or x._tape is CONSTANT) else x


def has_constants(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether an argument is or contains an array that may be written into."""
    values = (*args, *kwargs.values())
    return any(
        is_constant(x) or (type(x) not in PLAIN and any(map(is_constant, leaves_of(x))))
        for x in values
    )


_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@caches.of_functions(1024)
def place_of_out(f: Any) -> tuple[int, tuple[str, ...]]:
    """Return the position of ``out`` in a function's signature, and the names from there on."""
    signature = signature_of(f)
    parameters = () if signature is None else signature.parameters.values()
    names = tuple([p.name for p in parameters if p.kind in _BY_PLACE])
    place = names.index("out") if "out" in names else 1000
    return place, names[place:]


def without(x: Any, tape: Tape) -> Any:
    """Return `x` with the level of `tape` stripped off."""
    if type(x) in PLAIN:
        return x
    if is_flat(x):  # without a call for each
        new = [a._value if type(a) in TRACERS and a._tape is tape else a for a in x]
        if all(map(operator.is_, new, x)):
            return x
        return new if type(x) is list else tuple(new)

    def strip(leaf: Any) -> Any:
        return leaf._value if is_tracer(leaf) and leaf._tape is tape else leaf

    return map_leaves(x, strip)


def numbers_of(x: Any) -> Any:
    """Return an object array of Python's real numbers as one of floats; anything else as it is."""
    if type(x) is not np.ndarray or x.dtype.kind != "O":
        return x
    if all(isinstance(value, numbers.Real) and not is_tracer(value) for value in x.flat):
        return x.astype(float)
    return x


_MAY_HOLD_CELLS = frozenset({list, tuple, np.ndarray})


def cells_as_numbers(x: Any) -> Any:
    """Return an object array of numbers some of which are traced as a traced array of these.

    Lists and tuples are looked into; anything else is returned as it is.
    """
    if type(x) is list or type(x) is tuple:
        if _MAY_HOLD_CELLS.isdisjoint(map(type, x)):
            return x
        new = [cells_as_numbers(part) for part in x]
        return x if all(map(operator.is_, new, x)) else type(x)(new)
    if type(x) is not np.ndarray or x.dtype.kind != "O":
        return x
    cells = list(x.flat)
    if not any(map(is_tracer, cells)) or not all(isinstance(c, numbers.Number) for c in cells):
        return x
    return np.reshape(np.stack(cells), x.shape)  # by NumPy's protocol


def as_it_is(x: Any) -> Any:
    """Return a tracer of an array's present value, which later writes do not change."""
    if type(x) is Tracer and type(bare(x)) is np.ndarray:
        return Tracer(x._value, x._tape, x._index)
    return x


def as_they_are(x: Any) -> Any:
    """Return a pytree with copies of its lists, so that later changes do not affect a pullback."""
    kind = type(x)
    if kind is Tracer:
        return as_it_is(x)
    if kind is list:
        return [as_they_are(v) for v in x]
    if kind is tuple and any(type(v) in (list, tuple, Tracer) for v in x):
        return tuple([as_they_are(v) for v in x])
    return x


def kept(x: Any, tape: Tape) -> Any:
    """Return an argument as a pullback may keep it: no array in it can be written into.

    Those in lists, tuples and dicts are kept as an argument is; those in other objects are held.
    """
    kind = type(x)
    if kind is np.ndarray:
        return tape.kept(x)
    if kind in PLAIN or kind in TRACERS:
        return x
    if kind is list:
        return [kept(part, tape) for part in x]
    if isinstance(x, tuple):
        new = [kept(part, tape) for part in x]
        return x if all(map(operator.is_, new, x)) else rebuilt(x, new)
    if kind is dict:
        return {key: kept(part, tape) for key, part in x.items()}
    for leaf in leaves_of(x):
        if isinstance(leaf, np.ndarray) and not is_tracer(leaf):
            tape.hold(leaf)
    return x


class Stripped:
    """The arguments of a call with the innermost trace level stripped off.

    A pullback `keeps` them, unless the function has none.

    Attributes
    ----------
    primals : tuple
        The arguments without that level.
    wanted : tuple of int
        The positions of those that had it.
    sources : list
        These themselves.
    direct : bool
        Whether all of them are traced values, and none a container of some.
    nested : bool
        Whether values traced on outer levels remain.
    """

    __slots__ = ("direct", "nested", "primals", "sources", "wanted")

    def __init__(self, bound: tuple, tape: Tape, keeps: bool = True) -> None:
        primals = []
        wanted = []
        self.sources: list[Any] = []
        self.direct = True
        nested = False
        for i, a in enumerate(bound):
            kind = type(a)
            if kind is FloatTracer or kind is Tracer:
                if a._tape is tape:
                    wanted.append(i)
                    self.sources.append(a)
                    a = a._value
                    kind = type(a)
                elif a._tape is CONSTANT:
                    a = a._value
                    kind = type(a)
                else:
                    a = as_it_is(a)
                nested = nested or kind is Tracer or kind is FloatTracer
            elif kind not in PLAIN:
                check_class(kind)
                a = as_they_are(without(a, CONSTANT))
                stripped = without(a, tape)
                if stripped is not a:
                    wanted.append(i)
                    self.sources.append(a)
                    self.direct = False
                    a = stripped
                for leaf in leaves_of(a):
                    if is_tracer(leaf):
                        nested = True
                    elif type(leaf) not in PLAIN:
                        check_class(type(leaf))
                a = kept(a, tape) if keeps else a
            elif kind is np.ndarray:
                a = numbers_of(a)
                if keeps:
                    a = tape.kept(a)
                    _check_cells(a)
            primals.append(a)
        self.primals = tuple(primals)
        self.wanted = tuple(wanted)
        self.nested = nested


def _check_cells(x: np.ndarray) -> None:
    """Raise if a rule would compute with the traced values in an array of objects."""
    if has_cells(x) and innermost((x,), {}) is not None:
        raise array_of_objects("a function with a rule is given an array")


def _traced_parts(x: Any, path: tuple, tape: Tape) -> Iterator[tuple[tuple, int]]:
    """Yield where in a nest the values of a tape stand, and their places on the tape."""
    if is_tracer(x):
        if x._tape is tape:
            yield path, x._index
    elif is_flat(x):
        for key, part in enumerate(x):
            if is_tracer(part) and part._tape is tape:
                yield (*path, key), part._index
    else:
        for key, part in parts_of(x) or ():
            yield from _traced_parts(part, (*path, key), tape)


def through_containers(
    rule: Rule, given: Stripped, pull: Callable, tape: Tape
) -> tuple[tuple, tuple, Callable]:
    """Return parents and pull where traced values stand inside containers."""
    sources = enumerate(given.sources)
    paths = [(i, path, index) for i, x in sources for path, index in _traced_parts(x, (), tape)]
    is_one_list = len(given.sources) == 1 and is_flat(given.sources[0])
    # The container as a whole is projected: what its pullback returned may have other forms.
    projectors = [
        None if is_tracer(source) else ProjectTo(given.primals[i])
        for source, i in zip(given.sources, given.wanted, strict=True)
    ]

    def pull_parts(y_bar: Any) -> list:
        bars = []
        for bar, projector, i in zip(pull(y_bar), projectors, given.wanted, strict=True):
            if projector is not None:
                bar = unthunk(named_projection(rule, i, projector, unthunk(bar)))
                _check_fields(rule, i, bar, given.primals[i])
            bars.append(bar)
        if is_one_list and type(bars[0]) is Tangent[type(given.sources[0])]:
            parts = list(bars[0])  # each is a leaf
            return [unthunk(parts[key]) for _, (key,), _ in paths]
        return [_at(rule, given.wanted[place], bars[place], path) for place, path, _ in paths]

    positions = tuple([given.wanted[place] for place, _, _ in paths])
    return tuple([i for _, _, i in paths]), positions, pull_parts


def _check_fields(rule: Rule, position: int, bar: Any, primal: Any) -> None:
    """Raise if a structural tangent has a field that its argument does not have."""
    if not isinstance(bar, Tangent) or isinstance(primal, (tuple, list)):
        return
    keys = [key for key, _ in parts_of(primal) or ()]
    unknown = [k for k in Tangent.keys(bar) if k not in keys]
    if unknown:
        reason = (
            f"the argument, a {type(primal).__name__}, has no {unknown[0]!r}. A cotangent names "
        )
        reason += f"parts of its argument ({', '.join(map(repr, keys)) or 'here none'})"
        raise CotangentError(rule, position, bar, reason)


def _at(rule: Rule, position: int, bar: Any, path: tuple) -> Any:
    """Return the part of a container's cotangent that a path leads to."""
    for key in path:
        if isinstance(bar, (AbstractZero, NotImplementedTangent)):
            return bar
        try:
            bar = unthunk(part_of_tangent(bar, key))
        except (LookupError, AttributeError, TypeError) as error:
            reason = (
                f"a {type(bar).__name__} has no part for {key!r} of the argument. Return a Tangent "
                "of the argument's class with a part for each of its own"
            )
            raise CotangentError(rule, position, bar, reason) from error
    return bar


def constant_array(y: Any) -> Any:
    """Return an array as one that traced values may be written into."""
    return Tracer(y, CONSTANT, -1) if may_hold_traced(y) else y


def held_in(given: Any, originals: Any = ()) -> list[tuple[Any, list]]:
    """Return the containers in `given` that are not in `originals`, each with its parts."""
    seen = {id(x) for x, _ in held_in(originals)} if originals else set()
    held, waiting = [], [given]
    while waiting:
        x = waiting.pop()
        parts = None if type(x) in PLAIN or id(x) in seen else _own_parts(x)
        if parts is None:
            continue
        seen.add(id(x))
        held.append((x, parts))
        waiting += [part for _, part in parts]
    return held


def _own_parts(x: Any) -> list | None:
    """Return the parts of a container, without what it can compute again; None for other values."""
    kind = type(x)
    parts = None if is_sparse(kind) or kind in TABLES else parts_of(x)
    if parts is None or issubclass(kind, (tuple, list, dict)):
        return parts
    return [p for p in parts if type(getattr(kind, p[0], None)) is not functools.cached_property]


def check_unchanged(held: list[tuple[Any, list]]) -> None:
    """Raise if a function has changed a list, dict or object that is a copy: that would be lost."""
    for x, before in held:
        now = _own_parts(x) or []
        if list(map(_identities, now)) != list(map(_identities, before)):
            raise MutationError(
                f"a function with a rule of its own changes a {type(x).__name__} that it is given. "
                "It gets a copy, so the change would be lost. Return what is new, or write into "
                "arrays."
            )


def _identities(pair: tuple[Any, Any]) -> tuple[Any, int]:
    return pair[0], id(pair[1])
