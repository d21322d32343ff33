"""SciPy's solvers on nests: the same optima as by differences, and derivatives of them."""

import types
from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize

import autodiff
from autodiff import ArgumentError, OutputError, gradient, jacobian, pushforward, ravel
from autodiff.optimize import curve_fit, least_squares, minimize, root
from tests.helpers import Data, Pair, differences

METHODS = (
    "nelder-mead", "powell", "cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "cobyla", "cobyqa",
    "slsqp", "trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov",
)  # fmt: skip


class Model:
    """An object with parameters."""

    def __init__(self, a, b):
        self.a, self.b, self.name = a, b, "model"


def bowl(p):
    return (p["a"] - 3) ** 2 + np.sum((p["b"] + 1) ** 2 * np.exp(0.1 * p["b"])) + 0.5 * p["a"] ** 2


START = {"a": 0.0, "b": np.zeros(2), "name": "p", "n": 3}


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method):
    result = minimize(bowl, START, method=method)
    assert result.success, result.message
    assert (result.params["name"], result.params["n"]) == ("p", 3)
    np.testing.assert_allclose(result.params["a"], 2, atol=1e-3)
    np.testing.assert_allclose(result.params["b"], [-1, -1], atol=1e-3)
    assert result.nfev == len(result.history) or method == "trust-constr"


@pytest.mark.parametrize("method", ["bfgs", "l-bfgs-b", "newton-cg", "trust-exact", "slsqp"])
def test_the_steps_are_those_of_a_call_by_hand(method):
    def by_hand(x):
        return bowl({"a": x[0], "b": x[1:]})

    known = {}
    if method == "newton-cg":
        known["hessp"] = lambda x, v: autodiff.hvp(by_hand, x, v)
    if method == "trust-exact":
        known["hess"] = lambda x: autodiff.hessian(by_hand, x)
    hand = optimize.minimize(
        by_hand, np.zeros(3), method=method, jac=autodiff.grad(by_hand), **known
    )
    ours = minimize(bowl, START, method=method)
    np.testing.assert_allclose(ours.x, hand.x, rtol=1e-10)
    assert (ours.nfev, ours.nit) == (hand.nfev, hand.nit)


@pytest.mark.parametrize(
    "params", [Pair(0.0, np.zeros(2)), Data(0.0, np.zeros(2)), Model(0.0, np.zeros(2)),
               types.SimpleNamespace(a=0.0, b=np.zeros(2))],
    ids=lambda p: type(p).__name__,
)  # fmt: skip
def test_results_are_in_the_users_nest(params):
    result = minimize(lambda p: bowl({"a": p.a, "b": p.b}), params, bounds={"b": (-0.5, None)})
    assert type(result.params) is type(params)
    np.testing.assert_allclose(result.params.a, 2, atol=1e-5)
    np.testing.assert_allclose(result.params.b, [-0.5, -0.5], atol=1e-5)
    np.testing.assert_array_equal(params.b, [0, 0])


def test_plain_numbers_and_arrays():
    assert minimize(lambda x: (x - 1) ** 2, 3).params == pytest.approx(1)
    result = minimize(lambda x, a: np.sum((x - a) ** 2), np.zeros((2, 2)), args=(np.eye(2),))
    np.testing.assert_allclose(result.params, np.eye(2), atol=1e-6)


def test_dtypes_float32_and_complex():
    params = {"x": np.zeros(2, np.float32), "z": 1j, "w": np.zeros(1, np.complex64)}

    def f(p):
        far = p["z"] - (2 - 3j)
        return np.sum((p["x"] - 1) ** 2) + abs(far) ** 2 + np.sum(np.abs(p["w"] - 1j) ** 2)

    for method in ("bfgs", "trust-exact", "newton-cg"):
        found = minimize(f, params, method=method).params
        assert found["x"].dtype == np.float32
        assert found["w"].dtype == np.complex64
        np.testing.assert_allclose(found["x"], 1, rtol=1e-3)
        np.testing.assert_allclose([found["z"], found["w"][0]], [2 - 3j, 1j], atol=1e-3)


