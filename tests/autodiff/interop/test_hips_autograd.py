"""to_autograd and register_all, by autograd's own checker, and what they leave alone."""

import importlib

import numpy as np
import pytest
from scipy import special

from autodiff import ArgumentError
from chainrules_core.registry.entries import key_of
from chainrules_core.registry.facts import rules
from tests.autodiff.interop.functions import FUNCTIONS

V, W = np.array([0.3, 1.2, 0.7, 1.9]), np.array([0.5, 0.9, 1.4, 0.2])
M = np.random.default_rng(0).uniform(0.2, 1.5, (3, 3)) + 2 * np.eye(3)
N = np.arange(9.0).reshape(3, 3) / 7 - np.eye(3)
S = M @ M.T
BANDS = np.array([[0.0, 0.4, 0.7], [3.0, 4.0, 5.0]])
Z = np.array([0.3 + 1j, 1.2 - 0.4j, 0.7])
POINTS = {"V": (V,), "VW": (V, W), "M": (M,), "MV": (M, V[:3]), "MM": (M, M + 1), "s": (0.7,)}
REGISTERED = {
    "s": """
        numpy.arange
    """,
    "V": """
        numpy.asanyarray numpy.asarray numpy.asarray_chkfinite numpy.ascontiguousarray
        numpy.asfortranarray numpy.average numpy.block numpy.cbrt numpy.copy numpy.corrcoef
        numpy.cov numpy.cumprod numpy.cumulative_prod numpy.cumulative_sum numpy.diagflat
        numpy.dstack numpy.ediff1d numpy.fft.fft numpy.fft.fftn numpy.fft.fftshift
        numpy.fft.hfft numpy.fft.ifft numpy.fft.ifftn numpy.fft.ifftshift numpy.fft.ihfft
        numpy.fft.irfft numpy.fft.irfftn numpy.fft.rfft numpy.fft.rfftn numpy.flip numpy.i0
        numpy.linalg.vector_norm numpy.modf numpy.nancumprod numpy.nancumsum numpy.nanmean
        numpy.nanprod numpy.nansum numpy.nanvar numpy.positive numpy.require numpy.roots
        numpy.trapezoid numpy.trim_zeros numpy.unstack numpy.unwrap numpy.vander
        scipy.linalg.block_diag scipy.linalg.circulant scipy.linalg.hankel scipy.linalg.norm
        scipy.linalg.toeplitz scipy.special.digamma scipy.special.erf scipy.special.erfc
        scipy.special.erfcinv scipy.special.expit scipy.special.gamma
        scipy.special.gammaln scipy.special.i0 scipy.special.i1 scipy.special.j0
        scipy.special.j1 scipy.special.psi scipy.special.rgamma
        scipy.special.y0 scipy.special.y1
    """,
    "VW": """
        numpy.broadcast_arrays numpy.convolve numpy.copysign numpy.correlate numpy.divmod
        numpy.float_power numpy.fmod numpy.geomspace numpy.heaviside numpy.hypot
        numpy.linalg.matmul numpy.linalg.outer numpy.linalg.vecdot numpy.logspace numpy.meshgrid
        numpy.nextafter numpy.vdot numpy.vecdot scipy.special.beta scipy.special.betaln
        scipy.special.gammainc scipy.special.gammaincc scipy.special.iv scipy.special.ive
            """,
    "M": """
        numpy.concat numpy.fft.fft2 numpy.fft.ifft2 numpy.fft.irfft2 numpy.fft.rfft2
        numpy.linalg.cholesky numpy.linalg.cond numpy.linalg.det numpy.linalg.diagonal
        numpy.linalg.eigvals numpy.linalg.eigvalsh numpy.linalg.inv numpy.linalg.matrix_norm
        numpy.linalg.matrix_transpose numpy.linalg.pinv numpy.linalg.svdvals numpy.linalg.trace
        numpy.matrix_transpose numpy.median numpy.nanmax numpy.nanmedian numpy.nanmin
        numpy.nanstd numpy.ptp numpy.sort_complex numpy.unique numpy.unique_values
        scipy.linalg.cholesky scipy.linalg.det scipy.linalg.eig scipy.linalg.eig_banded
        scipy.linalg.eigvals scipy.linalg.eigvals_banded scipy.linalg.eigvalsh scipy.linalg.expm
        scipy.linalg.hessenberg scipy.linalg.inv scipy.linalg.logm scipy.linalg.lu
        scipy.linalg.matrix_balance scipy.linalg.pinv scipy.linalg.pinvh scipy.linalg.polar
        scipy.linalg.qr scipy.linalg.rq scipy.linalg.schur scipy.linalg.signm scipy.linalg.svd
        scipy.linalg.svdvals
    """,
    "MV": """
        numpy.linalg.cross numpy.linalg.solve numpy.linalg.tensorsolve numpy.matvec
        numpy.nanpercentile numpy.percentile
        scipy.linalg.qr_multiply scipy.linalg.solve scipy.linalg.solve_toeplitz
        scipy.linalg.solve_triangular
    """,
    "MM": """
        numpy.linalg.tensordot numpy.vecmat scipy.linalg.expm_frechet scipy.linalg.khatri_rao
        scipy.linalg.solve_continuous_lyapunov scipy.linalg.solve_discrete_lyapunov
    """,
}
"""Functions of autograd, whitespace between them, by the arguments at which they are checked."""
CALLS = {
    "numpy.bincount": (lambda f: lambda w: f(np.array([0, 1, 1, 3]), w), (V,)),
    "numpy.choose": (lambda f: lambda a: f(np.array([0, 1, 1]), a), (M,)),
    "numpy.compress": (lambda f: lambda a: f([True, False, True], a), (V,)),
    "numpy.delete": (lambda f: lambda a: f(a, 1), (V,)),
    "numpy.extract": (lambda f: lambda a: f(W > 0.4, a), (V,)),
    "numpy.fft.fftfreq": (lambda f: lambda d: f(5, d), (0.7,)),
    "numpy.fft.rfftfreq": (lambda f: lambda d: f(5, d), (0.7,)),
    "numpy.frexp": (lambda f: lambda x: f(x)[0], (V,)),
    "numpy.insert": (lambda f: lambda a, v: f(a, 1, v), (V, 0.4)),
    "numpy.interp": (lambda f: lambda x, y: f(x, np.arange(4.0), y), (V, W)),
    "numpy.ldexp": (lambda f: lambda x: f(x, 2), (V,)),
    "numpy.linalg.eig": (lambda f: lambda a: f(a)[0], (S,)),
    "numpy.linalg.eigh": (lambda f: lambda a: f(a + a.T)[0], (S,)),
    "numpy.linalg.lstsq": (lambda f: lambda a, b: f(a, b)[0], (M, V[:3])),
    "numpy.linalg.matrix_power": (lambda f: lambda a: f(a, 3), (M,)),
    "numpy.linalg.multi_dot": (lambda f: lambda a: f([a, M, a]), (M,)),
    "numpy.nanquantile": (lambda f: lambda a: f(a, 0.3), (V,)),
    "numpy.linalg.qr": (lambda f: lambda a: f(a)[1], (M,)),
    "numpy.linalg.slogdet": (lambda f: lambda a: f(a)[1], (M,)),
    "numpy.linalg.svd": (lambda f: lambda a: f(a)[1], (M,)),
    "numpy.linalg.tensorinv": (lambda f: lambda a: f(a, ind=1), (M,)),
    "numpy.piecewise": (lambda f: lambda x: f(x, [V > 0.5], [2.0, 3.0]), (V,)),
    "numpy.quantile": (lambda f: f, (M, W / 2)),
    "numpy.resize": (lambda f: lambda a: f(a, (2, 3)), (V,)),
    "numpy.take": (lambda f: lambda a: f(a, [2, 0, 2]), (V,)),
    "numpy.take_along_axis": (lambda f: lambda a: f(a, np.array([2, 0, 2]), 0), (V,)),
    "numpy.unique_all": (lambda f: lambda a: f(a)[0], (V,)),
    "numpy.unique_counts": (lambda f: lambda a: f(a)[0], (V,)),
    "numpy.unique_inverse": (lambda f: lambda a: f(a)[0], (V,)),
    "scipy.linalg.cdf2rdf": (lambda f: lambda w: f(w, np.eye(2) + 0j)[0], (np.array([1.0, 2.0]),)),
    "scipy.linalg.cho_factor": (lambda f: lambda a: f(a + a.T)[0], (S,)),
    "scipy.linalg.cho_solve": (lambda f: lambda c, b: f((c, True), b), (np.tril(S), V[:3])),
    "scipy.linalg.cholesky_banded": (lambda f: lambda a: f(a), (BANDS,)),
    "scipy.linalg.eigh": (lambda f: lambda a: f(a + a.T)[0], (S,)),
    "scipy.linalg.eigvalsh_tridiagonal": (lambda f: f, (V, W[:3])),
    "scipy.linalg.fractional_matrix_power": (lambda f: lambda a: f(a, 0.5), (S,)),
    "scipy.linalg.lstsq": (lambda f: lambda a, b: f(a, b)[0], (M, V[:3])),
    "scipy.linalg.lu_factor": (lambda f: lambda a: f(a)[0], (M,)),
    "scipy.linalg.solve_banded": (lambda f: lambda a, b: f((1, 0), a, b), (BANDS[::-1], V[:3])),
    "scipy.linalg.solve_continuous_are": (lambda f: lambda a: f(a, M, S, S), (M,)),
    "scipy.linalg.solve_discrete_are": (lambda f: lambda a: f(a, M, S, S), (M,)),
    "scipy.linalg.solveh_banded": (lambda f: f, (BANDS, V[:3])),
    "scipy.special.betainc": (lambda f: lambda x: f(0.7, 1.3, x), (W / 2,)),
    "scipy.special.erfinv": (lambda f: f, (W / 2,)),
    "scipy.special.jn": (lambda f: lambda x: f(2, x), (V,)),
    "scipy.special.logit": (lambda f: f, (W / 2,)),
    "scipy.special.multigammaln": (lambda f: lambda a: f(a, 2), (3.3,)),
    "scipy.special.polygamma": (lambda f: lambda x: f(1, x), (V,)),
    "scipy.special.yn": (lambda f: lambda x: f(2, x), (V,)),
}


