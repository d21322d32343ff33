"""What scipy.special computes from integers alone, and steps: constants."""

from __future__ import annotations

from scipy import special

from chainrules.nondifferentiable import named
from chainrules_core import non_differentiable

ZEROS = """
    ai_zeros bei_zeros beip_zeros ber_zeros berp_zeros bi_zeros erf_zeros fresnel_zeros
    fresnelc_zeros fresnels_zeros jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros kei_zeros keip_zeros
    kelvin_zeros ker_zeros kerp_zeros y0_zeros y1_zeros y1p_zeros yn_zeros ynp_zeros
"""
NUMBERS = "bernoulli euler factorial2 factorialk gammasgn round stirling2"
NODES = """
    roots_chebyc roots_chebys roots_chebyt roots_chebyu roots_hermite roots_hermitenorm
    roots_laguerre roots_legendre roots_sh_chebyt roots_sh_chebyu roots_sh_legendre
"""
POLYNOMIALS = """
    chebyc chebys chebyt chebyu hermite hermitenorm laguerre legendre sh_chebyt sh_chebyu
    sh_legendre
"""

for group in (ZEROS, NUMBERS, NODES, POLYNOMIALS):
    non_differentiable(named(group, special))
