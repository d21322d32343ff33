"""to_torch: derivatives of every kind, by torch's own checkers and against its own functions."""

import warnings

import numpy as np
import pytest
import scipy
from scipy import integrate, optimize

from autodiff import ArgumentError, MutationError, OutputError, gradient
from autodiff.interop import flat_call
from tests.autodiff.interop.functions import FUNCTIONS

# What torch itself uses for forward mode.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
# Solvers stop within about 1e-8 of the solution, so torch's step of 1e-6 is too small for them.
SOLVERS = frozenset(
    f"scipy.optimize.{name}"
    for name in ("minimize", "least_squares", "curve_fit", "minimize_scalar")
)
# Itself a finite difference with a step of 1e-6: differences of it are of rounding errors.
STEPS = frozenset({"scipy.optimize.approx_fprime"})
ROUNDING = 1e-11  # SciPy permutes nodes at random; sums depend on the alignment of memory


@pytest.fixture
def to_torch(torch):
    """The wrapper."""
    from autodiff.interop import to_torch

    torch.manual_seed(0)
    return to_torch


def doubles(torch, *arrays):
    return [torch.tensor(np.asarray(x), requires_grad=True) for x in arrays]


@pytest.mark.parametrize("entry", FUNCTIONS, ids=lambda entry: entry.name)
def test_torch_checks_both_modes_and_both_orders(torch, to_torch, entry):
    f, points = to_torch(entry.function), doubles(torch, *entry.arguments)
    step = 1e-4 if entry.name in SOLVERS else 1e-6
    assert torch.autograd.gradcheck(f, points, eps=step, check_forward_ad=True, nondet_tol=ROUNDING)
    step = 1e-3 if entry.name in STEPS else 1e-6
    assert torch.autograd.gradgradcheck(f, points, eps=step, nondet_tol=ROUNDING)


def weighed(x):
    return np.sum(np.tanh(x) * x**2)


def weighed_by_torch(torch):
    return lambda x: torch.sum(torch.tanh(x) * x**2)


@pytest.mark.parametrize("transform", ["grad", "jacrev", "jacfwd", "hessian"])
def test_transformations(torch, to_torch, transform):
    x = torch.linspace(-1, 1, 5, dtype=torch.float64)
    transformed = getattr(torch.func, transform)
    expected = transformed(weighed_by_torch(torch))(x)
    torch.testing.assert_close(transformed(to_torch(weighed))(x), expected)


@pytest.mark.parametrize("outer", ["jacrev", "jacfwd"])
@pytest.mark.parametrize("inner", ["jacrev", "jacfwd"])
def test_transformations_nest(torch, to_torch, outer, inner):
    x = torch.linspace(-1, 1, 4, dtype=torch.float64)
    outer, inner = getattr(torch.func, outer), getattr(torch.func, inner)
    expected = torch.func.hessian(weighed_by_torch(torch))(x)
    torch.testing.assert_close(outer(inner(to_torch(weighed)))(x), expected)


def test_third_derivative(torch, to_torch):
    x = torch.linspace(0.1, 1, 3, dtype=torch.float64)

    def third(f):
        d = torch.func.grad
        return d(d(d(lambda s: f(s * x))))(torch.tensor(0.7, dtype=torch.float64))

    torch.testing.assert_close(third(to_torch(weighed)), third(weighed_by_torch(torch)))


