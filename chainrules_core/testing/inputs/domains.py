"""Where the arguments of test cases are drawn from: domains of functions, and kinds of matrices.

All draws are reproducible. Without an `rng`, numbers come from one stream that starts anew with
each test (of pytest, which need not be installed) and otherwise with the process: draws within a
test differ from each other, and a test draws the same numbers alone and among others.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

SEED = 20110

_stream: dict[str, Any] = {}


def generator(rng: np.random.Generator | int | None = None) -> np.random.Generator:
    """Return a generator: `rng` itself, one for a seed, or the stream of the running test.

    Examples
    --------
    >>> bool(generator(1).integers(100) == generator(1).integers(100))
    True
    """
    if rng is not None:
        return np.random.default_rng(rng)
    # "path::test (phase)": set by pytest while a test runs.
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if "rng" not in _stream or _stream["test"] != test:
        _stream.update(test=test, rng=np.random.default_rng([SEED, zlib.crc32(test.encode())]))
    return _stream["rng"]


@dataclass(frozen=True)
class Domain:
    """A set of numbers to draw arguments from, at a distance from its edges and kinks.

    Values drawn together are spread evenly: no two are nearly equal, so that finite differences
    do not step over the ties of `max` or `sort`.

    Parameters
    ----------
    name : str
        What failure messages and test ids call it.
    low, high : float
        Values are drawn between them.
    gap : float
        Values closer to zero than this are not drawn.
    is_complex : bool
        Whether real and imaginary part are drawn alike.
    modulus : float or None
        The largest absolute value of a complex number.

    Examples
    --------
    >>> bool(POSITIVE.draw() > 0)
    True
    >>> REAL.draw((2, 3), np.float32).dtype
    dtype('float32')
    >>> COMPLEX.draw().imag != 0
    True
    """

    name: str
    low: float
    high: float
    gap: float = 0.0
    is_complex: bool = False
    modulus: float | None = None

    def draw(
        self,
        shape: int | tuple[int, ...] | None = (),
        dtype: Any = float,
        rng: np.random.Generator | int | None = None,
    ) -> Any:
        """Draw an array; a number where `shape` is (), as a Python number for float and complex.

        Parameters
        ----------
        shape : int or tuple
            The shape; () for one number.
        dtype : dtype
            float, complex, np.float32, int, …; a complex domain makes complex of float.
        rng : Generator or int, optional
            Where the numbers come from (`generator`).
        """
        rng = generator(rng)
        shape = (shape,) if isinstance(shape, int) else tuple(shape or ())
        dtype = np.dtype(dtype)
        if self.is_complex and dtype.kind == "f":
            dtype = np.dtype(f"c{2 * dtype.itemsize}")
        size = int(np.prod(shape))
        if dtype.kind in "iu":
            values = self._integers(size, rng)
        else:
            values = self._spread(size, rng)
            if dtype.kind == "c":
                values = values + 1j * self._spread(size, rng)
                if self.modulus is not None:
                    values = values / np.maximum(1, np.abs(values) / self.modulus)
        array = values.astype(dtype).reshape(shape)
        if shape:
            return array
        return array.item() if dtype in (float, complex, int) else array[()]

    def _spread(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw one number from each of `size` equal parts of the domain, in random order."""
        hole = max(0.0, min(self.gap, self.high) - max(-self.gap, self.low))
        length = self.high - self.low - hole
        cells = (np.arange(size) + rng.uniform(0.2, 0.8, size)) / max(size, 1)
        if size == 1:
            cells = rng.uniform(0.05, 0.95, size)
        values = self.low + length * rng.permutation(cells)
        if hole:
            values = np.where(values > max(-self.gap, self.low), values + hole, values)
        digits = 3 if size <= 50 else 6
        return np.round(values, digits)

    def _integers(self, size: int, rng: np.random.Generator) -> np.ndarray:
        low, high = int(np.ceil(self.low)), int(np.floor(self.high))
        choices = [k for k in range(low, high + 1) if abs(k) >= self.gap]
        if not choices:
            raise ValueError(f"there is no integer in the domain {self.name}.")
        return rng.choice(choices, size)

    def __str__(self) -> str:
        return self.name


