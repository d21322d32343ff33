"""Rules for scipy.linalg; loaded once it has been imported.

What is written in Python over other functions of this module is traced. Here are the rules
of what calls LAPACK, or runs in C. The mathematics is that of `chainrules.linalg`, whose
helpers are used.
"""

from scipy.linalg import blas as _blas, lapack as _lapack

from chainrules.scipy.linalg import (
    bands as bands,
    blocks as blocks,
    dense as dense,
    equations as equations,
    exponential as exponential,
    factors as factors,
    functions as functions,
    other as other,
    singular as singular,
    solving as solving,
    spectral as spectral,
    toeplitz as toeplitz,
)
from chainrules_core import when_imported as _when_imported, when_looked_up as _when_looked_up

# There are hundreds of them, and almost no program calls one.
_when_looked_up(
    [f for module in (_blas, _lapack) for f in vars(module).values() if callable(f)],
    "chainrules.scipy.linalg.bare_routines",
)
_when_imported("scipy.linalg.interpolative", "chainrules.scipy.linalg.interpolative")
