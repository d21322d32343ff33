"""Rules for scipy.sparse.linalg."""

from chainrules.scipy.sparse.linalg import solving as solving
from chainrules.scipy.sparse.linalg import factorised as factorised
from chainrules.scipy.sparse.linalg import iterative as iterative
from chainrules.scipy.sparse.linalg import spectral as spectral
from chainrules.scipy.sparse.linalg import functions as functions
