"""contraction: the einsum of its operands, whatever path it takes."""

import numpy as np
import pytest

from chainrules_core.authoring import contraction
from chainrules_core.operations.contraction import path_of

RNG = np.random.default_rng(0)


def _of(dtype, *shape):
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if dtype is complex else x).astype(dtype)


CASES = [
    ("ij,jk->ik", (3, 4), (4, 2)),
    ("ij,jk->ik", (80, 40), (40, 50)),
    ("ij,jk->ki", (80, 1), (40, 50)),
    ("nij,njk->nik", (20, 30, 10), (20, 10, 40)),
    ("ncij,oc->noij", (4, 16, 20, 20), (16, 16)),
    ("ij,ij->", (300, 300), (300, 300)),
    ("i,j->ij", (300,), (300,)),
    ("ijk,kl,jl->il", (20, 30, 10), (10, 20), (30, 20)),
    ("il,kl,jl->ijk", (20, 30), (10, 30), (40, 30)),
    ("ab,bc,cd,de->ae", (30, 5), (5, 60), (60, 4), (4, 50)),
    ("ii,ij->j", (80, 80), (80, 900)),
    ("ijk->", (50, 50, 50)),
    ("ij,jk->ik", (80, 0), (0, 1000)),
]


@pytest.mark.parametrize("dtype", [float, np.float32, complex])
@pytest.mark.parametrize("subscripts, shapes", [(s, shapes) for s, *shapes in CASES])
def test_it_is_the_einsum(subscripts, shapes, dtype):
    operands = [_of(dtype, *shape) for shape in shapes]
    expected = np.einsum(subscripts, *operands)
    found = contraction(subscripts, *operands)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * 100)


def test_three_operands_are_multiplied_two_at_a_time():
    """NumPy's own greedy path has no result between that is larger than the operands."""
    path = path_of("ijk,kl,jl->il", ((20, 30, 40), (40, 50), (30, 50)))
    assert path == ["einsum_path", (0, 1), (0, 1)]


@pytest.mark.parametrize("shapes", [((3, 4), (4, 2)), ((100, 100), (100,)), ((100,), (100, 3))])
def test_small_or_unfitting_operands_are_left_to_numpy(shapes):
    assert path_of("ij,jk->ik", shapes) is False


def test_an_error_is_that_of_einsum():
    with pytest.raises(ValueError, match="does not match"):
        contraction("ij,jk->ik", np.ones((300, 300)), np.ones((200, 300)))
