"""The entries of sparse arrays followed through SciPy's own operations by numbering them.

What moves entries about without computing with them (a change of format, a slice, a transpose, a
stack) is done by SciPy itself to an array of the same pattern that holds the numbers 1, 2, 3, … in
place of the entries. Where each number ends up says which entry stands there; a 0 stands where
none does. The result is one gather, which has rules for both modes at all orders.

So do the numbers say what shares memory. Where the result shares that of the numbers it was given,
the result holds a view of the entries, and a copy of them otherwise. Where SciPy has written into
the numbers, the entries are written into likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from chainrules.refused import RefusedError
from chainrules.scipy.sparse.merging import added_up
from chainrules_core import linear_rule, natively, primitive
from chainrules_core.authoring import coords_of, entries_of, with_entries
from chainrules_core.values.sparse_arrays import own_places

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
ARRAYS = tuple(getattr(sp, f"{name}_array") for name in FORMATS)
MATRICES = tuple(getattr(sp, f"{name}_matrix") for name in FORMATS)
CLASSES = ARRAYS + MATRICES
_FILL = "_chainrules_fill"
_PLACES = ("_shape", "indices", "indptr", "offsets", "coords")
MATRIX_RESULT = (
    "its result is an np.matrix, whose operators are not those of arrays. Use sparse arrays "
    "(csr_array for csr_matrix), or toarray()."
)


def method(name: str, *args: Any, **kwargs: Any) -> Callable:
    """Return a function that calls a method of a sparse array, in which no calls are looked at."""
    return lambda x: natively(getattr(x, name), *args, **kwargs)


def refused(name: str, reason: str) -> NoReturn:
    """Raise the error of what is not differentiated."""
    raise RefusedError(name, reason)


def is_sparse(x: Any) -> bool:
    """Whether a value is a sparse array or matrix."""
    return isinstance(x, CLASSES)


def is_matrix(x: Any) -> bool:
    """Whether a value is a sparse matrix, of the interface that has ``*`` for the product."""
    return isinstance(x, MATRICES)


def vector_of(x: Any) -> Any:
    """Return the stored entries of a sparse array as a vector."""
    return np.reshape(entries_of(x), (-1,))


def numbered(x: Any, start: int = 1) -> Any:
    """Return an array of the pattern of `x` that holds the numbers of its entries.

    They are plain numbers also where calls are recorded: SciPy makes arrays like them, into which C
    code writes, and C writes into a copy of a recorded array.
    """
    return natively(_numbered, x, start)


def _numbered(x: Any, start: int) -> Any:
    numbers = numbers_for(entries_of(x), start)
    fill = vars(x).get(_FILL)
    if fill is not None:
        if np.any(entries_of(x)[fill] != 0):  # what has been written there is stored
            fill = fill & np.asarray(entries_of(x) == 0)
        numbers[fill] = 0
    return with_entries(x, numbers)


def numbers_for(entries: Any, start: int = 1) -> np.ndarray:
    """Return the numbers of entries, in an array as large as the one that these are a view of.

    SciPy copies entries that are a view of a much larger array, so that a later write into one of
    them does not show in the other.
    """
    owner, n = entries, np.size(entries)
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    room = np.empty(max(n, np.size(owner)), int)
    room[:n] = np.arange(start, start + n)
    return room[:n].reshape(np.shape(entries))


def gathered(numbers: Any, entries: Any, given: np.ndarray | None = None) -> Any:
    """Return what stands in place of numbers: in an array or number, or in a sparse array.

    Parameters
    ----------
    numbers : Any
        What SciPy has made of numbers.
    entries : array_like
        The entries that they stand for, as a vector.
    given : np.ndarray, optional
        The array of numbers that SciPy was given. Where the result shares its memory, it shares
        that of the entries.
    """
    if isinstance(numbers, np.matrix):
        refused("indexing a sparse matrix by lists of rows and columns", MATRIX_RESULT)
    if not is_sparse(numbers):
        numbers = np.asarray(numbers)
        if given is not None and natively(np.may_share_memory, numbers, given):
            return as_view(entries, given, numbers)  # a diagonal of an array in DIA is a view
        return picked(entries, numbers)
    places = entries_of(numbers)
    if given is not None and natively(share_memory, numbers, given):
        made = with_entries(numbers, as_view(entries, given, places))
    else:
        made = with_entries(numbers, picked(entries, places))
    if made.format == "dia":
        # Other formats leave out what stands in DIA for nothing; entries that are zero they keep.
        setattr(made, _FILL, places == 0)
    return made


def share_memory(made: Any, given: Any) -> bool:
    """Whether the entries of a sparse array lie in the memory of an array."""
    return made.format not in ("lil", "dok") and np.may_share_memory(made.data, given)


def as_view(entries: Any, given: np.ndarray, made: np.ndarray) -> Any:
    """Return the view of entries that lies in them as one array lies in another."""
    first, shape, axes = natively(_layout, given, made)
    if first == 0 and axes is None and shape == np.shape(entries):
        return entries
    flat = np.reshape(entries, (-1,))
    view = np.reshape(flat[first : first + made.size], shape)
    return view if axes is None else np.transpose(view, axes)


def _layout(given: np.ndarray, made: np.ndarray) -> tuple[int, tuple, tuple | None]:
    """Return how an array lies in another: from which element on, in which shape, which axes."""
    order = sorted(range(made.ndim), key=lambda axis: -made.strides[axis])
    shape = tuple([made.shape[axis] for axis in order])
    first = (made.ctypes.data - given.ctypes.data) // given.itemsize
    whole = made.transpose(order)
    if not (given.flags.c_contiguous and whole.flags.c_contiguous):
        refused(
            "a sparse array whose entries share memory with others at a distance",
            "a write into one of them could not be followed. Make the array of a copy.",
        )
    in_order = order == list(range(made.ndim))
    return first, shape, None if in_order else tuple(map(int, np.argsort(order)))


def picked(entries: Any, numbers: np.ndarray) -> Any:
    """Return the entries of these numbers, which count from 1 on; 0 for the number 0."""
    places, padded = natively(_places_in, numbers, np.size(entries))
    if padded:
        entries = np.concatenate([np.zeros(1, entries.dtype), entries])
    return np.array(entries) if places is None else entries[places]


def _places_in(numbers: np.ndarray, n: int) -> tuple[np.ndarray | None, bool]:
    """Return at which places of n entries numbers are, and whether a 0 stands before them.

    No places are needed where all entries stand in their order.
    """
    if numbers.dtype.kind not in "iu":
        numbers = numbers.astype(int)  # ``diags`` makes everything floating
    if numbers.size and numbers.min() <= 0:
        return numbers, True
    places = numbers - 1
    in_order = places.shape == (n,) and np.array_equal(places, np.arange(n))
    return (None if in_order else places), False


def followed(f: Callable, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Return ``f(x, …)`` for a function that only moves the entries of a sparse array."""
    plain = numbered(x)
    numbers = Numbers(plain)
    made = natively(f, plain, *args, **kwargs)
    if made is plain:
        made = x
    elif is_sparse(made) and natively(_is_one_object, made, plain):
        made.__dict__ = vars(x)  # what is stored in one of them by keys is stored in the other
    else:
        made = gathered(made, vector_of(x), numbers.given)
    if natively(numbers.has_changed, plain):
        _take_over(x, plain, numbers, vector_of(x))
    return made


