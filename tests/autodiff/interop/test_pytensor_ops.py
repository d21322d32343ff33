"""to_pytensor: by PyTensor's own checker on the table, gradients of every order, models of PyMC."""

import pickle

import numpy as np
import pytest
import scipy
from scipy.integrate import solve_ivp

import autodiff
from autodiff.errors import ArgumentError, OutputError
from tests.autodiff.interop.functions import FUNCTIONS

X = np.array([0.5, 2.0])
Y = np.array([1.0, 0.3])


@pytest.fixture
def to_pytensor(pytensor):
    from autodiff.interop import to_pytensor

    return to_pytensor


@pytest.fixture
def pt(pytensor):
    import pytensor.tensor

    return pytensor.tensor


# One-sided differences of 1e-6 magnify the errors of 1e-9 that the values of these two have.
ROUGH = {"scipy.optimize.minimize_scalar", "scipy.optimize.approx_fprime"}
CHECKED = [f for f in FUNCTIONS[2::4] if f.name not in ROUGH]


def test_enough_are_checked():
    assert len(CHECKED) >= 60


@pytest.mark.parametrize("entry", CHECKED, ids=lambda entry: entry.name)
def test_verify_grad(pytensor, pt, to_pytensor, entry):
    from pytensor.gradient import verify_grad

    shape = np.shape(entry.function(*entry.arguments))
    f = to_pytensor(entry.function, out=pt.TensorType("float64", shape))
    verify_grad(f, list(entry.arguments), rng=np.random.default_rng(1), eps=1e-6, abs_tol=1e-4)


@pytest.mark.filterwarnings("ignore:Rop is deprecated")  # it has another name in PyTensor 3
def test_every_order(pytensor, pt, to_pytensor):
    a, x, v = pt.dvector("a"), pt.dvector("x"), pt.dvector("v")
    y = to_pytensor(scipy.special.gammainc)(a, x)
    slopes = pytensor.grad(y.sum(), [a, x])
    f = pytensor.function([a, x], [y, *slopes])
    expected = autodiff.gradient(lambda a, x: np.sum(scipy.special.gammainc(a, x)), X, Y)
    for found, value in zip(f(X, Y), (scipy.special.gammainc(X, Y), *expected), strict=True):
        np.testing.assert_allclose(found, value)

    curvature = pytensor.function([a, x], pytensor.grad(slopes[0].sum(), a))
    second = autodiff.hessian(lambda a: np.sum(scipy.special.gammainc(a, Y)), X)
    np.testing.assert_allclose(curvature(X, Y), np.diag(second))

    for direct in (False, True):
        along = pytensor.gradient.Rop(y, a, v, use_op_rop_implementation=direct)
        push = pytensor.function([a, x, v], along)
        np.testing.assert_allclose(push(X, Y, Y), expected[0] * Y)


def test_names_of_both_versions(pt, to_pytensor):
    a = pt.dvector("a")
    y = to_pytensor(np.sin)(a)
    op = y.owner.op
    new, old = op.pullback([a], [y], [y]), op.L_op([a], [y], [y])
    np.testing.assert_allclose(new[0].eval({a: X}), old[0].eval({a: X}))
    new, old = op.pushforward([a], [y], [a]), op.R_op([a], [a])
    np.testing.assert_allclose(new[0].eval({a: X}), np.cos(X) * X)
    np.testing.assert_allclose(old[0].eval({a: X}), np.cos(X) * X)


@pytest.mark.parametrize("is_value_first", [True, False])
def test_function_runs_once(pytensor, pt, to_pytensor, is_value_first):
    runs = []

    def f(x):
        runs.append(1)
        return np.sum(np.sin(x)), x**2

    a = pt.dvector("a")
    u, w = to_pytensor(f, out=(pt.dscalar, pt.dvector))(a)
    # PyTensor chooses which Op comes first.
    order = slice(None, None, 1 if is_value_first else -1)
    both = pytensor.function([a], [u, pytensor.grad(u + w.sum(), a)][order])
    for x in (X, Y, X):
        runs.clear()
        value, bar = both(x)[order]
        assert len(runs) == 1
        np.testing.assert_allclose(value, np.sin(x).sum())
        np.testing.assert_allclose(bar, np.cos(x) + 2 * x)


def test_op_can_be_pickled(pytensor, pt, to_pytensor):
    a = pt.dvector("a")
    y = to_pytensor(np.sin)(a)
    op = y.owner.op
    assert pickle.loads(pickle.dumps(op)) is op
    text = pickle.dumps(pytensor.grad(y.sum(), a).owner.op)
    from autodiff.interop import pytensor_ops

    pytensor_ops._OPS.clear()  # as in another process
    copy = pickle.loads(text)
    assert copy.source is not op
    storage = [[None]]
    copy.perform(None, [X, np.ones(2)], storage)
    np.testing.assert_allclose(storage[0][0], np.cos(X))


def test_nested_arguments_and_integers(pytensor, pt, to_pytensor):
    def f(d, k, scale):
        return {"y": d["x"][k] * scale, "n": 3}

    x, k = pt.dvector("x"), pt.lvector("k")
    found = to_pytensor(f, out=lambda d, k, scale: {"y": d["x"], "n": 3})({"x": x}, k, 2.0)
    assert found["n"] == 3
    slope = pytensor.function([x, k], pytensor.grad(found["y"].sum(), x))
    np.testing.assert_allclose(slope(X, [1, 1]), [0.0, 4.0])