# ---------------------------------------------------------------------------- bounds, constraints


@pytest.mark.parametrize(
    "bounds, expected",
    [
        ({"a": (None, 1.0)}, [1, -1, -1]),
        ({"b": (np.array([0.5, -np.inf]), None), "name": None}, [2, 0.5, -1]),
        ({"b": [(0.5, None), (None, -2)]}, [2, 0.5, -2]),
        ({"b": np.array([[0.5, 1.0], [-3, -2]])}, [2, 0.5, -2]),
        ({"b": optimize.Bounds([0.5, -3], [1, -2]), "a": None}, [2, 0.5, -2]),
    ],
)
@pytest.mark.parametrize("method", [None, "slsqp", "trust-constr", "nelder-mead"])
def test_bounds_in_the_nest(bounds, expected, method):
    start = {"a": 0.5, "b": np.array([0.7, -2.5]), "name": "p"}
    result = minimize(bowl, start, bounds=bounds, method=method)
    np.testing.assert_allclose(ravel(result.params)[0], expected, atol=5e-3)


def test_bounds_of_an_array_as_in_scipy():
    def f(x):
        return np.sum((x - 3) ** 2)

    for bounds in ([(0, 1), (None, 2)], optimize.Bounds([0, -9], [1, 2]), ((0, 1), (0, 2))):
        np.testing.assert_allclose(minimize(f, np.zeros(2), bounds=bounds).params, [1, 2])
    np.testing.assert_allclose(minimize(f, np.zeros(2), bounds=(0, 2)).params, [2, 2])


@pytest.mark.parametrize(
    "bounds, message",
    [
        ({"c": (0, 1)}, "the other nest has 'c'"),
        ({"b": (0, 1, 2)}, r"shape \(2,\) are a pair"),
        ({"b": "positive"}, "not 'positive'"),
        ({"b": (np.zeros(3), None)}, r"a bound of shape \(3,\) does not fit"),
        ({"z": (0, 1)}, "a complex number, which has no order"),
    ],
)
def test_bounds_that_do_not_fit(bounds, message):
    with pytest.raises(ArgumentError, match=message):
        minimize(bowl, {"a": 0.0, "b": np.zeros(2), "z": 1j}, bounds=bounds)


def on_a_line(p):
    return [p["a"] + p["b"][0] - 1, p["b"][1]]


@pytest.mark.parametrize(
    "constraint, method",
    [
        ({"type": "eq", "fun": on_a_line}, None),
        ({"type": "eq", "fun": lambda p, c: on_a_line(p)[0] * c, "args": (2.0,)}, "slsqp"),
        (optimize.NonlinearConstraint(on_a_line, 0, 0), None),
        (optimize.NonlinearConstraint(on_a_line, 0, 0), "trust-constr"),
        (optimize.LinearConstraint([[1, 1, 0]], 1, 1), "slsqp"),
        ([{"type": "ineq", "fun": lambda p: 1 - p["a"] - p["b"][0]}], "cobyla"),
    ],
)
def test_constraints_on_the_nest(constraint, method):
    def f(p):
        return (p["a"] - 3) ** 2 + p["b"][0] ** 2 + p["b"][1] ** 2

    result = minimize(f, {"a": 0.0, "b": np.ones(2)}, constraints=constraint, method=method)
    np.testing.assert_allclose(ravel(result.params)[0], [2, -1, 0], atol=2e-3)


def test_second_derivatives_of_constraints():
    circle = optimize.NonlinearConstraint(lambda p: p["x"] ** 2 + p["y"] ** 2, 1, 1)
    start = {"x": 1.0, "y": 0.5}
    result = minimize(lambda p: p["x"] + p["y"], start, constraints=circle, method="trust-constr")
    np.testing.assert_allclose([result.params["x"], result.params["y"]], -np.sqrt(0.5), atol=1e-5)


