"""Thunks, and adding in place."""

import numpy as np

from chainrules_core import (
    BadInplaceError,
    InplaceableThunk,
    MutateThunkError,
    add_inplace,
    debug_mode,
    thunk,
    unthunk,
)
from tools.errors.entries import entry


@entry("A thunk is changed in place", MutateThunkError, has_line=False)
def thunk_plus_equals() -> None:
    x_bar = thunk(lambda: np.ones(3))
    x_bar += 1.0


@thunk_plus_equals.instead("Accumulate with add_inplace")
def accumulated() -> None:
    x_bar = add_inplace(np.ones(3), thunk(lambda: np.ones(3)))
    assert x_bar[0] == 2.0


@thunk_plus_equals.instead("Or change a copy of its value")
def copy_changed() -> None:
    x_bar = unthunk(thunk(lambda: np.ones(3))).copy()
    x_bar += 1.0
    assert x_bar[0] == 2.0


@entry("An element of a thunk is assigned", MutateThunkError, has_line=False)
def thunk_item_assigned() -> None:
    x_bar = thunk(lambda: np.ones(3))
    x_bar[0] = 0.0


@thunk_item_assigned.instead("Assign to a copy of its value")
def copy_item_assigned() -> None:
    x_bar = unthunk(thunk(lambda: np.ones(3))).copy()
    x_bar[0] = 0.0
    assert x_bar.sum() == 2.0


@entry("A method of arrays that writes is called on a thunk", MutateThunkError, has_line=False)
def thunk_sorted() -> None:
    x_bar = thunk(lambda: np.array([2.0, 1.0]))
    x_bar.sort()


@thunk_sorted.instead("Call it on a copy of the value")
def copy_sorted() -> None:
    x_bar = unthunk(thunk(lambda: np.array([2.0, 1.0]))).copy()
    x_bar.sort()
    assert x_bar[0] == 1.0


@entry("A thunk is the output of a ufunc", MutateThunkError, has_line=False)
def ufunc_into_a_thunk() -> None:
    x_bar = thunk(lambda: np.ones(3))
    np.add(x_bar, 1.0, out=x_bar)


@ufunc_into_a_thunk.instead("Write into a copy of its value")
def ufunc_into_a_copy() -> None:
    x_bar = unthunk(thunk(lambda: np.ones(3))).copy()
    np.add(x_bar, 1.0, out=x_bar)
    assert x_bar[0] == 2.0


@entry("A thunk is the output of a function of NumPy", MutateThunkError, has_line=False)
def cumsum_into_a_thunk() -> None:
    x_bar = thunk(lambda: np.ones(3))
    np.cumsum(np.ones(3), out=x_bar)


@cumsum_into_a_thunk.instead("Write into a copy of its value")
def cumsum_into_a_copy() -> None:
    x_bar = unthunk(thunk(lambda: np.ones(3))).copy()
    np.cumsum(np.ones(3), out=x_bar)
    assert x_bar[2] == 3.0


@entry(
    "The function of an InplaceableThunk does not return its buffer",
    BadInplaceError,
    has_line=False,
)
def add_into_without_return() -> None:
    def add_into(buffer: np.ndarray) -> None:
        buffer += 2.0

    x_bar = InplaceableThunk(add_into, lambda: np.full(3, 2.0))
    with debug_mode():
        add_inplace(np.ones(3), x_bar)


@add_into_without_return.instead("Return the buffer")
def add_into_with_return() -> None:
    def add_into(buffer: np.ndarray) -> np.ndarray:
        buffer += 2.0
        return buffer

    x_bar = InplaceableThunk(add_into, lambda: np.full(3, 2.0))
    with debug_mode():
        assert add_inplace(np.ones(3), x_bar)[0] == 3.0
