"""Statistics that are computed by compiled code or by a search, and are not differentiated."""

from __future__ import annotations

from scipy import stats

from chainrules.refused import refuse

COMPILED = (
    "it is computed by compiled code on bare memory. Wrap its arguments in "
    "autodiff.ignore_derivatives(...)."
)
SEARCHED = (
    "its result is found by a search that is not followed. Wrap its arguments in "
    "autodiff.ignore_derivatives(...), or differentiate the likelihood at the result."
)
TRANSPORT = (
    "it solves a linear programme for the plan of transport. For samples on the line use "
    "scipy.stats.wasserstein_distance."
)

refuse((stats.shapiro, stats.dunnett, stats.tukey_hsd), COMPILED)
refuse((stats.fit, stats.goodness_of_fit, stats.anderson), SEARCHED)
refuse(stats.wasserstein_distance_nd, TRANSPORT)