def test_constraints_that_are_none():
    with pytest.raises(ArgumentError, match="a constraint is a dict"):
        minimize(bowl, START, constraints=[{"type": "eq"}])
    given = {"type": "eq", "fun": on_a_line, "jac": on_a_line}
    with pytest.raises(ArgumentError, match="with jac="):
        minimize(bowl, START, constraints=given)


@pytest.mark.parametrize("params", [{"n": 3}, [1, 2], "x", {}])
def test_nothing_to_fit(params):
    with pytest.raises(ArgumentError, match="nothing to"):
        minimize(lambda p: 1.0, params)


def test_a_value_for_the_function():
    with pytest.raises(ArgumentError, match="must be a function"):
        minimize(1.0, START)


# ------------------------------------------------------------------------- least squares, equations

X = np.linspace(0, 2, 12)
NOISE = 0.05 * np.sin(37 * X)


def decay(x, p):
    return p["size"] * np.exp(-p["rate"] * x) + p["offset"]


P0 = {"size": 1.0, "rate": 0.5, "offset": 0.0, "name": "decay"}
Y = decay(X, {"size": 2.0, "rate": 1.3, "offset": 0.3}) + NOISE


def residuals(p):
    return {"upper": (decay(X, p) - Y)[:5], "lower": list((decay(X, p) - Y)[5:])}


@pytest.mark.parametrize("method", ["lm", "trf", "dogbox"])
def test_least_squares(method):
    ours = least_squares(residuals, P0, method=method)
    hand = optimize.least_squares(
        lambda v: decay(X, dict(zip(P0, v, strict=False))) - Y, [1, 0.5, 0], method=method
    )
    np.testing.assert_allclose(ours.x, hand.x, rtol=1e-5)
    assert ours.params["name"] == "decay"
    assert len(ours.history) == ours.nfev - (method == "lm")  # MINPACK counts one more
    assert min(ours.history.values) == pytest.approx(ours.cost)


def test_least_squares_with_bounds_and_a_robust_loss():
    bounds = {"rate": (0, 1)}
    ours = least_squares(residuals, P0, bounds=bounds, loss="soft_l1", f_scale=0.1)
    assert ours.params["rate"] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov", "broyden1"])
def test_root(method):
    def f(p):
        return {"first": p["x"] ** 2 + p["y"] - 3, "second": p["y"] - np.array([2.0])}

    result = root(f, {"x": 1.2, "y": np.array([1.5])}, method=method)
    np.testing.assert_allclose(result.params["x"], 1, atol=1e-4)


def test_root_of_too_many_equations():
    with pytest.raises(ArgumentError, match="3 equations for 2 unknowns"):
        root(lambda p: [p["x"], p["y"], p["x"]], {"x": 1.0, "y": 1.0})


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize(
    "sigma", [None, 0.1, 0.1 + 0.1 * X, np.diag(0.1 + X) + 0.01], ids=["none", "one", "each", "all"]
)
def test_curve_fit(sigma, absolute):
    def by_hand(x, size, rate, offset):
        return size * np.exp(-rate * x) + offset

    given = np.full(len(X), sigma) if np.ndim(sigma) == 0 and sigma is not None else sigma
    ours = curve_fit(decay, X, Y, P0, sigma=sigma, absolute_sigma=absolute)
    popt, pcov = optimize.curve_fit(
        by_hand, X, Y, [1, 0.5, 0], sigma=given, absolute_sigma=absolute, xtol=1e-12
    )
    np.testing.assert_allclose(ours.x, popt, rtol=1e-5)
    np.testing.assert_allclose(ours.covariance, pcov, rtol=1e-4)


def test_curve_fit_of_complex_data():
    true = {"z": 1 + 2j, "rate": 0.7}

    def model(x, p):
        return p["z"] * np.exp(1j * p["rate"] * x)

    fit = curve_fit(model, X, model(X, true), {"z": 1 + 0j, "rate": 0.5}, sigma=0.1 + X)
    np.testing.assert_allclose([fit.params["z"], fit.params["rate"]], [1 + 2j, 0.7], rtol=1e-6)


