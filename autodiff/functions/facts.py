"""What an entry holds, and how one looks it up."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

ELEMENTWISE, VIEW, REDUCTION, PRODUCT = "elementwise", "view", "reduction", "product"
ALL = 99


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a function.

    A program keeps a value only by its form: its type, dtype and shape.

    Attributes
    ----------
    kind : str
        "elementwise", "view" (the result has elements of the first argument), "reduction" (along
        ``axis``), "product" (of vectors and matrices), or "" for others.
    is_pure : bool
        Whether it does nothing but return a value that depends on the values of the arguments.
    has_fixed_form : bool
        Whether the form of the result follows from those of the arguments.
    data : int
        How many arguments without names are data; integers behind them say which form the result
        has.
    reads_form, reads_memory : bool
        Whether the result depends on the forms of the arguments alone, and whether also on where
        they lie in memory.
    makes_form : bool
        Whether the result is a new array of the form of the argument, whatever that holds.
    is_new : bool
        Whether the result is new memory (or a number); some arguments are exceptions, see
        `is_new_memory`.
    is_own : bool
        Whether it is so without exceptions, and never an element of the argument.
    is_container : bool
        Whether the result is an array into which a user may write values later.
    may_copy : bool
        Whether the result is a view or a copy, as the argument lies in memory.
    order : int
        At which place the order of elements is given; 0 for functions without it.
    raises_by_value : bool
        Whether it raises for some values of valid forms.
    never_raises : bool
        Whether it never raises for valid forms, in a module where others do.
    takes_numbers : bool
        Whether it makes of a number an array all elements of which are this number.
    combined_by : numpy.ufunc or None
        How a reduction is put together from those of parts of the axis.
    parameters : tuple of str
        The names of its arguments, for a function that moves elements.
    ufunc : numpy.ufunc or None
        The ufunc that computes the same, for numbers too.
    math : callable or None
        The function of ``math`` for floats, which raises where NumPy gives Inf or NaN.
    sign : str
        The operator between two floats.
    python : str
        The expression for floats, in Python and in machine code.
    loops : str
        The expression in loops of machine code over arrays.
    is_rounded : bool
        Whether there is one right result, whoever computes it.
    is_logical : bool
        Whether it works on truths.
    domain : str
        What holds of the argument of a function of ``math`` where it does not raise.
    undefined : str
        What holds where machine code gives NaN or Inf for what ``math`` raises for; ``y`` is the
        result.
    simd : str
        "always" or "long": which loops of machine code compute it for several elements at once.
    """

    kind: str = ""
    is_pure: bool = True
    has_fixed_form: bool = True
    data: int = 1
    reads_form: bool = False
    reads_memory: bool = False
    makes_form: bool = False
    is_new: bool = False
    is_own: bool = False
    is_container: bool = False
    may_copy: bool = False
    order: int = 0
    raises_by_value: bool = False
    never_raises: bool = False
    takes_numbers: bool = False
    combined_by: np.ufunc | None = None
    parameters: tuple[str, ...] = ()
    ufunc: np.ufunc | None = None
    math: Callable | None = None
    sign: str = ""
    python: str = ""
    loops: str = ""
    is_rounded: bool = False
    is_logical: bool = False
    domain: str = ""
    undefined: str = ""
    simd: str = ""


_entries: dict[Any, Facts] = {}
NOTHING = Facts(is_pure=False, has_fixed_form=False)


def note(functions: Iterable[Any], **facts: Any) -> None:
    """Give functions their entry; each has one."""
    entry = Facts(**facts)
    for f in functions:
        if f in _entries:
            raise ValueError(f"there are two entries for {f}")
        _entries[f] = entry


def named(module: Any, names: str) -> set[Any]:
    """Return the functions of a module that have these names, as far as there are such."""
    return {f for name in names.split() if (f := getattr(module, name, None)) is not None}


def facts_of(f: Any) -> Facts:
    """Return the entry of a function; one that says nothing for a function without."""
    return _entries.get(f, NOTHING)


def entries() -> Mapping[Any, Facts]:
    """Return all entries."""
    return MappingProxyType(_entries)


def known(name: str) -> dict[Any, Any]:
    """Return one fact of all functions of which it holds, or is given: function → fact."""
    return {f: fact for f, entry in _entries.items() if (fact := getattr(entry, name))}


def of_kind(kind: str) -> frozenset[Any]:
    """Return the functions of a kind."""
    return frozenset(f for f, entry in _entries.items() if entry.kind == kind)
