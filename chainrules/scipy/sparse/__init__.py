"""Rules for scipy.sparse."""

from chainrules.scipy.sparse import (
    construction as construction,
    csgraph as csgraph,
    elementwise as elementwise,
    keys as keys,
    linalg as linalg,
    products as products,
    reductions as reductions,
    structure as structure,
)
