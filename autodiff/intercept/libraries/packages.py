"""Functions of other packages that have something else called in their place.

Each entry names a function, by its module and its qualified name, and what makes of its rewritten
body what is called: a function of a module that is imported when the package's function is first
met, so a package that is missing costs nothing.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable

_COLUMNS = "autodiff.numpy_api.pandas_columns"
_WINDOWS = "autodiff.numpy_api.pandas_windows"
_STATISTICS = ("sum", "mean", "median", "min", "max", "std", "var", "sem", "skew", "kurt")

_INSTEAD: dict[tuple[str, str], tuple[str, str, tuple]] = {
    ("pandas.core.construction", "sanitize_array"): (_COLUMNS, "sanitize_array", ()),
    ("pandas.core.internals.construction", "ndarray_to_mgr"): (_COLUMNS, "ndarray_to_mgr", ()),
    ("pandas.core.series", "Series.values"): (_COLUMNS, "as_plain_array", ()),
    ("pandas.core.frame", "DataFrame.values"): (_COLUMNS, "as_plain_array", ()),
    ("pandas.core.frame", "DataFrame.to_numpy"): (_COLUMNS, "as_plain_array", ()),
    ("pandas.core.base", "IndexOpsMixin.to_numpy"): (_COLUMNS, "as_plain_array", ()),
    ("pandas.core.series", "Series.dtype"): (_COLUMNS, "dtype", ()),
    ("pandas.core.computation.eval", "_check_engine"): (_COLUMNS, "python_engine", ()),
    ("pandas.core.frame", "DataFrame.corr"): (_WINDOWS, "frame_covariance", (True,)),
    ("pandas.core.frame", "DataFrame.cov"): (_WINDOWS, "frame_covariance", (False,)),
    ("pandas.core.series", "Series.corr"): (_WINDOWS, "series_covariance", (True,)),
    ("pandas.core.series", "Series.cov"): (_WINDOWS, "series_covariance", (False,)),
    ("pandas.core.series", "Series.autocorr"): (_WINDOWS, "autocorrelation", ()),
    ("pandas.core.window.ewm", "ExponentialMovingWindow.mean"): (_WINDOWS, "exponential_mean", ()),
    **{
        (f"pandas.core.window.{module}", f"{kind}.{name}"): (_WINDOWS, make, options)
        for module, kind in (("rolling", "Rolling"), ("expanding", "Expanding"))
        for name, make, options in (
            *((name, "window_statistic", (name,)) for name in _STATISTICS),
            ("quantile", "window_quantile", ()),
            ("apply", "window_apply", ()),
        )
    },
}


def instead(g: types.FunctionType) -> Callable[[Callable], Callable] | None:
    """Return what makes of a function's body what is called in its place; None for most."""
    found = _INSTEAD.get((g.__module__, g.__qualname__))
    if found is None:
        return None
    module, name, options = found
    make = getattr(importlib.import_module(module), name)
    return make(*options) if options else make
