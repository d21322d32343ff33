"""Measurements that are places, labels and truth values: constants."""

from __future__ import annotations

from scipy import ndimage

from chainrules.scipy.delegated import both
from chainrules_core import non_differentiable

CONSTANTS = """
    binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss
    binary_opening binary_propagation distance_transform_cdt find_objects
    generate_binary_structure histogram iterate_structure label maximum_position minimum_position
    value_indices watershed_ift
"""

for _name in CONSTANTS.split():
    if hasattr(ndimage, _name):
        non_differentiable(both(getattr(ndimage, _name)))
