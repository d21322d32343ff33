"""Masked arrays: ``numpy.ma`` is not differentiated, and says so.

Its functions work on the bare data of their arguments and mend the mask by writing; NumPy's
functions, which the rules are for, would pass over the mask. A masked array that meets a traced
value elsewhere is the engine's to refuse.
"""

from __future__ import annotations

import numpy.ma

from chainrules.refused import refuse
from chainrules_core import non_differentiable
from chainrules_core.registry import key_of

REASON = (
    "a masked array hides elements that NumPy's functions see. Write the mask as np.where(mask, 0, "
    "x) or x[~mask], on plain arrays."
)


# What SciPy's functions ask about any array, to go on with plain ones.
QUESTIONS = (
    numpy.ma.isMaskedArray, numpy.ma.is_mask, numpy.ma.is_masked, numpy.ma.getmask,
    numpy.ma.getmaskarray,
)  # fmt: skip
non_differentiable(QUESTIONS)


def keys() -> list:
    """Return what the public names of numpy.ma call, each once and none of NumPy's own."""
    public = [getattr(numpy.ma, name) for name in numpy.ma.__all__]
    called = [key_of(f)[0] for f in public if callable(f) and f not in QUESTIONS]
    return list(dict.fromkeys(f for f in called if _module(f).startswith("numpy.ma")))


def _module(f: object) -> str:
    return getattr(f, "__module__", None) or ""


refuse(keys(), REASON)
