"""Minimise a NumPy function with the gradient that ``autodiff`` gives, and check that gradient."""

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

import autodiff

HOPELESS = 1e10  # the loss where there is none


@dataclass(frozen=True)
class Fit:
    """What `train` found.

    Attributes
    ----------
    theta : ndarray
        The parameters at the minimum.
    start, end : float
        The loss before and after.
    iterations, evaluations : int
        Steps of the optimiser, and values-with-gradient that it asked for.
    seconds : float
    ending : str
        "converged", or why the optimiser stopped before.
    """

    theta: np.ndarray
    start: float
    end: float
    iterations: int
    evaluations: int
    seconds: float
    ending: str


def train(loss, theta, *, bounds=None, iterations=300, report=lambda *_: None):
    """Minimise ``loss(theta)`` by L-BFGS-B.

    Parameters
    ----------
    loss : callable
        An ordinary NumPy function of one array.
    theta : ndarray
        Where to begin.
    bounds : list of (float, float), optional
    iterations : int
        At most so many.
    report : callable
        Called as ``report(iteration, evaluations, loss)`` after each evaluation and each iteration.

    Returns
    -------
    Fit
    """
    begin, done = time.perf_counter(), 0
    losses: list[float] = []

    def loss_and_gradient(theta):
        try:
            value, gradient = autodiff.value_and_gradient(loss, theta)
        except np.linalg.LinAlgError:
            if not losses:
                raise
            value, gradient = HOPELESS, np.zeros_like(theta)  # the line search went too far
        losses.append(float(value))
        report(done, len(losses), losses[-1])
        return losses[-1], gradient

    def count(intermediate_result):
        nonlocal done
        done += 1
        report(done, len(losses), float(intermediate_result.fun))

    result = minimize(
        loss_and_gradient,
        theta,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=count,
        options={"maxiter": iterations, "ftol": 1e-7, "gtol": 1e-5},
    )
    return Fit(
        theta=result.x,
        start=losses[0],
        end=float(result.fun),
        iterations=done,
        evaluations=len(losses),
        seconds=time.perf_counter() - begin,
        ending="converged" if result.success else "stopped: " + result.message.lower(),
    )


def finite_differences(loss, theta, *, step=0.1, levels=12, report=lambda: None):
    """Gradient of ``loss`` at ``theta`` from values of ``loss`` alone.

    Central differences with halved steps, extrapolated to step 0 (Richardson, in the form of
    C. J. F. Ridders, *Advances in Engineering Software* 4, 1982): for each component the entry of
    the tableau that agrees best with its neighbours.

    Parameters
    ----------
    loss : callable
    theta : ndarray
    step : float
        The first and largest step.
    levels : int
        How often it is halved, at most.
    report : callable
        Called after each component.

    Returns
    -------
    ndarray
    """
    gradient = np.zeros_like(theta)
    for i in range(len(theta)):
        direction = np.zeros_like(theta)
        direction[i] = 1.0
        best, smallest = 0.0, np.inf
        previous: list[float] = []
        for level in range(levels):
            h = step / 2**level
            slope = (loss(theta + h * direction) - loss(theta - h * direction)) / (2 * h)
            row = [slope]
            for order, coarser in enumerate(previous, start=1):
                finer = row[-1]
                row.append(finer + (finer - coarser) / (4.0**order - 1))
                error = max(abs(row[-1] - finer), abs(row[-1] - coarser))
                if error < smallest:
                    best, smallest = row[-1], error
            previous = row
            if smallest <= 1e-9 * abs(best):
                break
        gradient[i] = best
        report()
    return gradient


def gradient_difference(loss, theta, report=lambda: None):
    """Largest relative difference between the gradient and finite differences at `theta`.

    Each component is compared on its own; one that is below 0.0001 of the largest is measured
    against that, for finite differences cannot tell it from rounding.

    Parameters
    ----------
    loss : callable
    theta : ndarray
    report : callable
        Called after each component.

    Returns
    -------
    float
    """
    _, gradient = autodiff.value_and_gradient(loss, theta)
    expected = finite_differences(loss, theta, report=report)
    size = np.maximum(np.abs(expected), 1e-4 * np.max(np.abs(expected)))
    return float(np.max(np.abs(gradient - expected) / np.where(size > 0, size, 1.0)))
