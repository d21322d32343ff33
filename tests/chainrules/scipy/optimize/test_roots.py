"""Roots of functions of numbers and vectors, in args and in closures."""

import math

import numpy as np
import pytest
from scipy import optimize

from autodiff import gradient, pushforward
from chainrules.scipy.optimize.implicit import ImplicitError, SingularError, UnconvergedError

X = np.array([0.8, 0.3])
ONE = np.ones(2)
WEIGHTS = np.array([1.0, 3.0])
TIGHT = {"f_tol": 1e-12}


def cubic(t, a, b):
    return t**3 + b * t - a


def pair(u, a, b):
    return [u[0] + 0.3 * np.sin(u[1]) - a, u[1] + 0.2 * u[0] ** 2 - b]


def weighted(u):
    return np.sum(u * WEIGHTS)


def system(x):
    return lambda u: np.stack([u[0] + 0.3 * np.sin(u[1]) - x[0], u[1] + 0.2 * u[0] ** 2 - x[1]])


ROOTS = {
    "brentq": lambda x: optimize.brentq(cubic, 0, 4, args=(x[0], x[1])),
    "brentq by position": lambda x: optimize.brentq(cubic, 0, 4, (x[0], x[1]), 1e-13, 1e-14, 200),
    "brentq one argument": lambda x: optimize.brentq(lambda t, a: t**3 - a, 0, 4, x[0]) + x[1],
    "brentq closure": lambda x: optimize.brentq(lambda t: math.exp(t) - x[0] - x[1], -3, 4) ** 2,
    "brentq full": lambda x: optimize.brentq(cubic, 0, 4, args=tuple(x), full_output=True)[1].root,
    "brentq by name": lambda x: optimize.brentq(f=cubic, a=0.0, b=4.0, args=(x[0], x[1])),
    "brenth": lambda x: optimize.brenth(cubic, 0, 4, args=(x[0], x[1])),
    "bisect": lambda x: optimize.bisect(cubic, 0, 4, args=(x[0], x[1]), xtol=1e-13),
    "ridder": lambda x: optimize.ridder(cubic, 0, 4, args=(x[0], x[1]), full_output=True)[0],
    "toms748": lambda x: optimize.toms748(cubic, 0, 4, args=(x[0], x[1]), k=2),
    "root_scalar": lambda x: optimize.root_scalar(cubic, tuple(x), bracket=[0, 4]).root,
    "root_scalar newton": lambda x: optimize.root_scalar(
        lambda t: (cubic(t, *x), 3 * t**2 + x[1]), x0=1.0, fprime=True, xtol=1e-12
    ).root,
    "newton": lambda x: optimize.newton(lambda t: cubic(t, x[0], x[1]), 1.0, tol=1e-13),
    "newton derivative": lambda x: optimize.newton(
        cubic, 1.0, lambda t, a, b: 3 * t * t + b, (x[0], x[1]), tol=1e-13
    ),
    "newton array": lambda x: weighted(optimize.newton(lambda t, a: t**3 - a, ONE, args=(x,))),
    "newton array full": lambda x: weighted(
        optimize.newton(lambda t: t**3 - x, ONE, tol=1e-12, full_output=True)[0]
    ),
    "newton full": lambda x: optimize.newton(cubic, 1.0, args=tuple(x), full_output=True)[1].root,
    "newton complex": lambda x: np.imag(
        optimize.newton(lambda z: z**2 + x[0] * z + 1 + x[1], 1j, tol=1e-13)
    ),
    "fixed_point": lambda x: weighted(optimize.fixed_point(lambda u: np.sqrt(x / (u + 1)), ONE)),
    "fixed_point number": lambda x: optimize.fixed_point(
        lambda u, c: math.cos(c * u), 0.7, args=(x[0],), xtol=1e-13
    ),
    "fsolve": lambda x: weighted(optimize.fsolve(pair, [0.1, 0.1], args=(x[0], x[1]), xtol=1e-13)),
    "fsolve full": lambda x: weighted(
        optimize.fsolve(pair, ONE, tuple(x), full_output=True, xtol=1e-13)[0]
    ),
}  # fmt: skip
METHODS = {
    "hybr": {}, "lm": {"xtol": 1e-13}, "broyden1": {"fatol": 1e-12}, "df-sane": {"fatol": 1e-12},
    "broyden2": {"fatol": 1e-12}, "anderson": {"fatol": 1e-12}, "krylov": {"fatol": 1e-12},
    "linearmixing": {"fatol": 1e-12, "jac_options": {"alpha": -0.5}},
    "diagbroyden": {"fatol": 1e-12},
}  # fmt: skip
LARGE = {
    "broyden1": {}, "broyden2": {}, "anderson": {}, "linearmixing": {"alpha": -0.5},
    "diagbroyden": {}, "newton_krylov": {},
}  # fmt: skip


@pytest.mark.parametrize("name", ROOTS)
def test_roots(name, check_implicit):
    check_implicit(ROOTS[name], X, step=1e-5, second=len(name) < 16)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore")  # an ill-conditioned step in between
