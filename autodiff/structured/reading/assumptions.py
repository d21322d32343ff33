"""What earlier readings of a function have found out, which the next reading assumes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autodiff.structured.callables.recursive_calls import callees_of
from autodiff.structured.form.kinds import Kind


@dataclass
class Assumptions:
    """What has turned out while a function was read: each finding starts another reading.

    Attributes
    ----------
    must_iterate, peeled : set of tuple
        The places of loops that run at least once, and of those whose first iteration is peeled.
    stays_loop : dict
        The place of a loop over known items that is long if unrolled → whether it stays a loop; it
        is unrolled if the function cannot be read otherwise.
    distributed : set of tuple
        The places of conditional expressions with values of two kinds: each branch applies the
        operator that takes the value.
    displayed_in_memory : set of tuple
        The places where lists and dicts are displayed that are in memory.
    displayed_tables : set of tuple
        Those of these places where dicts are displayed that may get more keys.
    value_classes, in_memory : set of type
        Classes whose objects nobody changes, and classes whose objects are in memory.
    optional_attributes : dict
        Class and name of an attribute that may be missing → the placeholder for its value.
    initially_none : set of tuple
        Those of these attributes that are None at first.
    may_be_none : dict
        Function and name of a variable that may be None → the placeholder for its value.
    unbound_at_first : set of tuple
        Function and name of a variable that may be unbound where it is read: it is None at first.
    returns : Kind, optional
        What the function returns, if it calls itself.
    written : tuple of (int, bool), optional
        If it calls itself: the position of the argument that it writes into, and whether it returns
        that.
    copies_slices : bool
        Whether slices of lists are copied before loops over them, because the lists change there.
    leaves : bool
        Whether the program exits where some branches return nothing and others return values.
    definitions : dict
        Function → its definition, or None.
    kinds_of_results : dict
        Function and the kinds of its arguments → the kind of its result.
    varying : frozenset of str
        The names of numbers from outside that differ from call to call: they are arguments.
    programs : dict, optional
        What a function of numbers is called with → its program, or None if it is inlined. There is
        a dict once so many calls have been inlined that such functions get programs of their own.
    inlines_all : bool
        Whether there is never one.
    recursive : dict
        Definitions of functions that call themselves, and have programs of their own → by form,
        the kinds of the arguments and the program.
    """

    must_iterate: set[tuple[int, int]] = field(default_factory=set)
    peeled: set[tuple[int, int]] = field(default_factory=set)
    stays_loop: dict[tuple[int, int], bool] = field(default_factory=dict)
    distributed: set[tuple[int, int]] = field(default_factory=set)
    displayed_in_memory: set[tuple[int, int]] = field(default_factory=set)
    displayed_tables: set[tuple[int, int]] = field(default_factory=set)
    value_classes: set[type] = field(default_factory=set)
    in_memory: set[type] = field(default_factory=set)
    optional_attributes: dict[tuple[type, str], Any] = field(default_factory=dict)
    initially_none: set[tuple[type, str]] = field(default_factory=set)
    may_be_none: dict[tuple[Any, str], Any] = field(default_factory=dict)
    unbound_at_first: set[tuple[Any, str]] = field(default_factory=set)
    returns: Kind | None = None
    written: tuple[int, bool] | None = None
    copies_slices: bool = False
    leaves: bool = False
    definitions: dict[Any, Any] = field(default_factory=dict)
    kinds_of_results: dict[tuple, Kind] = field(default_factory=dict)
    varying: frozenset[str] = frozenset()
    programs: dict[tuple, Any] | None = None
    inlines_all: bool = False
    recursive: dict[Any, dict[Any, tuple[list[Kind], Any]]] = field(default_factory=dict)

    def inline(self, callees: set[Any]) -> bool:
        """Inline functions that had programs; return whether these are among them.

        Programs that call theirs are made anew.
        """
        known = self.programs or {}
        self.programs = {
            key: None if x in callees else x
            for key, x in known.items()
            if x is None or callees.isdisjoint(callees_of(x.lowered.program))
        }
        self.recursive = {node: {} for node in self.recursive}
        return not callees.isdisjoint(known.values())

    def unroll(self) -> bool:
        """Unroll all loops over known items, and forget what was found out with them as loops.

        Return False if all are unrolled already.
        """
        if not any(self.stays_loop.values()):
            return False
        places = dict.fromkeys(self.stays_loop, False)
        vars(self).update(vars(self.for_another()))
        self.stays_loop = places
        return True

    def for_another(self) -> Assumptions:
        """Return what a function that has a program of its own is read with."""
        return Assumptions(
            definitions=self.definitions, kinds_of_results=self.kinds_of_results,
            varying=self.varying, programs=self.programs, inlines_all=self.inlines_all,
        )  # fmt: skip
