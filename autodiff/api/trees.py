"""Parameters in nests: turn them into a vector and back, change, add and scale them.

A variable is a leaf that `gradient` differentiates with respect to: a float, a complex number, or
an array of them. All other leaves (strings, integers, None) do not change. All functions here also
work on traced values.
"""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.errors import ArgumentError
from autodiff.intercept import intercept
from autodiff.trace.pytree import (
    is_perturbable,
    leaves_of,
    map_leaves,
    parts_of,
    variables_of,
)
from autodiff.trace.trace_stack import is_differentiating
from autodiff.trace.tracer import bare, is_tracer, shape_of, untraced

_FLOAT = np.dtype(float)
_FLOATS = (float, np.float64)
_KINDS = (np.ndarray, *_FLOATS)
_DEEPEST = 50


class Ravelling:
    """How the variables of a nest lie in a vector.

    Parameters
    ----------
    params : Any
        A nest.
    real : bool
        Whether the vector is one of float64, where a complex number takes two elements.

    Attributes
    ----------
    size : int
        The length of the vector.
    """

    def __init__(self, params: Any, real: bool = False) -> None:
        self.like = map_leaves(params, untraced)
        self.is_real = real
        self.forms = [_form(leaf) for leaf in variables_of(params)]
        self.shapes = [shape for shape, *_ in self.forms]
        self.places: list[slice] = []
        self.size = 0
        for shape, dtype, _ in self.forms:
            length = math.prod(shape) * (2 if real and dtype.kind == "c" else 1)
            self.places.append(slice(self.size, self.size + length))
            self.size += length
        dtypes = {dtype for _, dtype, _ in self.forms}
        self.dtype = _FLOAT if real or not dtypes else np.result_type(*dtypes)
        self._set_short_ways()

    def _set_short_ways(self) -> None:
        """Prepare what makes a plain nest in float64, and takes it apart, in each evaluation."""
        self._make = self._write = None
        if all(dtype == _FLOAT and kind in _KINDS for _, dtype, kind in self.forms):
            leaves = zip(self.places, self.forms, strict=True)
            with contextlib.suppress(_OtherFormError):
                self._make, self._write = _ways(self.like, leaves, set(), _DEEPEST)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the functions, which cannot be pickled."""
        return {**vars(self), "_make": None, "_write": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Prepare them anew."""
        vars(self).update(state)
        self._set_short_ways()

    def without_numbers(self) -> Ravelling:
        """Return the same for other workers: with the structure, and not the values."""
        small = copy.copy(self)
        small.like = map_leaves(
            self.like, lambda leaf: 0.0 if is_perturbable(leaf) else leaf, every=True
        )
        return small

    def vector(self, params: Any) -> Any:
        """Return the variables of a nest of this form as a vector, in their order."""
        if self._write is not None:
            whole = np.empty(self.size)
            try:
                self._write(params, whole)
            except _OtherFormError:
                pass
            else:
                return whole
        leaves = variables_of(params)
        shapes = [leaf.shape if type(leaf) is np.ndarray else shape_of(leaf) for leaf in leaves]
        if shapes != self.shapes:
            raise ArgumentError(
                f"a nest with variables of shapes {shapes} does not have the form of this vector, "
                f"which is {self.shapes}."
            )
        if any(map(is_tracer, leaves)):
            vector = np.concatenate([self._flat(leaf) for leaf in leaves])
            return vector if bare(vector).dtype == self.dtype else vector.astype(self.dtype)
        whole = np.empty(self.size, self.dtype)
        for place, leaf, (_, dtype, _) in zip(self.places, leaves, self.forms, strict=True):
            if dtype.kind == "c":
                whole[place] = self._flat(leaf)
            else:
                whole[place] = leaf.reshape(-1) if type(leaf) is np.ndarray else leaf
        return whole

    def _flat(self, leaf: Any) -> Any:
        flat = np.reshape(leaf, (-1,))
        if self.is_real and bare(flat).dtype.kind == "c":
            flat = np.reshape(np.stack([np.real(flat), np.imag(flat)], axis=-1), (-1,))
        return flat

    def nest(self, vector: Any) -> Any:
        """Return the nest with its variables taken from a vector.

        Parameters
        ----------
        vector : ndarray, shape (n,)
            The vector.

        Returns
        -------
        Any
            A new nest of the same structure, shapes and dtypes.

        Raises
        ------
        ArgumentError
            If the vector has another length, or an imaginary part at the place of a real number.
        """
        if type(vector) is not np.ndarray and not is_tracer(vector):
            vector = np.asarray(vector)
        shape = vector.shape if type(vector) is np.ndarray else shape_of(vector)
        if shape != (self.size,):
            raise ArgumentError(
                f"the vector has the shape {shape}; the nest is made of {self.size} "
                f"numbers, so it takes one of shape ({self.size},)."
            )
        if self._make is not None and type(vector) is np.ndarray and vector.dtype == _FLOAT:
            return self._make(vector)
        made = map(self._leaf, self.places, self.forms, [vector] * len(self.forms))
        if is_perturbable(self.like):
            return next(made)
        return map_leaves(
            self.like, lambda leaf: next(made) if is_perturbable(leaf) else leaf, every=True
        )

    def _leaf(self, place: slice, form: tuple, vector: Any) -> Any:
        shape, dtype, kind = form
        part = vector[place]
        if type(part) is np.ndarray and part.dtype == dtype:
            # A copy: who writes into a leaf does not write into the vector.
            return part.reshape(shape).copy() if kind is np.ndarray else kind(part[0])
        is_complex = dtype.kind == "c"
        if self.is_real and is_complex:
            part = np.reshape(part, (-1, 2))
            part = part[:, 0] + 1j * part[:, 1]
        elif not is_complex and bare(part).dtype.kind == "c":
            if np.any(np.imag(bare(part)) != 0):
                raise ArgumentError(
                    f"the vector has an imaginary part at {place.start}:{place.stop}, where the "
                    "nest has real numbers. Keep it real there, or make the numbers of the nest "
                    "complex."
                )
            part = np.real(part).copy()
        if bare(part).dtype != dtype:
            part = part.astype(dtype)
        if kind is np.ndarray:
            return np.reshape(part, shape).copy()
        return part[0] if is_tracer(part) else kind(part[0])


