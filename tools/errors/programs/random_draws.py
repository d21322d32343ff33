"""Draws that are no smooth functions of their parameters."""

import numpy as np

from autodiff import gradient, ignore_derivatives
from chainrules.refused import RefusedError
from tools.errors.entries import entry


@entry("A draw by rejection", RefusedError)
def draw_by_rejection() -> None:
    rng = np.random.default_rng(0)
    gradient(lambda a: rng.standard_gamma(a), 2.0)


@draw_by_rejection.instead("Draw from a location-scale family")
def draw_of_a_location_scale_family() -> None:
    rng = np.random.default_rng(0)
    assert gradient(lambda m: rng.normal(m, 1.0), 2.0) == 1.0


@draw_by_rejection.instead("Take the parameter as a constant")
def draw_with_a_constant() -> None:
    rng = np.random.default_rng(0)
    gradient(lambda a: a * rng.standard_gamma(ignore_derivatives(a)), 2.0)


@entry("A draw that is one of two numbers", RefusedError)
def draw_that_jumps() -> None:
    rng = np.random.default_rng(0)
    gradient(lambda m: rng.wald(m, 1.0), 2.0)


@draw_that_jumps.instead("Draw from a location-scale family")
def draw_of_a_gumbel() -> None:
    rng = np.random.default_rng(0)
    assert gradient(lambda m: rng.gumbel(m, 1.0), 2.0) == 1.0


@entry("A draw of an integer", RefusedError)
def draw_of_an_integer() -> None:
    rng = np.random.default_rng(0)
    gradient(lambda rate: np.mean(rng.poisson(rate, 100)), 2.0)


@draw_of_an_integer.instead("Use the logarithm of the probability (a score function)")
def score_function() -> None:
    from scipy import stats

    rng = np.random.default_rng(0)

    def surrogate(rate):
        k = rng.poisson(ignore_derivatives(rate), 10_000)
        return np.mean(k * stats.poisson.logpmf(k, rate))

    assert np.isclose(gradient(surrogate, 2.0), 1.0, atol=0.1)  # d E[k] / d rate


@entry("A choice by probabilities", RefusedError)
def choice_by_probabilities() -> None:
    rng = np.random.default_rng(0)
    gradient(lambda p: rng.choice(np.array([1.0, 2.0]), p=p), np.array([0.2, 0.8]))


@choice_by_probabilities.instead("Use the logarithm of the probability (a score function)")
def score_of_a_choice() -> None:
    rng = np.random.default_rng(0)
    values = np.array([1.0, 2.0])

    def surrogate(p):
        i = rng.choice(2, size=1000, p=ignore_derivatives(p))
        return np.mean(values[i] * np.log(p[i]))

    assert np.allclose(gradient(surrogate, np.array([0.2, 0.8])), values, atol=0.2)
