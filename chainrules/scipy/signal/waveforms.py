"""The phase of chirps, also where the frequency is constant: f₀ = f₁.

There SciPy has a formula in which f₁ does not occur. With r = log(f₁/f₀) t/t₁, or
s = (f₁ - f₀)/f₁ t/t₁,

    logarithmic    2π f₀ t (e^r - 1)/r        = 2π f₀ t (1 + r/2 + r²/6 + …)
    hyperbolic     -2π f₀ t log|1 - s|/s      = 2π f₀ t (1 + s/2 + s²/3 + …)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.found import with_value
from chainrules.scipy.private import Private
from chainrules_core import decompose, ignore_derivatives

_waveforms = Private("signal._waveforms")

PHASE = _waveforms._chirp_phase


@decompose(PHASE)
def phase(
    t: Any, f0: Any, t1: Any, f1: Any, method: str = "linear", vertex_zero: bool = True
) -> Any:
    given = [ignore_derivatives(x) for x in (t, f0, t1, f1)]
    known = PHASE(*given, method, vertex_zero)
    t = np.asarray(t)
    if method.startswith("li"):
        cycles = f0 * t + (f1 - f0) / t1 * t * t / 2
    elif method.startswith("q") and vertex_zero:
        cycles = f0 * t + (f1 - f0) / t1**2 * t**3 / 3
    elif method.startswith("q"):
        cycles = f1 * t + (f1 - f0) / t1**2 * ((t1 - t) ** 3 - t1**3) / 3
    elif method.startswith("lo"):
        cycles = f0 * t * special.exprel(np.log(f1 / f0) * t / t1)
    else:
        rate = (f1 - f0) / (f1 * t1)
        s = rate * t
        if ignore_derivatives(rate) == 0:
            cycles = f0 * t * (1 + s / 2 + s**2 / 3 + s**3 / 4)
        else:
            cycles = -f0 / rate * np.log(np.abs(1 - s))
    return with_value(known, 2 * math.pi * cycles)
