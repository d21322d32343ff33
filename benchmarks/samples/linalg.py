"""Products of matrices, and numpy.linalg."""

import numpy as np

from benchmarks.samples import (
    by_hand,
    complexes,
    definite,
    factorisation,
    positive,
    reals,
    regular,
    sample,
)

A, B = reals(300, 300), reals(300, 300, seed=1)
R, S = regular(300), definite(300)
TALL, WIDE = reals(400, 200), reals(200, 400)
V = reals(300)
STACK = regular(300)[:100, :100] + 30 * np.eye(100) + np.zeros((10, 1, 1))
BIG, LONG = reals(1000, 1000), reals(1000)
X, Y = reals(), reals(seed=1)
linalg = np.linalg

SAMPLES = [
    factorisation(np.matmul, A, B),
    factorisation(np.matmul, STACK, STACK, note="stack"),
    sample(np.matmul, BIG, LONG, note="vector", by_hand=by_hand.matrix_times_vector),
    factorisation(np.dot, A, B),
    sample(np.dot, X, Y, note="vectors", by_hand=by_hand.dot),
    sample(np.vdot, X, Y, by_hand=by_hand.dot),
    sample(np.inner, X, Y, by_hand=by_hand.dot),
    sample(np.vecdot, reals(1000, 500), reals(1000, 500, seed=1), by_hand=by_hand.dots),
    sample(np.matvec, BIG, LONG, by_hand=by_hand.matrix_times_vector),
    sample(np.vecmat, LONG, BIG, by_hand=by_hand.vector_times_matrix),
    sample(np.outer, reals(400), reals(500)),
    factorisation(np.tensordot, A, B, axes=1),
    sample(np.kron, reals(20, 20), reals(20, 25)),
    sample(np.cross, reals(60_000, 3), reals(60_000, 3, seed=1)),
    sample(np.trace, A, view=True),
    factorisation(linalg.multi_dot, [A, B, A]),
    factorisation(linalg.matrix_power, A / 20, 5),
    factorisation(linalg.matrix_power, R, -3, note="negative"),
    factorisation(np.einsum, "ij,jk->ik", A, B),
    sample(np.einsum, "ij->i", BIG, note="sum"),
    sample(np.einsum, "i,i->", X, Y, note="vectors"),
    sample(
        np.einsum, "ij,j->i", BIG, LONG, note="vector", by_hand=by_hand.summed_matrix_times_vector
    ),
    sample(np.einsum, "i,j->ij", reals(400), reals(500), note="outer"),
    factorisation(linalg.inv, R),
    factorisation(linalg.inv, STACK, note="stack"),
    factorisation(linalg.solve, R, V, note="vector"),
    factorisation(linalg.solve, R, B),
    factorisation(linalg.solve, R, reals(300, 20), note="20 columns"),
    factorisation(linalg.tensorsolve, regular(256).reshape(16, 16, 256), reals(16, 16)),
    factorisation(linalg.tensorinv, regular(256).reshape(16, 16, 16, 16), ind=2),
    factorisation(linalg.eigh, S),
    factorisation(linalg.eigvalsh, S),
    factorisation(linalg.eig, A),
    factorisation(linalg.eigvals, A),
    factorisation(linalg.det, R / 50, by_hand=by_hand.determinant),
    factorisation(linalg.slogdet, R, by_hand=by_hand.log_determinant),
    factorisation(linalg.slogdet, STACK, note="stack", by_hand=by_hand.log_determinant),
    factorisation(linalg.cholesky, S),
    factorisation(linalg.cholesky, complexes(300, 300) * 0.01 + 10 * S, note="complex"),
    sample(linalg.norm, X),
    sample(linalg.norm, X, 1, note="ord=1"),
    sample(linalg.norm, X, 3, note="ord=3"),
    sample(linalg.norm, X, np.inf, note="ord=inf"),
    sample(linalg.norm, BIG, note="matrix"),
    factorisation(linalg.norm, A, "nuc", note="nuclear", by_hand=by_hand.nuclear_norm),
    factorisation(linalg.norm, A, 2, note="matrix, ord=2", by_hand=by_hand.spectral_norm),
    sample(linalg.norm, BIG, 1, note="matrix, ord=1"),
    sample(linalg.norm, A, axis=1, note="axis=1"),
    sample(linalg.vector_norm, X),
    sample(linalg.matrix_norm, BIG),
    factorisation(linalg.cond, R, by_hand=by_hand.condition),
    factorisation(linalg.cond, R, 1, note="p=1"),
    factorisation(linalg.qr, TALL),
    factorisation(linalg.qr, WIDE, note="wide"),
    factorisation(linalg.qr, TALL, "r", note="r"),
    factorisation(linalg.qr, R, note="square"),
    factorisation(linalg.svd, R),
    factorisation(linalg.svd, TALL, full_matrices=False, note="tall"),
    factorisation(linalg.svd, R, compute_uv=False, note="values"),
    factorisation(linalg.svdvals, R),
    factorisation(linalg.pinv, TALL),
    factorisation(linalg.pinv, R, note="square"),
    factorisation(linalg.lstsq, TALL, reals(400)),
    sample(np.vander, positive(20_000), 5),
]