def absolute(z):
    """Return the absolute value, by autograd; what has a phase of its own has no derivative."""
    return importlib.import_module("autograd.numpy").abs(z)


Q, R = np.linalg.qr(M)
CALLS |= {
    "numpy.astype": (lambda f: lambda x: f(x, np.float64), (V,)),
    "numpy.fromiter": (lambda f: lambda x: f(x, float), (V,)),
    "numpy.full_like": (lambda f: lambda x: f(np.ones(3), x), (0.7,)),
    "numpy.sign": (lambda f: f, (V - 1.0,)),
    "scipy.integrate.odeint": (
        lambda f: lambda y: f(lambda y, t: -(y**2), y, np.arange(3.0), rtol=1e-10, atol=1e-10),
        (V,),
    ),
    "scipy.linalg.cho_solve_banded": (
        lambda f: lambda c, b: f((c, False), b), (BANDS, V[:3])),
    "scipy.linalg.clarkson_woodruff_transform": (lambda f: lambda a: f(a, 2, seed=1), (M,)),
    "scipy.linalg.eigh_tridiagonal": (lambda f: lambda d, e: f(d, e)[0], (V, W[:3])),
    "scipy.linalg.funm": (lambda f: lambda a: f(a, np.exp), (M,)),
    "scipy.linalg.ldl": (lambda f: lambda a: f(a + a.T)[1], (M,)),
    "scipy.linalg.lu_solve": (
        lambda f: lambda a, b: f((a, np.arange(3)), b), (M, V[:3])),
    "scipy.linalg.ordqz": (lambda f: lambda a, b: absolute(f(a, b, output="complex")[0]), (M, N)),
    "scipy.linalg.qr_delete": (lambda f: lambda q, r: f(q, r, 1)[1], (Q, R)),
    "scipy.linalg.qr_insert": (lambda f: lambda u: f(Q, R, u, 1)[1], (V[:3],)),
    "scipy.linalg.qr_update": (lambda f: lambda u, v: f(Q, R, u, v)[1], (V[:3], W[:3])),
    "scipy.linalg.qz": (lambda f: lambda a, b: absolute(f(a, b, output="complex")[0]), (M, N)),
}  # fmt: skip
for points, names in REGISTERED.items():
    CALLS |= {name: (lambda f: f, POINTS[points]) for name in names.split()}