# What forward mode may be inside of, or around; f is the function, J its derivative along v.
MODES = {
    "jvp": lambda func, f, x: func.jvp(f, (x,), (x,)),
    "jvp of grad": lambda func, f, x: func.jvp(func.grad(f), (x,), (x,)),
    "grad of jvp": lambda func, f, x: func.grad(lambda x: func.jvp(f, (x,), (x,))[1])(x),
    "grad by a tangent": lambda func, f, x: func.grad(
        lambda v: func.jvp(f, (x,), (v,))[1] * v.sum()
    )(x),
    "jvp of jvp": lambda func, f, x: func.jvp(
        lambda x: func.jvp(f, (x,), (x,))[1], (x,), (x,)
    ),
    "jvp of jvp by another": lambda func, f, x: func.jvp(
        lambda z: func.jvp(lambda v: f(z) * v.sum() + f(v), (x,), (x,))[1], (x,), (x,)
    ),
    "constant in jvp": lambda func, f, x: func.jvp(
        lambda z: func.jvp(f, (x,), (x,))[1] * z.sum(), (x,), (x,)
    ),
    "vmap of jvp": lambda func, f, x: func.vmap(lambda x: func.jvp(f, (x,), (x,))[1])(
        x.expand(2, 5)
    ),
    "vmap by tangents": lambda func, f, x: func.vmap(lambda v: func.jvp(f, (x,), (v,))[1])(
        x.expand(2, 5)
    ),
    "jvp of vmap": lambda func, f, x: func.jvp(func.vmap(f), (x.expand(2, 5),), (x.expand(2, 5),)),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_forward_mode_among_other_transformations(torch, to_torch, mode):
    x = torch.linspace(-1, 1, 5, dtype=torch.float64)
    found, expected = (
        MODES[mode](torch.func, f, x) for f in (to_torch(weighed), weighed_by_torch(torch))
    )
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("inner", ["vmap", "grad", "plain", "recorded"])
def test_duals_and_other_transformations(torch, to_torch, inner):
    forward_ad = torch.autograd.forward_ad
    x = torch.linspace(-1, 1, 5, dtype=torch.float64, requires_grad=inner == "recorded")

    def along(f):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, x.detach() + 1)
            if inner == "vmap":
                y = torch.func.vmap(lambda s: f(dual) * s)(torch.arange(3.0)).sum()
            else:
                y = torch.func.grad(f)(dual).sum() if inner == "grad" else f(dual)
            return forward_ad.unpack_dual(y).tangent

    torch.testing.assert_close(along(to_torch(weighed)), along(weighed_by_torch(torch)))


def test_forward_mode_runs_the_function_once(torch, to_torch):
    runs = []

    def f(x, k):
        runs.append(1)
        return np.sum(np.tanh(x)), np.argmax(x) + k, x * 2.0

    x = torch.linspace(-1, 1, 4, dtype=torch.float64)
    k = torch.tensor(1)
    (_, double), (slope, two) = torch.func.jvp(lambda x: to_torch(f)(x, k)[::2], (x,), (x,))
    torch.testing.assert_close(slope, torch.sum(x * (1 - torch.tanh(x) ** 2)))
    torch.testing.assert_close(double, two)
    assert len(runs) == 1
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        y, place, _ = to_torch(f)(forward_ad.make_dual(x, x), k)
        torch.testing.assert_close(forward_ad.unpack_dual(y).tangent, slope)
        assert place == 4
    assert len(runs) == 2


def test_each_row_of_a_batch_runs_once_for_its_gradient(torch, to_torch):
    runs = []

    def f(x, y):
        runs.append(1)
        return np.sum(np.tanh(x) * y), x * y

    def by_torch(x, y):
        return torch.sum(torch.tanh(x) * y), x * y

    x, y = torch.rand(2, 6, 3, dtype=torch.float64)
    vmap, grad = torch.func.vmap, torch.func.grad
    total = lambda f: lambda x, y: f(x, y)[0] * f(x, y)[1].sum()  # noqa: E731
    for dims, count in [((0, 0), 12), ((None, 0), 24), ((1, 0), 6)]:
        given = (x[0] if dims[0] is None else x[:3].T if dims[0] else x), (y[:3] if dims[0] else y)
        runs.clear()
        for argnums in (0, 1, (0, 1)):
            runs.clear()
            found, expected = (
                vmap(grad(total(g), argnums), dims)(*given) for g in (to_torch(f), by_torch)
            )
            torch.testing.assert_close(found, expected)
            assert len(runs) <= count
        found, expected = (
            vmap(torch.func.hessian(lambda x, y, g=g: g(x, y)[0], (0, 1)), dims)(*given)
            for g in (to_torch(f), by_torch)
        )
        torch.testing.assert_close(found, expected)
        found, expected = (
            vmap(vmap(grad(lambda x, y, g=g: g(x, y)[0])), (None, 0))(
                x[:2], torch.stack([y, 2 * y])[:, :2]
            )
            for g in (to_torch(f), by_torch)
        )
        torch.testing.assert_close(found, expected)


def test_a_batch_of_a_ufunc_is_one_call(torch, to_torch, monkeypatch):
    calls = []
    run = flat_call.FlatCall.run
    monkeypatch.setattr(
        flat_call.FlatCall, "run", lambda call, *xs: calls.append(1) or run(call, *xs)
    )
    x = torch.rand(50, 3, dtype=torch.float64)
    vmap, grad = torch.func.vmap, torch.func.grad
    for f in (lambda f: f, lambda f: grad(lambda x: f(x).sum())):
        calls.clear()
        torch.testing.assert_close(vmap(f(to_torch(np.tanh)))(x), vmap(f(torch.tanh))(x))
        assert len(calls) == 1


