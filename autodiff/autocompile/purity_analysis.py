"""Proofs that functions are pure: they depend on their arguments alone, and have no side effects.

The proof is about the code. Every outer name that it reads is a constant, a library function known
to be pure, or a user-defined function with the same proof. By induction, its values are its
arguments (numbers, arrays, and pytrees of them), constants, and results of such functions. Anything
else is a doubt, and a function with a doubt is always traced.

What a function writes into is no part of the proof. All that it can reach are its arguments, what
it creates, and outer arrays, lists, dicts and objects that a program compares at each call. If one
of these is no longer what it was after the recording, it is put back, and there is no program.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff.autocompile import pure_functions
from autodiff.autocompile.outer_names import Impurity as Impurity
from autodiff.autocompile.purity_visitor import PurityVisitor
from autodiff.autocompile.user_classes import UserClasses, is_member, is_plain_class
from autodiff.compiler.recording.array_contents import SMALL
from autodiff.compiler.recording.executed_code import Place, places_of
from autodiff.intercept.runtime.rule_wrappers import has_rule
from autodiff.intercept.source.find_source import definition_of
from autodiff.intercept.source.library_code import is_library
from chainrules_core.rules import name_of
from chainrules_core.tangents.fields import dict_of

_CONSTANTS = frozenset(
    {int, float, complex, str, bytes, bool, type(None), range, slice, type(Ellipsis)}
)
_SUSPENDABLE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
_ATTRIBUTES = frozenset({"__isabstractmethod__", "__wrapped__"})
"""The attributes that functions may have."""
_MOST_PARTS = 64
_MOST_CONSTANTS = 4096  # which are compared much faster
_LARGEST = 1 << 22  # bytes of outer arrays that each call compares


class Proof:
    """A proof that a function is pure, with everything that it calls.

    Parameters
    ----------
    f : callable
        The function.
    objects : sequence
        The objects of user-defined classes among its arguments.
    takes_parts : bool
        Whether the arrays among the arguments of a partial function, or among the attributes of the
        object of a method, are inputs of the program.

    Attributes
    ----------
    arrays : list of ndarray
        The large outer arrays that it reads, which the program compares at each call.

    Raises
    ------
    Impurity
        If there is no proof.
    """

    def __init__(self, f: Any, objects: Sequence = (), takes_parts: bool = False) -> None:
        self.arrays: list[np.ndarray] = []
        self._inputs: list[np.ndarray] = []
        # The lowest output position of the library functions that are passed as values, and the
        # most arguments that any function value is called with: they must not meet.
        self.first_output = self.most_given = -1.0
        self.classes = UserClasses()
        self._functions: dict[int, types.FunctionType] = {}
        given: tuple[Any, ...] = ()
        first: Any = f
        if type(first) is functools.partial:
            first, given = first.func, (*first.args, *first.keywords.values())
        if type(first) is types.MethodType:
            first, given = first.__func__, (*given, first.__self__)
        if takes_parts:
            held = [x for g in given for x in (g, *dict_of(g).values())]
            self._inputs = [x for x in held if type(x) is np.ndarray]
        for x in objects:
            self.classes.enter(type(x), False)
        self.value((first, *given), name_of(f))
        self._prove_classes()
        if -1.0 < self.first_output < self.most_given:
            raise Impurity("a function that may write into an argument goes by another name")

    def names_all_code(self, places: set[Place]) -> bool:
        """Whether of the user's code only functions at these places run, and rules.

        Objects of the user's classes may have more: Python and projections look for methods.
        """
        if self.classes.kinds or self.classes.given:
            return False
        return places_of(self._functions.values()) <= places

    def has_new_attributes(self) -> bool:
        """Whether one of the functions has got attributes since."""
        return not all(vars(g).keys() <= _ATTRIBUTES for g in self._functions.values())

    def _prove_classes(self) -> None:
        """Prove the attributes of classes and objects that code may read, by their names."""
        waiting = list(self.classes.unproved())
        while waiting:
            for value, kind, label in waiting:
                if kind is not None and type(value) in (types.FunctionType, classmethod):
                    self.function(value, kind)
                else:
                    self.value(value, label)
            waiting = list(self.classes.unproved())
        doubt = self.classes.doubt()
        if doubt is not None:
            raise doubt
        if self.classes.kinds:
            self.most_given = max(self.most_given, self.classes.most_given())

    def function(self, g: Any, kind: type | None = None) -> None:
        """Prove a user-defined function, or a method of the class `kind`."""
        is_of_class = isinstance(g, classmethod)
        g = g.__func__ if is_of_class else g
        if type(g) is not types.FunctionType:
            raise Impurity(f"{name_of(g)} is not followed")
        if id(g) in self._functions:
            return
        self._functions[id(g)] = g
        if g.__code__.co_flags & _SUSPENDABLE:
            raise Impurity(f"{name_of(g)} is a coroutine")
        if has_rule(g):
            raise Impurity(f"{name_of(g)} has a rule of its own")
        if not vars(g).keys() <= _ATTRIBUTES:
            raise Impurity(f"{name_of(g)} has attributes, which may change")
        found = definition_of(g)
        if found is None:
            raise Impurity(f"the source of {name_of(g)} is not to be had")
        for default in (*(g.__defaults__ or ()), *(g.__kwdefaults__ or {}).values()):
            self.value(default, f"a default of {name_of(g)}")
        PurityVisitor(self, g, kind, is_of_class).definition(found.node)

    def called(self, g: Any, label: str, given: float, passes_on: bool = True) -> None:
        """Prove an outer value that is called with at most `given` arguments.

        `passes_on` says whether it may call a function among them that the code does not show.
        """
        least = self.first_output
        if is_plain_class(g):
            self.classes.enter(g, is_called=True)
            return
        self.value(g, label)
        if is_plain_class(type(g)):
            return
        if type(g) is not types.FunctionType or is_library(g):
            self.first_output = least  # the caller checks the arguments of direct calls
        if passes_on:
            self.most_given = max(self.most_given, pure_functions.passed_on(g, given))

    def value(self, x: Any, label: str) -> None:
        """Prove an outer value."""
        if _never_changes(x):
            return
        if type(x) is tuple or (isinstance(x, tuple) and is_plain_class(type(x))):
            if type(x) is not tuple:
                self.classes.enter(type(x), is_called=False)
            for part in x:
                self.value(part, label)
        elif (made_of := pure_functions.function_behind(x)) is not None:
            self.function(made_of)
        elif type(x) is types.FunctionType and not is_library(x) and not pure_functions.is_pure(x):
            self.function(x)
        elif type(x) is np.ndarray and x.dtype.kind in "fciub":
            self._array(x, label)
        elif is_plain_class(x):
            raise Impurity(f"{label} is a class, and goes by another name")
        elif is_plain_class(type(x)) and not isinstance(x, BaseException):
            self.classes.hold(x)
        elif type(x) in (list, dict):
            self._items(x, label)
        elif not callable(x) or not pure_functions.is_pure(x):
            kind = type(x).__name__  # its own `__repr__` may do anything
            raise Impurity(f"{label} may change, or have side effects (a {kind})")
        else:
            place = pure_functions.place_of_out(x)
            if place is not None:
                self.note_output(place)

    def note_output(self, place: float) -> None:
        """Note that a function is a value which takes an array to write into at this position."""
        first = self.first_output
        self.first_output = place if first < 0 else min(first, place)

    def _items(self, x: Any, label: str) -> None:
        """Prove the items of an outer list or dict, which the program compares at each call."""
        parts = list(x.values() if type(x) is dict else x)
        most = _MOST_CONSTANTS if all(map(_is_constant, parts)) else _MOST_PARTS
        if len(x) > most or (type(x) is dict and not all(map(_is_constant, x))):
            raise Impurity(f"{label} holds more than can be compared at each call")
        for part in parts:
            self.value(part, label)

    def _array(self, x: np.ndarray, label: str) -> None:
        """Record an outer array whose contents must be compared at each call."""
        if x.nbytes <= SMALL or any(x is known for known in (*self.arrays, *self._inputs)):
            return  # the program itself compares small ones
        if not x.flags.c_contiguous or x.nbytes + sum(a.nbytes for a in self.arrays) > _LARGEST:
            raise Impurity(f"{label} is too large to be compared at each call")
        self.arrays.append(x)


def _is_constant(x: Any) -> bool:
    """Whether a value is a constant, or a tuple of such."""
    return all(map(_is_constant, x)) if type(x) is tuple else type(x) in _CONSTANTS


def _never_changes(x: Any) -> bool:
    """Whether a value is a constant, a sentinel or a member of an enumeration, say."""
    if type(x) in _CONSTANTS or type(x) is object or isinstance(x, np.dtype):
        return True
    return is_member(x) or id(x) in pure_functions.OBJECTS or pure_functions.is_number(x)
