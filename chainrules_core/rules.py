"""frule and rrule: authors register rules here, and engines look them up.

The tables `frule` and `rrule` hold the rules. Calling one uses the raw convention of ChainRules: a
cotangent for the function itself and for each positional argument. ``register`` adds a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chainrules_core.calling.frame import full_pullback, missing_along, split_dots
from chainrules_core.config import RuleConfig
from chainrules_core.errors import NoRuleError, RuleDefinitionError
from chainrules_core.registry.entries import Entry, check_types, key_of
from chainrules_core.registry.pending import (
    is_loading,
    is_waited_for,
    load_all,
    load_imported,
    load_rules_of,
)
from chainrules_core.rule import HandRule, Rule, name_of


class RuleTable:
    """A table of rules: ``rrule(f, *args)`` looks one up, ``rrule.register(f)`` adds one.

    Attributes
    ----------
    version : int
        Increases at each change. What an engine remembers about rules is valid for one version.
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.version = 0
        self._entries: dict[Callable, Entry] = {}
        self._hooks: list[Callable[[Rule], object]] = []
        self._watchers: list[Callable[[Rule], object]] = []

    # -- what an author says ---------------------------------------------------------------------

    def register(
        self,
        f: Callable | tuple[Callable, ...],
        *types: Any,
        requires: set[type] | frozenset[type] | type = frozenset(),
        config: type[RuleConfig] | None = None,
        broadcasts: bool = False,
        lists: bool = False,
        shaped_by: Sequence[int] = (),
    ) -> Callable[[Callable], Callable]:
        """Register the decorated function as a rule for `f`.

        Parameters
        ----------
        f : callable or tuple of callables
            The function, class (for its constructor), method (``Foo.method``), or
            ``instance_of(Foo)``, or a tuple of several that compute the same.
        *types : type, tuple or list
            Types of the leading arguments: a class or ABC, a tuple of them for a union, a list at
            the end for any number of arguments. Further arguments may have any type.
        requires : set of type
            Capabilities that the rule needs from the engine. The rule then gets the ``RuleConfig``
            as its first argument.
        config : type, optional
            A class of ``RuleConfig``, if the rule is only for this engine.
        broadcasts : bool
            Whether `f` broadcasts these arguments. If so, the frame sums each cotangent back to the
            shape of its argument. If not, another shape is an error.
        lists : bool
            Whether `f` accepts nested lists in place of arrays. The rule gets arrays, and the
            cotangent of a list has the form of the list. `types` need not name lists.
        shaped_by : sequence of int
            The positions of arguments that decide the shapes and dtypes of the outputs by their own
            shapes and dtypes alone, whatever their elements are: those in which `f` is linear, and
            often others; `EVERY` for all. There `abstract_value` calls `f` with zeros.

        Returns
        -------
        callable
            A decorator that returns the function unchanged.

        Raises
        ------
        RuleDefinitionError
            If `f` cannot have a rule or a type is not a type.

        Examples
        --------
        >>> def square(x): return x * x
        >>> @rrule.register(square)
        ... def square_rrule(x):
        ...     def square_pullback(y_bar):
        ...         return 2 * x * y_bar
        ...     return square(x), square_pullback
        >>> y, pullback = rrule(square, 3.0)
        >>> pullback(1.0)
        (NoTangent(), 6.0)
        >>> rrule.unregister(square)
        """
        if isinstance(requires, type):
            requires = frozenset({requires})

        def add(function: Callable) -> Callable:
            for target in f if isinstance(f, tuple) else (f,):
                rule = HandRule(
                    checked_key(target),
                    types,
                    function,
                    mode=self.mode,
                    requires=frozenset(requires),
                    config_type=config,
                    broadcasts=broadcasts,
                    lists=lists,
                    shaped_by=shaped_by,
                )
                self.add(rule)
            return function

        return add

    def add(self, rule: Rule) -> None:
        """Add a rule object, call the hooks and increase the version."""
        load_imported()  # what comes later would replace the rule
        self._load_before_change(rule.f)
        entry = self._entries.get(rule.f)
        if entry is None:
            entry = self._entries[rule.f] = Entry(rule.f)
        entry.add(rule)
        self._changed(rule)

    def unregister(self, f: Callable, *types: Any) -> None:
        """Remove the rules of `f`: all of them, or the one registered with exactly these types.

        Raises
        ------
        KeyError
            If there is no such rule.
        """
        key, _ = key_of(f)
        self._load_before_change(key)
        entry = self._entries[key]
        checked = check_types(types, f"unregister({name_of(key)})")
        gone = [r for r in entry.rules if not types or r.types == checked]
        if not gone:
            raise KeyError(f"no {self.mode} for {name_of(key)} with the types {types}")
        entry.rules = [r for r in entry.rules if r not in gone]
        entry.forget()
        if not entry.rules:
            del self._entries[key]
        for rule in gone:
            self._changed(rule)

    def _load_before_change(self, key: Callable) -> None:
        """Load all rules before those of a function are changed: some are made of others."""
        if not is_loading() and (key in self._entries or is_waited_for(key)):
            load_all()

    def _changed(self, rule: Rule) -> None:
        if not is_loading():  # else nobody can have asked for the function before
            self.version += 1
            for watcher in self._watchers:
                watcher(rule)
        for hook in tuple(self._hooks):
            hook(rule)

    def watch(self, watcher: Callable[[Rule], object]) -> None:
        """Call ``watcher(rule)`` whenever a rule is added or removed."""
        self._watchers.append(watcher)

    def on_new_rule(self, hook: Callable[[Rule], object]) -> Callable[[], None]:
        """Call ``hook(rule)`` for every existing rule, and for each that is added or removed later.

        Returns
        -------
        callable
            Call it to remove the hook.
        """
        for rule in self.methods():
            hook(rule)
        self._hooks.append(hook)

        def remove() -> None:
            if hook in self._hooks:
                self._hooks.remove(hook)

        return remove

    def refresh_rules(self) -> None:
        """Make every engine forget what it remembers about rules.

        You need this only if a class became a (virtual) subclass of another after rules were looked
        up. Registering and removing rules do it by themselves.
        """
        self.version += 1
        for entry in self._entries.values():
            entry.forget()

    def clear_new_rule_hooks(self) -> None:
        """Remove all hooks."""
        self._hooks.clear()

    # -- what an engine asks ---------------------------------------------------------------------

    def entry(self, key: Callable) -> Entry | None:
        """Return the rules of a key (see `key_of`), or None."""
        try:
            waits = is_waited_for(key)
        except TypeError:  # unhashable: nothing can be registered for it
            return None
        if waits:
            load_rules_of(key)
        entry = self._entries.get(key)
        if entry is None:
            load_imported()
            if is_waited_for(key):
                load_rules_of(key)
            entry = self._entries.get(key)  # also if another thread has loaded it meanwhile
        return entry

    def resolve(
        self, f: Callable, args: tuple, kwargs: dict[str, Any], config: RuleConfig | None = None
    ) -> tuple[Rule, tuple, dict[str, Any]] | None:
        """Return the rule for a call and its bound arguments, or None if there is no rule."""
        key, own = key_of(f)
        entry = self.entry(key)
        return None if entry is None else entry.resolve(own + args, kwargs, config)

    def methods(self, f: Callable | None = None) -> list[Rule]:
        """Return all rules, or those of `f`."""
        if f is not None:
            entry = self.entry(key_of(f)[0])
            return [] if entry is None else list(entry.rules)
        load_all()
        load_imported()
        return self.loaded()

    def loaded(self) -> list[Rule]:
        """Return the rules of all modules that have been loaded."""
        return [rule for entry in self._entries.values() for rule in entry.rules]

    def lookup_ambiguities(self) -> list[tuple[Callable, tuple, tuple]]:
        """Return each pair of signatures that some arguments match equally well."""
        load_all()
        return [(e.f, a, b) for e in self._entries.values() for a, b in e.ambiguities()]

    def is_opted_out(self, f: Callable, *types: type) -> bool:
        """Whether arguments of these types are opted out of the rules of `f`.

        A rule more specific than the opt-out wins again.
        """
        entry = self.entry(key_of(f)[0])
        rule = None if entry is None else entry.find(types)
        return rule is not None and rule.kind == "opt_out"

    def opted_out(self) -> list[Rule]:
        """Return all opt-outs."""
        return [rule for rule in self.methods() if rule.kind == "opt_out"]