class _OtherFormError(Exception):
    """A nest takes a closer look: it holds traced values, or has not the form that is expected."""


def _ways(part: Any, leaves: Iterator, seen: set[int], depth: int) -> tuple[Callable, Callable]:
    """Return what makes a part of a plain nest from a vector, and what writes it into one.

    Plain are dicts, lists and tuples; others, and what is in two places, raise _OtherFormError.
    """
    kind = type(part)
    if kind is dict or kind is list or kind is tuple:
        if not depth or (kind is not tuple and id(part) in seen):
            raise _OtherFormError
        seen.add(id(part))
        pieces = part.values() if kind is dict else part
        ways = [_ways(piece, leaves, seen, depth - 1) for piece in pieces]
        return _ways_of_dict(list(part), ways) if kind is dict else _ways_of_sequence(kind, ways)
    if is_perturbable(part):
        place, (shape, _, kind) = next(leaves)
        is_array = kind is np.ndarray
        return _ways_of_array(place, shape) if is_array else _ways_of_float(place.start, kind)
    if parts_of(part) is not None:
        raise _OtherFormError
    return _ways_of_constant(part)


def _ways_of_dict(keys: list, ways: list) -> tuple[Callable, Callable]:
    makers = [(key, make) for key, (make, _) in zip(keys, ways, strict=True)]
    writers = [(key, write) for key, (_, write) in zip(keys, ways, strict=True)]

    def make(vector: np.ndarray) -> dict:
        return {key: make(vector) for key, make in makers}

    def write(part: Any, vector: np.ndarray) -> None:
        if type(part) is not dict or list(part) != keys:
            raise _OtherFormError
        for key, write in writers:
            write(part[key], vector)

    return make, write


def _ways_of_sequence(kind: type[list | tuple], ways: list) -> tuple[Callable, Callable]:
    makers, writers = [make for make, _ in ways], [write for _, write in ways]

    def make(vector: np.ndarray) -> Any:
        made = [make(vector) for make in makers]
        return made if kind is list else tuple(made)

    def write(part: Any, vector: np.ndarray) -> None:
        if type(part) is not kind or len(part) != len(writers):
            raise _OtherFormError
        for write_piece, piece in zip(writers, part, strict=True):
            write_piece(piece, vector)

    return make, write


