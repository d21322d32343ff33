"""What is said of a function's outputs before it runs, for systems that need to know.

JAX and PyTensor write programs down before they run them, with the shape (or the number of axes)
and the dtype of each array. Such forms are objects of the system that have a `shape` and a `dtype`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff.errors import OutputError
from autodiff.interop.flat_call import FlatCall, are_equal
from autodiff.interop.structures import Structure, taken_out
from autodiff.trace.pytree import leaves_of, map_leaves
from chainrules_core.registry.facts import abstract_value
from chainrules_core.values.abstract_array import AbstractArray


def has_form(x: Any) -> bool:
    """Whether `x` has a shape and a dtype."""
    return hasattr(x, "shape") and hasattr(x, "dtype")


def declared(
    call: FlatCall, out: Any, given: Sequence[Any], as_form: Callable[[Any], Any]
) -> list[Any]:
    """Return the forms of the outputs that the user declares, and set ``call.outputs``.

    Parameters
    ----------
    call : FlatCall
        The call.
    out : pytree or callable
        The result with something that has a shape and a dtype for each array, or a function of the
        arguments that returns that.
    given : sequence
        What this function gets for the arrays of the call.
    as_form : callable
        Returns a new form of the system for something that has a shape and a dtype.

    Raises
    ------
    OutputError
        If there is a number in `out`.
    """
    if callable(out) and not has_form(out):
        args, kwargs = call.arguments(given)
        out = out(*args, **kwargs)
    if any(isinstance(leaf, (float, complex)) for leaf in leaves_of(out)):
        raise OutputError(
            f"out= of {call.name} has a number in it, where there must be something with a shape "
            "and a dtype for each array and number that the function returns."
        )

    def fresh(leaf: Any) -> Any:  # one object may stand for several arrays
        return as_form(leaf) if has_form(leaf) else leaf

    found, call.outputs = taken_out(map_leaves(out, fresh), has_form)
    return found


def known_by_rule(
    call: FlatCall, given: Sequence[AbstractArray], as_form: Callable[[Any], Any]
) -> list[Any] | None:
    """Return the forms of the outputs that a rule of the function knows, or None.

    The parameters are those of `declared`.
    """
    args, kwargs = call.arguments(given)
    found = abstract_value(call.f, *args, **kwargs)
    if found is None:
        return None
    several = isinstance(found, (tuple, list))
    forms = type(found)(map(as_form, found)) if several else as_form(found)
    return declared(call, forms, (), as_form)


def check_structure(call: FlatCall, found: Structure) -> None:
    """Compare the structure of a result with what is known of it; keep it if nothing is.

    Parameters
    ----------
    call : FlatCall
        The call; its `outputs` are what is known.
    found : Structure
        The outputs of a run.

    Raises
    ------
    OutputError
        If the structures differ, or what they hold beside arrays.
    """
    known: Structure | None = vars(call).get("outputs")
    if known is None:
        call.outputs = found
        return
    if known is found:  # one array
        return
    before, now = known.constants(), found.constants()
    if not are_equal(before, now):
        raise OutputError(
            f"{call.name} has returned a result of another structure, or with other values beside "
            f"arrays, than is known of this call: {now} where {before} is expected (arrays are "
            "numbered). Return these values as arrays, and no array twice, or mend out=."
        )
