"""What the tests of sparse arrays share."""

import numpy as np
import pytest
import scipy.sparse as sp

import autodiff

A = np.array(
    [[4.0, 1.0, 0.0, 0.0], [1.0, 3.0, 0.0, 0.5], [0.0, 1.0, 2.0, 0.0], [0.3, 0.0, 0.0, 5.0]]
)
PLACES = np.nonzero(A)


def dense(y):
    if isinstance(y, (tuple, list)):
        return [dense(part) for part in y]
    return y.toarray() if sp.issparse(y) else y


@pytest.fixture
def matrix():
    """A matrix as an array."""
    return A


@pytest.fixture
def entries():
    """What is not zero in it, row by row."""
    return A[PLACES]


@pytest.fixture
def filled():
    """A function that makes the matrix of a class from its entries."""

    def fill(cls, v, shape=(4, 4)):
        kind = cls.__name__.partition("_")
        coo = getattr(sp, f"coo_{kind[2]}")((v, PLACES), shape=shape)
        return coo if kind[0] == "coo" else coo.asformat(kind[0])

    return fill


@pytest.fixture
def check_sparse(check_traced):
    """Check first and second derivatives of a function of entries against differences."""

    def loss(f):
        return lambda v: np.sum(np.sin(sum(np.sum(np.sin(y)) for y in _list(dense(f(v))))))

    def check(f, x, second=True, rtol=1e-6):
        check_traced(lambda v: dense(f(v)), x, rtol=rtol)
        if second:
            check_traced(lambda v: autodiff.gradient(loss(f), v), x, rtol=10 * rtol)

    return check


def _list(y):
    return y if isinstance(y, list) else [y]
