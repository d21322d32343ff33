"""Random arguments and tangents: reproducible, and where they should be."""

import numpy as np
import pytest

from chainrules_core import NoTangent, Tangent
from chainrules_core.testing import (
    ABOVE_ONE,
    COMPLEX,
    LARGE,
    NEGATIVE,
    NONZERO,
    POSITIVE,
    REAL,
    SYMMETRIC_UNIT,
    UNIT,
    UNIT_DISK,
    Domain,
    hermitian_matrix,
    orthogonal_matrix,
    rand_tangent,
    separated_singular_values,
    spd_matrix,
    well_conditioned_matrix,
)
from chainrules_core.testing.inputs.domains import generator

DOMAINS = [
    ABOVE_ONE, COMPLEX, LARGE, NEGATIVE, NONZERO, POSITIVE, REAL, SYMMETRIC_UNIT, UNIT, UNIT_DISK
]  # fmt: skip


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@pytest.mark.parametrize("shape", [(), 1, 7, (3, 4), (200,), (0, 2)])
@pytest.mark.parametrize("dtype", [float, np.float32, complex])
def test_domains(domain, shape, dtype):
    values = np.asarray(domain.draw(shape, dtype))
    assert values.shape == (shape if isinstance(shape, tuple) else (shape,))
    parts = [values.real, values.imag] if np.iscomplexobj(values) else [values]
    for part in parts if domain.modulus is None else []:
        assert (part >= domain.low - 1e-6).all()
        assert (part <= domain.high + 1e-6).all()
        assert (np.abs(part) >= domain.gap - 1e-6).all()
    if domain.modulus is not None:
        assert (np.abs(values) <= domain.modulus + 1e-6).all()
    flat = np.sort(parts[0], axis=None)
    if domain.modulus is None and flat.size > 1:
        assert np.diff(flat).min() > 0.2 * (domain.high - domain.low) / flat.size


def test_types():
    assert type(REAL.draw()) is float
    assert type(COMPLEX.draw()) is complex
    assert type(REAL.draw(dtype=np.float32)) is np.float32
    assert COMPLEX.draw(3, np.float32).dtype == np.complex64
    assert type(POSITIVE.draw(dtype=int)) is int
    assert set(NONZERO.draw(100, int)) == {-3, -2, -1, 1, 2, 3}
    with pytest.raises(ValueError, match="no integer in the domain UNIT"):
        UNIT.draw(dtype=int)
    assert Domain("mine", 5, 6).draw() > 5


def test_reproducible():
    assert (REAL.draw(5, rng=3) == REAL.draw(5, rng=3)).all()
    assert (REAL.draw(5) != REAL.draw(5)).any()
    rng = np.random.default_rng(7)
    assert generator(rng) is rng


def test_stream_starts_anew_with_each_test(monkeypatch):
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "some_test (call)")
    first = REAL.draw(5)
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "another_test (call)")
    assert (REAL.draw(5) != first).any()
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "some_test (call)")
    assert (REAL.draw(5) == first).all()


@pytest.mark.parametrize("dtype", [float, np.float32, complex, np.complex64])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_matrices(n, dtype):
    tolerance = 1e-5 if np.dtype(dtype).itemsize // (1 + np.iscomplexobj(dtype(0))) == 4 else 1e-12
    for make in (well_conditioned_matrix, spd_matrix, hermitian_matrix, orthogonal_matrix):
        a = make(n, dtype)
        assert a.shape == (n, n)
        assert a.dtype == dtype
        assert (make(n, dtype, rng=1) == make(n, dtype, rng=1)).all()
    assert np.linalg.cond(well_conditioned_matrix(n, dtype)) < 4
    q = orthogonal_matrix(n, dtype)
    assert np.abs(q @ q.conj().T - np.eye(n)).max() < tolerance
    for make in (spd_matrix, hermitian_matrix):
        a = make(n, dtype)
        assert (a == a.conj().T).all()
        w = np.sort(np.linalg.eigvalsh(a))
        assert n == 1 or np.diff(w).min() > 0.2
    assert np.linalg.eigvalsh(spd_matrix(n, dtype)).min() > 0.9
    s = np.linalg.svd(separated_singular_values(n + 2, n, dtype), compute_uv=False)
    assert s.min() > 0.9
    assert n == 1 or -np.diff(s).max() > 0.2


def test_rand_tangent():
    x = np.zeros((40, 50))
    t = rand_tangent(x, rng=1)
    assert (np.abs(t) >= 0.11 - 1e-9).all()
    assert (np.abs(t) <= 9).all()
    assert np.allclose(np.round(t, 2), t)
    assert (t < 0).any()
    for nothing in (1, "a", True, None, np.sin, float, np, slice(1), np.arange(3), (), (1, "a")):
        assert isinstance(rand_tangent(nothing), NoTangent)
    assert isinstance(rand_tangent([1.0, "a"]), Tangent[list])
    assert rand_tangent(np.float32(1)).dtype == np.float32
    assert rand_tangent(1.0, rng=1) == rand_tangent(1.0, rng=1)


def test_registered():
    class Odd:
        pass

    @rand_tangent.register(Odd)
    def odd_tangent(x, rng=None):
        return 42.0

    assert rand_tangent(Odd()) == 42.0
