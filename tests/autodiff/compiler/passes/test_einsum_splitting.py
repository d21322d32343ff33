"""Einsums of several operands, compared with the call as it is written."""

import numpy as np
import pytest

from autodiff import compile, gradient
from autodiff.compiler.passes.einsum_splitting import split_einsums
from autodiff.compiler.recording.ir import Program, Ref, Step, meta_of, refs_of

rng = np.random.default_rng(0)
CASES = {
    "three": ("ijk,kl,jm->ilm", [(10, 12, 14), (14, 5), (12, 6)]),
    "four": ("ab,bc,cd,de->ae", [(9, 8), (8, 9), (9, 8), (8, 9)]),
    "batched": ("bij,bjk,bkl->bil", [(7, 6, 6), (7, 6, 6), (7, 6, 6)]),
    "repeated by broadcasting": ("ij,jk,kl->il", [(20, 20), (1, 20), (20, 20)]),
    "a diagonal": ("ii,ij,jk->ik", [(21, 21), (21, 21), (21, 21)]),
    "a number": ("ij,jk,ki->", [(25, 25), (25, 25), (25, 25)]),
    "two, a product of matrices": ("hwc,cd->hwd", [(20, 20, 16), (16, 16)]),
    "two, the other way round": ("hwd,hwc->cd", [(20, 20, 16), (20, 20, 16)]),
    "two, in another order": ("ab,bc->ca", [(50, 50), (50, 50)]),
    "two, turned": ("ab,cb->ac", [(50, 50), (50, 50)]),
    "two, repeated by broadcasting": ("ab,bc->ac", [(300, 300), (1, 300)]),
    "two, a stack": ("nab,nbc->nac", [(9, 30, 30), (9, 30, 30)]),
    "two, a number": ("ab,ab->", [(300, 300), (300, 300)]),
    "two, outer": ("ab,cd->abcd", [(20, 20), (20, 20)]),
    "apart": ("i,j,k->ijk", [(25,), (25,), (25,)]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    text, shapes = CASES[name]
    operands = [rng.standard_normal(s) for s in shapes]

    def f(*args):
        return np.sum(np.sin(np.einsum(text, *args)))

    compiled = compile(lambda *args: (f(*args), gradient(f, *args)))
    for _ in range(3):
        value, slopes = compiled(*operands)
        np.testing.assert_allclose(value, f(*operands), rtol=1e-10)
        for found, expected in zip(slopes, gradient(f, *operands), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    assert compiled.eager_because is None


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("text, shape", [("i,i->", (1 << 17,)), ("ij,ij->", (400, 400))])
def test_numbers_stay_numbers(text, shape, dtype):
    def f(x):
        return np.einsum(text, x, x)

    x = rng.standard_normal(shape).astype(dtype)
    compiled = compile(f, backend="python")
    for _ in range(2):
        found = compiled(x)
        assert type(found) is type(f(x))
        np.testing.assert_allclose(found, f(x), rtol=1e-4)


def of(text, operands, kwargs=None):
    metas = [meta_of(x) for x in operands]
    refs = tuple([Ref(k) for k in range(len(operands))])
    metas.append(meta_of(np.einsum(text, *operands)))
    steps = [Step(np.einsum, (text, *refs), kwargs, len(operands))]
    return Program(steps, metas, list(range(len(operands))), [Ref(len(operands))])


@pytest.mark.parametrize("name", CASES)
def test_each_step_has_two_operands(name):
    text, shapes = CASES[name]
    program = of(text, [np.ones(s) for s in shapes])
    steps = split_einsums(program).steps
    if len(steps) > 1:
        assert [len(refs_of(s)) for s in steps] == [2] * (len(shapes) - 1)
        assert steps[-1].out == len(shapes)
    values = [rng.standard_normal(s) for s in shapes]
    known = dict(enumerate(values))
    for step in steps:
        args = [known[a.i] if type(a) is Ref else a for a in step.args]
        known[step.out] = step.f(*args)
        assert np.shape(known[step.out]) == (program.metas[step.out].shape or ())
    np.testing.assert_allclose(known[len(shapes)], np.einsum(text, *values), rtol=1e-9)


@pytest.mark.parametrize(
    "text, operands, kwargs",
    [
        ("ij,jk,kl->il", [np.ones((2, 2))] * 3, None),  # few products
        ("ij,jk,kl->il", [np.ones((20, 20), np.float32)] * 3, None),
        ("ij,jk,kl->il", [np.ones((20, 20), int)] * 3, None),
        ("ij,jk,kl", [np.ones((20, 20))] * 3, None),  # the result is not said
        ("...j,jk,kl->...l", [np.ones((20, 20))] * 3, None),
        ("ij,jk,kl->il", [np.ones((20, 20))] * 3, {"dtype": np.float64}),
        ("ij,jk->ik", [np.ones((20, 20))] * 2, None),
        ("ij,jk->ik", [np.ones((300, 300)), np.ones((1, 300))], None),
        ("nij,njk->nik", [np.ones((9, 30, 30))] * 2, None),
    ],
    ids=range(9),
)
def test_others_stay(text, operands, kwargs):
    program = of(text, operands, kwargs)
    assert split_einsums(program) is program


def test_two_operands_become_a_product_of_matrices():
    program = of("hwd,hwc->cd", [np.ones((20, 20, 16))] * 2)
    (step,) = split_einsums(program).steps
    assert step.f is np.tensordot
