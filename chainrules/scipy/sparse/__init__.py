"""Rules for scipy.sparse."""

from chainrules.scipy.sparse import (
    construction as construction,
    csgraph as csgraph,
    elementwise as elementwise,
    linalg as linalg,
    products as products,
    reductions as reductions,
    structure as structure,
)
