"""Rules for scipy.spatial; loaded once it has been imported."""

from chainrules.scipy.spatial import (
    distance as distance,
    hulls as hulls,
    rotations as rotations,
    trees as trees,
)