@pytest.fixture(scope="module")
def registered():
    """What register_all has added; it stays for the process."""
    pytest.importorskip("autograd")
    from autodiff.interop import register_all

    return register_all()


@pytest.fixture
def check_grads(autograd):
    """Autograd's checker, to second order."""
    from autograd.test_util import check_grads

    np.random.seed(0)  # noqa: NPY002 - which the checker draws from
    return lambda f, *args, modes=("fwd", "rev"): check_grads(f, modes=list(modes), order=2)(*args)


@pytest.fixture
def to_autograd(autograd):
    """The wrapper."""
    from autodiff.interop import to_autograd

    return to_autograd


def test_how_much_is_registered(registered):
    from autodiff.interop import register_all

    assert len(registered.vjps) + len(registered.jvps) >= 350
    assert len(registered.functions) >= 250
    assert register_all() == ([], [], [])
    names = {*registered.vjps, *registered.jvps}
    assert names == CALLS.keys()


@pytest.mark.filterwarnings("ignore:Output seems independent of input")
@pytest.mark.parametrize("name", sorted(CALLS))
def test_registered_derivatives(registered, check_grads, name):
    module, _, attribute = name.rpartition(".")
    f = getattr(importlib.import_module(f"autograd.{module}"), attribute)
    make, args = CALLS[name]
    added = {"rev": registered.vjps, "fwd": registered.jvps}
    check_grads(make(f), *args, modes=[mode for mode, names in added.items() if name in names])


