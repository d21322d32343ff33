"""Shuffled, permuted and chosen: which elements are taken is drawn, what they are is traced.

Each makes the same draws for the places as for the values themselves, so the places are drawn and
the values taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator, RandomState

from chainrules.refused import refuse
from chainrules_core import Array, decompose

LIST = (list, tuple)
VALUES = (Array, *LIST)


def places(rng: Any, x: Any, axis: int = 0) -> Any:
    """Return the places along an axis, shuffled."""
    order = np.arange(np.shape(x)[axis])
    rng.shuffle(order)
    return order


@decompose(Generator.shuffle, Generator, Array)
def shuffle_by_places(self, x, axis=0):
    x[...] = np.take(x, places(self, x, axis), axis)


@decompose(RandomState.shuffle, RandomState, Array)
def shuffle_rows_by_places(self, x):
    x[...] = np.take(x, places(self, x), 0)


@decompose(Generator.shuffle, Generator, list)
def shuffle_list_by_places(self, x, axis=0):
    x[:] = [x[i] for i in places(self, x)]


@decompose(RandomState.shuffle, RandomState, list)
def shuffle_list_by_places_of_old(self, x):
    x[:] = [x[i] for i in places(self, x)]


@decompose(Generator.permutation, Generator, VALUES)
def permutation_by_places(self, x, axis=0):
    x = np.asarray(x)
    return np.take(x, places(self, x, axis), axis)


@decompose(RandomState.permutation, RandomState, VALUES)
def permutation_of_rows_by_places(self, x):
    x = np.asarray(x)
    return np.take(x, places(self, x), 0)


@decompose(Generator.permuted, Generator, VALUES)
def permuted_by_places(self, x, *, axis=None, out=None):
    x = np.asarray(x)
    order = self.permuted(np.arange(np.size(x)).reshape(np.shape(x)), axis=axis)
    y = np.take(np.ravel(x), order)
    if out is None:
        return y
    out[...] = y
    return out


@decompose(Generator.choice, Generator, VALUES)
def choice_by_places(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
    a = np.asarray(a)
    drawn = self.choice(np.shape(a)[axis], size, replace, p, shuffle=shuffle)
    return np.take(a, drawn, axis)


@decompose(RandomState.choice, RandomState, VALUES)
def choice_of_old_by_places(self, a, size=None, replace=True, p=None):
    a = np.asarray(a)
    return np.take(a, self.choice(np.shape(a)[0], size, replace, p), 0)


refuse(
    (Generator.choice, RandomState.choice),
    "which elements are chosen is no continuous function of the probabilities. Use the logarithm "
    "of the probability (a score function), or wrap them in autodiff.ignore_derivatives(...).",
    (Generator, RandomState),
    (int, np.integer),
)
