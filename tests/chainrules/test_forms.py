"""Shapes and dtypes without values: those that NumPy and SciPy return, over options and dtypes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import integrate, linalg, signal, special

from chainrules_core.engine import AbstractArray, abstract_value

X = np.random.default_rng(0).normal(size=(2, 3, 4))
V, M, W = X[0, 0], X[:, :, 0], X[1, :, 2]

REDUCTIONS = (
    np.sum, np.nansum, np.mean, np.nanmean, np.prod, np.nanprod, np.max, np.amin, np.nanmax, np.ptp,
    np.var, np.nanstd, np.median, np.nanmedian, np.average, np.add.reduce, np.multiply.reduce,
    special.logsumexp,
)  # fmt: skip
RUNNING = (
    np.cumsum,
    np.nancumsum,
    np.cumprod,
    np.sort,
    np.diff,
    np.flip,
    np.roll,
    special.softmax,
)
ARRAYS = (
    np.ravel, np.transpose, np.squeeze, np.trace, np.copy, np.array, np.asarray, np.block,
    np.atleast_1d, np.atleast_3d, np.ediff1d, np.gradient, np.real, np.imag, np.conj, np.tril,
    np.triu, np.rot90, np.fliplr, np.linalg.norm, np.linalg.vector_norm, np.swapaxes, np.moveaxis,
    np.nan_to_num, np.unwrap, np.diagonal, np.ndarray.flatten, np.fft.fft, np.fft.rfft,
)  # fmt: skip
JOINS = (np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block)


def calls() -> Iterator[tuple[str, Any, tuple, dict]]:
    """Yield calls: what they are, the function, arguments and options."""
    for f in REDUCTIONS:
        for axis, keepdims in itertools.product((None, 0, -1, (0, 2)), (False, True)):
            if not (isinstance(axis, tuple) and f in (np.average, np.multiply.reduce)):
                yield "reduction", f, (X,), {"axis": axis, "keepdims": keepdims}
    for f in RUNNING:
        for axis in (0, 1, -1):
            needs = {"shift": 1} if f is np.roll else {}
            yield "running", f, (X,), {"axis": axis, **needs}
    for f in ARRAYS:
        more = (0, 1) if f in (np.swapaxes, np.moveaxis) else ()
        yield "array", f, (X, *more), {}
    for f in JOINS:
        yield "join", f, ([M, M],), {}
        yield "join", f, ((V, V, V),), {}
    for axis in (0, 1, None):
        yield "join", np.concatenate, ([M, M],), {"axis": axis}
        yield "join", np.append, (M, M), {"axis": axis}
    yield "join", np.stack, ([M, M],), {"axis": -1}
    yield "split", np.split, (X, 2), {"axis": 2}
    yield "split", np.array_split, (X, [1, 2]), {"axis": 1}
    for f in (np.hsplit, np.vsplit):
        yield "split", f, (np.ones((2, 4)), 2), {}
    yield "split", np.unstack, (X,), {"axis": 1}
    yield "shape", np.reshape, (X, (4, -1)), {"order": "F"}
    yield "shape", np.expand_dims, (X, (0, -1)), {}
    yield "shape", np.broadcast_to, (V, (5, 4)), {}
    yield "shape", np.broadcast_arrays, (V, M[:, :1]), {}
    yield "shape", np.tile, (M, (2, 1, 3)), {}
    yield "shape", np.repeat, (M, 3), {"axis": 1}
    yield "shape", np.pad, (M, ((1, 2), (0, 1))), {"mode": "edge"}
    yield "shape", np.insert, (M, 1, V[:3]), {"axis": 0}
    yield "shape", np.delete, (M, [0, 2]), {"axis": 1}
    yield "shape", np.take, (M, [[0, 1], [1, 0]]), {"axis": 1}
    yield "shape", np.full, ((2, 4), V), {}
    yield "shape", np.where, (V > 0, V, 0.0), {}
    yield "shape", np.clip, (X, -1.0, 1.0), {}
    yield "product", np.einsum, ("ij,kj->ik", M, M), {}
    yield "product", np.linalg.multi_dot, ([M, M.T, M],), {}
    for f in (np.dot, np.matmul, np.inner, np.outer, np.kron, np.vdot, np.convolve, np.cross):
        yield "product", f, (W, W), {}
    yield "product", np.tensordot, (X, X), {"axes": ([0, 1], [0, 1])}
    yield "product", np.multiply.outer, (V, M), {}
    for f in (np.diff, np.trapezoid):
        yield "mixed", f, (X,), {"axis": 1}
    yield "mixed", np.diff, (X,), {"n": 2, "prepend": 0.0}
    yield "mixed", np.interp, (V, np.arange(3.0), W), {}
    yield "mixed", np.cov, (M,), {}
    yield "mixed", np.quantile, (X, [0.2, 0.5]), {"axis": 1}
    yield "mixed", np.select, ([V > 0, V < -1], [V, -V]), {"default": 2.0}
    yield "mixed", np.bincount, ([0, 3, 1], W), {}
    for f in (integrate.simpson, integrate.trapezoid):
        yield "scipy", f, (X,), {"axis": 0, "dx": 0.1}
    for f in (linalg.toeplitz, linalg.hankel, linalg.circulant):
        yield "scipy", f, (V,), {}
    yield "scipy", linalg.norm, (M,), {"axis": 1}
    yield "scipy", signal.lfilter, ([1.0, 0.5], [1.0, 0.2], X), {"axis": 1}
    yield "scipy", signal.convolve2d, (M, M), {"mode": "same"}


CALLS = list(calls())
DTYPES = (np.float64, np.float32, np.complex64, np.float16, np.int64)
REFUSED = (TypeError, ValueError, NotImplementedError, linalg.LinAlgError)


def of_dtype(x: Any, dtype: Any) -> Any:
    if isinstance(x, (list, tuple)) and any(isinstance(part, np.ndarray) for part in x):
        return type(x)(of_dtype(part, dtype) for part in x)
    if isinstance(x, np.ndarray) and x.dtype.kind == "f":
        return x.astype(dtype)
    return x


def abstract(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(abstract, x))
    return AbstractArray.of(x) if isinstance(x, np.ndarray) and x.dtype.kind != "b" else x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", sorted({kind for kind, *_ in CALLS}))
@pytest.mark.filterwarnings("ignore")
def test_forms_are_those_of_the_results(kind, dtype):
    compared = 0
    for _, f, args, options in [call for call in CALLS if call[0] == kind]:
        given = tuple(of_dtype(a, dtype) for a in args)
        try:
            expected = AbstractArray.of(f(*given, **options))
        except REFUSED:
            continue
        assert abstract_value(f, *map(abstract, given), **options) == expected, (f, options)
        compared += 1
    assert compared or dtype in (np.float16, np.complex64)


def test_numbers_and_lists():
    x, y = AbstractArray((), np.dtype(float)), AbstractArray((3,), np.dtype("float32"))
    number = AbstractArray((), np.dtype(float))
    assert abstract_value(math.fsum, [x, x]) == number
    assert abstract_value(math.hypot, x, x, x) == number
    assert abstract_value(np.sum, [x, 1.0, [x][0]]) == number
    assert abstract_value(np.stack, (y, y), axis=-1) == AbstractArray((3, 2), y.dtype)
    assert abstract_value(np.block, [[y, y], [y, y]]) == AbstractArray((2, 6), y.dtype)
    assert abstract_value(np.sum, a=y, keepdims=True) == AbstractArray((1,), y.dtype)
    assert abstract_value(np.ndarray.astype, y, np.int8) == AbstractArray((3,), np.dtype(np.int8))


def test_what_elements_decide_is_not_told():
    x, n = AbstractArray((3,), np.dtype(float)), AbstractArray((), np.dtype(int))
    assert abstract_value(np.unique, x) is None
    assert abstract_value(np.full, n, 1.0) is None
    assert abstract_value(np.repeat, np.ones(3), n) is None
    assert abstract_value(np.sum, np.ones((2, 2)), n) is None
    assert abstract_value(np.average, x, weights=x) is None


def test_nothing_is_written():
    out = np.ones(3)
    form = AbstractArray((2, 3), np.dtype(float))
    assert abstract_value(np.sum, form, axis=0, out=out) is None
    assert abstract_value(np.concatenate, [form], out=np.ones((2, 3))) is None
    assert abstract_value(partial(np.sum, axis=0, out=out), form) is None
    assert np.all(out == 1)
