"""scipy.sparse: functions of dense arrays that make or use sparse ones."""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph, linalg

from benchmarks.samples import positive, reals, sample

N = 2000
ROWS, COLUMNS = np.random.default_rng(0).integers(0, N, (2, 20_000))
DATA = reals(20_000)
X, B = reals(N), reals(N, 20)
LAPLACE = [-np.ones(N - 1), 2.5 + np.zeros(N), -np.ones(N - 1)]
DENSE = positive(60, 60)


def matrix(data):
    """Make a sparse matrix of its entries."""
    return sparse.csr_array((data, (ROWS, COLUMNS)), shape=(N, N))


def laplace(middle):
    """Make a tridiagonal matrix."""
    return sparse.diags_array([LAPLACE[0], middle, LAPLACE[2]], offsets=[-1, 0, 1], format="csc")


def made(data):
    """A sparse matrix made and written out."""
    return sparse.csr_array((data, (ROWS[:2000] % 50, COLUMNS[:2000] % 50))).toarray()


def times_vector(data, x):
    """A sparse matrix times a vector."""
    return matrix(data) @ x


def times_matrix(data, b):
    """A sparse matrix times a dense one."""
    return matrix(data) @ b


def times_sparse(data):
    """A sparse matrix times itself, and a vector."""
    a = matrix(data)
    return (a @ a) @ X


def sums(data):
    """Sums of rows."""
    return matrix(data).sum(axis=1)


def scaled(data):
    """Elementwise products."""
    return matrix(data).multiply(2.0 + X[:, None]) @ X


def solved(middle, x):
    """A sparse system."""
    return linalg.spsolve(laplace(middle), x)


def factored(middle, x):
    """A sparse system, by its factors."""
    return linalg.splu(laplace(middle)).solve(x)


def iterated(middle, x):
    """A sparse system, by conjugate gradients."""
    return linalg.cg(laplace(middle), x)[0]


def applied(middle, x):
    """The exponential of a sparse matrix, times a vector."""
    return linalg.expm_multiply(laplace(middle) * -0.1, x)


MIDDLE = LAPLACE[1] + 0.1 * reals(N)

SAMPLES = [
    sample(made, reals(2000)),
    sample(times_vector, DATA, X),
    sample(times_matrix, DATA, B),
    sample(times_sparse, DATA),
    sample(sums, DATA),
    sample(scaled, DATA),
    sample(solved, MIDDLE, X),
    sample(factored, MIDDLE, X),
    sample(iterated, MIDDLE, X),
    sample(applied, MIDDLE, X),
    sample(csgraph.dijkstra, DENSE),
    sample(csgraph.floyd_warshall, DENSE),
    sample(csgraph.shortest_path, DENSE),
    sample(csgraph.laplacian, DENSE),
]
