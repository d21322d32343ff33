"""Draws are functions of their parameters, for a fixed stream: compared with differences."""

import numpy as np
import pytest

import autodiff
from chainrules.random.draws import distinct
from chainrules.refused import RefusedError
from chainrules_core import NotImplementedTangent, NotImplementedTangentError, rrule
from chainrules_core.testing import check_rule

M, S = np.array([0.3, -0.7, 1.4]), np.array([0.5, 1.2, 2.1])
GENERATORS = [lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)]
LOCATION_SCALE = ["normal", "laplace", "logistic", "gumbel", "lognormal"]
OF_SCALE = ["exponential", "rayleigh"]
OF_SHAPE = ["weibull", "pareto", "power"]


def check(draw, *args):
    """Compare both modes with differences, and the value with the plain call."""

    def loss(*args):
        y = draw(*args)
        weights = 1 + np.arange(np.size(y)).reshape(np.shape(y)) / 7
        return np.sum(weights * y * y)

    def along(t):
        return loss(*[a + t * d for a, d in zip(args, dots, strict=True)])

    dots = [np.cos(1.0 + np.arange(np.size(a))).reshape(np.shape(a))[()] for a in args]
    dots = [float(d) if isinstance(a, float) else d for a, d in zip(args, dots, strict=True)]
    h = 1e-3
    expected = (8 * (along(h) - along(-h)) - along(2 * h) + along(-2 * h)) / (12 * h)
    places = tuple(range(len(args)))
    value, gradients = autodiff.value_and_gradient(loss, *args, argnums=places)
    pairs = zip(gradients, dots, strict=True)
    assert value == loss(*args)
    np.testing.assert_allclose(sum(np.sum(g * d) for g, d in pairs), expected, rtol=1e-6)
    assert all(np.shape(g) == np.shape(a) for g, a in zip(gradients, args, strict=True))
    np.testing.assert_allclose(
        autodiff.pushforward(loss, *args)[1](*dots), expected, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("name", LOCATION_SCALE)
@pytest.mark.parametrize(
    "args, options",
    [
        ((0.3, 1.2), {}),
        ((0.3, 1.2), {"size": 4}),
        ((M, S), {}),
        ((M, S), {"size": (2, 3)}),
        ((0.4, S), {"size": (2, 3)}),
        ((M, 0.6), {}),
        ((M[:, None], S), {}),
        ((0.3, 1.2), {"size": (2, 0)}),
        ((0.3, 1.2), {"size": ()}),
    ],
)
def test_location_and_scale(make, name, args, options):
    check(lambda m, s: getattr(make(), name)(m, s, **options), *args)


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("name", ["normal", "laplace", "logistic", "gumbel"])
def test_arguments_by_name(make, name):
    check(lambda m, s: getattr(make(), name)(loc=m, scale=s, size=3), 0.3, 1.2)
    check(lambda s: getattr(make(), name)(scale=s, size=3), S)
    check(lambda m: getattr(make(), name)(m), M)
    check(lambda m: getattr(make(), name)([m, 0.5], [1.0, m]), 0.3)


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("name", [*OF_SCALE, *OF_SHAPE])
@pytest.mark.parametrize(
    "args, options", [((1.2,), {}), ((1.2,), {"size": 4}), ((S,), {}), ((S,), {"size": (2, 3)})]
)
def test_one_parameter(make, name, args, options):
    check(lambda a: getattr(make(), name)(a, **options), *args)


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("a, b", [(0.3, 1.2), (M, M + S)])
def test_uniform(make, a, b):
    check(lambda a, b: make().uniform(a, b, (5, 3)), a, b)
    check(lambda a, b: make().uniform(high=b, low=a, size=(2, 3)), a, b)
    check(lambda b: make().uniform(high=b, size=(2, 3)), b)


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("left, mode, right", [(0.3, 0.9, 1.7), (M - 1, M, M + S)])
def test_triangular(make, left, mode, right):
    check(lambda a, b, c: make().triangular(a, b, c, (9, 3)), left, mode, right)
    check(
        lambda a, b, c: make().triangular(left=a, right=c, mode=b, size=(4, 3)), left, mode, right
    )


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("size", [None, 2, (2, 2), 0])
def test_multivariate_normal(make, size):
    cov = np.eye(3) + 0.2
    check(lambda m: make().multivariate_normal(m, cov, size), M)
    check(lambda m: make().multivariate_normal(mean=m, cov=cov, size=size, check_valid="raise"), M)
    check(lambda a: make().multivariate_normal([a, a * a, 1.0], cov, size), 0.4)


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("size", [None, (2, 2)])
def test_covariance_of_normal_vectors(make, size, check_modes):
    cov = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.5]])
    check_modes(lambda m, c: make().multivariate_normal(m, c @ c.T, size), M, cov)
    value, _ = autodiff.pullback(lambda c: make().multivariate_normal(M, c, size), cov)
    np.testing.assert_allclose(value, make().multivariate_normal(M, cov, size), rtol=1e-12)


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_covariance_by_each_method(method, check_modes):
    def drawn(c):
        rng = np.random.default_rng(3)
        return rng.multivariate_normal(M, c @ c.T, 2, method=method) * rng.normal()

    check_modes(drawn, np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.5]]))


