"""What a function reads without having been given it is never differentiated as a constant."""

import functools

import numpy as np
import pytest

from autodiff.errors import ArgumentError
from autodiff.interop.captures import check_captures


class Variable:
    """A value that another system differentiates."""


W = Variable()
NESTED = {"weights": [1.0, Variable()]}


def of_a_global(x):
    return x * W


def of_a_nest(x):
    return x * NESTED["weights"]


def of_a_helper(x):
    return of_a_global(x)


class Model:
    def __init__(self):
        self.scale = Variable()
        self.size = 3
        self.inner = type("Inner", (), {})()
        self.inner.weight = Variable()
        self.table = {"hidden": Variable()}

    def reads_it(self, x):
        return x * self.scale

    def reads_it_below(self, x):
        return [x * self.inner.weight for _ in range(2)]

    def reads_a_table(self, x):
        return x * self.hidden

    def reads_another(self, x):
        return x * self.size


class Callable(Model):
    def __call__(self, x):
        return x * self.scale


def captured(w):
    return lambda x: x * w


def within_another(w):
    inner = captured(w)
    return lambda x: [inner(part) for part in x]


READING = [
    of_a_global, of_a_nest, of_a_helper, Model().reads_it, Model().reads_it_below,
    Model().reads_a_table, Callable(), captured(W), within_another(W), captured((W, 1.0)),
    functools.partial(lambda w, x: x * w, W), lambda x, w=W: x * w, lambda x, *, w=W: x * w,
]  # fmt: skip
OTHERS = [np.tanh, len, Model().reads_another, captured(3.0), np.linalg.solve, lambda x: x.W]


def is_variable(x):
    return isinstance(x, Variable)


@pytest.mark.parametrize("f", READING)
def test_a_variable_that_is_read_is_named(f):
    with pytest.raises(ArgumentError, match=r"Variable that it was not given .* Another diff"):
        check_captures(f, is_variable, "Another")


@pytest.mark.parametrize("f", OTHERS)
def test_others_are_let_through(f):
    check_captures(f, is_variable, "Another")


def test_in_torch(torch):
    from autodiff.interop import to_torch

    x = torch.tensor([0.5, 2.0], dtype=torch.float64)
    w = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    scaled = captured(w)
    for f in (scaled, lambda x: np.multiply(x, w)):
        with pytest.raises(ArgumentError, match="reads w, a value of the class Tensor"):
            to_torch(f)(x)
    with torch.no_grad():
        torch.testing.assert_close(to_torch(lambda x: x * w.numpy())(x), 2 * x)
    with pytest.raises(ArgumentError, match="reads w"):
        torch.func.grad(lambda w: to_torch(captured(w))(x).sum())(w.detach())
    with pytest.raises(ArgumentError, match="reads w"):
        torch.func.vmap(lambda w: to_torch(captured(w))(x).sum())(torch.ones(3))


def test_what_is_hidden_from_the_search_is_refused_by_torch(torch):
    from autodiff.interop import to_torch

    hidden = type("Hidden", (), {"__slots__": ("w",)})()
    hidden.w = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        to_torch(lambda x: np.multiply(x, hidden.w))(torch.ones(2, dtype=torch.float64))


def test_a_module_may_hold_parameters_that_its_function_does_not_read(torch):
    from autodiff.interop import to_torch

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
            self.power = 3

        @to_torch
        def cubed(self, x):
            return x**self.power

        def forward(self, x):
            return to_torch(self.cubes)(x), to_torch(self.scaled)

        def cubes(self, x):
            return x**self.power

        def scaled(self, x):
            return np.multiply(x, self.scale)

    layer, x = Layer(), torch.full((2,), 2.0, dtype=torch.float64)
    cubes, scaled = layer(x)
    torch.testing.assert_close(cubes, x**3)
    torch.testing.assert_close(layer.cubed(x), x**3)
    with pytest.raises(ArgumentError, match="reads scale"):
        scaled(x)


def test_in_jax(jax):
    from autodiff.interop import to_jax

    x = np.array([0.5, 2.0])
    loss = lambda w: to_jax(captured(w), out=lambda x: x)(x).sum()  # noqa: E731
    for wrap in (lambda f: f, jax.jit):
        with pytest.raises(ArgumentError, match=r"reads w, .* that JAX differentiates or traces"):
            wrap(jax.grad(loss))(2.0)


def test_in_autograd(autograd):
    from autodiff.interop import to_autograd

    x = np.array([0.5, 2.0])
    loss = lambda w: autograd.numpy.sum(to_autograd(captured(w))(x * w))  # noqa: E731
    with pytest.raises(ArgumentError, match=r"reads w, .* that autograd differentiates"):
        autograd.grad(loss)(2.0)
    # Without a traced argument autograd itself computes.
    plain = lambda w: autograd.numpy.sum(to_autograd(captured(w))(x))  # noqa: E731
    assert autograd.grad(plain)(2.0) == 2.5


def test_in_pytensor(pytensor):
    import pytensor.tensor as pt

    from autodiff.interop import to_pytensor

    with pytest.raises(ArgumentError, match=r"reads w, .* that PyTensor differentiates"):
        to_pytensor(captured(pt.dscalar("w")), out=lambda x: x)(pt.dvector("x"))
