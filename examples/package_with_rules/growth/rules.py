"""The derivatives of growth, for every engine that uses chainrules_core."""

from chainrules_core import scalar_rule
from growth import logistic

scalar_rule(
    logistic,
    lambda y, t, rate: rate * y * (1 - y),
    lambda y, t, rate: t * y * (1 - y),
)
