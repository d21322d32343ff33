"""The function that a program takes: that of another call has the same code, but other cells."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from autodiff.closures.captured_values import content_of
from autodiff.compiler.recording.dependency import Dependency
from autodiff.trace.varying_inputs import VaryingInputs

_SIMPLE = (int, float, complex, str, bytes, bool, type(None))


class FunctionMadeAnew:
    """A function that nothing else refers to, which a loop may create anew for each call.

    Attributes
    ----------
    function : FunctionType
        The function.
    inputs : list of cell
        The cells whose contents are inputs of the program, like the defaults.
    """

    def __init__(self, f: types.FunctionType, shared: set[int]) -> None:
        self.function = f
        self.inputs: list[types.CellType] = []
        self._shared = shared  # the identities of cells and defaults that others have as well

    def owns(self, cell: Any) -> bool:
        """Whether a cell belongs to no other function."""
        own = any(cell is c for c in self.function.__closure__ or ())
        return own and id(cell) not in self._shared

    def choose_inputs(self, varying: VaryingInputs) -> None:
        """Take the cells whose contents differ from call to call as inputs."""
        self.inputs = [
            cell for k, cell in enumerate(self.function.__closure__ or ())
            if self.owns(cell) and varying.has_part(k) and is_data(content_of(cell))
        ]  # fmt: skip

    def without_inputs(self, outside: list[Dependency]) -> list[Dependency]:
        """Return the variables without the inputs."""
        f = self.function
        defaults = [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
        taken = {*map(id, self.inputs)}
        given = {id(x) for x in defaults if is_data(x)} - self._shared
        return [
            d for d in outside
            if id(d.container) not in taken and not (d.container is None and id(d.value) in given)
        ]  # fmt: skip


class Unread:
    """Stands for what the code of a method does not read of its object."""


def is_data(x: Any) -> bool:
    """Whether a value is a number, a text, an array, or a plain container of them."""
    if type(x) in (tuple, list, dict):
        return all(map(is_data, x.values() if type(x) is dict else x))
    return type(x) in _SIMPLE or isinstance(x, np.number) or type(x) is np.ndarray
