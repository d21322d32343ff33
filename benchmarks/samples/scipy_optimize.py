"""scipy.optimize and scipy.integrate: functions of parameters, given as args."""

import numpy as np
from scipy import integrate, optimize

from benchmarks.samples import positive, reals, sample

P = positive(5)
TIMES = np.linspace(0.0, 1.0, 200)
NOISY = np.exp(-1.3 * TIMES) + 0.01 * reals(200)


def bowl(x, p):
    """Return a smooth function with one minimum."""
    return np.sum(p * (x - p) ** 2) + np.sum((x - 1) ** 4)


def minimum(p):
    """Where the bowl is lowest."""
    return optimize.minimize(bowl, np.ones(5), args=(p,)).x


def root(p):
    """A root of a system."""
    return optimize.root(lambda x, p: x**3 + p * x - 1, np.ones(5), args=(p,)).x


def roots(p):
    """Roots of many equations."""
    return optimize.newton(lambda x, p: x**3 + p * x - 1, np.ones(1000), args=(p,))


def root_of_one(p):
    """A root of one equation."""
    return optimize.brentq(lambda x, p: x**3 + p * x - 1, 0.0, 2.0, args=(p,))


def fitted(y):
    """The parameters of a curve."""
    return optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t), TIMES, y, p0=(1.0, 1.0))[0]


def least(p):
    """Least squares."""
    return optimize.least_squares(lambda x, p: np.tanh(x) * p - 0.1, np.ones(5), args=(p,)).x


def program(c):
    """A linear program."""
    return optimize.linprog(-c, positive(10, 20), positive(10, seed=1)).x


def integral(p):
    """One integral."""
    return integrate.quad(lambda x, p: np.exp(-p * x * x), 0.0, 2.0, args=(p,))[0]


def integrals(p):
    """A vector of integrals."""
    return integrate.quad_vec(lambda x: np.exp(-p * x * x), 0.0, 2.0)[0]


def decay(t, y, p):
    """Return a linear system with a weak nonlinearity."""
    return -p * y + 0.1 * np.sin(y)


def solution(p):
    """A differential equation."""
    return integrate.solve_ivp(decay, (0.0, 2.0), np.ones(5), args=(p,), rtol=1e-6).y[:, -1]


def odes(p):
    """A differential equation, by the older interface."""
    return integrate.odeint(lambda y, t, p: -p * y + 0.1 * np.sin(y), np.ones(5), TIMES, args=(p,))


SAMPLES = [
    sample(minimum, P),
    sample(root, P),
    sample(roots, positive(1000)),
    sample(root_of_one, 0.7),
    sample(fitted, NOISY),
    sample(least, 0.5 + P),
    sample(optimize.nnls, np.abs(reals(60, 20)), positive(60)),
    sample(optimize.nnls, np.abs(reals(500, 100)), positive(500), note="500 by 100"),
    sample(optimize.lsq_linear, reals(60, 20), reals(60)),
    sample(optimize.lsq_linear, reals(500, 100), reals(500), note="500 by 100"),
    sample(program, positive(20)),
    sample(optimize.isotonic_regression, reals(20_000)),
    sample(integral, 0.7),
    sample(integrals, positive(50)),
    sample(solution, P),
    sample(odes, P),
    *[sample(f, reals(2001)) for f in (integrate.trapezoid, integrate.simpson)],
    sample(integrate.cumulative_trapezoid, reals(20_000)),
    sample(integrate.cumulative_simpson, reals(20_000)),
    sample(integrate.romb, reals(2049)),
]