def test_single_precision(pytensor, pt, to_pytensor):
    x = pt.fvector("x")
    y = to_pytensor(np.sin)(x)
    f = pytensor.function([x], [y, pytensor.grad(y.sum(), x)])
    assert [part.dtype for part in f(X.astype(np.float32))] == [np.float32, np.float32]


def test_types_that_a_rule_tells(pytensor, pt, to_pytensor):
    x, y = pt.dmatrix("x"), pt.fmatrix("y")
    top = to_pytensor(np.max)(x, axis=0)
    joined = to_pytensor(np.concatenate)([x, y], axis=1)
    assert (top.type.ndim, joined.type.ndim, joined.dtype) == (1, 2, "float64")
    f = pytensor.function([x, y], [top, joined, pytensor.grad(top.sum() + joined.sum(), [x, y])[0]])
    a = np.array([[1.0, 4.0], [3.0, 2.0]])
    found = f(a, np.ones((2, 3), np.float32))
    np.testing.assert_allclose(found[0], [3.0, 4.0])
    assert found[1].shape == (2, 5)
    np.testing.assert_allclose(found[2], [[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize("call", [(np.squeeze,), (np.unstack,), (np.reshape, (2, 2))])
def test_types_that_depend_on_unknown_lengths(pt, to_pytensor, call):
    f, *options = call
    with pytest.raises(OutputError, match="PyTensor needs the types"):
        to_pytensor(f)(pt.dvector("x"), *options)


def test_types_that_are_not_known_or_wrong(pytensor, pt, to_pytensor):
    x = pt.dvector("x")
    with pytest.raises(OutputError, match="PyTensor needs the types"):
        to_pytensor(lambda x: x[1:])(x)
    with pytest.raises(OutputError, match="has a number in it"):
        to_pytensor(np.sum, out=0.0)(x)
    wrong = to_pytensor(np.sum, out=pt.dvector)(x)
    with pytest.raises(OutputError, match="where the graph has"):
        wrong.eval({x: X})
    differing, _ = to_pytensor(lambda x: (x, float(x[0]) > 1), out=(pt.dvector, False))(x)
    with pytest.raises(OutputError, match="another structure"):
        differing.eval({x: X + 1})
    z = pt.zvector("z")
    with pytest.raises(OutputError, match="complex arguments or results"):
        pytensor.grad(to_pytensor(lambda z: np.sum(z.real), out=pt.dscalar)(z), z)
    with pytest.raises(ArgumentError, match="to_pytensor takes a function, not float"):
        to_pytensor(1.0)


# ----------------------------------------------------------------------------------------- PyMC

TIMES = np.linspace(0.0, 4.0, 9)[1:]


def population(rate, capacity):
    """Solve the equation of logistic growth."""
    growth = lambda t, y: rate * y * (1.0 - y / capacity)  # noqa: E731
    return solve_ivp(growth, (0.0, 4.0), [0.5], t_eval=TIMES, rtol=1e-6, atol=1e-8).y[0]


def sampled(pm, model):
    with model:
        trace = pm.sample(
            100, tune=100, chains=1, cores=1, progressbar=False, random_seed=1,
            compute_convergence_checks=False,
        )  # fmt: skip
    return trace.posterior


def assert_recovered(posterior, **true):
    for name, value in true.items():
        draws = np.asarray(posterior[name])
        assert abs(draws.mean() - value) < 4 * draws.std(), name
        assert draws.std() < 0.5 * value, name


@pytest.mark.filterwarnings("ignore")  # of PyMC and what it uses
def test_posterior_of_a_differential_equation(pt, pymc, to_pytensor):
    pm = pymc
    rng = np.random.default_rng(1)
    data = population(1.4, 3.0) * np.exp(0.05 * rng.normal(size=TIMES.size))
    solution = to_pytensor(population, out=pt.TensorType("float64", TIMES.shape))
    with pm.Model() as model:
        rate = pm.Uniform("rate", 0.2, 4.0)  # bounded: the warm-up meets no stiff equation
        capacity = pm.Uniform("capacity", 0.5, 10.0)
        pm.LogNormal("data", pt.log(solution(rate, capacity)), 0.05, observed=data)
    assert_recovered(sampled(pm, model), rate=1.4, capacity=3.0)


@pytest.mark.filterwarnings("ignore")
def test_posterior_with_a_special_function(pt, pymc, to_pytensor):
    pm = pymc
    rng = np.random.default_rng(1)
    x = np.linspace(0.1, 3.0, 30)
    data = scipy.special.gammainc(1.7, x) + 0.02 * rng.normal(size=30)
    gammainc = to_pytensor(scipy.special.gammainc)
    with pm.Model() as model:
        shape = pm.HalfNormal("shape", 3.0)
        sigma = pm.HalfNormal("sigma", 0.2)
        pm.Normal("data", gammainc(shape, pt.as_tensor(x)), sigma, observed=data)
    assert_recovered(sampled(pm, model), shape=1.7, sigma=0.02)
