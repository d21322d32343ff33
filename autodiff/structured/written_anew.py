"""Programs whose code is written anew, since a run has told what it must do besides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff.structured.runtime_calls import is_finite


class WrittenAnew:
    """Writes the code of a program anew, and that of the programs that it calls.

    Attributes
    ----------
    others : list
        The programs of functions that call themselves, and that this one calls.
    """

    native: Any
    native_code: Any
    why: str | None
    asides: int
    spent: float
    others: list[Any]
    broadcasts: set[int]
    steep: set[int]
    compares_all: bool
    notes_steep: bool
    is_never_finite: bool
    has_plain_floats: bool

    def _write(self) -> None:
        """Write and compile the code."""
        raise NotImplementedError

    def _run_forward(self, values: list[Any]) -> Any:
        """Run the forward function."""
        raise NotImplementedError

    def _values(self, args: tuple) -> list:
        """Return what the code is given."""
        raise NotImplementedError

    def with_broadcasting(self, args: tuple) -> bool:
        """Write the code anew after a sweep has met an array of another shape than expected.

        A run in which all shapes are compared finds where arrays are broadcast. False if it finds
        nothing new.
        """
        known = self._number_of("broadcasts")
        machine = self.native, self.native_code, self.why, self.asides, self.spent
        self.compares_all = True
        self._write()
        try:
            self._run_forward(self._values(args))
        finally:
            self.compares_all = False
            self._write()
        is_new = self._number_of("broadcasts") > known
        if not is_new:  # the code is what it was
            self.native, self.native_code, self.why, self.asides, self.spent = machine
        else:  # it will not be written anew for this once more
            self.spent = machine[-1]
        return is_new

    def with_strong_products(self, sweep: Callable) -> Any:
        """Return what a sweep gives if a zero wins over an infinite slope in all products.

        These take longer, so the code is then written anew with such products only in the
        operations in which there was something infinite. None if this has been done in vain.
        """
        if self.is_never_finite:
            return None
        known = self._number_of("steep")
        self.notes_steep = True
        self._write()
        try:
            found = sweep()
        except ArithmeticError:
            found = None
        finally:
            self.notes_steep = False
            self._write()
        is_found = found is not None and all(map(is_finite, found))
        self.is_never_finite = self._number_of("steep") == known or not is_found
        return found

    def _number_of(self, noted: str) -> int:
        """Return how many operations were noted, here and in the programs that this one calls."""
        return len(getattr(self, noted)) + sum(other._number_of(noted) for other in self.others)

    def _note_steep(self, number: int, *factors: Any) -> None:
        """Note the number of an operation if one of its factors is not finite."""
        if not all(map(is_finite, factors)):
            self.steep.add(number)

    def _noted(self, number: int, product: Callable, d: Any, t: Any) -> Any:
        """Return a strong product, and note whether one of its factors is not finite."""
        self._note_steep(number, d, t)
        return product(d, t)

    def with_numpy_floats(self) -> bool:
        """Write the code anew, with NumPy's floats throughout; False if it was written so."""
        is_new = [other.with_numpy_floats() for other in self.others]
        if not self.has_plain_floats and not any(is_new):
            return False
        self.has_plain_floats = False
        self._write()
        return True