def test_a_covariance_that_the_data_do_not_determine():
    fit = curve_fit(lambda x, p: p["a"] * x + p["b"] * x, X, Y, {"a": 1.0, "b": 1.0}, method="trf")
    assert np.all(np.isinf(fit.covariance))


def test_curve_fit_of_data_that_do_not_fit():
    with pytest.raises(ArgumentError, match="predicts 3 numbers, and ydata has 12"):
        curve_fit(lambda x, p: p["a"] * np.ones(3), X, Y, {"a": 1.0})
    with pytest.raises(ArgumentError, match=r"sigma of shape \(3,\) does not fit"):
        curve_fit(decay, X, Y, P0, sigma=np.ones(3))
    with pytest.raises(ArgumentError, match="without floats in it"):
        least_squares(lambda p: "x", P0)


# --------------------------------------------------------------------------- derivatives of optima


class Given(NamedTuple):
    """Data and a hyperparameter."""

    y: np.ndarray
    penalty: float


DATA = Given(np.array([1.0, 2.0, -1.0]), 0.3)
TIGHT = {"gtol": 1e-12}


def ridge(p, y, penalty):
    r = p["a"] * np.arange(3) + p["b"][0] - y
    return np.sum(r**2) + np.sum(np.cos(0.1 * r)) + penalty * (p["a"] ** 2 + np.sum(p["b"] ** 2))


START2 = {"a": 0.0, "b": np.zeros(1), "name": "line"}


def optimum_by_args(v):
    found = minimize(ridge, START2, args=(v[:3], v[3]), method="bfgs", options=TIGHT)
    return found.params["a"] * 2 + found.params["b"][0] ** 2 + found.fun


def optimum_by_captured_values(v):
    found = minimize(lambda p: ridge(p, v[:3], v[3]), START2, method="trust-exact", options=TIGHT)
    return found.params["a"] * 2 + found.params["b"][0] ** 2 + found.fun


def optimum_by_bounds(v):
    found = minimize(ridge, START2, args=(v[:3], 0.5), bounds={"a": (v[3] + 1, None)}, tol=1e-12)
    return found.params["a"] * 2 + found.params["b"][0] ** 2 + found.fun


def optimum_by_constraints(v):
    condition = {"type": "eq", "fun": lambda p: p["a"] + p["b"][0] - v[3]}
    found = minimize(ridge, START2, args=(v[:3], 0.5), constraints=condition, tol=1e-12)
    return found.params["a"] * 2 + found.params["b"][0] ** 2 + found.fun


def optimum_by_nonlinear_constraints(v):
    condition = optimize.NonlinearConstraint(lambda p: p["a"] * v[1] + p["b"][0], v[3], v[3])
    found = minimize(ridge, START2, args=(v[:3], 0.5), constraints=condition, tol=1e-12)
    return found.params["a"] * 2 + found.params["b"][0] ** 2 + found.fun


def least_squares_by_data(v):
    found = least_squares(
        lambda p, y: np.exp(p["a"] * np.arange(3)) * p["b"][0] - y, {"a": 0.1, "b": np.ones(1)},
        args=(v[:3] + 3,), xtol=1e-15, ftol=1e-15, gtol=1e-15,
    )  # fmt: skip
    return found.params["a"] + found.params["b"][0] * v[3] + found.cost


def covariance_by_data(v):
    fit = curve_fit(
        lambda x, p: p["b"] * np.exp(p["a"] * x) * v[3], np.arange(3), v[:3] + 3,
        {"a": 0.1, "b": 1.0}, sigma=v[:3] ** 2, xtol=1e-15, ftol=1e-15, gtol=1e-15,
    )  # fmt: skip
    return fit.params["a"] + fit.params["b"] + fit.covariance[0, 0] + fit.covariance[1, 0]


def root_by_captured_values(v):
    found = root(lambda p: (p["a"] ** 2 - v[1], p["a"] * p["b"] - v[3]), {"a": 1.0, "b": 1.0})
    return found.params["a"] + np.exp(found.params["b"])


OPTIMA = [
    optimum_by_args, optimum_by_captured_values, optimum_by_bounds, optimum_by_constraints,
    optimum_by_nonlinear_constraints, least_squares_by_data, covariance_by_data,
    root_by_captured_values,
]  # fmt: skip


