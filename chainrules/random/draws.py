"""Draws that are smooth functions of their parameters, the random stream being fixed.

Location-scale families are y = μ + σz with z free of μ and σ; others are y = F⁻¹(u) for a u that
is drawn first. In both cases the derivative follows from y itself, so that a rule draws once, by
the same call as the program, and the stream goes on as it would have. Where the scale is 0, y does
not tell z: there the same draw is made once more with another scale, from a copy of the generator.

Formulas: y as NumPy computes it, solved for what was drawn. Weibull y = e^(1/a) with e exponential,
so ∂y/∂a = -y ln y / a; Pareto y = exp(e/a) - 1, so ∂y/∂a = -(1 + y) ln(1 + y) / a; power
y = u^(1/a) as Weibull; triangular by the square roots of its two branches.

Discrete draws, and those that accept or reject what they drew first, are no continuous functions of
their parameters; to differentiate them would mislead, and is refused.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator, RandomState

from chainrules.linalg.gaps import coinciding
from chainrules.refused import refuse
from chainrules_core import (
    NoTangent,
    NotImplementedTangent,
    decompose,
    frule,
    ignore_derivatives,
    not_implemented,
    pair_rule,
    primitive,
    rrule,
    thunk,
    unbroadcast,
)
from chainrules_core.authoring import array_of, fit, natural

KINDS = (Generator, RandomState)

# ------------------------------------------------------------------------------- how rules are made


def draws(name: str, *partials: Callable, names: str, defaults: tuple = ()) -> None:
    """Register the rules of a method that draws, from its partial derivatives.

    Parameters
    ----------
    name : str
        The method, of generators of both kinds.
    *partials : callable
        ``partial(y, draw, *parameters)`` for each parameter; ``draw(*others)`` repeats the draw
        with other parameters.
    names : str
        The parameters.
    defaults : tuple
        The defaults of the last of them.
    """
    for kind in KINDS:
        _register(getattr(kind, name), partials, _signature(names.split(), defaults))


def _signature(names: list[str], defaults: tuple) -> inspect.Signature:
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    first = len(names) - len(defaults)
    for i, name in enumerate(names):
        default = inspect.Parameter.empty if i < first else defaults[i - first]
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
        )
    parameters.append(inspect.Parameter("size", inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters)


def _register(f: Callable, partials: tuple[Callable, ...], signature: inspect.Signature) -> None:
    def draw_rrule(self: Any, *parameters: Any, size: Any = None) -> Any:
        again = repetition(f, self, parameters, size)
        y = f(self, *parameters, size=size)
        values = [array_of(p) for p in parameters]

        def draw_pullback(y_bar: Any) -> tuple:
            def pull_to(partial: Callable, value: Any) -> Any:
                bar = partial(y, again, *values)
                if isinstance(bar, NotImplementedTangent):
                    return bar
                return unbroadcast(bar * y_bar, np.shape(value))

            bars = [
                thunk(lambda p=p, value=value: pull_to(p, value))
                for p, value in zip(partials, values, strict=True)
            ]
            return NoTangent(), *bars

        return y, draw_pullback

    def draw_frule(dots: tuple, self: Any, *parameters: Any, size: Any = None) -> Any:
        again = repetition(f, self, parameters, size)
        y = f(self, *parameters, size=size)
        values = [array_of(p) for p in parameters]
        terms = []
        for partial, dot, parameter in zip(partials, dots[1:], parameters, strict=True):
            dot = array_of(natural(dot, parameter))
            if np.any(dot):  # what has no derivative may be a constant
                terms.append(partial(y, again, *values) * dot)
        return y, fit(sum(terms, np.zeros_like(y)), y)

    draw_rrule.__signature__ = signature  # type: ignore[attr-defined] # so that names count
    dots = inspect.Parameter("dots", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    draw_frule.__signature__ = signature.replace(  # type: ignore[attr-defined] # likewise
        parameters=[dots, *signature.parameters.values()]
    )
    rrule.register(f, KINDS)(draw_rrule)
    frule.register(f, KINDS)(draw_frule)


def repetition(f: Callable, generator: Any, parameters: tuple, size: Any) -> Callable | None:
    """Return what repeats a draw with other parameters, where y may not tell what was drawn."""
    if not _is_degenerate(f.__name__, parameters):
        return None
    before = copy.deepcopy(generator)

    def again(*others: Any) -> Any:
        shape = np.broadcast_shapes(*map(np.shape, parameters)) if size is None else size
        return f(copy.deepcopy(before), *others, size=shape)

    return again


def _is_degenerate(name: str, parameters: tuple) -> bool:
    if name == "uniform":
        return bool(np.any(np.equal(*parameters)))
    return bool(np.any(np.equal(parameters[-1], 0)))


# --------------------------------------------------------------------------------- location, scale


def standard(y: Any, again: Callable | None, loc: Any, scale: Any) -> Any:
    """Return z of y = loc + scale z."""
    if again is None:
        return (y - loc) / scale
    return again(0.0, 1.0)


def one(y: Any, again: Any, *parameters: Any) -> Any:
    return np.ones_like(y)


for family in ("normal", "laplace", "logistic", "gumbel"):
    draws(family, one, standard, names="loc scale", defaults=(0.0, 1.0))


def fraction(y: Any, again: Callable | None, low: Any, high: Any) -> Any:
    """Return u of y = low + (high - low) u."""
    return (y - low) / (high - low) if again is None else again(0.0, 1.0)


draws(
    "uniform",
    lambda y, again, low, high: 1 - fraction(y, again, low, high),
    fraction,
    names="low high",
    defaults=(0.0, 1.0),
)

draws(
    "lognormal",
    lambda y, again, mean, sigma: y,
    lambda y, again, mean, sigma: (
        y * (np.log(y) - mean) / sigma if again is None else y * np.log(again(0.0, 1.0))
    ),
    names="mean sigma",
    defaults=(0.0, 1.0),
)


def per_scale(y: Any, again: Callable | None, scale: Any) -> Any:
    return y / scale if again is None else again(1.0)


for family in ("exponential", "rayleigh"):
    draws(family, per_scale, names="scale", defaults=(1.0,))


def no_shape(y: Any, again: Any, shape: Any, scale: Any) -> Any:
    return not_implemented(
        "the derivative of a gamma draw with respect to its shape: the draw accepts or rejects, "
        "and is no continuous function of it"
    )


draws(
    "gamma",
    no_shape,
    lambda y, again, shape, scale: y / scale if again is None else again(shape, 1.0),
    names="shape scale",
    defaults=(1.0,),
)
draws(
    "vonmises",
    one,  # the angle is turned, and brought back between -π and π
    lambda y, again, mu, kappa: not_implemented(
        "the derivative of a vonmises draw with respect to kappa: the draw accepts or rejects, and "
        "is no continuous function of it"
    ),
    names="mu kappa",
)

# ----------------------------------------------------------------------- inverses of a distribution


def times_log(y: Any, x: Any) -> Any:
    """Return y ln x, which is 0 where x is."""
    return y * np.log(np.where(x > 0, x, 1.0))


for family in ("weibull", "power"):
    draws(family, lambda y, again, a: -times_log(y, y) / a, names="a")
draws("pareto", lambda y, again, a: -(1 + y) * np.log1p(y) / a, names="a")


def triangular_parts(y: Any, left: Any, mode: Any, right: Any) -> tuple:
    """Return whether y is in the left branch, its distance from that end, and half its slopes.

    On the left y - left = √(u (mode - left) (right - left)); on the right likewise from the right.
    """
    is_left = y <= mode
    distance = np.where(is_left, y - left, right - y) / 2
    branch = np.where(is_left, mode - left, right - mode)
    by_branch = distance / np.where(branch == 0, 1.0, branch)
    return is_left, by_branch, distance / (right - left)


def by_left(y: Any, again: Any, left: Any, mode: Any, right: Any) -> Any:
    is_left, by_branch, by_base = triangular_parts(y, left, mode, right)
    return np.where(is_left, 1 - by_branch - by_base, by_base)


def by_mode(y: Any, again: Any, left: Any, mode: Any, right: Any) -> Any:
    return triangular_parts(y, left, mode, right)[1] * np.ones_like(y)


def by_right(y: Any, again: Any, left: Any, mode: Any, right: Any) -> Any:
    is_left, by_branch, by_base = triangular_parts(y, left, mode, right)
    return np.where(is_left, by_base, 1 - by_branch - by_base)


draws("triangular", by_left, by_mode, by_right, names="left mode right")

# ---------------------------------------------------------------------------------- several numbers

EQUAL = (
    "the derivative of a multivariate_normal draw with respect to a covariance with equal "
    "eigenvalues, whose vectors turn under any change. Draw with method='cholesky', or write "
    "mean + z @ np.linalg.cholesky(cov).T with standard normal z"
)


@primitive
def distinct(cov: Any) -> Any:
    """Return a covariance; where it is differentiated, its eigenvalues must not be equal."""
    return cov


def has_equal_eigenvalues(cov: Any) -> bool:
    return bool(np.sum(coinciding(np.linalg.eigvalsh(cov))) > np.shape(cov)[0])


@pair_rule(distinct)
def distinct_rule(cov: Any) -> Any:
    equal = has_equal_eigenvalues(cov)

    def distinct_pushforward(cov_dot: Any) -> Any:
        return not_implemented(EQUAL) if has_equal_eigenvalues(cov) else cov_dot

    def distinct_pullback(cov_bar: Any) -> Any:
        return not_implemented(EQUAL) if equal else cov_bar

    return cov, distinct_pushforward, distinct_pullback


def factor_of(cov: Any, method: str) -> Any:
    """Return the matrix by which a Generator multiplies normal numbers."""
    if method == "cholesky":
        return np.linalg.cholesky(cov)
    cov = distinct(cov)
    if method == "eigh":
        s, u = np.linalg.eigh(cov)
        return u * np.sqrt(np.abs(s))
    u, s, _ = np.linalg.svd(cov)
    return u * np.sqrt(s)


def normal_vectors(self: Any, mean: Any, factor: Any, shape: tuple) -> Any:
    z = np.reshape(self.standard_normal(shape), (-1, shape[-1]))
    return np.reshape(np.asarray(mean) + np.matmul(z, np.transpose(factor)), shape)


@decompose(Generator.multivariate_normal)
def multivariate_normal_body(
    self, mean, cov, size=None, check_valid="warn", tol=1e-8, *, method="svd"
):
    mean, cov = np.asarray(mean), np.asarray(cov)
    plain = ignore_derivatives(mean), ignore_derivatives(cov)
    made = copy.deepcopy(self).multivariate_normal(*plain, size, check_valid, tol, method=method)
    return normal_vectors(self, mean, factor_of(cov, method), np.shape(made))


@decompose(RandomState.multivariate_normal)
def old_multivariate_normal_body(self, mean, cov, size=None, check_valid="warn", tol=1e-8):
    mean, cov = np.asarray(mean), np.asarray(cov)
    plain = ignore_derivatives(mean), ignore_derivatives(cov)
    made = copy.deepcopy(self).multivariate_normal(*plain, size, check_valid, tol)
    _, s, vh = np.linalg.svd(distinct(cov))
    return normal_vectors(self, mean, np.transpose(vh) * np.sqrt(s), np.shape(made))


# ------------------------------------------------------------------------------------------ refused

SMOOTH = (
    "Draw from a location-scale family instead, or wrap the parameter in "
    "autodiff.ignore_derivatives(...) if it is a constant."
)
REJECTION = (
    "the draw accepts or rejects what it drew first, so it is no continuous function of its "
    f"parameters. {SMOOTH}"
)
DISCRETE = (
    "the draw is an integer, which has no derivative with respect to the parameters, though its "
    "distribution has. Use the logarithm of the probability (a score function), or wrap the "
    "parameter in autodiff.ignore_derivatives(...)."
)


def methods(names: str) -> list[Callable]:
    """Return the methods of these names, of generators of both kinds."""
    return [getattr(kind, name) for kind in KINDS for name in names.split() if hasattr(kind, name)]


refuse(
    methods(
        "beta chisquare dirichlet f noncentral_chisquare noncentral_f standard_gamma standard_t"
    ),
    REJECTION,
)
refuse(
    methods("wald"),
    "the draw is one of two numbers, and jumps between them as the parameters change. " + SMOOTH,
)
refuse(
    methods(
        "binomial geometric hypergeometric integers logseries multinomial "
        "multivariate_hypergeometric negative_binomial poisson randint random_integers zipf"
    ),
    DISCRETE,
)