class Numbers:
    """The state of an array of numbers before SciPy works on it.

    Attributes
    ----------
    given : np.ndarray
        The numbers, which may change.
    before : np.ndarray
        A copy of them.
    """

    def __init__(self, plain: Any) -> None:
        self.given = entries_of(plain)
        self.before = self.given.copy()
        self._places = {name: vars(plain).get(name) for name in _PLACES}

    def has_changed(self, plain: Any) -> bool:
        """Whether an array in a format with arrays has other places or entries than before."""
        if plain.format in ("lil", "dok"):
            return False
        if any(vars(plain).get(name) is not places for name, places in self._places.items()):
            return True
        return entries_of(plain) is not self.given or self.have_moved()

    def have_moved(self) -> bool:
        """Whether something was written into the numbers."""
        return not np.array_equal(self.given, self.before)


def _is_one_object(made: Any, plain: Any) -> bool:
    """Whether two arrays in LIL or DOK hold their entries in the very same lists or dict."""
    if made.format != plain.format or made.format not in ("lil", "dok"):
        return False
    return made._dict is plain._dict if made.format == "dok" else made.data is plain.data


def changed(x: Any, change: Callable, entries: Any = None, plain: Any = None) -> Any:
    """Change a sparse array in place as a function changes an array of numbers.

    Parameters
    ----------
    x : sparse array
        The array.
    change : callable
        ``change(plain)`` changes the pattern of `x`, which holds the numbers of its entries.
    entries : array_like, optional
        What the numbers stand for: the entries, and what else is written.
    plain : sparse array, optional
        The pattern with other numbers.
    """
    plain = numbered(x) if plain is None else plain
    numbers = Numbers(plain)
    change(plain)
    return _take_over(x, plain, numbers, vector_of(x) if entries is None else entries)


def _take_over(x: Any, plain: Any, numbers: Numbers, entries: Any) -> Any:
    """Have a sparse array become what its array of numbers has become."""
    if plain.format in ("lil", "dok"):
        return become(x, gathered(plain, entries))
    given, before = numbers.given, numbers.before
    shared = natively(share_memory, plain, given)
    new = None if shared else gathered(plain, entries)
    if numbers.have_moved():
        own = np.arange(1, 1 + before.size).reshape(before.shape)
        x.data[...] = picked(entries, np.where(given == before, own, given))
    if shared:
        new = gathered(plain, vector_of(x), given)
    return become(x, new)


