"""Bessel functions and those that are made of them: Airy, Kelvin, Struve, spherical."""

from chainrules.scipy.special.bessel import (
    airy as airy,
    kelvin as kelvin,
    kinds as kinds,
    spherical as spherical,
)
