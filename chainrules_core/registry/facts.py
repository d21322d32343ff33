"""What there is to know about rules without using them: a listing, and the form of outputs.

All of it is read from the rules themselves; nothing is stated a second time.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from chainrules_core.calling.frame import can_be_perturbed
from chainrules_core.calling.signatures import signature_of
from chainrules_core.config import Capability, HasForwardMode, HasReverseMode, RuleConfig
from chainrules_core.interpreter.noticed import mark, restore
from chainrules_core.rule import Rule
from chainrules_core.rules import frule, rrule
from chainrules_core.tangents import AbstractZero, NotImplementedTangent, Tangent, unthunk
from chainrules_core.values.abstract_array import AbstractArray, elementwise_space


@dataclass(frozen=True, eq=False)
class RuleFacts:
    """One row of `rules`: how a callable is differentiated for arguments of some types.

    Attributes
    ----------
    f : callable
        The function, class, or function of a method.
    reverse, forward : Rule or None
        The rules for the two modes, which may be one object.
    """

    f: Callable
    reverse: Rule | None
    forward: Rule | None

    @property
    def rule(self) -> Rule:
        """The rule for reverse mode; if there is none, that for forward mode."""
        found = self.reverse or self.forward
        assert found is not None
        return found

    @property
    def name(self) -> str:
        """The name under which users know the callable, with its module."""
        return self.rule.name

    @property
    def types(self) -> tuple:
        """Types of the leading arguments: classes, tuples for unions, a list for any number."""
        return self.rule.types

    @property
    def signature(self) -> str:
        """The arguments that are differentiated or bound, then the options behind a ``*``."""
        return str(self.rule.signature)

    @property
    def kind(self) -> str:
        """The form in which the rule was written.

        ``"scalar"``, ``"linear"``, ``"lists"`` (a linear rule, for lists), ``"rrule"``,
        ``"frule"``, ``"decompose"``, ``"non_differentiable"``, ``"refused"`` or ``"opt_out"``.
        """
        return self.rule.kind

    @property
    def positions(self) -> tuple[int, ...]:
        """The places of the bound arguments that are differentiated.

        Where the rule takes any number of arguments, those behind the last one are, too.
        """
        rule = self.rule
        if not rule.has_formula and rule.kind != "decompose":
            return ()
        return tuple(i for i in range(len(rule.signature.positional)) if rule.differentiates(i))

    @property
    def modes(self) -> frozenset[str]:
        """Of ``"reverse"`` and ``"forward"`` those for which there is a rule."""
        modes = {"reverse": self.reverse, "forward": self.forward}
        return frozenset(mode for mode, rule in modes.items() if rule is not None)

    @property
    def requires(self) -> frozenset[type[Capability]]:
        """What the engine must be able to do, for the rules of both modes together."""
        rules = [rule for rule in (self.reverse, self.forward) if rule is not None]
        return frozenset().union(*[rule.requires for rule in rules])

    @property
    def defined_at(self) -> str:
        """``file:line`` of the registration."""
        return self.rule.defined_at

    def example(self) -> tuple[tuple, dict[str, Any]] | None:
        """Return arguments of a call that the rule differentiates, found by trying.

        Numbers, vectors, matrices and lists of the types that the rule names are tried, until the
        rule answers and gives a cotangent that is not zero. Of a rule that requires something of
        the engine the function alone is called. What needs other arguments (an object of some
        class, a function) has no example.

        Returns
        -------
        tuple or None
            ``(args, kwargs)``; None where nothing that was tried will do.

        Examples
        --------
        >>> import chainrules
        >>> next(row for row in rules(np.sinh)).example()
        ((0.5,), {})
        """
        rule = self.reverse
        if rule is None or not self.positions:
            return None
        serves = _gives_a_number if rule.takes_config else _differentiates
        before = mark()
        for args in itertools.islice(_candidates(rule), _MOST_TRIED):
            if serves(rule, args):
                return args, {}
        restore(before)
        return None


def rules(f: Callable | None = None) -> Iterator[RuleFacts]:
    """Yield what is known of each rule, or of those of one function.

    Rules of packages that have not been imported are not there yet.

    Parameters
    ----------
    f : callable, optional
        The function.

    Yields
    ------
    RuleFacts
        A row for each callable and each choice of types; the rules of the two modes share it.

    Examples
    --------
    >>> import chainrules
    >>> (row,) = [row for row in rules(np.vdot) if row.kind != "lists"]
    >>> row.name, row.signature, row.positions, sorted(row.modes)
    ('numpy.vdot', '(a, b)', (0, 1), ['forward', 'reverse'])
    """
    rows: dict[tuple, list[dict[str, Rule]]] = {}
    for table in (rrule, frule):
        for rule in table.methods(f):
            types, variadic, _, config_type = rule.identity
            same = rows.setdefault((rule.f, types, variadic, config_type), [])
            row = next((r for r in same if table.mode not in r), None)
            if row is None:
                row = {}
                same.append(row)
            row[table.mode] = rule
    for (key, *_), same in rows.items():
        for row in same:
            yield RuleFacts(key, row.get("rrule"), row.get("frule"))


def abstract_value(f: Callable, *args: Any, **kwargs: Any) -> Any:
    """Return shape and dtype of ``f(*args, **kwargs)`` from those of the arguments.

    For elementwise functions (a ufunc, or one whose rule is of the kind ``"scalar"``) nothing is
    computed; one of numbers alone (``math.sin``) is called once, at a number. Others are called
    with zeros, which takes as long as a call, where their rule says that the elements of an
    argument decide no shape and no dtype: it is of the kind ``"linear"``, or names the argument in
    ``shaped_by=``. What else the function is given must be there as values.

    Parameters
    ----------
    f : callable
        The function.
    *args, **kwargs
        The arguments; each is a value, or an :class:`AbstractArray` for what is not known yet, or
        a list or tuple of these.

    Returns
    -------
    AbstractArray, tuple or list of AbstractArray, or None
        A tuple or list for several outputs, as `f` returns them. None where no rule can tell, or
        an elementwise function refuses what it is tried with, or the call writes into an argument
        (``out=``).

    Examples
    --------
    >>> import chainrules
    >>> x = AbstractArray((4, 1), np.dtype("float32"))
    >>> abstract_value(np.hypot, x, np.ones(3, np.float32))
    AbstractArray(shape=(4, 3), dtype=dtype('float32'))
    >>> abstract_value(np.transpose, x)
    AbstractArray(shape=(1, 4), dtype=dtype('float32'))
    >>> abstract_value(np.concatenate, [x, np.zeros((2, 1))])
    AbstractArray(shape=(6, 1), dtype=dtype('float64'))
    >>> abstract_value(np.linalg.det, AbstractArray((3, 3), np.dtype(float))) is None
    True
    """
    if _is_elementwise(f) and kwargs.keys() <= _OPTIONS_OF_UFUNCS:
        return elementwise_space(f, args, kwargs)
    stand_ins: dict[int, Any] = {}  # what an argument is replaced by, by its address → the argument

    def filled(value: Any) -> Any:
        if isinstance(value, AbstractArray):
            return value.zeros()
        if type(value) is list or type(value) is tuple:
            return type(value)(map(filled, value))
        return value

    def stand_in(value: Any) -> Any:
        if not _is_abstract(value):
            return value
        made = filled(value)
        stand_ins[id(made)] = value
        return made

    given = tuple(map(stand_in, args))
    named = {name: stand_in(value) for name, value in kwargs.items()}
    found = rrule.resolve(f, given, named, _ANY_ENGINE)
    if found is None:
        return None
    rule, bound, options = found
    if any(id(v) in stand_ins for v in options.values()) or options.get("out") is not None:
        return None
    if rule.kind == "scalar":
        return elementwise_space(rule.f, tuple([stand_ins.get(id(a), a) for a in bound]), options)
    if any(id(a) in stand_ins and i not in rule.shaped_by for i, a in enumerate(bound)):
        return None
    if not rule.shaped_by:
        return None
    with np.errstate(all="ignore"):
        return AbstractArray.of(f(*given, **named))


class _AnyEngine(RuleConfig):
    """What the engine can do does not matter to the form of an output."""

    capabilities = frozenset({HasReverseMode, HasForwardMode})


_ANY_ENGINE = _AnyEngine()


def _is_abstract(value: Any) -> bool:
    """Whether a value, or one in nested lists and tuples, is an `AbstractArray`."""
    if type(value) is list or type(value) is tuple:
        return any(map(_is_abstract, value))
    return isinstance(value, AbstractArray)


_OPTIONS_OF_UFUNCS = {"casting", "dtype", "order", "subok"}


def _is_elementwise(f: Callable) -> bool:
    return isinstance(f, np.ufunc) and f.signature is None


# ------------------------------------------------------------------------------ examples of calls

_MOST_TRIED = 60
_VECTOR = np.array([0.3, 0.7, 1.1, 1.6])
_MATRIX = np.array([[2.0, 0.3, 0.5], [0.3, 1.5, 0.2], [0.5, 0.2, 1.8]])
_VALUES = (0.5, 1.5, 2, _VECTOR, _MATRIX, _MATRIX[0], [0.3, 0.7, 1.1])
_OPTIONS = (1, 2, (1, 2), "linear")


def _candidates(rule: Rule) -> Iterator[tuple]:
    """Yield arguments to be tried: of one kind first, then mixed."""
    by_place = [_values(types) for types in _types_of_call(rule)]
    if not all(by_place):
        return
    for k in range(max(map(len, by_place), default=0)):
        yield tuple([_fresh(values[k % len(values)]) for values in by_place])
    for chosen in itertools.product(*by_place):
        yield tuple(map(_fresh, chosen))


def _types_of_call(rule: Rule) -> list[tuple[type, ...] | None]:
    """Return the types of the arguments that a call must have; None for one of an option."""
    target = signature_of(rule.f)
    known = rule.signature.positional
    if target is None:
        return [rule.type_at(i) for i in range(max(rule.signature.required, 1))]
    needed = [
        p.name
        for p in target.parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    while len(needed) < rule.signature.required:
        needed.append(known[len(needed)])
    # A name of the rule's own stands for the parameter in its place.
    own = {name: i for i, name in enumerate(known)}
    if needed[:1] == ["self"] and rule.type_at(0) == (object,):
        return [()]  # an object of a class that the rule does not name
    places = [
        own.get(name, i if i < len(known) and known[i] not in target.parameters else None)
        for i, name in enumerate(needed)
    ]
    return [None if place is None else rule.type_at(place) for place in places]


def _values(types: tuple[type, ...] | None) -> list:
    """Return values of the named types to be tried at a place."""
    if types is None:
        return list(_OPTIONS)
    return [v for v in _VALUES if issubclass(type(v), types)]


def _fresh(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _differentiates(rule: Rule, args: tuple) -> bool:
    """Whether a rule answers for a call, with a cotangent that is not zero."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = rrule.resolve(rule.f, args, {})
            answered = rrule(rule.f, *args) if found and found[0] is rule else None
            if answered is None:
                return False
            rule.f(*args)  # which may refuse what its rule does not look at
            y, pullback = answered
            bars = [unthunk(bar) for bar in pullback(_seed(y))[1:]]
    except Exception:  # these were guesses
        return False
    return not all(isinstance(bar, (AbstractZero, NotImplementedTangent)) for bar in bars)


def _gives_a_number(rule: Rule, args: tuple) -> bool:
    """Whether a rule is for arguments of these types, and the call gives what has a tangent."""
    if not isinstance(rule.f, FunctionType):
        return False  # compiled functions may not survive what they are not made for
    classes: tuple[type, ...] = (rule.config_type or object, *map(type, args))
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return rule.matches(classes) and can_be_perturbed(rule.f(*args))
    except Exception:  # these were guesses, too
        return False


def _seed(y: Any) -> Any:
    """Return a cotangent of ones."""
    if isinstance(y, (tuple, list)):
        return Tangent[type(y)](*map(_seed, y))
    return np.ones_like(y)[()]