def test_covariances_with_equal_eigenvalues_are_known():
    check_rule(distinct, np.array([[2.0, 0.5], [0.5, 1.0]]))
    _, pullback = rrule(distinct, np.eye(2))
    assert isinstance(pullback(np.ones((2, 2)))[1], NotImplementedTangent)


def test_scaled_identity(check_modes):
    def drawn(s):
        return np.random.default_rng(3).multivariate_normal(M, s * np.eye(3), method="cholesky")

    check_modes(drawn, 0.7)


def test_methods_of_the_covariance():
    for method in ("svd", "eigh", "cholesky"):
        check(
            lambda m, method=method: np.random.default_rng(3).multivariate_normal(
                m, np.eye(3) + 0.2, 2, method=method
            ),
            M,
        )


@pytest.mark.parametrize("make", GENERATORS)
def test_what_is_smooth_of_the_others(make):
    check(lambda s: make().gamma(2.0, s, (2, 3)), S)
    check(lambda s: make().gamma(shape=2.0, scale=s), S)
    check(lambda mu: make().vonmises(mu, 2.0, (2, 3)), M / 3)
    check(lambda mu: make().vonmises(mu, kappa=2.0), M / 3)


def test_functions_of_the_module():
    def seeded(m, s):
        np.random.seed(4)  # noqa: NPY002
        y = np.random.normal(m, s, 3)  # noqa: NPY002
        return y * np.random.uniform(m, 2.0)  # noqa: NPY002

    # SciPy warns for the rest of the process where the global generator has been seeded.
    before = np.random.get_bit_generator()
    np.random.set_bit_generator(np.random.MT19937())
    try:
        check(seeded, 0.3, 1.2)
    finally:
        np.random.set_bit_generator(before)


@pytest.mark.parametrize("make", GENERATORS)
def test_the_stream_goes_on_as_in_the_plain_call(make):
    def several(m, s, rng):
        first = rng.normal(m, s, 3)
        rng.laplace(m, 0.0 * s)
        return np.append(first, rng.standard_normal(2)) * rng.uniform(m, m + s)

    plain = several(0.3, 1.2, make())
    y, _ = autodiff.pullback(lambda m, s: several(m, s, make()), 0.3, 1.2)
    np.testing.assert_array_equal(y, plain)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, rng: rng.normal(x, x * x, 4) * x,
        lambda x, rng: rng.uniform(x, x * x + 2, 4) * x,
        lambda x, rng: rng.lognormal(x, x, 4) * x,
        lambda x, rng: rng.weibull(x, 4) * x,
        lambda x, rng: rng.pareto(x, 4) * x,
        lambda x, rng: rng.triangular(-x, x * x, 2 + x, 4) * x,
        lambda x, rng: rng.multivariate_normal(np.stack([x, x * x]), np.eye(2)) * x,
    ],
)
@pytest.mark.parametrize("make", GENERATORS)
def test_second_derivatives(f, make):
    def loss(x):
        return np.sum(f(x, make()) ** 2)

    slope = lambda x: autodiff.gradient(loss, x)  # noqa: E731
    expected = (slope(0.8 + 1e-5) - slope(0.8 - 1e-5)) / 2e-5
    np.testing.assert_allclose(autodiff.gradient(slope, 0.8), expected, rtol=1e-6)


@pytest.mark.parametrize("make", GENERATORS)
def test_single_precision(make):
    for x in (np.float32(0.5), np.full(2, 0.5, np.float32)):
        g = autodiff.gradient(lambda s: np.sum(make().normal(0.0, s, 2)), x)
        assert g.dtype == np.float32


@pytest.mark.parametrize("name", ["normal", "laplace", "logistic", "gumbel"])
@pytest.mark.parametrize("make", GENERATORS)
def test_at_scale_zero_the_slope_is_what_was_drawn(name, make):
    z = getattr(make(), name)(size=3)
    draw = lambda m, s: np.sum(np.arange(3) * getattr(make(), name)(m, s, 3))  # noqa: E731
    assert autodiff.gradient(draw, 0.5, 0.0) == pytest.approx((3.0, np.sum(np.arange(3) * z)))
    push = autodiff.pushforward(lambda s: getattr(make(), name)(0.5, s, 3), 0.0)[1]
    np.testing.assert_allclose(push(1.0), z)


