"""What SciPy does to a sparse array in place before it does what it is asked: order and sums.

Many methods first put the entries of their array in order and add up those that are stored twice.
That changes the memory of the entries, which others may share.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from chainrules.dropped import without
from chainrules.scipy.sparse.entries import (
    CLASSES,
    as_view,
    become,
    canonical,
    changed,
    is_in_order,
    is_sparse,
    method,
    numbered,
    places_of,
    share_memory,
    vector_of,
    weighed,
    with_new,
)
from chainrules.scipy.sparse.merging import added_up
from chainrules_core import decompose, ignore_derivatives, natively
from chainrules_core.authoring import entries_of, with_entries


def sum_duplicates(self: Any) -> None:
    """Add up in place what an array stores twice, as SciPy does."""
    if natively(is_in_order, self):
        return
    if self.format == "coo":
        _sum_places(self)
        return
    changed(self, method("sort_indices"))
    numbers, weights = natively(_sums, self)
    if weights is None:
        self.has_canonical_format = True
        return
    rows = np.reshape(entries_of(self), (weights.shape[1], -1))
    sums = weighed(rows, weights=weights)
    plain = numbered(self)
    given = entries_of(plain)
    method("sum_duplicates")(plain)
    self.data[: len(numbers.data)] = np.reshape(sums, (len(numbers.data), *np.shape(self.data)[1:]))
    shared = natively(share_memory, plain, given)
    entries = (
        as_view(self.data, given, plain.data) if shared else self.data[: len(numbers.data)].copy()
    )
    become(self, with_entries(plain, entries))


def _sums(x: Any) -> tuple:
    """Return the numbers of the elements that an ordered array stores, and what makes their sums.

    An element is a block of an array in BSR.
    """
    places = (np.arange(1, 1 + len(x.indices)), x.indices, x.indptr)
    width = int(x.indices.max(initial=0)) + 1
    return added_up(sp.csr_array(places, shape=(len(x.indptr) - 1, width)), "csr")


def _sum_places(self: Any) -> None:
    """Add up what an array in COO stores twice: SciPy makes new arrays of it."""
    x = canonical(self)
    plain = numbered(self)
    method("sum_duplicates")(plain)
    # The sums in the order in which SciPy leaves them.
    stored = np.ravel_multi_index(places_of(x), x.shape)
    wanted = np.ravel_multi_index(places_of(plain), x.shape)
    order = np.argsort(stored)[np.searchsorted(np.sort(stored), wanted)]
    become(self, with_entries(plain, vector_of(x)[order]))


def without_zeros(self: Any, zeros: Any, lost: str = "") -> Any:
    """Take entries that are zero out of a sparse array in place, as SciPy does, and return it.

    Parameters
    ----------
    self : sparse array
        The array.
    zeros : array of bool
        Which entries are taken out.
    lost : str
        The error where they depend on what is differentiated by. By default their derivatives are
        known to be zero.
    """
    plain = numbered(self)
    if self.format == "bsr":
        zeros = np.broadcast_to(zeros.all(axis=(1, 2), keepdims=True), zeros.shape)
    vector, places = vector_of(self), np.flatnonzero(zeros)
    if len(places) and lost:
        vector = without(vector, vector[places], why=lost)
    entries_of(plain)[zeros] = 0
    return changed(self, method("eliminate_zeros"), vector, plain)


def deduplicated(x: Any) -> Any:
    """Return a sparse array after SciPy's own methods have added up what it stores twice."""
    sum_duplicates(x)
    return x


class _InPlace(Exception):  # noqa: N818 - not an error: a question is answered
    """SciPy is about to change an array in place; the argument is the method."""


_SIMPLE = frozenset(
    {
        int,
        float,
        complex,
        bool,
        np.float64,
        str,
        slice,
        type,
        type(None),
        type(Ellipsis),
        np.dtype,
    }
)


def _changes_in_place(x: Any, entries: np.ndarray, call: Callable) -> str:
    """Return the method by which SciPy puts the entries of an array in order in place, or nothing.

    It does so in many calls, mostly as the first step. A copy that answers instead tells. It has
    the same entries, since `expm` computes in another way if they are large.
    """
    probe = with_new(x, entries.copy())
    try:
        return change_in_place(probe, functools.partial(call, probe))
    except Exception:  # the call itself follows, and raises the same again
        return ""


def change_in_place(probe: Any, call: Callable) -> str:
    """Return the method by which a call puts an array in order in place, or nothing.

    The array answers in place of the method.
    """

    def answering(method: str) -> Callable:
        def answer() -> None:
            raise _InPlace(method)

        return answer

    probe.sum_duplicates = answering("sum_duplicates")
    if not getattr(probe, "has_sorted_indices", True):
        probe.sort_indices = answering("sort_indices")
    try:
        call()
    except _InPlace as found:
        return str(found)
    return ""


def _are_simple(values: tuple) -> bool:
    return all(_are_simple(v) if type(v) is tuple else type(v) in _SIMPLE for v in values)


def _put_in_order(x: Any, call: Callable) -> None:
    """Do to a sparse array in place what SciPy does to it in a call, ``call(x)``."""
    change = natively(_changes_in_place, x, ignore_derivatives(entries_of(x)), call)
    if change == "sort_indices":
        changed(x, method("sort_indices"))
        change = natively(_changes_in_place, x, ignore_derivatives(entries_of(x)), call)
    if change == "sum_duplicates":
        sum_duplicates(x)


def _in_order_first(name: str, body: Callable) -> Callable:
    """Return the body of a method, before which is done in place what SciPy does in place."""

    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name in ("sort_indices", "sum_duplicates") or natively(is_in_order, self):
            return body(self, *args, **kwargs)
        given, named = ignore_derivatives(args), ignore_derivatives(kwargs)
        if _are_simple((*given, *named.values())):
            _put_in_order(self, lambda probe: getattr(probe, name)(*given, **named))
        return body(self, *args, **kwargs)

    return called


def decompose_method(names: str, body: Callable, classes: tuple = CLASSES) -> None:
    """Have a body differentiated in place of the methods of these names."""
    done: list[Any] = []
    for name in names.split():
        for cls in classes:
            method = getattr(cls, name, None)
            if callable(method) and method not in done:
                done.append(method)
                decompose(method)(_in_order_first(name, body))


def decompose_function(f: Callable, *types: Any) -> Callable[[Callable], Callable]:
    """Return a decorator: have a body differentiated in place of a function of sparse arrays.

    What SciPy puts in order in place in its first argument is put in order first.
    """

    def add(body: Callable) -> Callable:
        @functools.wraps(body)
        def called(x: Any, *args: Any, **kwargs: Any) -> Any:
            if is_sparse(x) and not natively(is_in_order, x):
                given, named = ignore_derivatives(args), ignore_derivatives(kwargs)
                _put_in_order(x, lambda probe: f(probe, *given, **named))
            return body(x, *args, **kwargs)

        decompose(f, *types)(called)
        return body

    return add