@pytest.mark.parametrize("name", ["hyp2f1", "ellipk", "gdtr", "owens_t", "struve"])
def test_functions_that_autograd_lacked(registered, check_grads, name):
    assert f"scipy.special.{name}" in registered.functions
    f = getattr(importlib.import_module("autograd.scipy.special"), name)
    n = getattr(special, name).nin
    check_grads(lambda x: f(*[0.5] * (n - 1), x), W / 2)


# At these the examples lie at an edge, among ties, or are of another form than the function has.
NOT_AT_EXAMPLES = frozenset(
    {
        "scipy.special.nctdtridf", "scipy.special.nrdtrisd", "scipy.special.stdtridf",
        "scipy.signal.medfilt2d", "scipy.signal.dimpulse", "scipy.signal.dstep",
    }
)  # fmt: skip


def first_part(y, autograd):
    """Return the first output in floating point."""
    parts = y if isinstance(y, tuple) else (y,)
    plain = [p._value if autograd.tracer.isbox(p) else p for p in parts]
    return parts[next(i for i, p in enumerate(plain) if np.asarray(p).dtype.kind in "fc")]


@pytest.mark.filterwarnings("ignore")  # of numbers outside of domains
def test_functions_that_autograd_lacked_at_their_examples(registered, autograd):
    from autograd.test_util import check_grads

    checked = []
    for name in sorted({*registered.functions} - NOT_AT_EXAMPLES):
        module, _, attribute = name.rpartition(".")
        source = getattr(importlib.import_module(module), attribute)
        f = getattr(importlib.import_module(f"autograd.{module}"), attribute)
        found = (row.example() for row in rules(key_of(source)[0]))
        args = next((e[0] for e in found if e is not None), ())
        places = [i for i, a in enumerate(args) if np.asarray(a).dtype.kind == "f"]
        if not places or any(isinstance(a, list) for a in args):
            continue
        if not np.all(np.isfinite(first_part(source(*args), autograd))):
            continue  # outside of the domain

        def of_floats(*floats, f=f, args=args, places=places):
            given = list(args)
            for i, x in zip(places, floats, strict=True):
                given[i] = x
            return first_part(f(*given), autograd)

        np.random.seed(0)  # noqa: NPY002 - which the checker draws from
        check_grads(of_floats, modes=["fwd", "rev"], order=1)(*(args[i] for i in places))
        checked.append(name)
    assert len(checked) >= 200


def test_arguments_that_autograd_has_no_derivative_for(registered, check_grads):
    from autograd.scipy import special as traced

    check_grads(traced.gammainc, V, W)


# What the checker cannot follow: a step of its own, or a derivative that is itself a difference.
COARSE = frozenset(
    f"scipy.optimize.{name}"
    for name in ("approx_fprime", "curve_fit", "least_squares", "minimize", "minimize_scalar")
)