REAL = Domain("REAL", -3.0, 3.0, gap=0.1)
NONZERO = Domain("NONZERO", -3.0, 3.0, gap=0.4)
POSITIVE = Domain("POSITIVE", 0.2, 4.0)
NEGATIVE = Domain("NEGATIVE", -4.0, -0.2)
UNIT = Domain("UNIT", 0.05, 0.95)
SYMMETRIC_UNIT = Domain("SYMMETRIC_UNIT", -0.95, 0.95, gap=0.02)
ABOVE_ONE = Domain("ABOVE_ONE", 1.1, 4.0)
LARGE = Domain("LARGE", 20.0, 90.0)
COMPLEX = Domain("COMPLEX", -3.0, 3.0, gap=0.1, is_complex=True)
UNIT_DISK = Domain("UNIT_DISK", -0.9, 0.9, gap=0.05, is_complex=True, modulus=0.9)


# ------------------------------------------------------------------------------------- matrices


def _normal(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    values = rng.standard_normal(shape)
    return values + 1j * rng.standard_normal(shape) if dtype.kind == "c" else values


def _orthogonal(n: int, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(_normal((n, n), dtype, rng))
    diagonal = np.diagonal(r)
    return q * (diagonal / np.abs(diagonal))


def _separated(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return `n` numbers between 1 and 4, in descending order, none close to another."""
    return 1 + 3 * (np.arange(n)[::-1] + rng.uniform(0.25, 0.75, n)) / max(n, 1)


def well_conditioned_matrix(
    n: int, dtype: Any = float, rng: np.random.Generator | int | None = None
) -> np.ndarray:
    """Return a square matrix with singular values between 1 and 4, of no structure.

    Examples
    --------
    >>> bool(np.linalg.cond(well_conditioned_matrix(4)) < 4)
    True
    """
    return separated_singular_values(n, n, dtype, rng)


def separated_singular_values(
    m: int, n: int, dtype: Any = float, rng: np.random.Generator | int | None = None
) -> np.ndarray:
    """Return an m × n matrix of full rank whose singular values differ clearly: 1 to 4.

    Examples
    --------
    >>> s = np.linalg.svd(separated_singular_values(5, 3), compute_uv=False)
    >>> bool((np.diff(s) < -0.4).all())
    True
    """
    dtype, rng, k = np.dtype(dtype), generator(rng), min(m, n)
    u, v = _orthogonal(m, dtype, rng), _orthogonal(n, dtype, rng)
    return ((u[:, :k] * _separated(k, rng)) @ v[:k]).astype(dtype)


def hermitian_matrix(
    n: int, dtype: Any = float, rng: np.random.Generator | int | None = None
) -> np.ndarray:
    """Return a symmetric (Hermitian) matrix; eigenvalues of both signs that differ clearly.

    Examples
    --------
    >>> a = hermitian_matrix(3, complex)
    >>> bool((a == a.conj().T).all())
    True
    """
    dtype, rng = np.dtype(dtype), generator(rng)
    signs = np.where(np.arange(n) % 2, -1.0, 1.0)
    return _conjugated(_orthogonal(n, dtype, rng), signs * _separated(n, rng), dtype)


def spd_matrix(
    n: int, dtype: Any = float, rng: np.random.Generator | int | None = None
) -> np.ndarray:
    """Return a symmetric (Hermitian) positive definite matrix; its eigenvalues differ clearly.

    Examples
    --------
    >>> bool((np.linalg.eigvalsh(spd_matrix(3)) > 0.9).all())
    True
    """
    dtype, rng = np.dtype(dtype), generator(rng)
    return _conjugated(_orthogonal(n, dtype, rng), _separated(n, rng), dtype)


def _conjugated(q: np.ndarray, eigenvalues: np.ndarray, dtype: np.dtype) -> np.ndarray:
    a = (q * eigenvalues) @ q.conj().T
    return ((a + a.conj().T) / 2).astype(dtype)  # exactly symmetric


def orthogonal_matrix(
    n: int, dtype: Any = float, rng: np.random.Generator | int | None = None
) -> np.ndarray:
    """Return an orthogonal (unitary) matrix.

    Examples
    --------
    >>> q = orthogonal_matrix(3)
    >>> bool(np.allclose(q @ q.T, np.eye(3)))
    True
    """
    dtype = np.dtype(dtype)
    return _orthogonal(n, dtype, generator(rng)).astype(dtype)
