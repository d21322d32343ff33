"""Rules for scipy.stats; loaded once it has been imported."""

from chainrules.scipy import namespaces as namespaces
from chainrules.scipy.stats import (
    distributions as distributions,
    samples as samples,
)
