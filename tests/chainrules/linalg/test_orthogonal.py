import numpy as np
import pytest

import autodiff
from chainrules_core import (
    NoTangent,
    NotImplementedTangent,
    NotImplementedTangentError,
    frule,
    rrule,
    unthunk,
)
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import separated_singular_values


def full_rank(m, n, dtype=float, seed=1):
    return separated_singular_values(m, n, dtype, rng=[seed, m, n])


def case(*args, **kwargs):
    options = ",".join(map(str, [*args[1:], *kwargs.values()]))
    return pytest.param(args, kwargs, id=f"{args[0].dtype}{args[0].shape}{options}")


def stack(m, n, dtype=float):
    return np.stack([full_rank(m, n, dtype, seed) for seed in (1, 2)])


CASES = [
    case(full_rank(3, 3)),
    case(full_rank(4, 3)),
    case(full_rank(3, 4)),
    case(full_rank(3, 3, complex)),
    case(full_rank(5, 2, complex)),
    case(full_rank(2, 5, complex)),
    case(stack(4, 3)),
    case(stack(2, 3, complex)[:, None]),
    case(full_rank(4, 3).astype(np.float32)),
    case(np.kron(full_rank(4, 3), np.ones((2, 2)))[::2, 1::2]),
    case(np.array([[-2.5]])),
    case(np.zeros((0, 0))),
    case(np.zeros((2, 0))),
    case(full_rank(4, 3), "reduced"),
    case(full_rank(3, 3), "r"),
    case(full_rank(4, 2, complex), mode="r"),
    case(full_rank(2, 4, complex), mode="r"),
    case(stack(4, 3), mode="r"),
    case(full_rank(3, 3), "complete"),
    case(full_rank(5, 2), "complete"),
    case(full_rank(5, 2, complex), mode="complete"),
    case(full_rank(2, 4, complex), mode="complete"),
    case(stack(4, 2), mode="complete"),
    case(full_rank(4, 3).astype(np.float32), mode="complete"),
]


@pytest.mark.parametrize("args, kwargs", CASES)
def test_rule(args, kwargs):
    check_rule(np.linalg.qr, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


def test_raw_is_declared_as_missing():
    a = full_rank(3, 2)
    (h, tau), pullback = rrule(np.linalg.qr, a, "raw")
    a_bar = unthunk(pullback({0: h, 1: tau})[1])
    assert isinstance(a_bar, NotImplementedTangent)
    assert "mode='reduced'" in a_bar.reason
    _, dots = frule((NoTangent(), a), np.linalg.qr, a, mode="raw")
    assert isinstance(dots[0], NotImplementedTangent)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.linalg.qr(a)[0],
        lambda a: np.linalg.qr(a).R,
        lambda a: np.linalg.qr(a, mode="r"),
        lambda a: np.linalg.qr(a, "complete").Q[:, 2:],
        lambda a: np.linalg.qr(a.T)[1] @ a,
        lambda a: np.linalg.solve(np.linalg.qr(a).R, a[0]),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, full_rank(4, 2))


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
def test_dependent_columns_are_an_error(shape, mode):
    a = full_rank(*shape)
    a[:, 2] = a[:, 0] + 2.0 * a[:, 1]

    def loss(x):
        y = np.linalg.qr(x, mode=mode)
        return np.sum(y if mode == "r" else y.Q)

    with pytest.raises(NotImplementedTangentError, match="linearly dependent"):
        autodiff.gradient(loss, a)
    with pytest.raises(NotImplementedTangentError, match="linearly dependent"):
        autodiff.pushforward(loss, a)[1](np.ones(shape))


def test_columns_of_other_sizes(check_modes):
    with pytest.raises(NotImplementedTangentError, match="linearly dependent"):
        autodiff.gradient(
            lambda v: np.sum(np.linalg.qr(np.outer(v, v)).Q), np.array([0.12773399, 4.2057112])
        )
    sizes = np.array([1.0, 1e-17, 1e3])  # the second is small, but no combination of the first

    check_modes(lambda a: np.linalg.qr(a * sizes).Q, full_rank(4, 3))
