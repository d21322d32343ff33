"""Which rules there are: callable → rules, and among those the one for given types.

The first key is the callable itself, found by one look into a dict; a ``Dispatcher`` of
multipledispatch decides by argument types, and what it decides is remembered, misses included.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from multipledispatch import Dispatcher
from multipledispatch.conflict import supercedes
from multipledispatch.variadic import isvariadic

from chainrules_core.calling.signatures import Binder
from chainrules_core.errors import AmbiguousRuleError, RuleDefinitionError

if TYPE_CHECKING:
    from chainrules_core.config import RuleConfig
    from chainrules_core.rule import Rule

# Kinds of rules that take any arguments as they come.
_SHAPELESS = ("non_differentiable", "opt_out")
_FUNCTION_TYPES = (types.FunctionType, np.ufunc, type)


def key_of(f: Any) -> tuple[Callable, tuple]:
    """Return the key under which the rules of `f` stand, and the arguments `f` brings along.

    A bound method is its function with the object as first argument; so is an instance of a
    callable class: the key is the class's ``__call__``. Everything else is its own key: functions,
    ufuncs, ufunc methods such as ``np.add.reduce`` (made anew at each access, but equal), and
    classes, which are keyed by themselves and never by ``type``.

    Examples
    --------
    >>> key_of(np.sin)
    (<ufunc 'sin'>, ())
    >>> key_of([1, 2].index)
    (<method 'index' of 'list' objects>, ([1, 2],))
    """
    kind = type(f)
    if kind in _FUNCTION_TYPES:
        return f, ()
    if kind is types.MethodType:
        return f.__func__, (f.__self__,)
    if kind is types.BuiltinMethodType:
        owner = f.__self__
        if owner is None or isinstance(owner, (types.ModuleType, np.ufunc, type)):
            return f, ()
        method = getattr(type(owner), f.__name__, None)
        # Functions of modules made by pybind11 have an object of its own for their owner.
        return (f, ()) if method is None else (method, (owner,))
    if kind is types.MethodWrapperType:
        return getattr(type(f.__self__), f.__name__), (f.__self__,)
    call = getattr(kind, "__call__", None)  # noqa: B004 - the function itself is wanted
    if type(call) is types.FunctionType:
        return call, (f,)
    return f, ()


def instance_of(cls: type) -> Callable:
    """Return the key for rules of calling an instance of `cls`; the instance comes first.

    Examples
    --------
    >>> class Scale:
    ...     def __call__(self, x): return 2 * x
    >>> instance_of(Scale) is Scale.__call__
    True
    """
    call = getattr(cls, "__call__", None)  # noqa: B004 - the function itself is wanted
    if type(call) is not types.FunctionType:
        raise RuleDefinitionError(
            f"instance_of({cls.__qualname__}): the class defines no __call__ in Python, so there "
            f"is no call to write a rule for. Register a method ({cls.__qualname__}.method), or "
            f"the constructor ({cls.__qualname__})."
        )
    return call


def is_array_of_others(cls: type) -> bool:
    """Whether a class is one of arrays that do not take part in NumPy's protocols.

    NumPy's functions convert such an array, or fail on it, so that a rule written with them is not
    for it unless it names the class.
    """
    return hasattr(cls, "__array__") and not (
        hasattr(cls, "__array_ufunc__") or issubclass(cls, (np.ndarray, np.generic))
    )


class Entry:
    """The rules of one callable in one table (frules or rrules)."""

    __slots__ = ("_binder", "_dispatchers", "_found", "f", "rules", "takes_functions")

    def __init__(self, f: Callable) -> None:
        self.f = f
        self.rules: list[Rule] = []
        self.forget()

    def forget(self) -> None:
        """Forget what has been decided; the rules have changed."""
        self._dispatchers: dict[tuple, Dispatcher] = {}
        self._found: dict[tuple, Rule | None] = {}
        self._binder: Binder | None = None
        # Whether a rule is for a function that it may differentiate.
        self.takes_functions = any(Callable in _flat_types(r.types) for r in self.rules)

    def add(self, rule: Rule) -> None:
        """Add `rule`; one with the same types and requirements is replaced."""
        self.rules = [r for r in self.rules if r.identity != rule.identity]
        self.rules.append(rule)
        self.forget()

    @property
    def binder(self) -> Binder:
        """The binder by which a call is bound before its rule is known."""
        if self._binder is None:
            shaped = [r for r in self.rules if r.kind not in _SHAPELESS]
            self._binder = (shaped or self.rules)[-1].binder
        return self._binder

    def resolve(
        self, args: tuple, kwargs: dict[str, Any], config: RuleConfig | None
    ) -> tuple[Rule, tuple, dict[str, Any]] | None:
        """Return the rule for these arguments, with them bound; None where there is none."""
        binder = self.binder
        bound = binder.bind(args, kwargs)
        # Where the newest rule cannot take the call, an older one of other shape still may.
        rule = self.find(tuple([a.__class__ for a in (bound[0] if bound else args)]), config)
        if rule is None or rule.kind == "opt_out":
            return None
        if rule.binder is not binder:
            bound = rule.binder.bind(args, kwargs)
        if bound is None:
            return None
        return rule, bound[0], bound[1]

    def find(self, classes: tuple[type, ...], config: RuleConfig | None = None) -> Rule | None:
        """Return the most specific rule for arguments of these classes (opt-outs included).

        A rule that asks for a configuration goes before one that does not.
        """
        key = (classes, None if config is None else (type(config), config.capabilities))
        try:
            return self._found[key]
        except KeyError:
            pass
        rule = self._decide(classes, config)
        self._found[key] = rule
        return rule

    def _decide(self, classes: tuple[type, ...], config: RuleConfig | None) -> Rule | None:
        of_others = [i for i, cls in enumerate(classes) if is_array_of_others(cls)]
        rules = [
            r
            for r in self.rules
            if not r.has_formula or all(object not in r.type_at(i) for i in of_others)
        ]
        if config is not None:
            eligible = tuple(r for r in rules if r.takes_config and r.accepts(config))
            found = self._most_specific(eligible, (type(config), *classes))
            if found is not None:
                return found
        eligible = tuple(r for r in rules if not r.takes_config)
        return self._most_specific(eligible, (object, *classes))

    def _most_specific(self, eligible: tuple[Rule, ...], classes: tuple[type, ...]) -> Rule | None:
        if not eligible:
            return None
        if len(eligible) == 1:
            return eligible[0] if eligible[0].matches(classes) else None
        key = (eligible, len(classes))
        dispatcher = self._dispatchers.get(key)
        if dispatcher is None:
            dispatcher = self._dispatchers[key] = self._dispatcher(eligible, len(classes))
        matching = [
            (signature, dispatcher.funcs[signature])
            for signature in dispatcher.ordering
            if len(signature) == len(classes) and all(map(issubclass, classes, signature))
        ]
        if not matching:
            return None
        opted_out = _deciding_opt_out(matching)
        if opted_out is not None:
            return opted_out
        best, rule = matching[0]
        for signature, other in matching[1:]:
            if other is not rule and not supercedes(best, signature):
                raise AmbiguousRuleError(self.f, classes[1:], rule, other)
        return rule

    def _dispatcher(self, eligible: tuple[Rule, ...], n: int) -> Dispatcher:
        """Build the dispatcher for calls with `n` - 1 arguments."""
        dispatcher = Dispatcher(getattr(self.f, "__name__", "rule"))
        for rule in eligible:
            for signature in rule.expanded_signatures(n):
                dispatcher.funcs[signature] = rule
        dispatcher.reorder(on_ambiguity=_leave_to_the_lookup)
        return dispatcher

    def ambiguities(self) -> Iterator[tuple[tuple[type, ...], tuple[type, ...]]]:
        """Yield pairs of signatures that some arguments match equally well."""
        for config_free in (True, False):
            rules = [r for r in self.rules if r.takes_config is not config_free]
            longest = max((len(r.types) for r in rules), default=0) + 1
            for n in range(1, longest + 1):
                signatures = {s: r for r in rules for s in r.expanded_signatures(n)}
                for a, b in itertools.combinations(signatures, 2):
                    if "opt_out" in (signatures[a].kind, signatures[b].kind):
                        continue  # these have an order of their own
                    if signatures[a] is not signatures[b] and _ambiguous(a, b, signatures):
                        yield a[1:], b[1:]


def _deciding_opt_out(matching: list[tuple[tuple[type, ...], Rule]]) -> Rule | None:
    """Return an opt-out that is more specific in the types it names, and no rule is than it.

    So ``opt_out(rrule, f, MyArray)`` goes before a rule that names the types of two arguments.
    """
    for signature, rule in matching:
        if rule.kind != "opt_out":
            continue
        named = 1 + len(rule.types)
        if all(
            other is rule
            or (
                all(map(issubclass, signature[:named], theirs[:named]))
                and not supercedes(theirs, signature)
            )
            for theirs, other in matching
        ):
            return rule
    return None


def _flat_types(types: tuple) -> Iterator[Any]:
    for t in types:
        yield from t if isinstance(t, (tuple, list)) else (t,)


def _leave_to_the_lookup(dispatcher: Dispatcher, ambiguities: set) -> None:
    """Ignore ambiguities at registration: an ambiguous call is an error when it is made."""


def _ambiguous(a: tuple, b: tuple, signatures: dict) -> bool:
    """Whether both match some arguments, neither is more specific, and no third one decides."""
    pairs = list(zip(a, b, strict=True))
    if not all(issubclass(x, y) or issubclass(y, x) for x, y in pairs):
        return False
    if all(issubclass(x, y) for x, y in pairs) or all(issubclass(y, x) for x, y in pairs):
        return False
    meet = tuple(x if issubclass(x, y) else y for x, y in pairs)
    return meet not in signatures


def expand(types: tuple, n: int) -> Iterator[tuple[type, ...]]:
    """Yield the plain signatures of length `n` that `types` stands for.

    Unions are tuples, a list at the end stands for any number, and a signature shorter than the
    call leaves the rest free.
    """
    types = tuple(t if isinstance(t, (tuple, list)) else (t,) for t in types)
    if types and isinstance(types[-1], list):
        rest = tuple(types[-1])
        types = types[:-1] + (rest,) * max(0, n - len(types) + 1)
    if len(types) > n:
        return
    yield from itertools.product(*types, *[(object,)] * (n - len(types)))


_UNION = types.UnionType


def check_types(types: tuple, where: str) -> tuple:
    """Check the types of a registration and flatten nested unions."""
    checked: list[Any] = []
    for position, t in enumerate(types):
        if isinstance(t, _UNION):
            t = t.__args__
        if isinstance(t, list):
            if position != len(types) - 1:
                raise RuleDefinitionError(
                    f"{where}: a list of types stands for any number of arguments, so it can only "
                    "stand last. Write a union of types as a tuple."
                )
            checked.append([*_flat(tuple(t), where)])
        elif isinstance(t, tuple):
            checked.append(tuple(_flat(t, where)))
        else:
            checked.extend(_flat((t,), where))
    return tuple(checked)


def _flat(union: tuple, where: str) -> Iterator[type]:
    for t in union:
        if isinstance(t, tuple):
            yield from _flat(t, where)
        elif isinstance(t, _UNION):
            yield from _flat(t.__args__, where)
        elif isinstance(t, type) and not isvariadic(t):
            yield t
        else:
            raise RuleDefinitionError(
                f"{where}: {t!r} is not a class. The types of a rule are classes (list, not "
                "list[float]), tuples of classes for a union, or a list of classes at the end for "
                "any number."
            )
