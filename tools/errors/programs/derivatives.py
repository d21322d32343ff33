"""Derivatives that are not what they seem, or not numbers; and programs that are not recorded."""

import random

import numpy as np
from scipy import optimize

from autodiff import (
    CompileError,
    NonFiniteError,
    NoPathWarning,
    compile,
    debug_nans,
    derivative,
    gradient,
    ignore_derivatives,
)
from tools.errors.entries import entry

# -- results that depend on an argument only through comparisons -----------------------------------


@entry("A root found by bisection", NoPathWarning)
def root_by_bisection() -> None:
    def root(x):
        low, high = 0.0, 10.0
        for _ in range(40):
            middle = (low + high) / 2
            if middle**2 < x:
                low = middle
            else:
                high = middle
        return low

    gradient(root, 2.0)


@root_by_bisection.instead("Use scipy.optimize")
def root_by_scipy() -> None:
    def root(x):
        return optimize.root_scalar(lambda y: y**2 - x, bracket=(0.0, 10.0)).root

    assert np.isclose(gradient(root, 4.0), 0.25)


@root_by_bisection.instead("Take one step of Newton's method after it")
def root_with_a_newton_step() -> None:
    def root(x):
        low, high = 0.0, 10.0
        for _ in range(40):
            middle = (low + high) / 2
            if middle**2 < x:
                low = middle
            else:
                high = middle
        low = ignore_derivatives(low)
        return low - (low**2 - x) / (2 * low)

    assert np.isclose(gradient(root, 4.0), 0.25)


# -- NaN and Inf -----------------------------------------------------------------------------------


@entry("A logarithm of 0", NonFiniteError)
def logarithm_of_zero() -> None:
    with debug_nans():
        gradient(lambda x: np.sum(np.log(x)), np.array([1.0, 0.0]))


@logarithm_of_zero.instead("Keep the argument away from 0")
def logarithm_of_more_than_zero() -> None:
    with debug_nans():
        gradient(lambda x: np.sum(np.log(np.maximum(x, 1e-300))), np.array([1.0, 0.0]))


@entry("The slope of a square root at 0", NonFiniteError)
def slope_of_a_root() -> None:
    with debug_nans():
        gradient(lambda x: np.sum(np.sqrt(x)), np.array([1.0, 0.0]))


@slope_of_a_root.instead("Take the root where it has a slope")
def slope_of_a_chosen_root() -> None:
    def roots(x):
        safe = np.where(x > 0, x, 1.0)
        return np.sum(np.where(x > 0, np.sqrt(safe), 0.0))

    with debug_nans():
        assert np.array_equal(gradient(roots, np.array([1.0, 0.0])), [0.5, 0.0])


@entry("The slope of a power at 0, in forward mode", NonFiniteError)
def slope_of_a_power() -> None:
    with debug_nans():
        derivative(lambda x: x**0.5, 0.0)


@slope_of_a_power.instead("Choose a point at which there is a slope")
def slope_of_a_power_beside() -> None:
    with debug_nans():
        assert derivative(lambda x: x**0.5, 1.0) == 0.5


# -- compile ---------------------------------------------------------------------------------------


@entry("A compiled function draws from a hidden state", CompileError)
def compiled_draw() -> None:
    noisy = compile(lambda x: x * random.random())
    noisy(2.0)


@compiled_draw.instead("Give it a generator")
def compiled_with_a_generator() -> None:
    noisy = compile(lambda x, rng: x * rng.random())
    noisy(2.0, np.random.default_rng(0))


@compiled_draw.instead("Give it the number")
def compiled_with_a_number() -> None:
    noisy = compile(lambda x, noise: x * noise)
    noisy(2.0, random.random())