class RRuleTable(RuleTable):
    """The table of reverse rules; its call is the raw convention."""

    def __call__(self, *call: Any, **kwargs: Any) -> tuple[Any, Callable] | None:
        """Differentiate ``f(*args, **kwargs)`` in reverse, if there is a rule.

        Parameters
        ----------
        config : RuleConfig, optional
            Comes first, if given.
        f : callable
            The function.
        *args, **kwargs
            Its arguments.

        Returns
        -------
        tuple or None
            ``(y, pullback)``, or None where no rule matches. ``pullback(y_bar)`` takes a cotangent
            (a thunk too) and returns one for `f` itself and one for each positional argument,
            each projected onto the tangent space of its argument; some may be thunks.

        Raises
        ------
        AmbiguousRuleError
            If two rules match equally well.
        """
        config, f, args = _split_call("rrule", call)
        found = self.resolve(f, args, kwargs, config)
        if found is None:
            return None
        rule, bound, options = found
        recorded = rule.record(bound, options, None, config)
        if recorded is None:
            return None
        y, pull = recorded
        return y, full_pullback(rule, f, args, kwargs, bound, pull)


class FRuleTable(RuleTable):
    """The table of forward rules; its call is the raw convention."""

    def __call__(self, *call: Any, **kwargs: Any) -> tuple[Any, Any] | None:
        """Differentiate ``f(*args, **kwargs)`` forward, if there is a rule.

        Parameters
        ----------
        config : RuleConfig, optional
            Comes first, if given.
        dots : tuple
            A tangent for `f` itself and one for each of `args`.
        f : callable
            The function.
        *args, **kwargs
            Its arguments.

        Returns
        -------
        tuple or None
            ``(y, y_dot)``, or None where no rule matches.

        Raises
        ------
        TypeError
            If the number of tangents is wrong.
        """
        config, dots, rest = _split_call("frule", call)
        if not rest or not isinstance(dots, tuple):
            raise TypeError(
                "frule takes the tangents as one tuple, then the function: "
                "frule((NoTangent(), x_dot), f, x)."
            )
        f, args = rest[0], rest[1:]
        found = self.resolve(f, args, kwargs, config)
        if found is None:
            return None
        rule, bound, options = found
        sorted_dots = split_dots(rule, f, dots, args, bound)
        pushed = rule.push(sorted_dots, bound, options, config)
        if pushed is None:
            return None
        missing = missing_along(rule, f, dots, args, bound)
        return pushed if missing is None else (pushed[0], missing)


