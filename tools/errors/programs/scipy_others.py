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


@entry("The design of a filter by exchange", RefusedError)
def filter_by_exchange() -> None:
    gradient(lambda x: np.sum(signal.remez(7, [0, x, 0.3, 0.5], [1, 0]) ** 2), 0.15)


@filter_by_exchange.instead("Use firls")
def filter_by_least_squares() -> None:
    def f(x):
        return np.sum(signal.firls(7, np.stack([0.0, x, 0.3, 0.5]), [1, 1, 0, 0], fs=1.0) ** 2)

    gradient(f, 0.15)
