"""NumPy's own Python code, differentiated as it is, and lists where NumPy takes arrays."""

import numpy as np
import pytest

import autodiff

V = np.array([0.7, -1.3, 2.1, 0.4])
P = np.array([0.6, 1.7, 2.2, 0.9])
W = np.array([0.3, 0.5, -0.8])
M = np.array([[0.7, -1.3, 2.1], [0.4, 1.6, -0.9]])
Z = np.array([0.7 + 0.2j, -1.3 + 0.5j, 2.1 - 0.3j])
HALF = np.array(-0.4)
IK = "ij,kj->ik"
emath = np.lib.scimath

# fmt: off
TRACED = [
    ("unique", np.unique, V),
    ("unique of repeated", lambda x: np.unique(np.concatenate([x, x])), V),
    ("unique rows", lambda x: np.unique(x, axis=0), M),
    ("unique, more outputs", lambda x: np.unique(x, True, True, True)[0], V),
    ("unique_all", lambda x: np.unique_all(x).values, V),
    ("unique_counts", lambda x: np.unique_counts(x).values, V),
    ("unique_inverse", lambda x: np.unique_inverse(x).values, V),
    ("union1d", lambda a, b: np.union1d(a, b[:2]), V, P),
    ("intersect1d", lambda a: np.intersect1d(a, a[1:3]), V),
    ("intersect1d, indices", lambda a: np.intersect1d(a, a[:2], return_indices=True)[0], V),
    ("setdiff1d", lambda a: np.setdiff1d(a, a[1:3]), V),
    ("setxor1d", lambda a, b: np.setxor1d(a, b), V, P),
    ("unwrap", lambda x: np.unwrap(x * 3, 2.5), V),
    ("unwrap period", lambda x: np.unwrap(x * 3, period=4.3), V),
    ("unwrap rows", lambda x: np.unwrap(x * 4, axis=0), M),
    ("i0", np.i0, M),
    ("kaiser", lambda beta: np.kaiser(5, beta), P[1]),
    ("trim_zeros", lambda x: np.trim_zeros(np.append(x, 0.0)), V),
    ("require", lambda x: np.require(x, float, ["C", "W"]), M.T),
    ("asarray_chkfinite", np.asarray_chkfinite, M),
    ("real_if_close", lambda x: np.real_if_close(x + 0j), V),
    ("sort_complex", np.sort_complex, Z),
    ("nanmedian", lambda x: np.nanmedian(np.where(M > 2, np.nan, x), axis=1), M),
    ("einsum_path", lambda x: np.einsum(IK, x, x, optimize=np.einsum_path(IK, x, x)[0]), M),
    ("scimath sqrt", emath.sqrt, V),
    ("scimath sqrt of a number", emath.sqrt, HALF),
    ("scimath log", emath.log, V),
    ("scimath log2", emath.log2, Z),
    ("scimath log10", emath.log10, V),
    ("scimath logn", emath.logn, P + 1, V),
    ("scimath power", emath.power, V, P),
    ("scimath arccos", emath.arccos, V),
    ("scimath arcsin", emath.arcsin, V),
    ("scimath arctanh", emath.arctanh, V),
    ("scimath of a list", lambda x: emath.sqrt([x[0], x[1]]), V),
]
LISTS = [
    ("scalar rule", lambda x: np.sinc([x[0], 0.5]), V),
    ("real", lambda x: np.real([x[0], 1j]), Z),
    ("imag", lambda x: np.imag([x[0], x[1]]), Z),
    ("angle", lambda x: np.angle([x[0], x[1]]), Z),
    ("nan_to_num", lambda x: np.nan_to_num([x[0], np.nan]), V),
    ("clip", lambda x: np.clip([x[0], x[1], 3.0], -1.0, x[3]), V),
    ("by name", lambda x: np.sum(a=[x[0], x[1] * 2.0]), V),
    ("beside a traced array", lambda x: np.dot(x[:2], [x[0], 1.0]), V),
    ("a tuple", lambda x: np.linalg.norm((x[0], x[1])), V),
    ("of arrays", lambda x: np.median([x, x * 2.0], axis=0), V),
    ("a list that means one array each", lambda x: np.histogramdd([x, P], bins=(2, 2))[1], V),
    ("select", lambda x: np.select([[True, False], [False, True]], [[x[0], 1.0], [2.0, x[1]]]), V),
    ("choose", lambda x: np.choose([0, 1], [[x[0], 1.0], [2.0, x[1]]]), V),
    ("beside options", lambda x: np.trapezoid([x[0], 1.0, x[1]], dx=x[2]), V),
]
UNSEEN = [
    ("trapezoid dx", lambda d: np.trapezoid(V, dx=d), P[0]),
    ("select default", lambda d: np.select([V < 0], [V], d), P[0]),
    ("interp left", lambda d: np.interp(V, [0.0, 1.0], [2.0, 3.0], left=d), P[0]),
    ("full", lambda d: np.full((2, 2), d), P[0]),
    ("polyint k", lambda k: np.polyint(V, 2, k=k), W[:2]),
    ("polyfit w", lambda w: np.polyfit(V, P, 1, w=w), P),
    ("in-place in library code", lambda s: np.polynomial.polynomial.polyder(V, 1, s), P[0]),
]
# fmt: on
ALL = TRACED + LISTS + UNSEEN


@pytest.mark.parametrize("f, xs", [(r[1], r[2:]) for r in ALL], ids=[r[0] for r in ALL])
def test_traced(f, xs, check_modes):
    check_modes(f, *xs)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.digitize(x, [0.0, 1.0]),
        lambda x: np.searchsorted([0.0, 1.0], x),
        lambda x: np.isin(x, [2.1]),
        lambda x: np.histogram(x, 4, (-2.0, 3.0))[0],
        lambda x: np.histogram2d(x, P, 2, [[-2, 3], [0, 3]])[0],
        lambda x: np.unique(x, return_index=True)[1],
        np.spacing,
        np.fix,
    ],
)
def test_a_factor_without_derivative_is_constant(f):
    found = autodiff.gradient(lambda x: np.sum(x) * np.sum(f(x)), V)
    np.testing.assert_array_equal(found, np.full(4, np.sum(f(V))))


def test_unique_values_in_any_order(check_modes):
    check_modes(lambda x: np.sort(np.unique_values(x)), V)
