"""Rules for scipy.sparse.linalg."""

from chainrules.scipy.sparse.linalg import (
    factorised as factorised,
    functions as functions,
    iterative as iterative,
    solving as solving,
    spectral as spectral,
)
