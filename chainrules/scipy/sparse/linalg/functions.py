"""Functions of sparse matrices: the exponential, norms and their estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse.linalg as spl

from chainrules.refused import refuse
from chainrules.scipy.sparse.entries import natively, refused
from chainrules.scipy.sparse.linalg.spectral import array_of
from chainrules_core import decompose, ignore_derivatives


@decompose(spl.onenormest)
def onenormest(
    A: Any,  # noqa: N803 - SciPy's name
    t: Any = 2,
    itmax: Any = 5,
    compute_v: Any = False,
    compute_w: Any = False,
) -> Any:
    """Return the estimate of a norm: that of A v for a v which SciPy chooses, a constant."""
    a = array_of(A)
    _, v = natively(spl.onenormest, ignore_derivatives(a), t, itmax, True, False)
    w = a @ v
    estimate = np.sum(np.abs(w))
    parts = [p for p, wanted in ((v, compute_v), (w, compute_w)) if wanted]
    return (estimate, *parts) if parts else estimate


_ = (refuse, refused)
