"""Rules for scipy.cluster; loaded once it has been imported.

Which cluster a point belongs to is constant; the means of clusters, and distances from them, are
differentiated.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster import vq

from chainrules.scipy.cluster import trees as trees
from chainrules.scipy.private import first_of
from chainrules.scipy.spatial.distance import euclidean
from chainrules_core import decompose, ignore_derivatives

_vq = first_of("cluster.vq._vq", "cluster._vq")


@decompose(vq.vq)
def vq_body(obs, code_book, check_finite=True):
    obs, code_book = np.asarray(obs, dtype=float), np.asarray(code_book, dtype=float)
    code, _ = vq.vq(ignore_derivatives(obs), ignore_derivatives(code_book), check_finite)
    points = obs if np.ndim(obs) == 2 else obs[:, None]
    centres = code_book if np.ndim(code_book) == 2 else code_book[:, None]
    return code, euclidean(points, centres[code])


@decompose(_vq.update_cluster_means)
def update_cluster_means_body(obs, labels, nc):
    labels = np.asarray(labels)
    counts = np.bincount(labels, minlength=nc)
    sums = np.equal.outer(np.arange(nc), labels) @ obs
    return sums / np.maximum(counts, 1).reshape(nc, *(1,) * (np.ndim(obs) - 1)), counts > 0