@pytest.mark.parametrize("make", GENERATORS)
def test_other_parameters_at_zero(make):
    g = autodiff.gradient
    assert g(lambda s: make().exponential(s), 0.0) == make().exponential()
    assert g(lambda s: make().rayleigh(s), 0.0) == make().rayleigh()
    assert g(lambda s: make().lognormal(0.0, s), 0.0) == pytest.approx(make().normal())
    assert g(lambda s: make().gamma(2.0, s), 0.0) == make().gamma(2.0)
    u = make().uniform()
    assert g(lambda a, b: make().uniform(a, b), 0.5, 0.5) == pytest.approx((1 - u, u))


@pytest.mark.parametrize("make", GENERATORS)
def test_draws_with_plain_arguments_are_constants(make):
    def loss(x):
        rng = make()
        kinds = rng.normal(0.0, 1.0, 3), rng.standard_gamma(2.0, 3), rng.poisson(3.0, 3)
        return np.sum(x * sum(kinds))

    rng = make()
    drawn = rng.normal(0.0, 1.0, 3), rng.standard_gamma(2.0, 3), rng.poisson(3.0, 3)
    np.testing.assert_array_equal(autodiff.gradient(loss, M), sum(drawn))


REFUSED = [
    ("beta", (0.5, 2.0), "accepts or rejects"), ("chisquare", (2.0,), "accepts or rejects"),
    ("dirichlet", ([1.0, 2.0],), "accepts or rejects"), ("f", (2.0, 3.0), "accepts or rejects"),
    ("noncentral_chisquare", (2.0, 1.0), "accepts or rejects"),
    ("noncentral_f", (2.0, 3.0, 1.0), "accepts or rejects"),
    ("standard_gamma", (2.0,), "accepts or rejects"), ("standard_t", (2.0,), "accepts or rejects"),
    ("wald", (2.0, 1.0), "jumps"), ("binomial", (5, 0.5), "an integer"),
    ("geometric", (0.5,), "an integer"), ("logseries", (0.5,), "an integer"),
    ("multinomial", (5, [0.5, 0.5]), "an integer"), ("negative_binomial", (5, 0.5), "an integer"),
    ("poisson", (2.0,), "an integer"), ("zipf", (2.0,), "an integer"),
]  # fmt: skip


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("name, args, reason", REFUSED)
def test_refused(make, name, args, reason):
    def draw(*args):
        return np.sum(getattr(make(), name)(*args)) * 1.0

    with pytest.raises(RefusedError, match=reason):
        autodiff.gradient(draw, *args)
    with pytest.raises(RefusedError, match=reason):
        autodiff.pushforward(lambda x: draw(*args[:-1], x), args[-1])[1](args[-1])


def test_refused_by_name():
    rng = np.random.default_rng(1)
    with pytest.raises(RefusedError, match=r"Generator\.standard_gamma was given a traced value"):
        autodiff.gradient(lambda a: rng.standard_gamma(shape=a), 2.0)
    with pytest.raises(RefusedError, match="score function"):
        autodiff.gradient(lambda lam: rng.poisson(lam=lam, size=2).sum() * 1.0, 2.0)


@pytest.mark.parametrize("make", GENERATORS)
def test_parameters_without_derivative(make):
    with pytest.raises(NotImplementedTangentError, match="with respect to its shape"):
        autodiff.gradient(lambda a: make().gamma(a, 2.0), 2.0)
    with pytest.raises(NotImplementedTangentError, match="with respect to kappa"):
        autodiff.gradient(lambda a: make().vonmises(0.0, a), 2.0)
    with pytest.raises(NotImplementedTangentError, match="cholesky"):
        autodiff.gradient(lambda c: np.sum(make().multivariate_normal(M, c)), np.eye(3))
    for draw in (lambda a: make().gamma(a, 2.0), lambda a: make().vonmises(0.0, a)):
        with pytest.raises(NotImplementedTangentError):
            autodiff.pushforward(draw, 2.0)[1](1.0)
    with pytest.raises(NotImplementedTangentError, match="cholesky"):
        autodiff.pushforward(lambda c: make().multivariate_normal(M, c), np.eye(3))[1](np.eye(3))


def test_every_method_that_takes_parameters_has_a_rule():
    names = [
        "bit_generator", "bytes", "random", "spawn", "standard_cauchy", "standard_exponential",
        "standard_normal", "get_state", "set_state", "seed", "rand", "randn", "random_sample",
        "tomaxint",
    ]  # fmt: skip
    for kind in (np.random.Generator, np.random.RandomState):
        public = [n for n in dir(kind) if n[0] != "_" and n not in names]
        assert [n for n in public if not rrule.methods(getattr(kind, n))] == []
