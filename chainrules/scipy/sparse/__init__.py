"""Rules for scipy.sparse."""

from chainrules.scipy.sparse import structure as structure
from chainrules.scipy.sparse import elementwise as elementwise
from chainrules.scipy.sparse import reductions as reductions
from chainrules.scipy.sparse import products as products
from chainrules.scipy.sparse import construction as construction
from chainrules.scipy.sparse import linalg as linalg