@pytest.mark.parametrize("f", OPTIMA, ids=lambda f: f.__name__)
def test_gradients_of_optima(f):
    at = np.array([*DATA.y, DATA.penalty])
    np.testing.assert_allclose(
        gradient(f, at), differences(f, at, 1e-2, order=4), rtol=2e-5, atol=2e-6
    )


@pytest.mark.parametrize("f", OPTIMA, ids=lambda f: f.__name__)
def test_directional_derivatives_of_optima(f):
    at = np.array([*DATA.y, DATA.penalty])
    along = np.array([0.3, -0.2, 0.5, 0.1])
    found = pushforward(f, at)[1](along)
    np.testing.assert_allclose(found, gradient(f, at) @ along, rtol=1e-7)


def test_an_optimum_in_float32_and_complex_parameters():
    def f(v):
        start = {"z": np.array([1j], np.complex64), "a": np.float32(0.0)}
        found = minimize(
            lambda p: np.sum(np.abs(p["z"] - (v[0] + 1j * v[1])) ** 2 + np.abs(p["z"]) ** 4 / 2)
            + (p["a"] - v[0]) ** 2 * v[1] + p["a"] ** 2, start, method="trust-exact",
        ).params  # fmt: skip
        assert (found["z"].dtype, found["a"].dtype) == (np.complex64, np.float32)
        return found["z"].real[0] * 2 + found["z"].imag[0] ** 2 + found["a"]

    at = np.array([1.0, 0.5])
    expected = differences(f, at, 1e-2, order=4)  # of values in float32
    np.testing.assert_allclose(gradient(f, at), expected, rtol=1e-3)


def test_second_derivatives_of_an_optimum():
    def f(penalty):
        return minimize(ridge, START2, args=(DATA.y, penalty), options=TIGHT).params["a"]

    slope = differences(lambda s: gradient(f, s), 0.3, 1e-4)
    assert jacobian(lambda s: gradient(f, s), 0.3) == pytest.approx(float(slope), rel=1e-5)


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", "COBYLA", "COBYQA", "BFGS"])
@pytest.mark.parametrize("value", [None, np.ones(2), 1j, "text"])
def test_a_loss_that_is_no_number(method, value):
    with pytest.raises(OutputError, match="returned"):
        minimize(lambda p: value, np.zeros(2), method=method)


def test_the_arguments_of_a_constraint():
    for args in (2.0, (2.0,)):
        least = {"type": "ineq", "fun": lambda p, c: p["x"] - c, "args": args}
        assert minimize(lambda p: p["x"] ** 2, {"x": 3.0}, constraints=least).params["x"] == (
            pytest.approx(2.0)
        )


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "Newton-CG", "SLSQP", "trust-constr"])
def test_value_and_gradient_of_a_point_are_computed_once(method):
    points = []

    def loss(p):
        return np.sum((p["a"] - 1) ** 4) + p["b"] ** 2

    def seen(p):
        points.append((*p["a"], p["b"]))
        return loss(p)

    start = {"a": np.zeros(2), "b": 1.0}
    result = minimize(seen, start, method=method)
    assert len(result.history) <= result.nfev + 1
    if method not in ("Newton-CG", "trust-constr"):  # which take products of the Hessian, too
        assert len(points) == len(result.history)
    by_scipy = optimize.minimize(
        lambda v: (
            loss({"a": v[:2], "b": v[2]}),
            np.append(4 * (v[:2] - 1) ** 3, 2 * v[2]),
        ),
        [0.0, 0.0, 1.0], jac=True, method=method,
        **({"hessp": lambda v, w: np.append(12 * (v[:2] - 1) ** 2, 2.0) * w}
           if method in ("Newton-CG", "trust-constr") else {}),
    )  # fmt: skip
    assert (result.nfev, result.nit) == (by_scipy.nfev, by_scipy.nit)
    np.testing.assert_allclose(result.x, by_scipy.x, rtol=1e-9)
