import numpy as np
import pytest

import autodiff
from chainrules_core import NoTangent, rrule, unthunk
from chainrules_core.testing.checks.check import check_rule
from tests.helpers import compl, real


def case(*args, **kwargs):
    return pytest.param(args, kwargs, id=str(args[0]) if isinstance(args[0], str) else "lists")


CASES = [
    # products
    case("ij,jk->ik", real(2, 3), real(3, 4)),
    case("ij,jk->ik", compl(2, 3), compl(3, 4)),
    case("ij,jk->ki", compl(2, 3), real(3, 4)),
    case("ij,jk", compl(2, 3), compl(3, 4)),
    case("ba,cb", compl(2, 3), compl(4, 2)),
    case("i,i", real(3), real(3, seed=3)),
    case("i,j", compl(3), compl(2)),
    case("ij,ij->i", compl(2, 3), compl(2, 3, seed=3)),
    case("bij,bjk->bik", compl(2, 2, 3), compl(2, 3, 2)),
    case("ij,jk->ik", real(2, 3, dtype=np.float32), real(3, 4, dtype=np.float32)),
    case("ij,jk->ik", real(2, 3), np.arange(12).reshape(3, 4)),
    case("ij,jk->ik", real(6, 6)[::3, ::-2], real(3, 4)),
    case(" i j , j k -> i k ", real(2, 3), real(3, 4)),
    # products of two, with the way found beforehand
    case("ij,jk->ik", compl(2, 3), compl(3, 4), optimize=True),
    case("ij,jk->ki", compl(2, 3), real(3, 4), optimize=True),
    case("ijk,kl->lji", compl(2, 3, 4), compl(4, 2), optimize=True),
    case("ikj,jk->i", real(2, 3, 4), compl(4, 3), optimize=True),
    case("ij,j->i", compl(2, 3), compl(3), optimize=True),
    case("i,j->ji", compl(2), compl(3), optimize=True),
    case("ij,jk->ik", compl(2, 1), compl(3, 4), optimize=True),
    case("bij,bjk->bik", compl(2, 2, 3), compl(2, 3, 2), optimize=True),
    case("ij,j->", compl(2, 3), compl(3), optimize=True),
    # one operand
    case("ij->ji", compl(2, 3)),
    case("ij->i", compl(2, 3)),
    case("ij->", compl(2, 3)),
    case("ij", compl(2, 3)),
    case("ba", compl(2, 3)),
    case("ijk->kj", compl(2, 3, 4)),
    case("", 2.5),
    case(",i", 2.5, compl(3)),
    case(",", 2.5, -1.5j),
    # diagonals
    case("ii", compl(3, 3)),
    case("ii->i", compl(3, 3)),
    case("ii->", real(3, 3)),
    case("iii->i", real(2, 2, 2)),
    case("iij->j", compl(3, 3, 2)),
    case("iji->ij", compl(3, 2, 3)),
    case("jij,i->j", compl(3, 2, 3), compl(2)),
    case("iijj->ij", real(2, 2, 3, 3)),
    case("ii,jj", compl(2, 2), compl(3, 3)),
    case("ii,ij->j", compl(2, 2), compl(2, 3)),
    # sums over what one operand has alone
    case("ij,k->i", compl(2, 3), compl(4)),
    case("ij,k->", compl(2, 3), compl(4)),
    case("ijk,il->l", compl(2, 3, 2), compl(2, 4)),
    case("iij,k->j", compl(3, 3, 2), compl(2)),
    # dots
    case("...", compl(2, 3)),
    case("i...->i...", compl(2, 3)),
    case("i...->...", compl(2, 3)),
    case("...i->...", compl(2, 3, 2)),
    case("...i", compl(2, 3)),
    case("...ij,...jk->...ik", compl(4, 2, 3), compl(4, 3, 2)),
    case("...ij,...jk->...ik", compl(5, 1, 2, 3), compl(4, 3, 2)),
    case("...ij,...j", compl(4, 3, 2), real(2)),
    case("i...,i...->...", compl(3, 4), compl(3, 2, 1)),
    case("...ii->...i", compl(4, 3, 3)),
    case("...,...", 2.5, compl(3)),
    case("...i->i", compl(2, 4, 3), optimize=True),
    case("...i,j...->ij", compl(4, 3), compl(2, 4), optimize=True),
    # lengths of one that are broadcast
    case("ij,jk->ik", compl(2, 1), compl(3, 4)),
    case("i,i->i", compl(1), compl(3)),
    case("i,i->", compl(1), compl(3)),
    case("ij,ij->j", compl(1, 3), compl(2, 1)),
    # three and more
    case("ij,jk,kl->il", compl(2, 3), compl(3, 2), compl(2, 4)),
    case("ij,jk,kl->il", compl(2, 3), compl(3, 2), compl(2, 4), optimize=True),
    case("ij,jk,kl->il", real(2, 3), real(3, 2), real(2, 4), optimize="optimal"),
    case("ij,jk,kl->il", real(2, 3), real(3, 2), real(2, 4), optimize=("greedy", 100)),
    case(
        "ij,jk,kl->il", real(2, 3), real(3, 2), real(2, 4),
        optimize=["einsum_path", (0, 1), (0, 1)],
    ),
    case("i,ij,j", compl(2), compl(2, 3), compl(3)),
    case("i,j,k,ijk->", compl(2), compl(3), compl(2, seed=3), compl(2, 3, 2)),
    # the other form
    case(compl(2, 3), [0, 1], compl(3, 4), [1, 2], [0, 2]),
    case(compl(2, 3), [0, 1], compl(3, 4), [1, 2]),
    case(compl(2, 3), [1, 0]),
    case(compl(3, 3), [0, 0]),
    case(compl(3, 3), [0, 0], []),
    case(compl(4, 2, 3), [Ellipsis, 0, 1], compl(3), [1], [Ellipsis, 0]),
    case(compl(2, 3), (30, 7), compl(3), (7,), (30,)),
    # what does not matter
    case("ij,jk->ik", real(2, 3), real(3, 4), order="F"),
    case("ij,jk->ik", real(2, 3), real(3, 4), dtype=np.float64, casting="same_kind"),
    # nothing to sum
    case("ij,jk->ik", real(2, 0), real(0, 3)),
    case("ij->j", real(0, 3)),
    case("ii->i", real(0, 0)),
]  # fmt: skip


