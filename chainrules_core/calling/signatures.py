"""A call's arguments, put in the places that a rule's own signature gives them.

The positional parameters of a rule are the arguments it differentiates, its keyword-only
parameters are options. Python lets a caller write the same call in many ways; binding it to the
signature of the target makes them one, so that an argument means the same however it was passed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from chainrules_core.interpreter.collector import uncollected

_EMPTY = inspect.Parameter.empty
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def signature_of(f: Callable) -> inspect.Signature | None:
    """Return the signature of `f`, or None where Python cannot tell it."""
    try:
        with uncollected:  # the signature of a function made in C is a text, which is parsed
            return inspect.signature(f)
    except (ValueError, TypeError):
        return None


def parameter_names(f: Callable) -> tuple[str, ...]:
    """Return the names of the parameters of `f`; none where Python cannot tell them."""
    signature = signature_of(f)
    return () if signature is None else tuple(signature.parameters)


class Signature:
    """The parameters of a rule: differentiable positions and options.

    Parameters
    ----------
    positional : tuple of str
        Names of the arguments the rule differentiates, in order.
    required : int
        How many of them have no default.
    varargs : bool
        Whether any number of further positional arguments is taken.
    options : frozenset of str
        Names of the keyword-only parameters.
    any_option : bool
        Whether options of any name are taken (``**kwargs``).
    defaults : tuple
        The defaults of the last positional parameters.
    """

    __slots__ = ("any_option", "defaults", "options", "positional", "required", "varargs")

    def __init__(
        self,
        positional: tuple[str, ...],
        required: int,
        varargs: bool = False,
        options: frozenset[str] = frozenset(),
        any_option: bool = False,
        defaults: tuple = (),
    ) -> None:
        self.positional = positional
        self.required = required
        self.varargs = varargs
        self.options = options
        self.any_option = any_option
        self.defaults = defaults

    def __str__(self) -> str:
        """Write it as Python writes a signature; of defaults, that there is one."""
        names = list(self.positional)
        for i in range(self.required, len(names)):
            names[i] += "=..."
        if self.varargs:
            names.append("*args")
        elif self.options:
            names.append("*")
        names += [f"{name}=..." for name in sorted(self.options)]
        if self.any_option:
            names.append("**kwargs")
        return f"({', '.join(names)})"

    @classmethod
    def of_rule(cls, function: Callable, skip: int = 0) -> Signature:
        """Read the signature of a rule's function, leaving out its first `skip` parameters."""
        parameters = list(inspect.signature(function).parameters.values())
        positional = [p for p in parameters if p.kind in _POSITIONAL][skip:]
        return cls(
            tuple(p.name for p in positional),
            sum(p.default is _EMPTY for p in positional),
            any(p.kind is p.VAR_POSITIONAL for p in parameters),
            frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY),
            any(p.kind is p.VAR_KEYWORD for p in parameters),
            tuple(p.default for p in positional if p.default is not _EMPTY),
        )


