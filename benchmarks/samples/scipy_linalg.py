"""scipy.linalg."""

import numpy as np
from scipy import linalg

from benchmarks.samples import (
    by_hand,
    by_hand_scipy,
    complexes,
    definite,
    factorisation,
    positive,
    reals,
    regular,
    sample,
)

A, B = reals(400, 400), reals(400, 400, seed=1)
R, S = regular(400), definite(400)
TALL, WIDE = reals(600, 300), reals(300, 600)
V = reals(400)
LOWER = np.tril(reals(400, 400)) + 20 * np.eye(400)
SMALL = reals(100, 100) / 30
STABLE = reals(40, 40) / 20 - 2 * np.eye(40)
BANDED = reals(5, 5000) + 20 * (np.arange(5) == 2)[:, None]
UPPER_BANDED = reals(3, 5000) + 20 * (np.arange(3) == 2)[:, None]
WIDE_BAND = reals(21, 5000) + 100 * (np.arange(21) == 0)[:, None]
DIAGONAL, BESIDE = reals(400), reals(399)
EYE, Q40, H40 = np.eye(40), definite(40), definite(40, seed=1)

SAMPLES = [
    factorisation(linalg.inv, R),
    factorisation(linalg.solve, R, B),
    factorisation(linalg.solve, R, V, note="vector"),
    factorisation(linalg.solve, S, B, assume_a="pos", note="pos"),
    factorisation(linalg.solve_triangular, LOWER, B, lower=True),
    sample(linalg.solve_banded, (2, 2), BANDED, reals(5000)),
    sample(linalg.solveh_banded, UPPER_BANDED, reals(5000)),
    sample(linalg.solve_toeplitz, 1 / (1 + np.arange(300.0)), reals(300)),
    sample(linalg.solve_circulant, 1 / (1 + np.arange(5000.0)), reals(5000)),
    sample(linalg.matmul_toeplitz, reals(5000), reals(5000, seed=1)),
    factorisation(linalg.det, R / 30, by_hand=by_hand.determinant),
    factorisation(linalg.lstsq, TALL, reals(600)),
    factorisation(linalg.pinv, TALL),
    factorisation(linalg.pinvh, S[:200, :200]),
    factorisation(linalg.cholesky, S),
    factorisation(linalg.cholesky, S, lower=True, note="lower"),
    factorisation(linalg.cho_factor, S),
    sample(linalg.cho_solve, (linalg.cholesky(S), False), B),
    sample(linalg.cholesky_banded, UPPER_BANDED[:, :500]),
    sample(linalg.cholesky_banded, WIDE_BAND, lower=True, note="wide"),
    factorisation(linalg.lu, R),
    factorisation(linalg.lu_factor, R),
    sample(linalg.lu_solve, linalg.lu_factor(R), B),
    factorisation(linalg.ldl, S),
    factorisation(linalg.qr, TALL, mode="economic"),
    factorisation(linalg.qr, R, note="square"),
    factorisation(linalg.qr_multiply, R, V),
    factorisation(linalg.rq, WIDE, mode="economic"),
    factorisation(linalg.svd, R),
    factorisation(linalg.svd, TALL, full_matrices=False, note="tall"),
    factorisation(linalg.svdvals, R),
    factorisation(linalg.eigh, S),
    factorisation(linalg.eigh, S, definite(400, seed=1), note="generalised"),
    factorisation(linalg.eigvalsh, S),
    factorisation(linalg.eig, A[:200, :200]),
    factorisation(linalg.eigvals, A[:200, :200]),
    factorisation(linalg.eig_banded, UPPER_BANDED[:, :400]),
    factorisation(
        linalg.eigvals_banded,
        UPPER_BANDED[:, :400],
        by_hand=by_hand_scipy.eigenvalues_of_band,
    ),
    factorisation(
        linalg.eigh_tridiagonal, DIAGONAL, BESIDE, by_hand=by_hand_scipy.tridiagonal_eigenvectors
    ),
    factorisation(linalg.eigvalsh_tridiagonal, DIAGONAL, BESIDE),
    factorisation(linalg.schur, SMALL),
    factorisation(linalg.hessenberg, SMALL),
    factorisation(linalg.polar, R),
    factorisation(linalg.expm, SMALL, by_hand=by_hand_scipy.matrix_exponential),
    factorisation(linalg.expm_frechet, SMALL, reals(100, 100, seed=1)),
    factorisation(linalg.logm, Q40),
    factorisation(linalg.sqrtm, Q40, by_hand=by_hand_scipy.square_root),
    factorisation(linalg.signm, reals(40, 40)),
    factorisation(linalg.fractional_matrix_power, Q40, 0.3),
    *[factorisation(f, SMALL) for f in (linalg.sinm, linalg.cosm, linalg.tanm)],
    factorisation(linalg.sinhm, SMALL, by_hand=by_hand_scipy.hyperbolic_sine),
    factorisation(linalg.coshm, SMALL, by_hand=by_hand_scipy.hyperbolic_cosine),
    factorisation(linalg.tanhm, SMALL),
    factorisation(linalg.solve_sylvester, STABLE, STABLE, reals(40, 40, seed=2)),
    factorisation(linalg.solve_continuous_lyapunov, STABLE, Q40),
    factorisation(linalg.solve_discrete_lyapunov, STABLE / 4, Q40),
    factorisation(linalg.solve_continuous_are, STABLE, EYE, Q40, H40),
    factorisation(linalg.solve_discrete_are, STABLE / 4, EYE, Q40, H40),
    sample(linalg.norm, A),
    sample(linalg.norm, A, 1, note="ord=1"),
    factorisation(linalg.norm, A, 2, note="ord=2", by_hand=by_hand.spectral_norm),
    sample(linalg.toeplitz, reals(1000)),
    sample(linalg.circulant, reals(1000)),
    sample(linalg.hankel, reals(1000)),
    sample(linalg.block_diag, A, B),
    sample(linalg.khatri_rao, reals(60, 60), reals(60, 60, seed=1)),
    sample(linalg.companion, positive(1000)),
    factorisation(linalg.solve, complexes(400, 400) + 30 * np.eye(400), V, note="complex"),
]
