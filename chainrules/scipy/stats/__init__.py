"""Rules for scipy.stats; loaded once it has been imported."""

from chainrules.scipy.stats import (
    continuous as continuous,
    densities as densities,
    expectations as expectations,
    infrastructure as infrastructure,
    inner as inner,
    limits as limits,
    multivariate as multivariate,
    refusals as refusals,
)
