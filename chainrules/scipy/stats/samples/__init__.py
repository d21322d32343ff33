"""Statistics of samples: means, tests, distances, transformations, estimates of densities."""

from chainrules.scipy.stats.samples import (
    comparisons as comparisons,
    discrepancies as discrepancies,
    distances as distances,
    exponents as exponents,
    kernels as kernels,
    means as means,
    parameters as parameters,
    ranks as ranks,
    refusals as refusals,
    vectors as vectors,
)
