"""from_torch: torch functions within derivatives of ours, and what is said without the wrapper."""

import numpy as np
import pytest

import autodiff
from autodiff import ArgumentError, MissingRuleError, gradient, hessian, jacobian, pushforward

X = np.array([0.0, 1.0, 0.3])


@pytest.fixture
def from_torch(torch):
    """The wrapper."""
    from autodiff.interop import from_torch

    return from_torch


@pytest.fixture
def softplus(torch, from_torch):
    """A torch function that NumPy can compute as well."""
    return from_torch(torch.nn.functional.softplus)


def of(softplus):
    return lambda x: np.sum(softplus(np.sin(x)) ** 2)


def by_hand(x):
    return np.log1p(np.exp(x))


def test_values(softplus):
    np.testing.assert_allclose(softplus(X), by_hand(X))
    assert type(softplus(X)) is np.ndarray
    assert softplus(0.0) == np.log(2)
    assert softplus(np.float32(0)).dtype == np.float32


@pytest.mark.parametrize(
    "derivative",
    [
        gradient,
        hessian,
        lambda f, x: jacobian(lambda x: np.cos(x) * f(x), x, mode="forward"),
        lambda f, x: jacobian(lambda x: np.cos(x) * f(x), x, mode="reverse"),
        lambda f, x: pushforward(f, x)[1](np.arange(3.0)),
        lambda f, x: autodiff.hvp(f, x, np.arange(3.0)),
        lambda f, x: gradient(autodiff.checkpoint(f), x),
        lambda f, x: autodiff.compile(autodiff.grad(f))(x + 0.1),
    ],
)
def test_derivatives(softplus, derivative):
    np.testing.assert_allclose(
        derivative(of(softplus), X), derivative(of(by_hand), X), rtol=1e-12, atol=1e-14
    )


def test_third_derivative(softplus):
    def third(f):
        d = autodiff.grad
        return d(d(d(lambda a: f(a * X))))(0.7)

    np.testing.assert_allclose(third(of(softplus)), third(of(by_hand)))


def test_a_compiled_function_takes_other_values(softplus):
    compiled = autodiff.compile(autodiff.grad(of(softplus)))
    for x in (X, X + 1, X - 2):
        np.testing.assert_allclose(compiled(x), gradient(of(by_hand), x), rtol=1e-12, atol=1e-14)


def test_a_module_by_its_input_and_by_its_parameters(torch, from_torch):
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)
    ).double()
    x = torch.tensor(X, requires_grad=True)
    (module(x)[0] ** 2).backward()
    expected = {name: p.grad.numpy().copy() for name, p in module.named_parameters()}
    module.zero_grad()

    of_input = from_torch(module)
    np.testing.assert_allclose(gradient(lambda x: of_input(x)[0] ** 2, X), x.grad.numpy())
    assert all(p.grad is None for p in module.parameters())

    of_both = from_torch(lambda p, x: torch.func.functional_call(module, p, (x,)))
    values = {name: p.detach().numpy() for name, p in module.named_parameters()}
    found = gradient(lambda p: of_both(p, X)[0] ** 2, values)
    assert found.keys() == expected.keys()
    for name, bar in found.items():
        np.testing.assert_allclose(bar, expected[name])


def test_nests_keywords_and_other_values(torch, from_torch):
    f = from_torch(lambda d, *, k: {"s": d["a"] * k, "i": torch.arange(3), "n": type(k).__name__})
    found = f({"a": X}, k=2.0)
    assert found["n"] == "float"
    np.testing.assert_array_equal(found["i"], [0, 1, 2])
    by_dict = gradient(lambda d: np.sum(f(d, k=2.0)["s"]), {"a": X})
    np.testing.assert_array_equal(by_dict["a"], [2.0, 2.0, 2.0])
    assert gradient(lambda k: np.sum(f({"a": X}, k=k)["s"]), 2.0) == np.sum(X)


def test_an_output_that_does_not_depend_on_the_input(torch, from_torch):
    f = from_torch(lambda x: (torch.ones(2, dtype=torch.float64), x.detach(), 2 * x))
    np.testing.assert_array_equal(
        gradient(lambda x: np.sum(f(x)[0]) + np.sum(f(x)[1]) + np.sum(f(x)[2]), X), np.full(3, 2.0)
    )
    assert gradient(lambda x: np.sum(f(x)[0]) * x, 3.0) == 2.0


def test_complex(torch, from_torch):
    f = from_torch(torch.exp)
    z = 1 + 2j
    for g in (np.abs, np.real, np.imag):
        np.testing.assert_allclose(
            gradient(lambda z, g=g: g(f(z)), z),
            gradient(lambda z, g=g: g(np.exp(z)), z),
            rtol=1e-12,
            atol=1e-14,
        )


def test_the_function_runs_once_for_a_gradient(torch, from_torch):
    runs = []

    def f(x):
        runs.append(1)
        return torch.tanh(x)

    gradient(lambda x: np.sum(from_torch(f)(x)), X)
    assert len(runs) == 1


def test_back_and_forth(torch, softplus):
    from autodiff.interop import to_torch

    x = torch.tensor(X, requires_grad=True)
    assert torch.autograd.gradgradcheck(to_torch(of(softplus)), x)


def test_only_functions(from_torch):
    with pytest.raises(ArgumentError, match="from_torch takes a function, not int"):
        from_torch(3)


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda torch, x: torch.sin(x), r"torch\.sin"),
        (lambda torch, x: torch.nn.functional.relu(x), r"torch\.nn\.functional\.relu"),
        (lambda torch, x: torch.nn.Linear(3, 1)(x), r"torch\.nn\.modules\.linear\.Linear"),
        (lambda torch, x: torch.from_numpy(x), r"torch\.from_numpy"),
        (lambda torch, x: torch.as_tensor(x), r"torch\.as_tensor"),
        (lambda torch, x: torch.tensor([x[0], x[1]]), r"torch\.tensor"),
        (lambda torch, x: torch.ones(3).add(x), r"add"),
    ],
)
def test_a_torch_function_without_the_wrapper(torch, call, name):
    with pytest.raises(
        MissingRuleError, match=rf"{name} is a function of PyTorch.*from_torch\(g\)"
    ):
        gradient(lambda x: np.sum(call(torch, x)), X)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: x * t,
        lambda t, x: t * x,
        lambda t, x: np.multiply(x, t),
        lambda t, x: np.stack([x, t]),
        lambda t, x: x + sum(t),
        lambda t, x: np.dot(x, t),
        lambda t, x: np.where(t > 0, x, 0.0),
    ],
)
def test_a_tensor_in_a_derivative(torch, call):
    t = torch.ones(3, dtype=torch.float64)
    with pytest.raises(ArgumentError, match=r"torch\.Tensor, a class of PyTorch.*from_torch\(g\)"):
        gradient(lambda x: np.sum(call(t, x)), X)


def test_questions_about_tensors_are_answered(torch):
    def f(x):
        return np.sum(x) if not torch.is_tensor(x) and not isinstance(x, torch.Tensor) else 0.0

    np.testing.assert_array_equal(gradient(f, X), np.ones(3))
    t = torch.ones(3)
    np.testing.assert_array_equal(gradient(lambda x: np.sum(x) * t[0].item(), X), np.ones(3))


def test_an_error_of_the_wrapped_function_is_its_own(torch, from_torch):
    def fails(x):
        raise ZeroDivisionError("of the user's")

    with pytest.raises(ZeroDivisionError, match="of the user's"):
        gradient(lambda x: np.sum(from_torch(fails)(x)), X)
