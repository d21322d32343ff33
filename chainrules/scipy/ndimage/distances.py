"""Distance transforms, by the ``sampling``: the distances between neighbours along each axis.

Which element of the background is the nearest is constant. The distance from it is a norm, whose
derivative at 0 is 0.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from chainrules.scipy.delegated import both
from chainrules.scipy.ndimage.kernels import kernel
from chainrules.scipy.private import Private
from chainrules_core import decompose, non_differentiable

_nd_image = Private("ndimage._nd_image")

EUCLIDEAN = 1


def lengths(places, sampling):
    """Return the distances from places, one array for each axis."""
    steps = places - np.indices(places.shape[1:])
    if sampling is not None:
        scale = np.broadcast_to(sampling, (len(places),))
        steps = steps * np.reshape(scale, (-1,) + (1,) * (places.ndim - 1))
    return np.linalg.norm(steps, axis=0)


@non_differentiable
def nearest_places(input, sampling):
    """Return the place of the nearest element of the background."""
    return ndimage.distance_transform_edt(input, sampling, False, True)


@decompose(both(ndimage.distance_transform_edt))
def distance_transform_edt_body(
    input, sampling=None, return_distances=True, return_indices=False, distances=None, indices=None
):
    places = nearest_places(input, sampling)
    results = []
    if return_distances:
        found = lengths(places, sampling)
        if distances is None:
            results.append(found)
        else:
            distances[...] = found
    if return_indices:
        if indices is None:
            results.append(places)
        else:
            indices[...] = places
    return (None, *results)[-1] if len(results) < 2 else tuple(results)


@non_differentiable
def nearest(input, metric, sampling):
    """Return the place of the nearest element of the background, in the flat array."""
    features = np.zeros(np.shape(input), np.int32)
    distances = np.zeros(np.shape(input), float if metric == EUCLIDEAN else np.uint32)
    _nd_image.distance_transform_bf(input, metric, sampling, distances, features)
    return features, distances


@kernel("distance_transform_bf")
def distance_transform_bf_body(input, metric, sampling, distances, features):
    found, values = nearest(input, metric, sampling)
    if features is not None:
        features[...] = found
    if distances is None:
        return
    if metric != EUCLIDEAN:
        distances[...] = values
        return
    distances[...] = lengths(np.stack(np.unravel_index(found, np.shape(input))), sampling)