def _ways_of_array(place: slice, shape: tuple[int, ...]) -> tuple[Callable, Callable]:
    is_vector = len(shape) == 1

    def make(vector: np.ndarray) -> np.ndarray:
        # A copy: who writes into a leaf does not write into the vector.
        leaf = vector[place]
        return leaf.copy() if is_vector else leaf.reshape(shape).copy()

    def write(leaf: Any, vector: np.ndarray) -> None:
        if type(leaf) is not np.ndarray or leaf.shape != shape or leaf.dtype != _FLOAT:
            raise _OtherFormError
        vector[place] = leaf if is_vector else leaf.reshape(-1)

    return make, write


def _ways_of_float(place: int, kind: type) -> tuple[Callable, Callable]:
    def make(vector: np.ndarray) -> Any:
        return vector.item(place) if kind is float else vector[place]

    def write(leaf: Any, vector: np.ndarray) -> None:
        if type(leaf) not in _FLOATS:
            raise _OtherFormError
        vector[place] = leaf

    return make, write


def _ways_of_constant(constant: Any) -> tuple[Callable, Callable]:
    def make(vector: np.ndarray) -> Any:
        return constant

    def write(leaf: Any, vector: np.ndarray) -> None:
        if leaf is not None and is_perturbable(leaf):
            raise _OtherFormError

    return make, write


def _form(leaf: Any) -> tuple[tuple[int, ...], np.dtype, type]:
    """Return shape, dtype and class of a variable; the class is that of its plain value."""
    if type(leaf) is np.ndarray:
        return leaf.shape, leaf.dtype, np.ndarray
    if type(leaf) is float:
        return (), _FLOAT, float
    plain = bare(leaf)
    kind = np.ndarray if isinstance(plain, np.ndarray) else type(plain)
    if kind is not np.ndarray and not issubclass(kind, np.generic):
        kind = complex if issubclass(kind, complex) else float
    return np.shape(plain), np.result_type(plain), kind