def test_methods_of_root(method, check_implicit):
    def f(x):
        found = optimize.root(pair, [0.1, 0.1], (x[0], x[1]), method, options=METHODS[method])
        return weighted(found.x)

    check_implicit(f, X, second=method == "hybr")


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.filterwarnings("ignore")
def test_large_systems(name, check_implicit):
    f = getattr(optimize, name)
    options = {**TIGHT, **LARGE[name]}
    check_implicit(lambda x: weighted(f(system(x), 0.1 * ONE, **options)), X, second=False)


@pytest.mark.filterwarnings("ignore")
def test_exciting_mixing(check_implicit):
    # It wants a system whose Jacobian is negative.
    def f(x):
        g = system(x)
        return weighted(optimize.excitingmixing(lambda u: -g(u), 0.1 * ONE, alpha=0.5, f_tol=1e-10))

    def of_root(x):
        options = {"fatol": 1e-10, "jac_options": {"alpha": 0.5}}
        g = system(x)
        found = optimize.root(lambda u: -g(u), 0.1 * ONE, method="excitingmixing", options=options)
        return weighted(found.x)

    check_implicit(f, X, second=False)
    check_implicit(of_root, X, second=False)


def test_root_with_its_jacobian():
    def f(x):
        def both(u):
            return np.stack(pair(u, *x)), np.array([[1, 0.3 * np.cos(u[1])], [0.4 * u[0], 1]])

        return weighted(optimize.root(both, ONE, jac=True).x)

    expected = gradient(lambda x: weighted(optimize.root(pair, ONE, args=tuple(x)).x), X)
    np.testing.assert_allclose(gradient(f, X), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: optimize.newton(lambda t: t**3 - 2.0, x),
        lambda x: optimize.brentq(lambda t: t**3 - 2.0, x - 1, x + 2),
        lambda x: optimize.fsolve(lambda t: t**3 - 2.0, x)[0],
        lambda x: optimize.root(lambda t: t**3 - 2.0, [x]).x[0],
    ],
)
def test_where_it_starts_does_not_matter(f):
    assert gradient(f, 1.2) == 0.0
    assert pushforward(f, 1.2)[1](1.0) == 0.0


def test_all_known_values():
    # x² = a: dx/da = 1 / (2x), d²x/da² = -1 / (4x³)
    def root(a):
        return optimize.brentq(lambda t: t * t - a, 0, 5)

    assert gradient(root, 4.0) == pytest.approx(0.25, rel=1e-12)
    assert gradient(lambda a: gradient(root, a), 4.0) == pytest.approx(-1 / 32, rel=1e-9)


def test_a_multiple_root_has_no_derivative():
    with pytest.raises(SingularError, match=r"scipy.optimize.newton is singular"):
        gradient(lambda a: optimize.newton(lambda t: (t - 1) ** 2 - a, 3.0, maxiter=99), 0.0)


@pytest.mark.filterwarnings("ignore:The iteration")
def test_an_unconverged_root_is_an_error():
    with pytest.raises(UnconvergedError, match="the residual is"):
        gradient(lambda a: optimize.fsolve(lambda t: np.sqrt(t * t + a) + 0.1 * t, 1.0)[0], 1.0)


def test_more_equations_than_unknowns():
    with pytest.raises(ImplicitError, match="as many equations as unknowns"):
        gradient(
            lambda a: optimize.root(lambda u: [u[0] - a, 2 * u[0] - a, u[0]], [1.0], method="lm").x[
                0
            ],
            1.0,
        )


ONE_NUMBER = {
    "brentq": lambda f, *args: optimize.brentq(f, 0.1, 5.0, args=args),
    "brenth": lambda f, *args: optimize.brenth(f, 0.1, 5.0, args=args),
    "bisect": lambda f, *args: optimize.bisect(f, 0.1, 5.0, args=args),
    "ridder": lambda f, *args: optimize.ridder(f, 0.1, 5.0, args=args),
    "toms748": lambda f, *args: optimize.toms748(f, 0.1, 5.0, args=args),
    "of a report": lambda f, *args: (
        optimize.brentq(f, 0.1, 5.0, args=args, full_output=True)[1].root
    ),
    "root_scalar": lambda f, *args: optimize.root_scalar(f, args, bracket=(0.1, 5.0)).root,
    "newton": lambda f, *args: optimize.newton(f, 1.0, args=args),
    "fixed_point": lambda f, *args: optimize.fixed_point(lambda t: t - 0.2 * f(t, *args), 1.0),
}


@pytest.mark.parametrize("name", ONE_NUMBER)
def test_numbers_are_of_the_class_that_scipy_gives(name):
    found = set()

    def by_class(t, k):
        found.add(type(t))
        return t * t - k if type(t) is float else t * t - k - 0.0 * k

    expected = type(ONE_NUMBER[name](by_class, 2.0))
    asked = found.copy()

    def root(k):
        x = ONE_NUMBER[name](by_class, k)
        found.add(("root", type(x)))
        return x * 1.0

    assert gradient(root, 2.0) == pytest.approx(0.5 / math.sqrt(2.0))
    assert pushforward(root, 2.0)[1](1.0) == pytest.approx(0.5 / math.sqrt(2.0))
    assert found == {*asked, ("root", expected)}
