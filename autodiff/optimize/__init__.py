"""From a gradient to a fit: SciPy's solvers on parameters in nests."""

from autodiff.optimize.fits import curve_fit as curve_fit
from autodiff.optimize.history import History as History
from autodiff.optimize.solvers import (
    least_squares as least_squares,
    minimize as minimize,
    root as root,
)

__all__ = ["curve_fit", "History", "least_squares", "minimize", "root"]