class Binder:
    """Put the arguments of calls to `target` in the places that `rule` gives them.

    A parameter of the rule stands for the target's parameter of the same name; a positional one
    whose name the target does not have stands for the target's parameter in the same position.
    """

    __slots__ = (
        "_defaults",
        "_fill",
        "_names",
        "_places",
        "_plain_limit",
        "_plans",
        "_positional",
        "_rename",
        "_target_varargs",
        "rule",
    )

    def __init__(self, rule: Signature, target: Callable) -> None:
        self.rule = rule
        signature = signature_of(target)
        self._defaults: dict[str, Any] = {}
        self._rename: dict[str, str] = {}
        self._target_varargs = signature is None
        if signature is None:
            names = list(rule.positional)
        else:
            parameters = list(signature.parameters.values())
            names = [p.name for p in parameters if p.kind in _POSITIONAL]
            self._target_varargs = any(p.kind is p.VAR_POSITIONAL for p in parameters)
            self._defaults = {p.name: p.default for p in parameters if p.default is not _EMPTY}
            # The rule's own word for a parameter of the target.
            own = dict(zip(names, rule.positional, strict=False))
            known = set(signature.parameters)
            for i, name in enumerate(names):
                mine = own.get(name)
                if mine is None or mine in known or name in rule.options:
                    continue  # the rule has a parameter of the target's name
                if name not in rule.positional:
                    names[i] = self._rename[name] = mine
                    if name in self._defaults:
                        self._defaults[mine] = self._defaults.pop(name)
        if self._target_varargs:  # the rule names some of any number
            names += [n for n in rule.positional[len(names) :] if n not in names]
        self._names = tuple(names)
        # A further parameter of the rule is its own business.
        known_names = {*names, *self._defaults, *(signature.parameters if signature else ())}
        if signature and any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
            known_names.update(rule.positional[rule.required :])
        self._positional = tuple(n for n in rule.positional if n in known_names)
        # What stands for a parameter that the call leaves out: the target's default, or the rule's.
        own = dict(zip(reversed(rule.positional), reversed(rule.defaults), strict=False))
        self._fill = tuple(
            self._defaults.get(name, own.get(name, _EMPTY)) for name in self._positional
        )
        # So many positional arguments need no looking at: they are in their places already.
        limit = 0
        for ours, theirs in zip(self._positional, names, strict=False):
            if ours != theirs:
                break
            limit += 1
        self._plain_limit = limit
        self._plans: dict[tuple, _Plan | None] = {}
        self._places: dict[tuple[int, tuple[str, ...]], tuple[int | None, ...]] = {}

    def bind(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]] | None:
        """Return the bound positional arguments and the options, or None where they do not fit.

        Every positional parameter of the rule is bound, to its default if the call leaves it out.

        A call does not fit if it lacks a required argument, has too many, or gives an option that
        the rule does not know another value than the target's default.
        """
        rule = self.rule
        if not kwargs and (
            rule.required <= len(args) <= self._plain_limit
            or (rule.varargs and self._target_varargs and len(args) >= len(self._positional))
        ):
            return args + self._fill[len(args) :], kwargs
        form = (len(args), *kwargs)
        try:
            plan = self._plans[form]
        except KeyError:
            plan = self._remembered(form)
        return None if plan is None else plan.bind((*args, *kwargs.values(), *self._fill))

    def _remembered(self, form: tuple) -> _Plan | None:
        """Find out how calls with so many arguments and these keywords are bound, and keep it.

        What is bound are the places of the values instead of these.
        """
        n, *keywords = form
        given = n + len(keywords)
        bound = self._bound(tuple(range(n)), dict(zip(keywords, range(n, given), strict=True)))
        plan = None
        if bound is not None:
            places, options = bound
            kept = [k for k in options if self.rule.any_option or k in self.rule.options]
            checks = [
                (place, self._defaults.get(k, _EMPTY))
                for k, place in options.items()
                if k not in kept
            ]
            if not any(default is _EMPTY for _, default in checks):
                plan = _Plan(places, [(k, options[k]) for k in kept], checks)
        if len(self._plans) >= _MOST_FORMS:  # of functions with any number of arguments
            self._plans.clear()
        self._plans[form] = plan
        return plan

    def _bound(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]] | None:
        """Bind the places of values: those of the defaults come behind those of the call."""
        fill = range(len(args) + len(kwargs), len(args) + len(kwargs) + len(self._fill))
        rule = self.rule
        names = self._names
        given: dict[str, Any] = {}
        extra: tuple = ()
        if len(args) > len(names):
            if not (rule.varargs and self._target_varargs):
                return None
            extra = args[len(names) :]
            args = args[: len(names)]
        for name, value in zip(names, args, strict=False):
            given[name] = value
        for name, value in kwargs.items():
            given[self._rename.get(name, name)] = value
        bound = self._arguments(given, fill)
        if bound is None:
            return None
        if rule.varargs:
            bound += [given.pop(name) for name in names if name in given]
        return (*bound, *extra), given

    def places(self, given: int, keywords: Iterable[str] = ()) -> list[int | None]:
        """Return where the arguments of a call stand among the bound ones.

        Parameters
        ----------
        given : int
            The number of positional arguments.
        keywords : iterable of str
            The names of the others.

        Returns
        -------
        list
            For each positional argument its place, None for an option; then the places of the
            arguments given by name that are not options.
        """
        names = tuple(keywords)
        form = (given, names)
        found = self._places.get(form)
        if found is None:
            if len(self._places) >= _MOST_FORMS:
                self._places.clear()
            found = self._places[form] = tuple(self._found_places(given, names))
        return list(found)

    def name_at(self, position: int) -> str:
        """Return the name of a positional argument of a call."""
        names = self._names
        return names[position] if position < len(names) else f"argument {position}"

    def _found_places(self, given: int, keywords: Iterable[str]) -> list[int | None]:
        positional = self._positional
        where = {name: i for i, name in enumerate(positional)}
        if self.rule.varargs:
            rest = [n for n in self._names if n not in where]
            where.update({name: len(positional) + i for i, name in enumerate(rest)})
        named = min(given, len(self._names))
        places: list[int | None] = [where.get(name) for name in self._names[:named]]
        places += [len(where) + i for i in range(given - named)]
        by_name = [where.get(self._rename.get(name, name)) for name in keywords]
        return places + [i for i in by_name if i is not None]

    def _arguments(self, given: dict[str, Any], fill: Iterable[int]) -> list | None:
        """Take the differentiable arguments out of `given`, gaps filled with defaults."""
        bound = []
        last = max((i for i, name in enumerate(self._positional) if name in given), default=-1)
        for i, (name, default) in enumerate(zip(self._positional, fill, strict=True)):
            # A gap is filled; what the rule requires at the end is not.
            if name not in given and self._fill[i] is _EMPTY:
                return None
            if i > last and i < self.rule.required:
                return None
            bound.append(given.pop(name, default))
        return bound


_MOST_FORMS = 256


class _Plan:
    """How calls of one form are bound: the position of each argument and option.

    What the rule does not name must have the target's default.
    """

    __slots__ = ("checks", "options", "places")

    def __init__(
        self, places: tuple, options: list[tuple[str, int]], checks: list[tuple[int, Any]]
    ) -> None:
        self.places = places
        self.options = options
        self.checks = checks

    def bind(self, values: tuple) -> tuple[tuple, dict[str, Any]] | None:
        for place, default in self.checks:
            if not _same(values[place], default):
                return None
        return tuple([values[i] for i in self.places]), {k: values[i] for k, i in self.options}


def _same(value: Any, default: Any) -> bool:
    """Whether an option has its default value; arrays and odd objects compare by identity."""
    if value is default:
        return True
    return (
        isinstance(value, (bool, int, float, str))
        and type(value) is type(default)
        and (value == default)
    )
