"""Which module has the rules of which functions, so that each loads when it is needed.

A module loads when one of its functions is looked up for the first time, or, if it is for a package
that not everybody uses, when that has been imported. `tests/chainrules/test_topics.py` compares the
table with what the modules register.
"""

from __future__ import annotations

import builtins
import cmath
import datetime
import functools
import itertools
import math
import operator
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_core import when_imported, when_looked_up

# Where the functions are; those without a prefix are NumPy's.
PLACES: dict[str, Any] = {
    "": np,
    "builtins": builtins,
    "datetime": datetime,
    "datetime.date": datetime.date,
    "datetime.datetime": datetime.datetime,
    "functools": functools,
    "itertools": itertools,
    "linalg": np.linalg,
    "ndarray": np.ndarray,
    "operator": operator,
    "poly1d": np.poly1d,
    "rec": np.rec,
    "stride_tricks": np.lib.stride_tricks,
    "time": time,
}

# Where several modules have rules for a function, they load in this order.
LOOKED_UP = {
    "elementwise.arithmetic": """
        add subtract multiply divide negative positive square reciprocal copysign nextafter
        remainder fmod divmod modf frexp ldexp power float_power
        operator.add operator.sub operator.mul operator.truediv operator.neg operator.pos
        operator.mod operator.pow
    """,
    "elementwise.exponential": """
        exp exp2 expm1 log log2 log10 log1p sqrt cbrt logaddexp logaddexp2
    """,
    "elementwise.trigonometric": """
        sin cos tan arcsin arccos arctan degrees rad2deg radians deg2rad arctan2 hypot sinc unwrap
    """,
    "elementwise.hyperbolic": "sinh cosh tanh arcsinh arccosh arctanh",
    "elementwise.bessel": "i0",
    "elementwise.complex": """
        real imag conjugate absolute fabs angle sign real_if_close operator.abs
    """,
    "elementwise.selection": """
        maximum minimum fmax fmin heaviside where clip nan_to_num select choose piecewise
    """,
    "elementwise.rounding": """
        bitwise_and bitwise_count bitwise_or bitwise_xor invert left_shift right_shift gcd lcm isnat
        operator.and_ operator.inv operator.invert operator.lshift operator.or_ operator.rshift
        operator.xor
    """,
    "builtins.numbers": """
        builtins.abs builtins.bool builtins.complex builtins.divmod builtins.float builtins.int
        builtins.pow builtins.round
    """,
    "builtins.higher_order": "builtins.map functools.reduce itertools.accumulate",
    "refused": """
        ndarray nested_iters recarray frombuffer matrix asmatrix bmat
        rec.array rec.fromarrays rec.fromrecords
        builtins.bytearray builtins.bytes builtins.memoryview datetime.timedelta
        datetime.datetime.fromtimestamp datetime.datetime.utcfromtimestamp
        datetime.date.fromtimestamp time.gmtime time.localtime time.ctime
    """,
    "indexing.getting": "operator.getitem",
    "indexing.taking": "take take_along_axis compress extract ndarray.item",
    "indexing.diagonals": "diagonal diag diagflat tril triu linalg.diagonal",
    "shapes.reshaping": """
        reshape ravel squeeze expand_dims atleast_1d atleast_2d atleast_3d ndarray.flatten
    """,
    "shapes.permuting": """
        transpose matrix_transpose swapaxes moveaxis rollaxis flip fliplr flipud roll rot90
        linalg.matrix_transpose
    """,
    "shapes.repeating": "broadcast_to broadcast_arrays repeat tile resize",
    "shapes.joining": """
        concatenate stack vstack hstack dstack column_stack row_stack append block
    """,
    "shapes.splitting": "split array_split hsplit vsplit dsplit unstack",
    "shapes.inserting": "insert delete",
    "shapes.padding": "pad",
    "shapes.trimming": "trim_zeros",
    "shapes.windows": "stride_tricks.sliding_window_view stride_tricks.as_strided",
    "creation": """
        array asarray asanyarray ascontiguousarray asfortranarray require asarray_chkfinite
        fromiter copy astype full full_like ndarray.astype
    """,
    "grids": "linspace logspace geomspace arange meshgrid vander",
    "reductions.sums": "sum nansum mean nanmean average",
    "reductions.products": "prod nanprod cumprod cumulative_prod nancumprod",
    "reductions.moments": "var std nanvar nanstd",
    "reductions.extrema": "max min amax amin nanmax nanmin ptp",
    "reductions.order": """
        sort sort_complex partition unique unique_all unique_counts unique_inverse unique_values
    """,
    "reductions.quantiles": "quantile percentile nanquantile nanpercentile median nanmedian",
    "reductions.covariance": "cov corrcoef",
    "reductions.cumulative": "cumsum cumulative_sum nancumsum trapezoid",
    "reductions.differences": "diff ediff1d gradient",
    "reductions.ufunc_methods": "",
    "linalg.products": """
        matmul vecdot matvec vecmat dot inner vdot outer tensordot kron cross trace operator.matmul
        linalg.matmul linalg.vecdot linalg.outer linalg.tensordot linalg.cross linalg.trace
    """,
    "linalg.chains": "linalg.multi_dot linalg.matrix_power",
    "linalg.einsum": "einsum einsum_path",
    "linalg.solving": "linalg.inv linalg.solve linalg.tensorsolve linalg.tensorinv",
    "linalg.determinants": "linalg.det linalg.slogdet",
    "linalg.cholesky": "linalg.cholesky",
    "linalg.norms": "linalg.norm linalg.vector_norm linalg.matrix_norm linalg.cond",
    "linalg.orthogonal": "linalg.qr",
    "linalg.spectral": "linalg.eigh linalg.eigvalsh linalg.eig linalg.eigvals",
    "linalg.singular": "linalg.svd linalg.svdvals",
    "linalg.least_squares": "linalg.pinv linalg.lstsq",
    "transforms.convolution": "convolve correlate",
    "calculus.interpolation": "interp",
    "calculus.histograms": "bincount",
    "calculus.polynomials": "roots poly1d.__init__",
}

