"""Rules for scipy.cluster; loaded once it has been imported.

Which cluster a point belongs to is constant; its distance from the centre is differentiated.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster import vq

from chainrules.refused import refuse
from chainrules.scipy.cluster import trees as trees
from chainrules.scipy.spatial.distance import euclidean
from chainrules_core import decompose, ignore_derivatives


@decompose(vq.vq)
def vq_body(obs, code_book, check_finite=True):
    obs, code_book = np.asarray(obs, dtype=float), np.asarray(code_book, dtype=float)
    code, _ = vq.vq(ignore_derivatives(obs), ignore_derivatives(code_book), check_finite)
    points = obs if np.ndim(obs) == 2 else obs[:, None]
    centres = code_book if np.ndim(code_book) == 2 else code_book[:, None]
    return code, euclidean(points, centres[code])


refuse(
    [vq.kmeans, vq.kmeans2],
    "its centres are found by iterations that choose. Call it with "
    "autodiff.ignore_derivatives(obs), and compute the means or vq(obs, centres) of its clusters.",
)
