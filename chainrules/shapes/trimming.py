"""``np.trim_zeros``: what it drops is 0, but may move."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.dropped import without
from chainrules_core import decompose, ignore_derivatives, natively

_ZEROS = (
    "np.trim_zeros drops zeros that depend on what is differentiated by, and their derivatives "
    "would be lost. Say by a slice what is to be kept."
)


@decompose(np.trim_zeros)
def trim_zeros_body(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    options = {} if axis is None else {"axis": axis}
    plain = ignore_derivatives(filt)
    shape = np.shape(natively(np.trim_zeros, plain, trim, **options))
    if shape == np.shape(filt):
        return filt
    used = np.nonzero(plain)
    kept = []
    for at, n, m in zip(used, np.shape(filt), shape, strict=True):
        first = int(np.min(at)) if np.size(at) and "f" in trim.lower() and m < n else 0
        kept.append(slice(first, first + m))
    if isinstance(filt, (list, tuple)):
        return filt[kept[0]]
    dropped = np.ones(np.shape(filt), bool)
    dropped[tuple(kept)] = False
    return without(filt[tuple(kept)], filt[dropped], why=_ZEROS)