IMPORTED = (
    ("bottleneck", "bottleneck"),
    ("mpmath", "mpmath"),
    ("numpy.fft", "transforms.fourier"),
    ("numpy.random", "random"),
    ("numpy.polynomial", "calculus.polynomial_families"),
    ("numpy.polynomial", "calculus.series"),
    ("statistics", "builtins.statistics"),
    ("decimal", "builtins.exact"),
    ("json", "builtins.texts"),
    ("scipy.special", "scipy.special"),
    ("scipy.stats", "scipy.stats"),
    ("scipy.fft", "scipy.fft"),
    ("scipy.fftpack", "scipy.fftpack"),
    ("scipy.ndimage", "scipy.ndimage"),
    ("scipy.optimize", "scipy.optimize"),
    ("scipy.signal", "scipy.signal"),
    ("scipy.interpolate", "scipy.interpolate"),
    ("scipy.spatial", "scipy.spatial"),
    ("scipy.cluster.vq", "scipy.cluster"),
    ("scipy.integrate", "scipy.integrate"),
    ("scipy.linalg", "scipy.linalg"),
    ("scipy.sparse", "scipy.sparse"),
)


def more_functions(module: str) -> list[Callable]:
    """Return the functions of a module that are not named one by one.

    Of types, constants and the like there may be others among them, which have no rules.
    """
    if module == "builtins.numbers":
        known = (*vars(math).values(), *vars(cmath).values(), time.sleep)
        return [f for f in known if callable(f)]
    if module == "creation":
        return [t for t in vars(np).values() if isinstance(t, type) and issubclass(t, np.generic)]
    if module == "reductions.ufunc_methods":
        ufuncs = [f for f in vars(np).values() if isinstance(f, np.ufunc)]
        return [m for f in ufuncs for m in (f.reduce, f.accumulate, f.reduceat, f.outer)]
    return []


def functions_of(module: str) -> list[Callable]:
    """Return the functions that the rules of a module wait for, as far as this NumPy has them."""
    found = []
    for place, _, name in [full.rpartition(".") for full in LOOKED_UP[module].split()]:
        f = getattr(PLACES[place], name, None)
        if f is not None:
            found.append(f)
    return found + more_functions(module)


for _module in LOOKED_UP:
    when_looked_up(functions_of(_module), f"chainrules.{_module}")
for _package, _module in IMPORTED:
    when_imported(_package, f"chainrules.{_module}")
