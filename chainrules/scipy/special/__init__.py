"""Rules for scipy.special; loaded once it has been imported."""

from chainrules.scipy.special import (
    bessel as bessel,
    constants as constants,
    elementary as elementary,
    elliptic as elliptic,
    gamma as gamma,
    hypergeometric as hypergeometric,
    incomplete as incomplete,
    integrals as integrals,
    parabolic as parabolic,
    polynomials as polynomials,
    probability as probability,
    sequences as sequences,
)
