"""Respecialization: regenerate a program's code once a run has refuted an assumption."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from autodiff.structured.message_queue import (
    messages_of_run,
    restore_messages,
    state_of_messages,
)
from autodiff.structured.runtime_library import ShapeMismatchError, is_finite, raises_errors

_MOST_ASIDES = 3
"""So often machine code may step aside before it is given up."""


class Respecializing:
    """A program that drops assumptions at run time and regenerates its code.

    The code is first generated for arrays that are not broadcast, finite slopes, and Python floats.

    Attributes
    ----------
    others : list
        The programs of recursive functions that this one calls, which are regenerated with it.
    takes_surroundings : bool
        Whether machine code takes statements on whole arrays around loops.
    """

    code: tuple[Callable, Callable]
    native: Any
    native_code: Any
    why: str | None
    bailouts: int
    takes_surroundings: bool
    ones: Any
    spent: float
    others: list[Any]
    program: Any
    emitter: Any
    broadcasts: set[int]
    steep: set[int]
    compares_all: bool
    notes_steep: bool
    is_never_finite: bool
    has_plain_floats: bool

    # Methods that subclasses define.
    _generate: Callable[[], None]
    _values: Callable[[Sequence], Sequence]
    _inline_calls: Callable[[], bool]

    def _run_forward(self, values: Sequence) -> tuple[tuple, Callable]:
        """Run the forward function; return its result and its sweep. Respecialize if necessary.

        Python floats do not warn as NumPy floats do, and raise an error for a division by zero. So
        use NumPy floats if a result is not finite, or if the user has asked NumPy for errors.
        """
        if self.has_plain_floats and raises_errors():
            self.specialize_for_numpy_floats()
        before = state_of_messages() if self.program.has_messages else []
        while True:
            restore_messages(before)
            known = len(self.emitter.broadcasts)
            forward, backward = self.code
            try:
                found = forward(*values)
            except ArithmeticError:
                if not self.specialize_for_numpy_floats():
                    raise
            else:
                if self.compares_all:
                    return found, backward
                if len(self.broadcasts) > known:
                    self._generate()
                elif not self.has_plain_floats or all(map(is_finite, found[0])):
                    return found, backward
                else:
                    self.specialize_for_numpy_floats()

    def bail_out(self, error: Exception) -> None:
        """Handle a bailout of machine code, which is given up after several of them.

        Drop the machine code so that it is recompiled if other arrays turn out to be broadcast, or
        if it has more than loops, because the loops alone may not step aside.
        """
        if isinstance(error, ShapeMismatchError) and (
            self.ones.learn(error.ones) or self.ones.forget(error.ones, self.native.names.variables)
        ):
            self.native = self.native_code = None
            return
        self.bailouts += 1
        if self.bailouts > _MOST_ASIDES:
            if self.native is not None and self.native.has_surroundings:
                self.bailouts, self.takes_surroundings = 0, False
            elif not self._inline_calls():
                self.why = str(error)
            self.native = self.native_code = None

    def specialize_for_broadcasting(self, args: tuple) -> bool:
        """Regenerate the code for broadcasting, after a sweep has met an unexpected shape.

        One run of the forward function that compares all shapes finds the operations that
        broadcast. Return whether it found new ones.
        """
        spent = self.spent
        with self._instrumented("compares_all", "broadcasts") as is_new:
            if any("broadcast(" in program.source for program in (self, *self.others)):
                start = time.perf_counter()
                with messages_of_run():  # they are not shown
                    self._run_forward(self._values(args))
                spent += time.perf_counter() - start
        self.spent = spent  # this regeneration does not delay machine code
        return is_new()

    def with_strong_products(self, sweep: Callable) -> Any:
        """Return the result of a sweep with strong products, in which 0 * inf is 0.

        They are slower. So the code is regenerated afterwards with strong products only in the
        operations that met infinite factors. Return None if strong products did not help before.
        """
        if self.is_never_finite:
            return None
        found = None
        with (
            self._instrumented("notes_steep", "steep") as is_new,
            contextlib.suppress(ArithmeticError),
        ):
            found = sweep()
        is_found = found is not None and all(map(is_finite, found))
        self.is_never_finite = not (is_new() and is_found)
        return found

    @contextlib.contextmanager
    def _instrumented(self, flag: str, operations: str) -> Iterator[Callable[[], bool]]:
        """Set a flag of the code generator for one run, which notes operations in a set.

        The code is generated again before the run, and after it if the run has found new
        operations. Yield a function that says whether it has.
        """
        known, before = self._number_of(operations), vars(self).copy()
        has_own_code = self.program.itself is None and not self.others
        setattr(self, flag, True)
        self._generate()
        writer = self.emitter

        def is_new() -> bool:
            return self._number_of(operations) > known

        try:
            yield is_new
        finally:
            setattr(self, flag, False)
            if is_new() or self.emitter is not writer or not has_own_code:
                self._generate()
            else:
                vars(self).update(before)

    def _number_of(self, attribute: str) -> int:
        """Return the size of a set of operations, here and in the programs that this one calls."""
        own = len(getattr(self, attribute))
        return own + sum(other._number_of(attribute) for other in self.others)

    def _note_steep(self, number: int, *factors: Any) -> None:
        """Record the number of an operation if one of its factors is not finite."""
        if not all(map(is_finite, factors)):
            self.steep.add(number)

    def _recorded_product(self, number: int, product: Callable, d: Any, t: Any) -> Any:
        """Return a strong product, and record the operation if a factor is not finite."""
        self._note_steep(number, d, t)
        return product(d, t)

    def specialize_for_numpy_floats(self) -> bool:
        """Regenerate the code with NumPy floats throughout; return False if it had them already."""
        is_new = [other.specialize_for_numpy_floats() for other in self.others]
        if not self.has_plain_floats and not any(is_new):
            return False
        self.has_plain_floats = False
        self._generate()
        return True