@pytest.mark.parametrize(
    "entry", [e for e in FUNCTIONS[::3] if e.name not in COARSE], ids=lambda entry: entry.name
)
def test_wrapped_functions(to_autograd, check_grads, entry):
    check_grads(to_autograd(entry.function), *entry.arguments, modes=("fwd", "rev"))


def test_nests_keywords_and_other_values(autograd, to_autograd):
    f = to_autograd(
        lambda p, *, k: {"y": p["x"] * k, "n": np.argmax(p["x"]), "parts": [np.sum(p["x"]), "text"]}
    )
    found = f({"x": V}, k=2.0)
    assert found["n"] == 3
    assert found["parts"][1] == "text"

    def loss(x):
        y = f({"x": x}, k=x)
        assert y["n"] == 3
        assert y["parts"][1] == "text"
        return autograd.numpy.sum(y["y"]) + y["parts"][0]

    np.testing.assert_allclose(autograd.grad(loss)(V), 2 * V + 1)
    np.testing.assert_allclose(autograd.hessian(loss)(V), 2 * np.eye(4))


def test_complex_derivatives_follow_the_convention_of_autograd(autograd, to_autograd, check_grads):
    anp = autograd.numpy
    ours, theirs = to_autograd(lambda z: np.exp(z) * z.real), lambda z: anp.exp(z) * anp.real(z)
    grads = [autograd.grad(lambda z, f=f: anp.sum(anp.abs(f(z)) ** 2))(Z) for f in (ours, theirs)]
    np.testing.assert_allclose(*grads)
    check_grads(ours, Z)
    holomorphic = autograd.holomorphic_grad(lambda z: to_autograd(np.exp)(z * z))
    np.testing.assert_allclose(holomorphic(0.3 + 1j), 2 * (0.3 + 1j) * np.exp((0.3 + 1j) ** 2))


def test_dtypes_stay(autograd, to_autograd):
    x = np.ones(3, np.float32)
    assert autograd.grad(lambda x: autograd.numpy.sum(to_autograd(np.tanh)(x)))(x).dtype == x.dtype


def test_the_function_runs_once_for_a_value_and_its_gradient(autograd, to_autograd):
    runs = []

    def f(x):
        runs.append(1)
        return np.sum(np.tanh(x))

    autograd.value_and_grad(to_autograd(f))(V)
    assert len(runs) == 1


def test_forward_mode_runs_the_function_once(autograd, to_autograd):
    runs = []

    def f(x, y):
        runs.append(1)
        return {"sum": np.sum(np.tanh(x) * y), "place": np.argmax(x), "twice": 2 * x}

    def total(x):
        found = to_autograd(f)(x, x * x)
        return found["sum"] + autograd.numpy.sum(found["twice"]) * found["place"]

    y, y_dot = autograd.make_jvp(total)(V)(W)
    slopes = (1 - np.tanh(V) ** 2) * V**2 + np.tanh(V) * 2 * V + 2 * 3
    assert len(runs) == 1
    np.testing.assert_allclose([y, y_dot], [total(V), slopes @ W])
    # Forward mode on several levels, and around reverse mode, asks again.
    twice = lambda x: autograd.make_jvp(total)(x)(W)[1]  # noqa: E731
    expected = autograd.hessian(total)(V) @ W
    np.testing.assert_allclose(autograd.make_jvp(twice)(V)(W)[1], expected @ W)
    np.testing.assert_allclose(autograd.grad(twice)(V), expected)
    np.testing.assert_allclose(autograd.make_jvp(autograd.grad(total))(V)(W)[1], expected)


def test_without_a_traced_value_the_function_is_called_as_it_is(to_autograd):
    x = np.ones(3)
    assert to_autograd(lambda x: x)(x) is x
    with pytest.raises(ArgumentError, match="to_autograd takes a function, not float"):
        to_autograd(1.0)


def test_a_value_that_is_in_two_places_counts_once_for_each(registered, autograd):
    f = autograd.numpy.float_power
    x = 2.0
    np.testing.assert_allclose(autograd.grad(f, 0)(x, x), 4.0)
    np.testing.assert_allclose(autograd.grad(lambda x: f(x, x))(x), 4 * (np.log(2) + 1))
    np.testing.assert_allclose(autograd.grad(lambda x: f(x, 2.0))(x), 4.0)