def places_of(x: Any) -> tuple[np.ndarray, ...]:
    """Return the coordinates of the entries of an array in COO, CSR or CSC, LIL or DOK."""
    if x.format in ("lil", "dok"):
        return coords_of(x)
    if x.format == "coo":
        return x.coords
    return method("tocoo")(numbered(x)).coords


@primitive
def weighed(entries: Any, *, weights: Any) -> Any:
    """Return a constant sparse matrix times a vector of entries."""
    return weights @ entries


linear_rule(
    weighed,
    lambda y_bar, entries, *, weights: weighed(y_bar, weights=weights.conj().T),
)


def summed(entries: Any, into: np.ndarray, n: int) -> Any:
    """Return `n` sums of entries: ``into`` says for each to which sum it goes."""
    return weighed(entries, weights=natively(_into_sums, into, n))


def _into_sums(into: np.ndarray, n: int) -> Any:
    places = into, np.arange(len(into))
    return sp.csr_array((np.ones(len(into), np.int8), places), shape=(n, len(into)))


def canonical(x: Any) -> Any:
    """Return a sparse array with the same elements each of which is stored once."""
    x = pruned(x)
    if natively(_is_canonical, x):
        return x
    if x.format == "bsr":
        return canonical(followed(method("tocoo"), x))
    if x.ndim > 2:
        return _canonical_by_places(x)
    name = "csc" if x.format == "csc" else "csr"
    made, weights = natively(added_up, numbered(x), name)
    if weights is None:
        return x
    made = with_entries(made, weighed(vector_of(x), weights=weights))
    return followed(method("tocoo"), made) if x.format == "coo" else made


def _is_canonical(x: Any) -> bool:
    return not np.size(entries_of(x)) or is_in_order(x)


def is_in_order(x: Any) -> bool:
    """Whether the entries of an array are in order, each stored once, or its format has no order.

    SciPy remembers what it finds out when it is asked first. What it would not have remembered in a
    program is forgotten, since the program may change the indices later.
    """
    if x.format in ("dia", "lil", "dok"):
        return True
    before = set(vars(x))
    found = bool(x.has_canonical_format)
    for name in set(vars(x)) - before:
        del vars(x)[name]
    return found


def _canonical_by_places(x: Any) -> Any:
    places = places_of(x)
    stored, into = np.unique(np.ravel_multi_index(places, x.shape), return_inverse=True)
    if len(stored) == len(into):
        return x
    sums = summed(vector_of(x), into, len(stored))
    return from_places(sums, np.unravel_index(stored, x.shape), x.shape)


def compressed(coo: Any, entries: Any, name: str) -> Any:
    """Return a numbered array in COO in CSR or CSC, of entries that may be stored twice."""
    made, weights = natively(added_up, coo, name)
    if weights is None:
        return gathered(made, entries)
    return with_entries(made, weighed(entries, weights=weights))


def from_places(entries: Any, places: tuple, shape: tuple, is_array: bool = True) -> Any:
    """Return the array in COO with these entries, each element at most once."""
    make = sp.coo_array if is_array else sp.coo_matrix
    numbers = natively(np.arange, 1, 1 + len(places[0]))
    made = natively(make, (numbers, places), shape=shape)
    made.has_canonical_format = _is_sorted(places, shape)
    return gathered(made, entries)


def _is_sorted(places: tuple, shape: tuple) -> bool:
    linear = np.ravel_multi_index(places, shape) if len(places[0]) else np.zeros(0, int)
    return bool(np.all(np.diff(linear) > 0))


def as_format(x: Any, name: str) -> Any:
    """Return a sparse array in a format, each element stored at most once."""
    if x.format == "coo" and name in ("csr", "csc") and not natively(_is_canonical, x):
        return compressed(numbered(x), vector_of(x), name)
    x = canonical(x)
    return x if x.format == name else followed(method("asformat", name), x)


def with_new(x: Any, entries: Any) -> Any:
    """Return a sparse array like `x` of new entries, as SciPy makes it: with places of its own."""
    made = with_entries(x, entries)
    own_places(made)
    return pruned(made)


def pruned(x: Any) -> Any:
    """Return a sparse array without what its memory holds behind its last entry.

    There is such memory where another array, which shares the places of the entries, has added up
    in place what both stored twice. SciPy's constructors leave it out.
    """
    if x.format not in ("csr", "csc", "bsr") or len(x.indices) <= x.indptr[-1]:
        return x
    n = int(x.indptr[-1])
    x = with_entries(x, entries_of(x)[:n])
    x.indices = x.indices[:n]
    return x


def like_class(x: Any, example: Any) -> Any:
    """Return a sparse array in the format and of the interface of another."""
    make = sp.coo_matrix if is_matrix(example) else sp.coo_array
    if is_matrix(x) != is_matrix(example):
        x = followed(make, as_format(x, "coo"))
    return as_format(x, example.format)


def become(x: Any, new: Any) -> Any:
    """Have a sparse array hold what a new one does."""
    state = dict(vars(new))
    vars(x).clear()
    vars(x).update(state)
    return x
