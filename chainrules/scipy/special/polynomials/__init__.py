"""Orthogonal polynomials, Legendre functions, and the nodes and weights of Gauss quadrature."""

from chainrules.scipy.special.polynomials import (
    evaluation as evaluation,
    legendre as legendre,
    quadrature as quadrature,
)
