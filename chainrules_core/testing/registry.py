"""check_registry: properties of all rules together, which no test of a single rule can see."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

from chainrules_core.calling.signatures import signature_of
from chainrules_core.rule import name_of
from chainrules_core.rules import frule, rrule
from chainrules_core.testing.record import place, rule_id


class Problem(NamedTuple):
    """Something that is wrong with a rule.

    Attributes
    ----------
    kind : str
        "ambiguous", "constructor", "replaced", "arity", "partner", "untested" or "allowed".
    name : str
        The function that the rule is for.
    text : str
        A sentence.
    """

    kind: str
    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}: {self.text}"


def check_registry(
    allow: Collection[tuple[str, str]] | Callable[[Problem], bool] = (),
    tested: Collection[str] | None = None,
    only: Callable[[Any], bool] | None = None,
) -> None:
    """Check all registered rules, and raise an AssertionError that lists every problem.

    =============  ==============================================================================
    ambiguous      two rules match some arguments equally well
    constructor    a rule is keyed on `type`, `object`, a union or an abstract class: no call
                   reaches it, or all calls do
    replaced       a rule has taken the place of another for the same types: one function under
                   two names, or a name twice (seen only since this package has been imported)
    arity          a rule takes more arguments than its function; or has an option that none of
                   the functions has which it has been registered for
    partner        there is an rrule but no frule, or the other way round
    untested       no check has exercised the rule; looked for if `tested` is given
    allowed        something is allowed that is no problem (any more)
    =============  ==============================================================================

    Parameters
    ----------
    allow : collection of pairs, or callable
        Problems to accept: pairs of kind and name, as messages have them; or a function of a
        `Problem`.
    tested : collection of str, optional
        What `exercised_rules` or `load_exercised` returns.
    only : callable, optional
        A function of a rule; rules for which it is false are left alone.

    Examples
    --------
    A package's own rules, by the place of their registration:

    >>> check_registry(only=lambda rule: "my_package" in rule.defined_at)
    """
    __tracebackhide__ = True
    found = list(registry_problems(tested, only))
    if callable(allow):
        problems = [p for p in found if not allow(p)]
    else:
        accepted = set(allow)
        problems = [p for p in found if (p.kind, p.name) not in accepted]
        real = {(p.kind, p.name) for p in found}
        problems += [
            Problem("allowed", name, f"there is no problem of the kind {kind!r}")
            for kind, name in sorted(accepted - real)
        ]
    if problems:
        listed = "\n  ".join(map(str, problems))
        raise AssertionError(f"{len(problems)} problems with registered rules:\n  {listed}")


def registry_problems(
    tested: Collection[str] | None = None, only: Callable[[Any], bool] | None = None
) -> Iterator[Problem]:
    """Yield every problem that `check_registry` looks for, except "allowed"."""
    wanted = only or (lambda rule: True)
    rules = {table.mode: [r for r in table.methods() if wanted(r)] for table in (frule, rrule)}
    for mode, registered in rules.items():
        keys = {rule.f for rule in registered}
        for f, a, b in (rrule if mode == "rrule" else frule).lookup_ambiguities():
            if f in keys:
                yield Problem(
                    "ambiguous", name_of(f), f"two {mode}s match {_names(a)} and {_names(b)} alike"
                )
    seen: set[int] = set()
    for mode, registered in rules.items():
        for rule in registered:
            if id(rule) not in seen:  # the same object may serve both modes
                seen.add(id(rule))
                yield from _of_one(mode, rule)
    for mode, registered in rules.items():
        yield from _unknown_options(mode, registered)
    yield from _replaced(rules)
    yield from _without_partner(rules)
    if tested is not None:
        for mode, registered in rules.items():
            for rule in registered:
                if rule.kind != "opt_out" and rule_id(mode, rule) not in tested:
                    yield Problem(
                        "untested", rule.name, f"no check has exercised {rule_id(mode, rule)}"
                    )


def _names(signature: tuple) -> str:
    return f"({', '.join(t.__name__ for t in signature)})"


def _of_one(mode: str, rule: Any) -> Iterator[Problem]:
    """Yield what can be seen from a rule alone."""
    f, where = rule.f, place(rule.defined_at)
    is_class = isinstance(f, type)
    if f in (type, object) or isinstance(f, (types.UnionType, types.GenericAlias)):
        yield Problem("constructor", rule.name, f"{where} is keyed on it; key it on the class")
    elif is_class and inspect.isabstract(f):
        yield Problem("constructor", rule.name, f"{where} is keyed on an abstract class")
    elif rule.kind not in ("non_differentiable", "opt_out"):
        for text in _signature_problems(rule):
            yield Problem("arity", rule.name, f"{mode} at {where} {text}")


def _signature_problems(rule: Any) -> Iterator[str]:
    """Yield how a rule's parameters differ from those of its function."""
    if isinstance(rule.f, np.ufunc):
        if rule.signature.required > rule.f.nin:
            yield f"takes {rule.signature.required} arguments, the ufunc {rule.f.nin}"
        return
    signature = signature_of(rule.f)
    parameters = [] if signature is None else list(signature.parameters.values())
    if signature is None or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    most = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    if rule.signature.required > most:
        yield f"takes {rule.signature.required} arguments, the function at most {most}"
    typed = [t for t in rule.types if not isinstance(t, list)]
    if len(typed) > most:
        yield f"has types for {len(typed)} arguments, the function takes at most {most}"


