"""Statistics that SciPy computes by another formula where a parameter has a special value."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from scipy import stats

from chainrules.refused import RefusedError
from chainrules.scipy.private import Private
from chainrules.scipy.stats.quadrature import plain
from chainrules_core import decompose
from chainrules_core.authoring import is_foreign

_stats_py = Private("stats._stats_py")


def without_rules(f: FunctionType) -> Any:
    """Return a copy of a function, for the body that is traced in its place to call."""
    if type(f) is not FunctionType:
        return f
    copy = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    copy.__kwdefaults__ = f.__kwdefaults__
    return copy


DIVERGENCE, RANGE = _stats_py._power_divergence, stats.iqr.__wrapped__
divergence, interquartile = without_rules(DIVERGENCE), without_rules(RANGE)


@decompose(DIVERGENCE)
def divergence_body(
    f_obs: Any, f_exp: Any, ddof: Any, axis: Any, lambda_: Any, sum_check: bool = True
) -> Any:
    if is_foreign(lambda_) and plain(lambda_) in (-1, 0, 1):
        raise RefusedError(
            "scipy.stats.power_divergence",
            "for a lambda_ of -1, 0 or 1 SciPy uses formulas without lambda_. Change lambda_ by "
            "1e-6, or wrap it in autodiff.ignore_derivatives(...) if it is a constant.",
        )
    return divergence(f_obs, f_exp, ddof, axis, lambda_, sum_check)


@decompose(RANGE)
def interquartile_body(
    x: Any, axis: Any = None, rng: Any = (25, 75), scale: Any = 1.0, nan_policy: str = "propagate",
    interpolation: str = "linear", keepdims: bool = False,
) -> Any:  # fmt: skip
    named = isinstance(scale, str)
    y = interquartile(x, axis, rng, scale if named else 1.0, nan_policy, interpolation, keepdims)
    return y if named else y / scale
