"""Statistics of ranks: piecewise constant."""

from __future__ import annotations

from scipy import stats

from chainrules.scipy.private import Private
from chainrules_core import non_differentiable

_stats_py = Private("stats._stats_py")

non_differentiable(
    (stats.rankdata, stats.somersd, stats.weightedtau, stats.logrank, stats.tiecorrect)
)
for name in ("_rankdata", "_order_ranks"):
    if _stats_py.has(name):
        non_differentiable(getattr(_stats_py, name))
