"""Functions of arrays, and those of Python that only return something."""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
from typing import Any

import numpy as np

from autodiff.functions.facts import (
    ALL,
    PRODUCT,
    REDUCTION,
    VIEW,
    facts_of,
    named,
    note,
)


def _numpy(names: str, **facts: Any) -> None:
    note(named(np, names), **facts)


def _linalg(names: str, **facts: Any) -> None:
    note(named(np.linalg, names), **facts)


# -- reductions -----------------------------------------------------------------------------------

_numpy("sum mean", kind=REDUCTION, is_new=True, combined_by=np.add)
_numpy("max", kind=REDUCTION, is_new=True, combined_by=np.maximum)
_numpy("min", kind=REDUCTION, is_new=True, combined_by=np.minimum)
_numpy("any", kind=REDUCTION, combined_by=np.logical_or)
_numpy("all", kind=REDUCTION, combined_by=np.logical_and)
_numpy("var std", kind=REDUCTION, is_new=True)
_numpy("cumsum", kind=REDUCTION, is_new=True, is_own=True)
_numpy("cumprod", is_new=True, is_own=True)
_numpy("prod argmax argmin trace", is_new=True)
_numpy(
    "amax amin ptp nansum nanmean nanmax nanmin nanstd nanvar median count_nonzero gradient unwrap"
)
_numpy("average", raises_by_value=True)
_numpy("percentile quantile", data=2, raises_by_value=True)
_numpy("cov corrcoef", data=ALL)
_numpy("trapezoid", data=3)

# -- products and matrices ------------------------------------------------------------------------

note([np.matmul, operator.matmul], kind=PRODUCT, data=ALL, is_new=True)
_numpy("dot inner", kind=PRODUCT, data=ALL, is_new=True, is_own=True)
_numpy("vdot", kind=PRODUCT, data=ALL, is_new=True)
_numpy("einsum", data=ALL, is_new=True)
_numpy("tensordot", data=2, is_new=True, is_own=True)
_numpy("cross", data=2, is_new=True, is_own=True)
_numpy("outer kron", data=ALL, is_new=True, is_own=True, is_container=True)
_numpy("convolve correlate polyval", data=ALL)
_linalg("solve", data=ALL, is_new=True)
_linalg("inv cholesky", is_new=True)
_linalg("det", is_new=True, never_raises=True)
_linalg("slogdet norm trace matrix_norm vector_norm multi_dot", never_raises=True)
_linalg("matmul outer", data=ALL, never_raises=True)
_linalg("cross vecdot", data=2, never_raises=True)
_linalg("tensorsolve", data=2)
_linalg("qr svd eigh eigvalsh pinv matrix_power svdvals tensorinv")

# -- views ----------------------------------------------------------------------------------------

_numpy("transpose swapaxes moveaxis rollaxis squeeze diagonal", kind=VIEW)
_numpy("flip fliplr flipud rot90 atleast_3d matrix_transpose", kind=VIEW)
_numpy("expand_dims broadcast_to atleast_1d atleast_2d", kind=VIEW, takes_numbers=True)
_numpy("ravel", kind=VIEW, takes_numbers=True, may_copy=True, order=1)
_numpy("reshape", kind=VIEW, takes_numbers=True, may_copy=True, order=2)
_numpy("diag", kind=VIEW, is_container=True, parameters=("a", "k"))
_linalg("diagonal matrix_transpose", kind=VIEW, never_raises=True)
note([operator.getitem], kind=VIEW, has_fixed_form=False, data=ALL)
_numpy("ascontiguousarray", may_copy=True, is_container=True)
_numpy("asfortranarray require", is_pure=False, has_fixed_form=False, may_copy=True)
_numpy("asarray asanyarray", is_container=True)
_numpy("real imag angle broadcast_arrays meshgrid split array_split hsplit vsplit dsplit")

# -- new arrays -----------------------------------------------------------------------------------

_numpy("array stack hstack vstack tile", is_new=True, is_own=True, is_container=True)
_numpy("concatenate", is_new=True, is_own=True, is_container=True, parameters=("a", "axis"))
_numpy(
    "tril triu",
    data=ALL, is_new=True, is_own=True, is_container=True, parameters=("a", "k"),
)  # fmt: skip
_numpy("roll", data=ALL, is_new=True, is_container=True, parameters=("a", "shift", "axis"))
_numpy("diff", is_new=True, parameters=("a", "n", "axis"))
_numpy("pad", has_fixed_form=False, is_new=True, parameters=("a", "widths", "mode"))
_numpy("sort argsort", is_new=True)
_numpy("take", data=2, is_new=True, raises_by_value=True)
_numpy("take_along_axis append", data=2)
_numpy("choose", data=ALL, raises_by_value=True)
_numpy("select searchsorted interp isclose", data=ALL)
_numpy("column_stack diagflat", is_container=True)
_numpy("round around nan_to_num sinc i0 fix")
_numpy("put_along_axis", data=3, is_pure=False)
_numpy("logspace full_like vander", is_new=True, is_own=True, is_container=True)
_numpy("geomspace", is_container=True, raises_by_value=True)
_numpy(
    "zeros_like ones_like empty_like",
    has_fixed_form=False, makes_form=True, is_new=True, is_own=True, is_container=True,
)  # fmt: skip
_numpy(
    "arange dstack empty eye full identity linspace ones repeat zeros",
    has_fixed_form=False, is_new=True, is_own=True, is_container=True,
)  # fmt: skip
_numpy("block indices tri", has_fixed_form=False, is_container=True)
note([np.ndarray.astype])

# -- what is known while recording ----------------------------------------------------------------

_numpy(
    "shape ndim size iscomplexobj isrealobj isscalar result_type can_cast min_scalar_type "
    "common_type issubdtype broadcast_shapes iterable",
    has_fixed_form=False, reads_form=True,
)  # fmt: skip
note([isinstance, len, type, callable, hasattr], has_fixed_form=False, reads_form=True)
_numpy(
    "may_share_memory shares_memory",
    has_fixed_form=False, is_pure=False, reads_form=True, reads_memory=True,
)  # fmt: skip

# -- what is pure, and no more is known -----------------------------------------------------------

note(
    named(
        builtins,
        "all any dict divmod enumerate filter frozenset int list map range reversed set slice "
        "sorted str tuple zip",
    )
    | named(operator, "contains index lshift not_ rshift truth")
    | named(itertools, "accumulate chain combinations islice pairwise permutations product")
    | {functools.reduce, functools.partial},
    has_fixed_form=False,
)

MATRIX_PRODUCTS = frozenset({np.dot, np.matmul, operator.matmul})
"""Products of vectors and matrices that are the same for all of them."""


def is_new_memory(f: Any, args: tuple, kwargs: dict | None) -> bool:
    """Whether the result of a call is new memory, which nothing else shares."""
    if not facts_of(f).is_new:
        return False
    options = kwargs or {}
    if f is np.einsum:  # of one array it may be a view: a transpose, a diagonal
        return type(args[0]) is str and len(args) > 2 and "out" not in options
    if f is np.diff:  # the array itself if no differences are taken
        n = args[1] if len(args) > 1 else options.get("n", 1)
        return isinstance(n, (int, np.integer)) and bool(n > 0)
    return "out" not in options and options.get("copy", True) is True
