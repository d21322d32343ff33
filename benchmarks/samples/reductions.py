"""Sums, products, extrema, order statistics, differences."""

import numpy as np

from benchmarks.samples import N, by_hand, integers, positive, reals, sample, with_nans

A, P, G = reals(), positive(), with_nans()
M = reals(1000, 500)
NEAR_ONE = positive(1000, 500) / 1.1
WITH_ZERO = np.where(np.arange(N) == 7, 0.0, positive())
BIG, SMALL = reals(500), reals(400, seed=1)
STEPS = np.arange(0, N, 100)


EXTREMA = by_hand.largest, by_hand.largest_along(1), by_hand.largest_along(0)
SPREADS = by_hand.spread, by_hand.spread_along(1), by_hand.spread_along(0)


def both_ways(f, x=A, m=M, hands=(None, None, None), **options):
    """Yield the samples of a reduction: of all, along the last axis, along the first."""
    yield sample(f, x, by_hand=hands[0], **options)
    yield sample(f, m, axis=1, note="axis=1", by_hand=hands[1], **options)
    yield sample(f, m, axis=0, note="axis=0", by_hand=hands[2], **options)


SAMPLES = [
    *both_ways(np.sum),
    *both_ways(np.nansum, G, with_nans(1000, 500)),
    *both_ways(np.mean),
    *both_ways(np.nanmean, G, with_nans(1000, 500)),
    sample(np.average, A),
    sample(np.average, A, weights=P, note="weights"),
    *both_ways(np.prod, P / 1.1, NEAR_ONE),
    sample(np.prod, WITH_ZERO, note="with a zero"),
    *both_ways(np.nanprod, P / 1.1, NEAR_ONE),
    *both_ways(np.cumprod, P / 1.1, NEAR_ONE),
    sample(np.cumprod, WITH_ZERO, note="with a zero"),
    sample(np.cumulative_prod, P / 1.1),
    sample(np.nancumprod, P / 1.1),
    *both_ways(np.var),
    *both_ways(np.std),
    *both_ways(np.nanvar, G, with_nans(1000, 500)),
    *both_ways(np.nanstd, G, with_nans(1000, 500)),
    *both_ways(np.max, hands=EXTREMA),
    *both_ways(np.min, hands=EXTREMA),
    *both_ways(np.nanmax, G, with_nans(1000, 500), hands=EXTREMA),
    *both_ways(np.nanmin, G, with_nans(1000, 500), hands=EXTREMA),
    *both_ways(np.ptp, hands=SPREADS),
    *both_ways(np.sort),
    sample(np.sort_complex, A),
    sample(np.partition, A, 1000),
    sample(np.partition, M, 100, axis=1, note="axis=1"),
    sample(np.unique, integers(5000) * 0.5),
    sample(np.unique_counts, integers(5000) * 0.5),
    sample(np.unique_inverse, integers(5000) * 0.5),
    sample(np.unique_all, integers(5000) * 0.5),
    *both_ways(np.quantile, q=0.3),
    sample(np.quantile, A, [0.1, 0.5, 0.9], note="three"),
    *both_ways(np.percentile, q=30.0),
    *both_ways(np.nanquantile, G, with_nans(1000, 500), q=0.3),
    *both_ways(np.nanpercentile, G, with_nans(1000, 500), q=30.0),
    *both_ways(np.median),
    *both_ways(np.nanmedian, G, with_nans(1000, 500)),
    sample(np.cov, reals(20, 10_000)),
    sample(np.corrcoef, reals(20, 10_000)),
    *both_ways(np.diff),
    sample(np.diff, A, 3, note="n=3"),
    sample(np.ediff1d, A),
    sample(np.gradient, A),
    sample(np.gradient, A, np.cumsum(P), note="coordinates"),
    sample(np.gradient, M, note="two axes"),
    *both_ways(np.cumsum),
    sample(np.cumulative_sum, A),
    sample(np.nancumsum, G),
    sample(np.trapezoid, A),
    sample(np.trapezoid, A, np.cumsum(P), note="coordinates"),
    sample(np.trapezoid, M, axis=0, note="axis=0"),
    sample(np.add.reduce, A),
    sample(np.add.accumulate, A),
    sample(np.add.reduceat, A, STEPS),
    sample(np.add.outer, SMALL, BIG),
    sample(np.subtract.outer, SMALL, BIG),
    sample(np.multiply.outer, SMALL, BIG),
    sample(np.multiply.reduce, P / 1.1),
    sample(np.multiply.accumulate, P / 1.1),
    sample(np.multiply.reduceat, P / 1.1, STEPS),
    sample(np.divide.outer, SMALL, positive(500)),
    sample(np.power.outer, positive(400), BIG),
    sample(np.maximum.outer, SMALL, BIG, by_hand=by_hand.larger_of_all_pairs),
    sample(np.minimum.outer, SMALL, BIG, by_hand=by_hand.larger_of_all_pairs),
    sample(np.maximum.reduce, A, by_hand=by_hand.largest),
    sample(np.maximum.accumulate, A),
    sample(np.maximum.reduceat, A, STEPS, by_hand=by_hand.largest_of_segments),
    sample(np.minimum.accumulate, A),
    sample(np.hypot.outer, SMALL, BIG),
    sample(np.hypot.reduce, A),
    sample(np.logaddexp.outer, SMALL, BIG),
    sample(np.logaddexp.reduce, A),
    sample(np.logaddexp.accumulate, A),
    sample(np.subtract.reduce, A),
    sample(np.subtract.accumulate, A),
    sample(np.arctan2.outer, SMALL, BIG),
]
