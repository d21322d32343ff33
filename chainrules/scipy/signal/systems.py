"""Linear systems, transforms and windows that are objects, and what is not traced of them.

Their methods hold what they work on in the object, so it is not seen in the arguments that it is
traced; their bodies are traced in any case. Roots are grouped by their values, which are constants
there; a group of one is the root itself.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
from scipy import signal

from chainrules.scipy.delegated import both, trace_body
from chainrules.scipy.private import Private
from chainrules_core import decompose, non_differentiable

_czt = Private("signal._czt")
_ltisys = Private("signal._ltisys")
_short_time_fft = Private("signal._short_time_fft")

FUNCTIONS = """
    bode dbode dfreqresp dimpulse dlsim dstep freqresp impulse step cont2discrete ss2tf ss2zpk
    tf2ss zpk2ss abcd_normalize
"""


def trace_methods(module: Any, but: tuple[str, ...] = ()) -> None:
    """Have the methods of the classes of a module traced, however they are called."""
    for cls in vars(module).values():
        if isinstance(cls, type) and cls.__module__ == module.__name__:
            methods = [f for f in vars(cls).values() if type(f) is FunctionType]
            trace_body(*[f for f in methods if f.__name__ not in but])


for _module in (_ltisys, _czt, _short_time_fft):
    trace_methods(_module.module(), but=("stft_detrend",))  # see segments
for _name in FUNCTIONS.split():
    trace_body(*both(getattr(signal, _name)))


@non_differentiable
def groups_of(p: Any, tol: float) -> list[list[int]]:
    """Return which roots belong together: those within a distance of the first of a group."""
    used: set[int] = set()
    groups = []
    for i in range(len(p)):
        if i not in used:
            group = [j for j in range(len(p)) if j not in used and np.abs(p[j] - p[i]) <= tol]
            used.update(group)
            groups.append(group)
    return groups


REDUCTIONS = {"max": np.max, "maximum": np.max, "min": np.min, "minimum": np.min,
              "avg": np.mean, "mean": np.mean}  # fmt: skip


@decompose(both(signal.unique_roots))
def unique_roots_body(p, tol=1e-3, rtype="min"):
    p = np.asarray(p)
    groups = groups_of(p, tol)
    chosen = [p[g[0]] if len(g) == 1 else REDUCTIONS[rtype](p[np.array(g)]) for g in groups]
    return np.stack(chosen), np.array([len(g) for g in groups])
