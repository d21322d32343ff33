"""scipy.stats, scipy.spatial and scipy.cluster."""

import numpy as np
from scipy import spatial, stats
from scipy.spatial import distance

from benchmarks.samples import by_hand_scipy as by_hand, positive, reals, sample, unit

X, P, U = reals(50_000), positive(50_000), unit(50_000)
LOC = 0.1 * reals(50_000, seed=2)
C, D = reals(200, 5), reals(250, 5, seed=1)


def of(method, *args):
    """Return the sample of a distribution's method, with its name."""
    return sample(method, *args, note=method.__self__.name)


SAMPLES = [
    *[of(f, X, LOC, P) for f in (stats.norm.logpdf, stats.norm.pdf, stats.norm.cdf)],
    *[of(f, X, LOC, P) for f in (stats.norm.logcdf, stats.norm.sf, stats.norm.logsf)],
    of(stats.norm.ppf, U, LOC, P),
    of(stats.gamma.logpdf, P, 2.0 + U),
    of(stats.gamma.cdf, P[:2000], 2.0),
    of(stats.beta.logpdf, U, 1.0 + P, 2.0 + P),
    of(stats.t.logpdf, X, 2.0 + P),
    *[of(f.logpdf, X) for f in (stats.logistic, stats.cauchy, stats.laplace, stats.gumbel_r)],
    *[of(f.logpdf, P) for f in (stats.expon, stats.rayleigh, stats.halfnorm)],
    of(stats.lognorm.logpdf, P, 0.5 + U),
    of(stats.weibull_min.logpdf, P, 1.0 + U),
    of(stats.poisson.logpmf, np.arange(50_000) % 20, P),
    of(stats.binom.logpmf, np.arange(50_000) % 20, 20, U),
    sample(stats.multivariate_normal.logpdf, D, np.zeros(5), np.eye(5) + 0.1),
    sample(
        stats.multivariate_normal.logpdf, reals(5000, 5), np.zeros(5), np.eye(5) + 0.1, note="many"
    ),
    *[sample(f, X) for f in (stats.skew, stats.kurtosis, stats.zscore, stats.sem)],
    sample(stats.moment, X, 3),
    sample(stats.gmean, P),
    sample(stats.hmean, P),
    sample(stats.trim_mean, X, 0.1),
    sample(stats.iqr, X),
    sample(stats.median_abs_deviation, X),
    sample(stats.entropy, P),
    sample(stats.pearsonr, X, P),
    sample(stats.linregress, X, P),
    sample(stats.ttest_ind, X, P),
    sample(stats.f_oneway, X, P),
    sample(stats.boxcox_llf, 0.5, P),
    sample(stats.wasserstein_distance, X, P),
    sample(stats.energy_distance, X[:5000], P[:5000]),
    *[sample(distance.cdist, C, D, m, note=m) for m in ("euclidean", "sqeuclidean")],
    sample(
        distance.cdist, C, D, "cityblock", note="cityblock", by_hand=by_hand.sums_of_differences
    ),
    sample(
        distance.cdist, C, D, "chebyshev", note="chebyshev", by_hand=by_hand.largest_differences
    ),
    *[sample(distance.cdist, C, D, m, note=m) for m in ("cosine", "correlation")],
    sample(distance.pdist, C),
    *[sample(f, X, P) for f in (distance.euclidean, distance.cosine, distance.correlation)],
    sample(distance.squareform, positive(4950)),
    sample(distance.squareform, positive(499_500), note="1000 points"),
    sample(spatial.procrustes, C, reals(200, 5, seed=7)),
    sample(stats.zmap, X, P),
]
