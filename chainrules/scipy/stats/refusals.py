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
COUNTED = (
    "it counts the simulations in which a test rejects, a number that jumps. Wrap its arguments in "
    "autodiff.ignore_derivatives(...)."
)

refuse(stats.multiscale_graphcorr, COMPILED)
if hasattr(stats, "power"):
    refuse(stats.power, COUNTED)
refuse((stats.fit, stats.goodness_of_fit), SEARCHED)
