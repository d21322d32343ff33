"""The gradient of a solution of solve_ivp, next to the solution itself: times and their ratio.

Run with ``python -m benchmarks.ode_adjoint``. The gradient is by all parameters at once, the best
of a few runs after the first (in which the right-hand side is recorded).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy import integrate

from autodiff import gradient, hessian, jacobian

ACCURACY = {"rtol": 1e-6, "atol": 1e-8}


def predators(p: np.ndarray, method: str) -> float:
    """Two parameters, two states: Lotka and Volterra."""

    def fun(t, y):
        return [p[0] * y[0] - y[0] * y[1], -y[1] + p[1] * y[0] * y[1]]

    return np.sum(integrate.solve_ivp(fun, (0, 50), [1.0, 0.5], method, **ACCURACY).y[:, -1] ** 2)


def path(p: np.ndarray) -> np.ndarray:
    """The predators and their prey at 25 times."""

    def fun(t, y):
        return [p[0] * y[0] - y[0] * y[1], -y[1] + p[1] * y[0] * y[1]]

    times = np.linspace(0, 20, 25)
    found = integrate.solve_ivp(fun, (0, 20), [1.0, 0.5], t_eval=times, rtol=1e-8, atol=1e-8)
    return found.y


def ring(p: np.ndarray, method: str) -> float:
    """Ten parameters, ten states: oscillators that are coupled to their neighbours."""

    def fun(t, y):
        return np.sin(np.roll(y, 1) - y) * p + 1.0

    start = np.linspace(0.0, 3.0, 10)
    return np.sum(integrate.solve_ivp(fun, (0, 50), start, method, **ACCURACY).y[:, -1] ** 2)


def linear(p: np.ndarray, method: str) -> float:
    """A hundred parameters: the matrix of a linear system of ten states."""
    a = p.reshape(10, 10)

    def fun(t, y):
        return a @ y

    return np.sum(integrate.solve_ivp(fun, (0, 30), np.ones(10), method, **ACCURACY).y[:, -1] ** 2)


def network(p: np.ndarray, method: str) -> float:
    """A hundred parameters: a neural network with a hidden layer for the slope of two states."""
    w, b, v, c = p[:36].reshape(18, 2), p[36:54], p[54:90].reshape(2, 18), p[90:92]

    def fun(t, y):
        return v @ np.tanh(w @ y + b) + c - 0.5 * y

    found = integrate.solve_ivp(fun, (0, 30), np.array([1.0, 0.5]), method, **ACCURACY)
    return np.sum(found.y[:, -1] ** 2)


def stiff(p: np.ndarray, method: str) -> float:
    """Three parameters: Robertson's reaction."""

    def fun(t, y):
        first, second, third = p[0] * y[0], 1e4 * p[1] * y[1] * y[2], 3e7 * p[2] * y[1] ** 2
        return [-first + second, first - second - third, third]

    found = integrate.solve_ivp(fun, (0, 400), [1.0, 0.0, 0.0], method, rtol=1e-6, atol=1e-10)
    return found.y[0, -1]


def best(f: Callable, runs: int = 5) -> float:
    """The shortest processor time of several runs, in milliseconds."""
    shortest = np.inf
    for _ in range(runs):
        start = time.process_time()
        f()
        shortest = min(shortest, time.process_time() - start)
    return 1e3 * shortest


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(10, 10)) * 0.5
    programs = [
        (predators, np.array([1.1, 0.9]), ("RK45", "DOP853", "LSODA")),
        (ring, rng.random(10), ("RK45", "DOP853", "LSODA")),
        (linear, (a - a.T - 0.05 * np.eye(10)).ravel(), ("RK23", "RK45", "DOP853", "BDF")),
        (network, rng.normal(size=100), ("RK45", "DOP853", "BDF", "Radau")),
        (stiff, np.array([0.04, 1.0, 1.0]), ("BDF", "Radau", "LSODA")),
    ]
    print(
        f"{'right-hand side':16}{'parameters':>11} {'method':8}{'value':>9}{'gradient':>10}  ratio"
    )
    for f, p, methods in programs:
        for method in methods:
            value = best(lambda f=f, p=p, method=method: f(p, method))
            both = best(lambda f=f, p=p, method=method: gradient(lambda p: f(p, method), p))
            print(
                f"{f.__name__:16}{p.size:11} {method:8}{value:6.1f} ms{both:7.1f} ms"
                f"{both / value:7.1f}"
            )
    p = np.array([1.1, 0.9])
    fits = {
        "gradient": lambda: gradient(lambda p: np.sum(path(p) ** 2), p),
        "Jacobian": lambda: jacobian(path, p),
        "Hessian": lambda: hessian(lambda p: np.sum(path(p) ** 2), p),
    }
    print("\nsum of squares of the predators' 25 places, two parameters")
    for name, f in fits.items():
        print(f"{name:16}{best(f):6.1f} ms")


if __name__ == "__main__":
    main()
