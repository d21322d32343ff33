"""Statistics of compiled code and of simulations, which are not differentiated."""

from __future__ import annotations

from scipy import stats

from chainrules.refused import refuse

COMPILED = (
    "it is computed in C, and has no rule. Wrap its arguments in "
    "autodiff.ignore_derivatives(...) if the result is to be a constant."
)
COUNTED = (
    "it counts the simulations in which a test rejects, a number that jumps. Differentiate the "
    "statistic of the test, or wrap the arguments in autodiff.ignore_derivatives(...)."
)

refuse(stats.multiscale_graphcorr, COMPILED)
if hasattr(stats, "power"):
    refuse(stats.power, COUNTED)
