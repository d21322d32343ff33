"""What picks by a search: the nearest neighbour, and AAA's look for spurious poles.

The nearest neighbour is constant as long as the place moves little; its value is differentiated.
AAA chooses its support points and looks for poles without weight by values alone; the poles and
residues found on the way are not part of the interpolant.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from scipy import interpolate
from scipy.interpolate import NearestNDInterpolator

from chainrules.refused import RefusedError
from chainrules_core import decompose, non_differentiable


def nearest_numbers(made: Any, places: tuple, options: dict) -> Any:
    """The number of the nearest point of each place as a float, NaN where none is near enough."""
    finder = copy.copy(made)
    finder.values = np.arange(len(made.values), dtype=float)
    return finder(*places, **options)


def doublets(made: Any, tolerance: float) -> int:
    """How many poles without weight AAA would take away."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return copy.copy(made).clean_up(tolerance)


non_differentiable(nearest_numbers)
non_differentiable(doublets)


@decompose(NearestNDInterpolator.__call__)
def nearest(self, *args, **query_options):
    found = nearest_numbers(self, args, query_options)
    far = np.isnan(found)
    values = self.values[np.where(far, 0.0, found).astype(int)]
    beside = np.reshape(far, np.shape(far) + (1,) * (np.ndim(values) - np.ndim(far)))
    return np.where(beside, np.nan, values)


if hasattr(interpolate, "AAA"):

    @decompose(interpolate.AAA.clean_up)
    def clean_up(self, cleanup_tol=1e-13):
        if doublets(self, cleanup_tol):
            raise RefusedError(
                "scipy.interpolate.AAA",
                "it takes spurious poles away, and the points that it interpolates change. Use "
                "clean_up=False, a smaller clean_up_tol, or a larger rtol.",
            )
        return 0
