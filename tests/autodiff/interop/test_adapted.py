"""What the adapters return: it is pickled as the call that made it, and binds as a method."""

import copy
import pickle

import numpy as np
import pytest
from scipy import special

from autodiff.interop.adapted import Adapted


def adapter(f, /, *, factor=1):
    """Make a function twice as large, or so."""
    return Adapted(lambda *args, **kwargs: factor * f(*args, **kwargs), adapter, f, factor=factor)


def plain(x):
    """Add one."""
    return x + 1


@adapter
def decorated(x):
    return x + 2


class Model:
    offset = 3

    @adapter
    def method(self, x):
        return x + self.offset


@pytest.mark.parametrize("f, y", [(adapter(plain, factor=2), 4), (decorated, 3), (Model.method, 4)])
def test_copies(f, y):
    for copied in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        assert copied(*([Model()] if f is Model.method else []), 1) == y
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def test_it_binds_and_has_the_name_of_the_function():
    assert Model().method(1) == 4
    assert (adapter(plain).__name__, adapter(plain).__doc__) == ("plain", "Add one.")
    assert repr(adapter(np.tanh)) == "<adapter(tanh)>"


def test_in_torch(torch):
    from autodiff.interop import to_torch

    f = pickle.loads(pickle.dumps(to_torch(special.gammainc)))
    x = torch.ones(2)
    torch.testing.assert_close(f(x, x), torch.special.gammainc(x, x))


def test_in_jax(jax):
    from autodiff.interop import to_jax

    f = pickle.loads(pickle.dumps(to_jax(plain, example=(1.0,))))
    assert jax.jit(f)(np.ones(2)).tolist() == [2, 2]


def test_in_autograd(autograd):
    from autodiff.interop import to_autograd

    assert autograd.grad(pickle.loads(pickle.dumps(to_autograd(np.tanh))))(0.0) == 1


def test_in_pytensor(pytensor):
    import pytensor.tensor as pt

    from autodiff.interop import to_pytensor

    f = pickle.loads(pickle.dumps(to_pytensor(np.tanh)))
    assert f(pt.dscalar()).type == pt.dscalar
