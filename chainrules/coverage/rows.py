"""The rows of the table: each public callable, and how it is differentiated."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from chainrules.coverage.known import MODULES, WORDS, Known, known_of
from chainrules_core import frule, rrule
from chainrules_core.registry import key_of
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

    module: str
    name: str
    kind: str  # of KINDS, in words; "unknown" if no file states it
    state: str  # one of STATES
    detail: str  # the modes of its rules, the reason of its error


def coverage(modules: Iterable[str] = MODULES) -> list[Row]:
    """Return the rows of some modules.

    Parameters
    ----------
    modules : iterable of str
        Names of modules, or of classes for their methods (``"numpy.ndarray"``).

    Returns
    -------
    list of Row
        Sorted by name within a module.

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
    return [row for module in modules for row in _rows(module)]


def _rows(module: str) -> Iterator[Row]:
    owner = owner_of(module)
    known = known_of(module)
    for name in public(owner, known):
        kind = known.kinds.get(name)
        state, detail = _state(name, _member(owner, name), kind, known)
        yield Row(module, name, WORDS.get(kind or "", "unknown"), state, detail)


def owner_of(module: str) -> Any:
    """Return the module, or the class, of a name."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        parent, _, name = module.rpartition(".")
        owner = getattr(importlib.import_module(parent), name, None) if parent else None
        if not isinstance(owner, type):
            raise
        return owner


def _member(owner: Any, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated names are looked at as well
        return getattr(owner, name, None)


def public(owner: Any, known: Known) -> list[str]:
    """Return the names of the public callables of a module or class that there are here."""
    if isinstance(owner, type):  # its attributes too; of special methods those that a file knows
        ours = [n for n in dir(owner) if not n.startswith("_") or n in known.kinds]
        return sorted(ours)
    names = getattr(owner, "__all__", None)
    if names is None:
        names = [n for n in dir(owner) if not n.startswith("_")]
    return sorted(n for n in {*names} - _NO_NAMES if callable(_member(owner, n)))


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