@pytest.mark.filterwarnings("ignore")  # of what records
@pytest.mark.parametrize("record", ["linearize", "make_fx", "trace", "fake"])
def test_what_records_a_program_is_refused(torch, to_torch, record):
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    def fake(f):
        with FakeTensorMode():
            return f(torch.ones(3))

    x = torch.linspace(0, 1, 3, dtype=torch.float64)
    ways = {
        "linearize": lambda f: torch.func.linearize(f, x)[1](x),
        "make_fx": lambda f: make_fx(f)(x),
        "trace": lambda f: torch.jit.trace(f, x, check_trace=False)(x + 1),
        "fake": fake,
    }
    with pytest.raises(ArgumentError, match="while torch records what is computed"):
        ways[record](lambda x: to_torch(weighed)(x))


@pytest.mark.filterwarnings("ignore")  # of the compiler
def test_in_a_compiled_program(torch, to_torch):
    gammainc = to_torch(scipy.special.gammainc)
    a, x = doubles(torch, [0.5, 2.0], [1.0, 1.5])

    def f(a, x):
        return torch.sin(gammainc(a, x) * 2).sum()

    compiled = torch.compile(f, backend="eager")(a, x)
    torch.testing.assert_close(
        torch.autograd.grad(compiled, (a, x)), torch.autograd.grad(f(a, x), (a, x))
    )


@pytest.mark.filterwarnings("ignore")  # of the compiler
@pytest.mark.parametrize("transform", ["grad", "hessian", "vmap"])
def test_transformations_in_a_compiled_program(torch, to_torch, transform):
    x = torch.linspace(-1, 1, 5, dtype=torch.float64)
    transformed = getattr(torch.func, transform)
    f, g = (np.tanh, torch.tanh) if transform == "vmap" else (weighed, weighed_by_torch(torch))
    compiled = torch.compile(transformed(to_torch(f)), backend="eager")
    torch.testing.assert_close(compiled(x), transformed(g)(x))


def test_a_batch_without_rows(torch, to_torch):
    rows = torch.zeros(0, 3, dtype=torch.float64)
    assert torch.func.vmap(to_torch(np.tanh))(rows).shape == (0, 3)
    with pytest.raises(OutputError, match="for each row of a batch, and there is none"):
        torch.func.vmap(to_torch(weighed))(rows)


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("n", [3, 20_000])
def test_a_write_into_a_tensor_that_is_not_differentiated(torch, to_torch, n, forward):
    def f(x, c):
        c[0] = 7.0
        return np.sum(x * c)

    x, c = torch.ones(n, dtype=torch.float64), torch.ones(n, dtype=torch.float64)

    def slope():
        if forward:
            return torch.func.jvp(lambda x: to_torch(f)(x, c), (x,), (x,))[1]
        y = to_torch(f)(x.requires_grad_(), c)
        return torch.autograd.grad(y, x)[0].sum()

    if n == 3:  # it gets a copy
        assert slope() == n + 6
        assert c[0] == 1
    else:
        with pytest.raises(MutationError, match="written into a large array"):
            slope()


def test_some_of_the_gradients_that_the_forward_pass_has_kept(torch, to_torch):
    x, c, unused = doubles(torch, np.ones(3), np.arange(3.0), np.ones(2))
    total, places, squares = to_torch(lambda x, c, u: (np.sum(x * c), np.argsort(c), c**2))(
        x, c, unused
    )
    assert places.dtype == torch.int64
    bars = torch.autograd.grad(squares.sum() + 3 * total, (c,), retain_graph=True)
    torch.testing.assert_close(bars[0], 3 * x + 2 * c)
    bars = torch.autograd.grad(total, (unused, x))
    torch.testing.assert_close(bars, (torch.zeros_like(unused), c.detach()))


def test_vmap_inside_and_outside(torch, to_torch):
    x = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)
    f, g = to_torch(weighed), weighed_by_torch(torch)
    func = torch.func
    torch.testing.assert_close(func.vmap(f)(x), func.vmap(g)(x))
    torch.testing.assert_close(func.vmap(f, in_dims=1)(x), func.vmap(g, in_dims=1)(x))
    torch.testing.assert_close(func.vmap(func.grad(f))(x), func.vmap(func.grad(g))(x))
    torch.testing.assert_close(func.vmap(func.hessian(f))(x), func.vmap(func.hessian(g))(x))
    torch.testing.assert_close(
        func.grad(lambda x: func.vmap(f)(x).sum())(x), func.grad(lambda x: g(x))(x)
    )
    two = x.reshape(3, 2, 2)
    torch.testing.assert_close(func.vmap(func.vmap(f))(two), func.vmap(func.vmap(g))(two))


