"""Sample calls of the public functions in many forms, against differences of what they compute.

The parameters of each call are arrays of this module; all of them vary.
"""

import inspect

import numpy as np
import pytest
from scipy import linalg

from tests.helpers import normal_draws

_, real, cplx = normal_draws(11)


A = real(3, 3) + np.diag([3.0, 5, 8])
B = real(3, 3) + 4 * np.eye(3)
W = real(3, 2)
b = real(3)
c = real(3)
Z = cplx(3, 3) + np.diag([3.0, 5, 8])
ZB = cplx(3, 3) + 4 * np.eye(3)
ZW = cplx(3, 2)
zb = cplx(3)
S = A + A.T
P = A @ A.T + np.eye(3)
H = Z + Z.conj().T
PZ = Z @ Z.conj().T + np.eye(3)
T = np.array([[1.0, -2, 0.5], [2, 1.3, 0.3], [0.2, -0.1, 3]])
A3 = real(2, 3, 3) + 4 * np.eye(3)
Z3 = cplx(2, 3, 3) + 4 * np.eye(3)
B3 = real(2, 3, 2)
b3 = real(2, 3)
tall = real(5, 3)
wide = real(3, 5)
ztall = cplx(5, 3)
zwide = cplx(3, 5)
tall3 = real(2, 4, 3)
A4 = real(4, 4) + np.diag([2.0, 4, 7, 11])
B4 = real(4, 4) + 3 * np.eye(4)
b4 = real(4)
b5 = real(5)
s = 0.7
t = 1.3
ab = np.array([[0.0, 0.3, -0.2, 0.5], [4.0, 5, 6, 3.5], [0.4, -0.1, 0.6, 0.0]])
ab2 = np.vstack([real(2, 4), 6 + real(1, 4), real(2, 4)])
up = np.vstack([0.3 * real(1, 4), 4 + np.abs(real(1, 4))])
low = up[::-1].copy()
upz = np.vstack([0.3 * cplx(1, 4), 4 + np.abs(real(1, 4))])
up3 = np.vstack([0.2 * real(2, 5), 4 + np.arange(5.0)[None] ** 1.3])
low3 = up3[::-1].copy()
d = np.array([1.0, 3, 6, 10])
e = real(3)
col = np.array([4.0, 0.3, -0.5, 0.2])
row = np.array([4.0, -0.2, 0.6, 0.1])
zcol = cplx(4) + np.array([4, 0, 0, 0.0])
small = 0.2 * real(3, 3)
zsmall = 0.2 * cplx(3, 3)
Q5 = linalg.qr(real(5, 3))
U5, U3 = (real(5), real(3))
I3 = np.eye(3)
cp = np.array([1.0, -0.4, 0.3, 0.8])
cp2 = real(2, 4) + np.array([3.0, 0, 0, 0])


def sy(x):
    return (x + np.swapaxes(np.conj(x), -1, -2)) / 2


