"""The rows of the table: each public callable, and how it is differentiated.

The methods and properties of a class are rows too, where the files say anything of the class or of
one that it derives from; so are those of an object, such as `scipy.stats.norm`. Their names are
asked of the class itself.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from chainrules.coverage.known import (
    MODULES,
    NOTHING,
    WORDS,
    Known,
    is_stated,
    known_of,
    known_of_methods,
    public_name,
)
from chainrules_core import frule, rrule
from chainrules_core.registry.entries import key_of
from chainrules_core.rule import Rule

RULED, TRACED, CONSTANT = "ruled", "traced", "non-differentiable"
ERROR, OUT, MISSING = "error by design", "out of scope", "missing"
STATES = (RULED, TRACED, CONSTANT, ERROR, OUT, MISSING)
# Kinds of rules that say how, not that.
_OWN = frozenset({"rrule", "frule", "scalar", "linear", "lists"})
# The states of kinds that mathematics gives no derivative.
_OF_NO_DERIVATIVE = {"constant": CONSTANT, "out_of_scope": OUT}
# Made public by their modules, but no functions of the module's own.
_NO_NAMES = frozenset({"test"})


class Row(NamedTuple):
    """One public callable."""

    module: str  # or the class or object whose method it is
    name: str
    kind: str  # of KINDS, in words; "unknown" if no file states it
    state: str  # one of STATES
    detail: str  # the modes of its rules, the reason of its error


def coverage(modules: Iterable[str] = MODULES) -> list[Row]:
    """Return the rows of some modules.

    Parameters
    ----------
    modules : iterable of str
        Names of modules, or of classes and objects for their methods alone
        (``"numpy.ndarray"``, ``"scipy.stats.norm"``).

    Returns
    -------
    list of Row
        Sorted by name within a module, and then the methods of its classes and objects.

    Raises
    ------
    ModuleNotFoundError
        If there is no such module.

    Examples
    --------
    >>> rows = coverage(["math"])
    >>> next(row for row in rows if row.name == "sin")
    Row(module='math', name='sin', kind='differentiable', state='ruled', detail='reverse, forward')
    """
    rows: list[Row] = []
    for module in modules:
        for owner in (module, *owners_of(module)):
            rows += _rows(owner)
    return rows


def _rows(name: str) -> Iterator[Row]:
    owner = owner_of(name)
    if isinstance(owner, ModuleType):
        known = known_of(name)
        names = public(owner)
    else:
        owner = owner if isinstance(owner, type) else type(owner)
        known = known_of_methods(name, owner)
        names = attributes(owner, known)
    for member in names:
        kind = known.kinds.get(member)
        state, detail = _state(member, _member(owner, member), kind, known)
        yield Row(name, member, WORDS.get(kind or "", "unknown"), state, detail)


def owner_of(name: str) -> Any:
    """Return the module, class or object of a public name."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        parent, _, last = name.rpartition(".")
        owner = _member(importlib.import_module(parent), last) if parent else None
        if owner is None or isinstance(owner, FunctionType):
            raise
        return owner


def owners_of(module: str) -> list[str]:
    """Return the names of the classes and objects of a module of which something is stated.

    A class with several names, or in several modules, is there under the first one.
    """
    owner = owner_of(module)
    if not isinstance(owner, ModuleType):
        return []
    found: dict[Any, str] = {}
    known = known_of(module)
    for name in public(owner):
        member = _member(owner, name)
        if name in known.errors:
            continue  # there is no object to have methods
        if _has_methods(f"{module}.{name}", member, known.kinds.get(name)):
            found.setdefault(member, f"{module}.{name}")
    return list(found.values())


def _has_methods(name: str, member: Any, kind: str | None) -> bool:
    if kind == "out_of_scope" or (kind == "constant" and not is_stated(name)):
        return False
    if not isinstance(member, type):
        return known_of_methods(name, type(member)) is not NOTHING
    defined = public_name(member).rpartition(".")[0]
    here = defined not in MODULES or defined == name.rpartition(".")[0]
    return (here or is_stated(name)) and known_of_methods(name, member) is not NOTHING


def _member(owner: Any, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated names are looked at as well
        return getattr(owner, name, None)


def public(module: ModuleType) -> list[str]:
    """Return the names of the public callables of a module that there are here."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [n for n in dir(module) if not n.startswith("_")]
    return sorted(n for n in {*names} - _NO_NAMES if callable(_member(module, n)))


def attributes(cls: type, known: Known) -> list[str]:
    """Return the names of the public methods and properties of a class.

    Of special methods those that a file knows.
    """
    return sorted(n for n in dir(cls) if not n.startswith("_") or n in known.kinds)


def _state(name: str, f: Any, kind: str | None, known: Known) -> tuple[str, str]:
    modes = _modes(f, kind) if callable(f) else ()
    refused = known.errors.get(name) or (modes == ("refused",) and _reason(key_of(f)[0]))
    if refused and kind in _OF_NO_DERIVATIVE:  # an error all the same, which says so
        return _OF_NO_DERIVATIVE[kind], f"refused: {refused}"
    if refused:
        return ERROR, refused
    if modes:
        if modes == ("non_differentiable",):
            return CONSTANT, "declared"
        return RULED, ", ".join(modes)
    if name in known.traced:
        return TRACED, ""
    if kind in _OF_NO_DERIVATIVE:
        return _OF_NO_DERIVATIVE[kind], ""
    return MISSING, ""


def _modes(f: Callable, kind: str | None) -> tuple[str, ...]:
    """Return by what the rules of a callable differentiate; of a class, those of its methods."""
    found = _modes_of_key(key_of(f)[0])
    if found or kind in ("constant", "out_of_scope"):
        return found
    cls = f if isinstance(f, type) else type(f)
    if cls.__module__.partition(".")[0] not in ("numpy", "scipy", "statistics"):
        return ()
    names = [
        name
        for name in dir(cls)
        if callable(getattr(cls, name, None))
        and not {*_modes_of_key(getattr(cls, name), cls)} <= {"non_differentiable", "refused"}
    ]
    return ("methods: " + " ".join(names),) if names else ()


def _modes_of_key(key: Callable, cls: type | None = None) -> tuple[str, ...]:
    tables = {"reverse": rrule, "forward": frule}
    rules = {mode: _rules(table.entry(key), cls) for mode, table in tables.items()}
    modes = tuple(mode for mode, found in rules.items() if any(r.kind in _OWN for r in found))
    if modes:
        return modes
    kinds = {rule.kind for found in rules.values() for rule in found}
    words = {"decompose": "by another body", **{k: k for k in ("refused", "non_differentiable")}}
    return next(((word,) for kind, word in words.items() if kind in kinds), ())


def _reason(key: Callable) -> str:
    """Return why a function is refused, in one sentence."""
    entry = rrule.entry(key)
    return "" if entry is None else entry.rules[0].reason.partition(". ")[0]


def _rules(entry: Any, cls: type | None) -> list[Rule]:
    """Return the rules of an entry, for a class those that take its instances first."""
    if entry is None:
        return []
    return [r for r in entry.rules if cls is None or not r.types or _takes(r.types[0], cls)]


def _takes(first: Any, cls: type) -> bool:
    kinds = tuple(first) if isinstance(first, (tuple, list)) else (first,)
    return any(issubclass(cls, kind) for kind in kinds)