def ravel(params: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the variables of a nest as one vector, and a function that rebuilds the nest.

    Parameters
    ----------
    params : Any
        A nest of numbers and arrays, as for :func:`gradient`: tuples, lists, dicts, named tuples,
        dataclasses and objects inside each other. Its variables are the floats, the complex numbers
        and the arrays of them.

    Returns
    -------
    vector : ndarray, shape (n,)
        The elements of all variables, in the order of the nest. Its dtype is the smallest that
        holds all of them: float32 if all variables are, complex if one is.
    nest : callable
        ``nest(vector)`` returns a nest with the structure, shapes, dtypes and constants of
        `params`. It raises :exc:`ArgumentError` if the vector has another length, or an imaginary
        part where `params` has real numbers.

    Notes
    -----
    An array that appears in two places of the nest becomes two variables. An object or container
    that appears in two places remains one.

    Examples
    --------
    >>> params = {"weights": np.ones((2, 2)), "offset": 3.0, "name": "line"}
    >>> vector, nest = ravel(params)
    >>> vector
    array([1., 1., 1., 1., 3.])
    >>> nest(np.arange(5.0))
    {'weights': array([[0., 1.], [2., 3.]]), 'offset': 4.0, 'name': 'line'}
    """
    ravelling = Ravelling(params)
    return ravelling.vector(params), ravelling.nest


def tree_map(f: Callable, params: Any, /, *others: Any) -> Any:
    """Apply a function to each variable of a nest, together with those of other nests.

    Parameters
    ----------
    f : callable
        ``f(leaf, *leaves)`` takes a variable of `params` and the matching leaves of the other
        nests. It returns the new leaf.
    params : Any
        A nest of numbers and arrays, as :func:`gradient` takes it.
    *others : Any
        Nests of the same structure, such as a gradient. Their values in place of strings, integers
        and None in `params` are ignored.

    Returns
    -------
    Any
        A nest like `params` with new variables. All other leaves are those of `params`.

    Raises
    ------
    ArgumentError
        If another nest lacks a part of `params`, or has one that `params` lacks.

    Examples
    --------
    A step of gradient descent:

    >>> from autodiff import gradient
    >>> params = {"a": 1.0, "b": np.array([1.0, 2.0]), "name": "p", "order": 2, "none": None}
    >>> slopes = gradient(lambda p: p["a"] ** p["order"] + np.sum(p["b"] ** 2), params)
    >>> tree_map(lambda p, slope: p - 0.5 * slope, params, slopes)
    {'a': 0.0, 'b': array([0., 0.]), 'name': 'p', 'order': 2, 'none': None}
    """
    f = intercept(f) if is_differentiating() else f
    rows = [leaves_like(params, other) for other in others]
    columns = iter(zip(*rows, strict=True)) if rows else None

    def changed(leaf: Any) -> Any:
        partners = next(columns) if columns is not None else ()
        if not is_perturbable(leaf):
            return leaf
        if any(partner is None for partner in partners):
            raise ArgumentError(
                "tree_map: another nest has None in the place of a variable. Only what is no "
                "variable (a name, an integer) may be None there; give zeros."
            )
        return f(leaf, *partners)

    return map_leaves(params, changed, every=True)


def tree_add(params: Any, *others: Any) -> Any:
    """Return the sum of nests, variable by variable.

    Parameters
    ----------
    params : Any
        A nest of numbers and arrays, as :func:`gradient` takes it.
    *others : Any
        Nests of the same structure, such as steps. They may have None where `params` has no
        variable.

    Returns
    -------
    Any
        A nest like `params`, with the dtypes of NumPy's sums.

    Raises
    ------
    ArgumentError
        If the structures differ.

    Examples
    --------
    >>> tree_add({"a": 1.0, "n": 3}, {"a": 0.5, "n": None})
    {'a': 1.5, 'n': 3}
    """
    return tree_map(_sum, params, *others)


def _sum(first: Any, *others: Any) -> Any:
    for other in others:
        first = first + other
    return first


def tree_scale(factor: Any, params: Any) -> Any:
    """Return a nest with its variables multiplied by a number.

    Parameters
    ----------
    factor : float
        The number. A Python float keeps the dtypes of arrays, float32 for example.
    params : Any
        A nest of numbers and arrays, as :func:`gradient` takes or returns it.

    Returns
    -------
    Any
        A nest like `params`.

    Examples
    --------
    >>> tree_add({"a": 1.0, "n": 3}, tree_scale(-0.1, {"a": 5.0, "n": None}))
    {'a': 0.5, 'n': 3}
    """
    return map_leaves(params, lambda leaf: factor * leaf if is_perturbable(leaf) else leaf, True)


def leaves_like(params: Any, other: Any, partial: bool = False, where: str = "") -> list:
    """Return what `other` has in the places of the leaves of `params`, in their order.

    Parameters
    ----------
    params : Any
        A nest.
    other : Any
        A nest of its structure down to its leaves. Parts are found by name or place, so a dict
        may stand for an object or in another order.
    partial : bool
        Whether parts may be missing, or None for a whole container: their leaves get None.
    where : str
        The place of `params` in a larger nest, for errors.

    Raises
    ------
    ArgumentError
        If `other` has not the structure.
    """
    return _leaves_like(params, other, partial, where, {})


def _leaves_like(params: Any, other: Any, partial: bool, where: str, seen: dict) -> list:
    parts = parts_of(params)
    if parts is None:
        return [other]
    if id(params) in seen and not isinstance(params, tuple):  # counts once, as in `leaves_of`
        return []
    seen[id(params)] = params
    if partial and other is None:
        return [None] * len(leaves_of(params))
    given = parts_of(other)
    names = [key for key, _ in parts]
    if given is None:
        raise ArgumentError(
            f"the nests differ: the parameters{where} are of class {type(params).__name__} and "
            f"have the parts {_listed(names)}; in their place is {type(other).__name__}."
        )
    found = dict(given)
    extra = [key for key in found if key not in names]
    missing = [key for key in names if key not in found]
    if extra or (missing and not partial):
        raise ArgumentError(
            f"the nests differ: the parameters{where} have the parts {_listed(names)}, the other "
            f"nest has {_listed(list(found))}."
        )
    leaves: list = []
    for key, part in parts:
        leaves += _leaves_like(part, found.get(key), partial, f"{where}[{key!r}]", seen)
    return leaves


def _listed(names: list) -> str:
    return ", ".join(map(repr, names)) or "none"
