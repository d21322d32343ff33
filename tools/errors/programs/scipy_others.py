"""scipy.special and scipy.signal."""

import numpy as np
from scipy import signal, special

from autodiff import gradient, ignore_derivatives
from chainrules.refused import RefusedError
from chainrules.scipy.special.parameters import ParameterDerivativeError
from tools.errors.entries import entry


@entry("A special function by a parameter at the edge of its domain", ParameterDerivativeError)
def parameter_at_an_edge() -> None:
    gradient(lambda a: special.wright_bessel(a, 1.0, 0.5), 0.0)


@parameter_at_an_edge.instead("Move the parameter away from the edge")
def parameter_inside() -> None:
    gradient(lambda a: special.wright_bessel(a, 1.0, 0.5), 0.1)


@parameter_at_an_edge.instead("Hold the parameter constant")
def constant_parameter() -> None:
    def f(x):
        return special.wright_bessel(ignore_derivatives(0.0 * x), 1.0, x)

    assert np.isclose(gradient(f, 0.5), np.exp(0.5))


@entry("A filter by exchange with more extremals than it needs", RefusedError)
def filter_by_exchange() -> None:
    bands = [0.0, 0.1, 0.4, 0.5]
    gradient(lambda d: np.sum(signal.remez(3, bands, np.stack([d, 0.0])) ** 2), 1.0)


@filter_by_exchange.instead("Use firls")
def filter_by_least_squares() -> None:
    def f(x):
        return np.sum(signal.firls(7, np.stack([0.0, x, 0.3, 0.5]), [1, 1, 0, 0], fs=1.0) ** 2)

    gradient(f, 0.15)


@entry("A recursive filter that SciPy does not start by its formula", RefusedError)
def start_of_a_filter() -> None:
    x = np.sqrt(np.arange(60.0))
    gradient(lambda r: np.sum(signal.symiirorder2(x, r, np.pi)), 0.3)


@start_of_a_filter.instead("Take another angle")
def start_of_another_filter() -> None:
    x = np.sqrt(np.arange(60.0))
    gradient(lambda r: np.sum(signal.symiirorder2(x, r, 3.0)), 0.3)
