"""Factorisations of matrices: triangular, orthogonal and Schur factors, and their updates."""

from chainrules.scipy.linalg.factors import (
    cholesky as cholesky,
    hessenberg as hessenberg,
    ldl as ldl,
    lu as lu,
    orthogonal as orthogonal,
    pencils as pencils,
    schur as schur,
    updates as updates,
)