def test_a_batch_of_backward_passes(torch, to_torch):
    (x,) = doubles(torch, np.linspace(-1, 1, 4))
    y = to_torch(np.tanh)(x)
    rows = torch.func.vmap(lambda v: torch.autograd.grad(y, x, v, retain_graph=True)[0])(
        torch.eye(4, dtype=torch.float64)
    )
    torch.testing.assert_close(rows, torch.diag(1 - torch.tanh(x) ** 2))


def test_forward_over_reverse_without_functorch(torch, to_torch):
    forward_ad = torch.autograd.forward_ad
    (x,) = doubles(torch, np.linspace(0.2, 1, 4))
    v = torch.ones(4, dtype=torch.float64)

    def along(f):
        with forward_ad.dual_level():
            (bar,) = torch.autograd.grad(f(forward_ad.make_dual(x, v)), x)
            return forward_ad.unpack_dual(bar).tangent

    torch.testing.assert_close(along(to_torch(weighed)), along(weighed_by_torch(torch)))


def test_nests_of_tensors_and_other_values(torch, to_torch):
    def f(p, n, *, scale):
        y = p["x"] * scale
        return {
            "y": y,
            "n": n,
            "parts": (np.sum(y), [np.argmax(y), "text"], np.sign(y).astype(int)),
        }

    x, scale = doubles(torch, [1.0, -2.0], 3.0)
    found = to_torch(f)({"x": x}, 4, scale=scale)
    assert found["n"] == 4
    assert found["parts"][1][1] == "text"
    assert found["parts"][2].dtype == torch.int64
    assert not found["parts"][2].requires_grad
    (found["y"].sum() + found["parts"][0]).backward()
    torch.testing.assert_close(x.grad, torch.full_like(x, 6.0))
    torch.testing.assert_close(scale.grad, torch.tensor(-2.0, dtype=torch.float64))


def test_integer_tensors_and_arrays_are_constants(torch, to_torch):
    (x,) = doubles(torch, [1.0, 2.0, 3.0])
    f = to_torch(lambda x, i, c: x[i] * c)
    y = f(x, torch.tensor([2, 2, 0]), np.array([1.0, 10.0, 100.0]))
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([100.0, 0.0, 11.0], dtype=torch.float64))


def test_only_what_requires_a_gradient_gets_one(torch, to_torch):
    (x,) = doubles(torch, [1.0, 2.0])
    data = torch.tensor([3.0, 4.0], dtype=torch.float64)
    product = to_torch(np.multiply)(x, data)
    product.sum().backward()
    torch.testing.assert_close(x.grad, data)
    assert data.grad is None
    assert not to_torch(np.multiply)(data, data).requires_grad
    with torch.no_grad():
        assert not to_torch(np.multiply)(x, data).requires_grad


def test_the_same_tensor_twice(torch, to_torch):
    (x,) = doubles(torch, [1.0, 2.0])
    to_torch(np.multiply)(x, x).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())


@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
def test_dtypes_stay(torch, to_torch, name):
    dtype = getattr(torch, name)
    x = torch.ones(3, dtype=dtype, requires_grad=True)
    y = to_torch(lambda x: x * np.exp(x))(x)
    assert y.dtype == dtype
    y.abs().sum().backward()
    assert x.grad.dtype == dtype


def test_complex_gradients_are_those_of_torch(torch, to_torch):
    z = torch.tensor([1 + 2j, 0.3 - 1j], dtype=torch.complex128, requires_grad=True)
    for ours, theirs in [
        (lambda z: np.abs(np.exp(z) * z**2), lambda z: (torch.exp(z) * z**2).abs()),
        (lambda z: np.real(z * np.conj(z) ** 2), lambda z: (z * z.conj() ** 2).real),
    ]:
        found, expected = (torch.autograd.grad(f(z).sum(), z)[0] for f in (to_torch(ours), theirs))
        torch.testing.assert_close(found, expected)
    f = to_torch(lambda z: np.exp(z) * z.real)
    assert torch.autograd.gradcheck(f, z, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, z)
    assert torch.autograd.gradcheck(f, z.conj().detach().requires_grad_())


def test_broadcasting(torch, to_torch):
    points = doubles(torch, np.ones((3, 1)), np.arange(4.0), 2.0)
    f = to_torch(lambda a, b, c: np.hypot(a, b + 1) * c)
    assert torch.autograd.gradcheck(f, points, check_forward_ad=True)


def test_memory_is_shared_and_large_arrays_are_not_copied(torch, to_torch):
    x = torch.ones(100_000, dtype=torch.float64)
    seen = []

    def f(x):
        seen.append(x.__array_interface__["data"][0])
        return 2 * x

    y = to_torch(f)(x)
    assert seen == [x.data_ptr()]
    y.numpy()[0] = 7
    assert y[0] == 7
    assert not np.may_share_memory(to_torch(lambda x: x[::-1])(x).numpy(), x.numpy())


