"""Blocks on a diagonal: small ones have their entries put in their places all at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import linalg

from chainrules.scipy.delegated import both
from chainrules_core import decompose, ignore_derivatives

LARGE = 4096
"""From so many elements on a block is written by itself."""


def block_of(a: Any) -> Any:
    """A matrix, or a stack of them; of a vector its row."""
    a = np.asarray(a)
    return a if np.ndim(a) > 1 else np.reshape(a, (1, -1))


def entries_of(a: Any, stack: tuple[int, ...]) -> Any:
    """The elements of the matrices of a stack, in rows."""
    *own, height, width = np.shape(a)
    if tuple(own) != stack:
        a = np.broadcast_to(a, (*stack, height, width))
    return np.reshape(a, (*stack, height * width))


@decompose(both(linalg.block_diag))
def block_diag_body(*arrs):
    blocks = [block_of(a) for a in arrs] if arrs else [np.zeros((1, 0))]
    if any(np.ndim(a) > 2 for a in blocks):
        linalg.block_diag(*map(ignore_derivatives, blocks))  # an error in older versions
    stack = np.broadcast_shapes(*[np.shape(a)[:-2] for a in blocks])
    sizes = [np.shape(a)[-2:] for a in blocks]
    rows, columns = map(sum, zip(*sizes, strict=True))
    dtype, corners, top, left = np.result_type(*blocks), [], 0, 0
    for height, width in sizes:
        corners.append((top, left))
        top, left = top + height, left + width
    if sum(map(math.prod, sizes)) > LARGE * len(blocks):
        made = np.zeros((*stack, rows, columns), dtype)
        for a, (top, left), (height, width) in zip(blocks, corners, sizes, strict=True):
            made[..., top : top + height, left : left + width] = a
        return made
    places = []
    for (top, left), (height, width) in zip(corners, sizes, strict=True):
        i, j = np.ix_(np.arange(top, top + height), np.arange(left, left + width))
        places.append(np.ravel(i * columns + j))
    whole = np.zeros((*stack, rows * columns), dtype)
    whole[..., np.concatenate(places)] = np.concatenate([entries_of(a, stack) for a in blocks], -1)
    return np.reshape(whole, (*stack, rows, columns))
