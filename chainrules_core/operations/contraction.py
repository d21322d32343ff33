"""Sums of products over common indices, as :func:`numpy.einsum` writes them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

_WORTH_PLANNING, _OF_SEVERAL = 1 << 16, 1 << 13
"""So many products of two operands, or of more, take longer than a better way would."""
_LARGEST = 1 << 20
"""Intermediate results may have as many elements, or as the largest operand."""


def contraction(subscripts: str, *operands: Any) -> Any:
    """The einsum of these operands, by products of matrices where there is much to do.

    ``np.einsum(subscripts, *operands)`` adds up all products, each of one element of every operand.
    Two matrices are multiplied sooner by BLAS, and three operands two at a time.

    Parameters
    ----------
    subscripts : str
        What to sum, with letters for all axes and an arrow.
    *operands : array_like
        The factors; traced values among them.

    Returns
    -------
    numpy.ndarray or number
        The sum, whose terms are added in another order.

    Raises
    ------
    ValueError
        If the subscripts do not fit the operands.

    Examples
    --------
    >>> from chainrules_core.authoring import contraction
    >>> contraction("ij,jk,k->i", np.eye(2), [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])
    array([3., 7.])
    """
    path = path_of(subscripts, tuple(map(np.shape, operands)))
    return np.einsum(subscripts, *operands, optimize=path)


@functools.lru_cache(maxsize=1024)
def path_of(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> list | bool:
    """Return how to contract operands of these shapes, for the option `optimize` of einsum.

    Examples
    --------
    >>> path_of("ij,jk->ik", ((2, 2), (2, 2)))
    False
    >>> path_of("ij,jk,kl->il", ((100, 100), (100, 100), (100, 2)))
    ['einsum_path', (1, 2), (0, 1)]
    """
    inputs, _, _ = subscripts.replace(" ", "").partition("->")
    labels = inputs.split(",")
    if len(labels) < 2 or [*map(len, labels)] != [*map(len, shapes)]:
        return False
    sizes = extents_of(labels, shapes)
    fewest = _WORTH_PLANNING if len(labels) == 2 else _OF_SEVERAL
    if math.prod(sizes.values()) < fewest:
        return False
    models = [np.broadcast_to(0.0, shape) for shape in shapes]
    most = max(_LARGEST, *[m.size for m in models])
    path: list = np.einsum_path(subscripts, *models, optimize=("greedy", most))[0]
    return path


def extents_of(labels: Iterable[str], shapes: Iterable[tuple[int, ...]]) -> dict[str, int]:
    """Return how long the axis of each letter is, where one of length 1 is repeated.

    Examples
    --------
    >>> extents_of(["ij", "jk"], [(2, 1), (3, 4)])
    {'i': 2, 'j': 3, 'k': 4}
    """
    extents: dict[str, int] = {}
    for letters, shape in zip(labels, shapes, strict=True):
        for c, n in zip(letters, shape, strict=True):
            extents[c] = n if extents.get(c, 1) == 1 else extents[c]
    return extents