@pytest.mark.parametrize("args, kwargs", CASES)
def test_rule(args, kwargs):
    check_rule(np.einsum, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


A, V = real(3, 3), real(3)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, v: np.einsum("ij,j->i", a, v),
        lambda a, v: np.einsum("i,ij,j->", v, a, v),
        lambda a, v: np.einsum("ii", a) * v,
        lambda a, v: np.einsum("ij,kj->ik", a, a, optimize=True),
        lambda a, v: np.einsum(a, [0, 1], v, [1]),
        lambda a, v: np.einsum(a, [Ellipsis, 0], v, [0], [Ellipsis]),
        lambda a, v: np.einsum("ij,j->i", a, [1.0, 2.0, 3.0]) @ v,
        lambda a, v: np.einsum("i,j->ij", v, v, out=np.empty((3, 3))) + a,
        lambda a, v: a * len(np.einsum_path("ij,j->i", a, v)[0]) + v,
    ],
)
def test_engine(f, check_engine):
    check_engine(f, A, V)


def test_subscripts_have_no_tangent():
    _, pullback = rrule(np.einsum, A, [0, 1], V, [1])
    bars = pullback(np.ones(3))
    assert [isinstance(bars[i], NoTangent) for i in range(5)] == [True, False, True, False, True]


def test_letters_run_out():
    """As many indices as NumPy has letters for."""
    x = np.ones((1,) * 26)
    check_rule(np.einsum, x, list(range(26)), x, list(range(26, 52)), [0, 51])


@pytest.mark.parametrize(
    "subscripts, shapes",
    [
        ("ij,jk->ik", [(110, 100), (100, 100)]),
        ("ij,kj->ik", [(110, 100), (100, 100)]),
        ("ij,jk->i", [(110, 100), (100, 100)]),
        ("ijk,kl,jl->il", [(20, 30, 40), (40, 50), (30, 50)]),
    ],
)
def test_a_large_sum_is_taken_by_matrix_products(subscripts, shapes):
    rng = np.random.default_rng(0)
    operands = [rng.standard_normal(shape) for shape in shapes]
    dots = [rng.standard_normal(shape) for shape in shapes]
    y, pullback = rrule(np.einsum, subscripts, *operands)
    y_bar = rng.standard_normal(y.shape)
    bars = [unthunk(bar) for bar in pullback(y_bar)[2:]]
    y_dot = sum(
        np.einsum(subscripts, *operands[:i], dot, *operands[i + 1 :]) for i, dot in enumerate(dots)
    )
    np.testing.assert_allclose(np.vdot(y_bar, y_dot), sum(map(np.vdot, bars, dots)))
