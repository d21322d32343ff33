"""Statistics of ranks: piecewise constant."""

from __future__ import annotations

from scipy import stats
from scipy.stats import _stats_py

from chainrules_core import non_differentiable

non_differentiable(
    (stats.rankdata, stats.somersd, stats.weightedtau, stats.logrank, stats.tiecorrect)
)
for name in ("_rankdata", "_order_ranks"):
    if hasattr(_stats_py, name):
        non_differentiable(getattr(_stats_py, name))
