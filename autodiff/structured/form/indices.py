"""Array indices as templates, which refer to values by position."""

from __future__ import annotations

from typing import Any

from autodiff.structured.form.function_ir import Op, known
from autodiff.structured.form.kinds import (
    Kind,
    UnsupportedError,
    kind_of_result,
)

WHOLE = ("known", Ellipsis)
"""The index ``...`` of a whole array."""


def parts_of_index(template: Any) -> list:
    """Return the parts of an index."""
    return [template] if template and isinstance(template[0], str) else list(template)


def has_arrays(template: Any) -> bool:
    """Whether an index has arrays in it, so that the result is a copy."""
    return any(part[0] == "array" for part in parts_of_index(template))


def arrays_in(template: Any, values: list) -> list:
    """Return the arrays in an index."""
    return [values[part[1]] for part in parts_of_index(template) if part[0] == "array"]


def has_places(template: Any, values: list) -> bool:
    """Whether an index has integer arrays in it."""
    return any(a.kind.letter != "b" for a in arrays_in(template, values))


def index_back(template: Any, values: list) -> str | None:
    """Return the index, as source, that gets the array back from a view of all its elements.

    None if the view may lack elements, or is not made by an index of slices and new axes.

    Examples
    --------
    >>> index_back((("slice", None, None, None), ("known", None)), [])  # x[:, None]
    ':, 0'
    """

    def one(part: tuple) -> str | None:
        if part[0] == "known":
            return "..." if part[1] is Ellipsis else "0"
        if part[0] != "slice" or part[1:3] != (None, None):
            return None
        if part[3] is None:
            return ":"
        return "::-1" if known(values[part[3]]) == -1 else None

    if type(template) is str:
        return None
    parts = list(map(one, parts_of_index(template)))
    return None if None in parts else ", ".join(parts)  # type: ignore[arg-type]


def is_element(kind: Kind, template: Any) -> bool:
    """Whether an index gives an array of rank 0: a view of one element, as ``x[..., 0]``."""
    return kind.is_array and not kind.ndim and not has_arrays(template)


def without_ellipsis(template: Any) -> Any:
    """Return the index of an element without its ellipsis, which selects the same element."""
    parts = tuple([part for part in parts_of_index(template) if part[0] != "known"])
    if not parts:
        raise UnsupportedError("an array without axes")
    return parts


def kind_of_index(base: Kind, kinds: list[Kind], template: Any) -> Kind:
    """Return the kind of an array at an index."""

    def index(values: tuple) -> Any:
        def one(part: tuple) -> Any:
            if part[0] == "known":
                return part[1]
            if part[0] == "slice":
                return slice(*[None if b is None else values[b] for b in part[1:]])
            value = values[part[1]]
            return value if part[0] == "array" else type(value)(0)

        is_single = template and isinstance(template[0], str)
        return one(template) if is_single else tuple(map(one, template))

    return kind_of_result(lambda x, *values: x[index(values)], [base, *kinds])


def region_of(op: Op) -> Kind:
    """Return the kind of the region that a write overwrites."""
    base, _, *at = op.args
    return kind_of_index(base.kind, [a.kind for a in at], op.data)
