"""Band matrices, which LAPACK stores by their diagonals: systems, factors and eigenvalues."""

from chainrules.scipy.linalg.bands import solving as solving, spectral as spectral