def _unknown_options(mode: str, registered: list) -> Iterator[Problem]:
    """Yield options that none of the functions has for which a rule has been registered."""
    together: dict[str, list] = {}
    for rule in registered:
        together.setdefault(rule.defined_at, []).append(rule)
    for rules in together.values():
        known = [_option_names(rule.f) for rule in rules]
        if None in known:
            continue
        unknown = rules[0].signature.options.difference(*known)
        if unknown:
            yield Problem(
                "arity",
                rules[0].name,
                f"{mode} at {place(rules[0].defined_at)} has options that the function has not: "
                f"{', '.join(sorted(unknown))}",
            )


def _option_names(f: Callable) -> set[str] | None:
    """Return the names of a function's parameters; None where any name will do."""
    signature = signature_of(f)
    if isinstance(f, np.ufunc) or signature is None:
        return None
    parameters = signature.parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return {p.name for p in parameters}


def _without_partner(rules: dict[str, list]) -> Iterator[Problem]:
    keys = {
        mode: {rule.f: rule for rule in registered if rule.kind != "opt_out"}
        for mode, registered in rules.items()
    }
    for mode, other in (("rrule", "frule"), ("frule", "rrule")):
        for f, rule in keys[mode].items():
            if f not in keys[other]:
                where = place(rule.defined_at)
                yield Problem("partner", rule.name, f"has an {mode} ({where}), but no {other}")


# ------------------------------------------------------------------------- rules that were replaced


class _Watcher:
    """Sees rules come and go in one table, and remembers which took another one's place."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.replaced: list[tuple[Any, Any]] = []
        self._there: dict[tuple, Any] = {}
        for rule in table.methods():
            self._there[rule.f, rule.identity] = rule
        table.watch(self.see)

    def see(self, rule: Any) -> None:
        """Note that a rule has come or gone."""
        key = rule.f, rule.identity
        entry = self.table.entry(rule.f)
        if entry is None or rule not in entry.rules:
            if self._there.get(key) is rule:
                del self._there[key]
            return
        old = self._there.get(key)
        if old is not None and old is not rule:
            self.replaced.append((old, rule))
        self._there[key] = rule


_watchers = {"frule": _Watcher(frule), "rrule": _Watcher(rrule)}


def _replaced(rules: dict[str, list]) -> Iterator[Problem]:
    for mode, registered in rules.items():
        for old, new in _watchers[mode].replaced:
            if any(new is rule for rule in registered):
                yield Problem(
                    "replaced",
                    new.name,
                    f"the {mode} at {place(old.defined_at)} has been replaced by that at "
                    f"{place(new.defined_at)}",
                )