def _split_call(mode: str, call: tuple) -> tuple[RuleConfig | None, Any, tuple]:
    if not call:
        raise TypeError(f"{mode} needs a function to differentiate.")
    if isinstance(call[0], RuleConfig):
        if len(call) == 1:
            raise TypeError(f"{mode} needs a function after the configuration.")
        return call[0], call[1], call[2:]
    return None, call[0], call[1:]


def checked_key(f: Callable) -> Callable:
    """Return the key of `f` for a registration, or say why it cannot have a rule."""
    if f in (type, object):
        raise RuleDefinitionError(
            f"A rule for {f.__name__} would be a rule for every class. Register the class itself: "
            "rrule.register(Foo) is the rule for the constructor Foo(...)."
        )
    if not callable(f):
        raise RuleDefinitionError(
            f"{f!r:.60} is a {type(f).__name__}, which cannot be called, so there is no rule for "
            "it. Give the function itself, not what it returns."
        )
    key, own = key_of(f)
    if own:
        cls = type(own[0]).__name__
        instead = f"instance_of({cls})" if f is own[0] else f"{cls}.{f.__name__}"
        raise RuleDefinitionError(
            f"{name_of(key)} was given with an object ({cls}). Register {instead}: the object is "
            "then the rule's first argument."
        )
    return key


def require_rrule(*call: Any, **kwargs: Any) -> tuple[Any, Callable]:
    """Call ``rrule(...)``; if no rule fits, a :class:`NoRuleError` lists the existing ones."""
    result = rrule(*call, **kwargs)
    if result is None:
        _, f, args = _split_call("rrule", call)
        raise NoRuleError("rrule", name_of(f), args, rrule.methods(f))
    return result


def require_frule(*call: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Call ``frule(...)``; if no rule fits, a :class:`NoRuleError` lists the existing ones."""
    result = frule(*call, **kwargs)
    if result is None:
        _, _, rest = _split_call("frule", call)
        raise NoRuleError("frule", name_of(rest[0]), rest[1:], frule.methods(rest[0]))
    return result


rrule = RRuleTable("rrule")
frule = FRuleTable("frule")
