"""From a gradient to a fit: SciPy's solvers on parameters in nests."""

from autodiff.optimize.first_order import (
    Optimiser as Optimiser,
    adam as adam,
    cosine_decay as cosine_decay,
    exponential_decay as exponential_decay,
    sgd as sgd,
)
from autodiff.optimize.fits import curve_fit as curve_fit
from autodiff.optimize.history import History as History
from autodiff.optimize.many import multistart as multistart
from autodiff.optimize.solvers import (
    least_squares as least_squares,
    minimize as minimize,
    root as root,
)
from autodiff.optimize.training import train as train
from autodiff.optimize.uncertainty import (
    Profile as Profile,
    confidence_band as confidence_band,
    covariance as covariance,
    profile as profile,
    profile_interval as profile_interval,
    standard_errors as standard_errors,
)

__all__ = [
    "adam",
    "confidence_band",
    "cosine_decay",
    "covariance",
    "curve_fit",
    "exponential_decay",
    "History",
    "least_squares",
    "minimize",
    "multistart",
    "Optimiser",
    "Profile",
    "profile",
    "profile_interval",
    "root",
    "sgd",
    "standard_errors",
    "train",
]