CALLS = [
    lambda A: linalg.inv(A),
    lambda A: linalg.inv(A, True),
    lambda A: linalg.inv(A, overwrite_a=True, check_finite=False),
    lambda A, b: linalg.solve(A, b),
    lambda A, W: linalg.solve(A, W),
    lambda A, W: linalg.solve(a=A, b=W),
    lambda A, b: linalg.solve_triangular(A, b),
    lambda A, b: linalg.solve_triangular(A, b, 1),
    lambda A, W: linalg.solve_triangular(A, W, "T", True),
    lambda ab, b4: linalg.solve_banded((1, 1), ab, b4),
    lambda ab2, b4: linalg.solve_banded((2, 2), ab2, b4),
    lambda ab2, B4: linalg.solve_banded((2, 2), ab2, B4[:, :2], check_finite=False),
    lambda up, b4: linalg.solveh_banded(up, b4),
    lambda low, b4: linalg.solveh_banded(low, b4, lower=True),
    lambda low, B4: linalg.solveh_banded(low, B4, True, True, True),
    lambda col, b4: linalg.solve_toeplitz(col, b4),
    lambda col, row, b4: linalg.solve_toeplitz((col, row), b4),
    lambda col, row, B4: linalg.solve_toeplitz((col, row), B4, check_finite=False),
    lambda col, b4: linalg.solve_circulant(col, b4),
    lambda col, B4: linalg.solve_circulant(col, B4),
    lambda zcol, b4: linalg.solve_circulant(zcol, b4),
    lambda col, b4: linalg.matmul_toeplitz(col, b4),
    lambda col, row, B4: linalg.matmul_toeplitz((col, row), B4),
    lambda col, row, B4: linalg.matmul_toeplitz((col, row), B4, True, None),
    lambda A: linalg.det(A),
    lambda Z: linalg.det(Z),
    lambda A3: linalg.det(A3),
    lambda A: linalg.norm(A),
    lambda A: linalg.norm(A, "fro"),
    lambda A: linalg.norm(A, "nuc"),
    lambda A, b: linalg.lstsq(A, b)[0],
    lambda tall, b5: linalg.lstsq(tall, b5)[0],
    lambda tall, b5: linalg.lstsq(tall, b5)[1],
    lambda A: linalg.pinv(A),
    lambda tall: linalg.pinv(tall),
    lambda wide: linalg.pinv(wide),
    lambda S: linalg.pinvh(S),
    lambda H: linalg.pinvh(H),
    lambda S: linalg.pinvh(S, lower=False),
    lambda P: linalg.cholesky(P),
    lambda P: linalg.cholesky(P, lower=True),
    lambda PZ: linalg.cholesky(PZ, True),
    lambda P: linalg.cho_factor(P)[0][np.triu_indices(3)],
    lambda P: linalg.cho_factor(P, lower=True)[0][np.tril_indices(3)],
    lambda P, b: linalg.cho_solve(linalg.cho_factor(P), b),
    lambda P, W: linalg.cho_solve(linalg.cho_factor(P, lower=True), W),
    lambda PZ, ZW: linalg.cho_solve(linalg.cho_factor(PZ, True), ZW),
    lambda up: linalg.cholesky_banded(up),
    lambda low: linalg.cholesky_banded(low, lower=True),
    lambda up3: linalg.cholesky_banded(up3),
    lambda up, b4: linalg.cho_solve_banded((linalg.cholesky_banded(up), False), b4),
    lambda low, B4: linalg.cho_solve_banded((linalg.cholesky_banded(low, lower=True), True), B4),
    lambda up3, b5: linalg.cho_solve_banded((up3, False), b5, overwrite_b=True),
    lambda A: linalg.lu(A),
    lambda A: linalg.lu(A, permute_l=True),
    lambda A: linalg.lu(A, True),
    lambda A: linalg.lu_factor(A)[0],
    lambda A: linalg.lu_factor(A),
    lambda Z: linalg.lu_factor(Z, overwrite_a=True)[0],
    lambda A, b: linalg.lu_solve(linalg.lu_factor(A), b),
    lambda A, W: linalg.lu_solve(linalg.lu_factor(A), W, trans=1),
    lambda Z, ZW: linalg.lu_solve(linalg.lu_factor(Z), ZW, trans=2),
    lambda A: linalg.qr(A),
    lambda tall: linalg.qr(tall),
    lambda tall: linalg.qr(tall, mode="economic"),
    lambda tall, W: linalg.qr_multiply(tall, W, "left"),
    lambda tall, b5: linalg.qr_multiply(tall, b5, mode="right"),
    lambda A, W: linalg.qr_multiply(A, W, mode="left", pivoting=True),
    lambda A: linalg.rq(A),
    lambda A: linalg.rq(A, mode="r"),
    lambda wide: linalg.rq(wide),
    lambda A: [np.abs(p) for p in linalg.svd(A)],
    lambda A: linalg.svd(A, compute_uv=False),
    lambda tall: linalg.svd(tall, full_matrices=False),
    lambda wide: linalg.svd(wide, False),
    lambda Z: [np.abs(p) for p in linalg.svd(Z)],
    lambda A: linalg.svdvals(A),
    lambda tall: linalg.svdvals(tall),
    lambda ztall: linalg.svdvals(ztall),
    lambda b: linalg.diagsvd(b, 3, 5),
    lambda b: linalg.diagsvd(s=b, M=5, N=3),
    lambda tall: linalg.orth(tall) @ linalg.orth(tall).T,
    lambda tall: linalg.orth(tall, rcond=1e-8) @ linalg.orth(tall).T,
    lambda wide: linalg.null_space(wide) @ linalg.null_space(wide).T,
    lambda tall: linalg.subspace_angles(tall[:, :2], tall[:, 1:] ** 2),
    lambda A: linalg.polar(A),
    lambda A: linalg.polar(A, "left"),
    lambda tall: linalg.polar(tall),
    lambda S: linalg.ldl(S),
    lambda S: linalg.ldl(S, lower=False),
    lambda A4: linalg.hessenberg(A4),
    lambda A4: linalg.hessenberg(A4, True),
    lambda A4: linalg.hessenberg(A4, calc_q=True, overwrite_a=True),
    lambda A: linalg.eig(A),
    lambda T: linalg.eig(T),
    lambda A: linalg.eig(A, None, True, False),
    lambda Z: [np.abs(p) for p in linalg.eig(Z)],
    lambda A: linalg.eigvals(A),
    lambda T: linalg.eigvals(T),
    lambda Z: linalg.eigvals(Z),
    lambda S: linalg.eigh(S, lower=False),
    lambda S, P: linalg.eigh(S, P),
    lambda S, P: linalg.eigh(S, b=P, type=2),
    lambda S: linalg.eigvalsh(S),
    lambda S, P: linalg.eigvalsh(S, P),
    lambda S, P: linalg.eigvalsh(S, P, lower=False),
    lambda up: linalg.eig_banded(up),
    lambda low: linalg.eig_banded(low, lower=True),
    lambda up3: linalg.eig_banded(up3, select="i", select_range=(0, 2)),
    lambda up: linalg.eigvals_banded(up),
    lambda low3: linalg.eigvals_banded(low3, lower=True),
    lambda up3: linalg.eigvals_banded(up3, select="i", select_range=(1, 3)),
    lambda d, e: linalg.eigh_tridiagonal(d, e),
    lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True),
    lambda d, e: linalg.eigh_tridiagonal(d, e, select="i", select_range=(0, 1)),
    lambda d, e: linalg.eigvalsh_tridiagonal(d, e),
    lambda d, e: linalg.eigvalsh_tridiagonal(d, e, "i", (1, 2)),
    lambda d, e: linalg.eigvalsh_tridiagonal(d, e, "v", (0, 5), True, 0.0, "stebz"),
    lambda A: linalg.schur(A),
    lambda T: linalg.schur(T)[0],
    lambda T: linalg.schur(T, output="real"),
    lambda T: linalg.cdf2rdf(*linalg.eig(T)),
    lambda A: linalg.expm(A / 5),
    lambda Z: linalg.expm(Z / 5),
    lambda A3: linalg.expm(A3 / 5),
    lambda small, B: linalg.expm_frechet(small, B),
    lambda small, B: linalg.expm_frechet(small, B, compute_expm=False),
    lambda small, B: linalg.expm_frechet(A=small, E=B, method="blockEnlarge"),
    lambda small: linalg.expm_cond(small),
    lambda A: linalg.expm_cond(A / 4),
    lambda A: linalg.logm(A),
    lambda Z: linalg.logm(Z),
    lambda P: linalg.logm(P),
    lambda A: linalg.sqrtm(A),
    lambda P: linalg.sqrtm(P),
    lambda Z: linalg.sqrtm(Z),
    lambda A: linalg.signm(A),
    lambda T, I3: linalg.signm(T - 2 * I3),
    lambda Z: linalg.signm(Z),
    lambda A: linalg.fractional_matrix_power(A, 0.3),
    lambda A: linalg.fractional_matrix_power(A, 2),
    lambda A: linalg.fractional_matrix_power(A, -1.5),
    lambda small: linalg.funm(small, lambda x: x * x),
    lambda A: linalg.funm(A, np.sqrt),
    lambda A, s: linalg.funm(A, lambda x: s * np.log(x)),
    lambda A: linalg.cosm(A),
    lambda A: linalg.sinm(A),
    lambda small: linalg.tanm(small),
    lambda A: linalg.coshm(A / 3),
    lambda A: linalg.sinhm(A / 3),
    lambda small: linalg.tanhm(small),
    lambda Z: linalg.cosm(Z / 4),
    lambda zsmall: linalg.sinm(zsmall),
    lambda zsmall: linalg.tanm(zsmall),
    lambda zsmall: linalg.coshm(zsmall),
    lambda zsmall: linalg.sinhm(zsmall),
    lambda zsmall: linalg.tanhm(zsmall),
    lambda A3: linalg.cosm(A3 / 4),
    lambda A, W: linalg.khatri_rao(A, W @ W.T),
    lambda A, Z: linalg.khatri_rao(a=A, b=Z),
    lambda A, W, s: linalg.block_diag(A, W, s),
    lambda A, b: linalg.block_diag(A, b),
    lambda A3, B3: linalg.block_diag(A3, B3),
    lambda b: linalg.toeplitz(b),
    lambda b, c: linalg.toeplitz(b, c),
    lambda zcol: linalg.toeplitz(c=zcol),
    lambda b: linalg.circulant(b),
    lambda zb: linalg.circulant(zb),
    lambda A: linalg.circulant(A),
    lambda b: linalg.hankel(b),
    lambda b, c: linalg.hankel(b, c),
    lambda b, b5: linalg.hankel(c=b, r=b5),
    lambda b: linalg.companion(b),
    lambda b5: linalg.companion(b5),
    lambda cp2: linalg.companion(cp2),
    lambda b, W: linalg.leslie(b, W[:2, 0]),
    lambda b4, b: linalg.leslie(f=b4, s=b),
    lambda b: linalg.fiedler(b),
    lambda b5: linalg.fiedler(b5),
    lambda cp2: linalg.fiedler_companion(cp2[0]),
    lambda cp: linalg.fiedler_companion(cp),
    lambda b: linalg.convolution_matrix(b, 4),
    lambda b: linalg.convolution_matrix(a=b, n=5, mode="same"),
    lambda b: linalg.convolution_matrix(b, 5, "valid"),
    lambda b4: linalg.hadamard(4) @ b4,
    lambda b4: linalg.helmert(4) @ b4,
    lambda b: linalg.hilbert(3) @ b,
    lambda b: linalg.invhilbert(3) @ b,
    lambda b: linalg.pascal(3) @ b,
    lambda b: linalg.invpascal(3, kind="lower") @ b,
    lambda b4: linalg.dft(4) @ b4,
    lambda b4: linalg.dft(4, scale="sqrtn") @ b4,
    lambda A, B, I3, s: linalg.solve_sylvester(A, B, I3 * s),
    lambda A, B, W: linalg.solve_sylvester(A, B, W @ W.T),
    lambda A, A4, wide: linalg.solve_sylvester(a=A, b=A4, q=wide[:, :4]),
    lambda A, W: linalg.solve_continuous_lyapunov(A, W @ W.T),
    lambda Z, ZB: linalg.solve_continuous_lyapunov(Z, ZB),
    lambda A, B: linalg.solve_continuous_lyapunov(a=A, q=B),
    lambda A, B: linalg.solve_lyapunov(A, B),
    lambda small, B: linalg.solve_discrete_lyapunov(small, B),
    lambda small, B: linalg.solve_discrete_lyapunov(small, B, "direct"),
    lambda small, B: linalg.solve_discrete_lyapunov(small, B, method="bilinear"),
    lambda A, W, P, t, B: linalg.solve_continuous_are(A, W, sy(P), np.eye(2) * t, e=B),
    lambda A, W, P, t: linalg.solve_continuous_are(A, W, sy(P), np.eye(2) * t, s=0.1 * W),
    lambda A, W, P, t: linalg.solve_discrete_are(A / 3, W, sy(P), np.eye(2) * t),
    lambda A, W, P, t, B: linalg.solve_discrete_are(A / 3, W, sy(P), np.eye(2) * t, e=B),
    lambda Z, ZW, PZ, t: linalg.solve_discrete_are(Z / 9, ZW, sy(PZ), np.eye(2) * t),
    lambda A4: linalg.matrix_balance(A4),
    lambda A4: linalg.matrix_balance(A4, permute=False, separate=True),
    lambda A4: linalg.matrix_balance(A4, 0, 1),
    lambda tall: linalg.orthogonal_procrustes(tall, tall**2),
    lambda A, B: linalg.orthogonal_procrustes(A=A, B=B, check_finite=False),
    lambda tall: linalg.clarkson_woodruff_transform(tall, 3, rng=np.random.default_rng(3)),
    lambda tall: linalg.clarkson_woodruff_transform(tall, 3, 5),
    lambda s: linalg.bandwidth(np.eye(3))[0] * s,
    lambda s: linalg.issymmetric(np.eye(3)) * s,
    lambda s: linalg.ishermitian(np.eye(3)) * s,
]


@pytest.mark.parametrize("f", CALLS)
def test_call(f, check_call):
    check_call(f, *[globals()[name] for name in inspect.signature(f).parameters])
