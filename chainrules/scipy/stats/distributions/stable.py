"""The stable distribution: at α = 1 its methods shift the location by the scale.

In the parametrisation S1 the characteristic exponent at α = 1 is that of the standard form with
the location moved by 2βγ log(γ)/π (Nolan, Univariate Stable Distributions, 2020, section 1.3).
SciPy does so in one array of places and parameters, in which a derivative by the place would be one
by α too, where there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from chainrules.scipy.stats.distributions.continuous import in_place_of


def shifted(own: Callable) -> Callable:
    """Return the body of a method, of which `own` is that of all distributions."""

    def method(self: Any, x: Any, *args: Any, **kwds: Any) -> Any:
        (alpha, beta), loc, scale = self._parse_args(*args, **kwds)
        if self._parameterization() == "S1":
            is_one = np.equal(alpha, 1.0)
            loc = loc + np.where(is_one, 2 * beta * scale * np.log(scale) / np.pi, 0.0)
        return own(self, x, alpha, beta, loc=loc, scale=scale)

    return method


in_place_of(type(stats.levy_stable), "pdf")(shifted(stats.rv_continuous.pdf))
in_place_of(type(stats.levy_stable), "cdf")(shifted(stats.rv_continuous.cdf))
