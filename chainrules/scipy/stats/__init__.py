"""Rules for scipy.stats; loaded once it has been imported."""

from chainrules.scipy import namespaces as namespaces
from chainrules.scipy.stats import (
    boxes as boxes,
    comparisons as comparisons,
    continuous as continuous,
    densities as densities,
    discrepancies as discrepancies,
    distances as distances,
    draws as draws,
    expectations as expectations,
    exponents as exponents,
    infrastructure as infrastructure,
    inner as inner,
    kernels as kernels,
    limits as limits,
    means as means,
    moments as moments,
    multivariate as multivariate,
    parameters as parameters,
    ranks as ranks,
    refusals as refusals,
    stable as stable,
    urns as urns,
    vectors as vectors,
)