def test_the_function_runs_once_for_a_value_and_its_gradient(torch, to_torch):
    runs = []

    def f(x):
        runs.append(1)
        return np.sum(np.tanh(x))

    (x,) = doubles(torch, np.ones(3))
    y = to_torch(f)(x)
    y.backward(retain_graph=True)
    y.backward()
    assert len(runs) == 1
    torch.func.grad(to_torch(f))(x.detach())
    assert len(runs) == 2
    torch.func.jacrev(to_torch(f))(x.detach())
    assert len(runs) == 3


@pytest.mark.parametrize("which", ["argument", "result"])
def test_a_write_before_the_backward_pass_is_noticed(torch, to_torch, which):
    (x,) = doubles(torch, np.ones(3))
    argument = x * 1
    y = to_torch(np.tanh)(argument)
    with torch.no_grad():
        (argument if which == "argument" else y).mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_gradients_of_several_arguments_share_no_memory(torch, to_torch):
    a, b = doubles(torch, np.ones(3), np.ones(3))
    to_torch(np.add)(a, b).sum().backward()
    a.grad.zero_()
    torch.testing.assert_close(b.grad, torch.ones(3, dtype=torch.float64))


def test_a_solver_with_a_function(torch, to_torch):
    def root(a):
        return optimize.root(lambda x: x**3 + x - a, np.ones(2), tol=1e-13).x

    (a,) = doubles(torch, [1.0, 2.0])
    assert torch.autograd.gradcheck(to_torch(root), a, check_forward_ad=True)
    quad = to_torch(lambda a: integrate.quad(lambda t: np.exp(-a * t * t), 0, 1)[0])
    assert torch.autograd.gradgradcheck(quad, doubles(torch, 0.7))


def test_in_a_module_that_is_trained(torch, to_torch):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.order = torch.nn.Parameter(torch.tensor(0.5, dtype=torch.float64))

        def forward(self, x):
            return to_torch(scipy.special.gammainc)(self.order, x)

    layer = Layer()
    x = torch.linspace(0.5, 2, 8, dtype=torch.float64)
    y = torch.special.gammainc(torch.tensor(1.5, dtype=torch.float64), x)
    optimiser = torch.optim.LBFGS(layer.parameters(), tolerance_grad=1e-12)

    def loss():
        optimiser.zero_grad()
        value = ((layer(x) - y) ** 2).sum()
        value.backward()
        return value

    for _ in range(5):
        optimiser.step(loss)
    torch.testing.assert_close(layer.order.item(), 1.5, rtol=1e-5, atol=0)


def test_the_wrapper_keeps_name_and_signature(torch, to_torch):
    assert to_torch(weighed).__name__ == "weighed"
    with pytest.raises(ArgumentError, match=r"to_torch takes a function, not float64"):
        to_torch(np.tanh(1.0))


@pytest.mark.parametrize("make", ["bfloat16", "sparse"])
def test_a_tensor_without_an_array(torch, to_torch, make):
    x = torch.ones(3, dtype=torch.bfloat16) if make == "bfloat16" else torch.eye(3).to_sparse()
    with pytest.raises(ArgumentError, match=r"tanh is given a Tensor that has no NumPy array"):
        to_torch(np.tanh)(x)


def test_tensors_elsewhere_are_brought_over_with_a_note_that_is_made_once(torch, monkeypatch):
    # There is no other device here with memory of its own: "meta" has the interface and no data.
    from autodiff.interop import pytorch

    pytorch._warn_of.cache_clear()
    x = torch.ones(3, device="meta")
    monkeypatch.setattr(pytorch, "as_array", lambda t: np.ones(t.shape, np.float32))
    with pytest.warns(UserWarning, match=r"runs on the CPU: .* copied there from meta"):
        y = pytorch.to_torch(np.tanh)(x)
    assert y.device == x.device
    assert y.shape == x.shape
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pytorch.to_torch(np.tanh)(x)


def test_a_gradient_of_ours_is_told_of_to_torch(torch):
    with pytest.raises(ArgumentError, match=r"torch.Tensor, a class of PyTorch.*to_torch\(f\)"):
        gradient(np.sum, torch.ones(3))


def test_the_flat_call_is_what_carries_it(torch, to_torch, monkeypatch):
    monkeypatch.delattr(flat_call.FlatCall, "recorded")
    (x,) = doubles(torch, np.ones(3))
    with pytest.raises(AttributeError, match="recorded"):
        to_torch(np.tanh)(x)
