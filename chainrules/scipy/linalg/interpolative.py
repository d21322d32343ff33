"""scipy.linalg.interpolative: none of it is differentiated."""

from __future__ import annotations

from scipy.linalg import interpolative

from chainrules.refused import refuse
from chainrules.scipy.delegated import both

refuse(
    both(*[f for f in map(vars(interpolative).get, interpolative.__all__) if callable(f)]),
    "it draws random numbers inside compiled code, and its columns are chosen by comparison. Use "
    "qr(pivoting=True) or svd.",
)
