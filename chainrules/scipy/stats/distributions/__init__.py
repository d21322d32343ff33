"""Distributions of one number and of several: densities, quantiles, moments, draws and the like."""

from chainrules.scipy.stats.distributions import (
    boxes as boxes,
    continuous as continuous,
    densities as densities,
    draws as draws,
    expectations as expectations,
    infrastructure as infrastructure,
    inner as inner,
    limits as limits,
    moments as moments,
    multivariate as multivariate,
    stable as stable,
    urns as urns,
)
