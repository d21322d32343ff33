"""Sample calls of the methods of all classes of sparse arrays and matrices."""

import numpy as np
import scipy.sparse as sp

D = np.array(
    [[0.4, 0.0, 0.75, 0.3], [0.0, 0.6, -0.45, 0.0], [-0.8, 0.2, 0.0, 0.55], [0.7, 0, 0, 0]]
)
E = np.array([[0.0, 0.3, 0.2, 0.9], [-0.6, 0.5, 0.0, 0.35], [0.4, 0.0, 0.0, 0.8], [0, 0.9, 0.1, 0]])
W = np.array([0.5, 0.25, -0.35, 0.6])
PLACES = {np.count_nonzero(m): np.nonzero(m) for m in (D, E)}
D_ENTRIES, E_ENTRIES = D[np.nonzero(D)], E[np.nonzero(E)]
FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]
WITH_DATA = ("bsr", "coo", "csc", "csr", "dia")
WITHOUT_INDEXING = ("bsr", "dia")


def made(cls, entries):
    """An array with these entries, in the places of D or of E, in memory of its own."""
    return cls(sp.coo_array((1.0 * entries, PLACES[len(entries)]), shape=D.shape))


def of_one(**options):
    """A body that calls a method of a sparse array."""
    return lambda cls, call, x: numbers(call(made(cls, x), **options))


def numbers(y):
    return y.toarray() if sp.issparse(y) else y


def of(*given):
    return lambda cls, call, x: numbers(call(made(cls, x), *given))


def of_two(cls, call, x, y):
    return numbers(call(made(cls, x), made(cls, y)))


def times(cls, call, x, w):
    return call(made(cls, x), w)


def scaled_in_place(cls, call, x, c):
    m = made(cls, x)
    m = call(m, c)
    return m.toarray()


def changed_in_place(cls, call, x, y):
    m = made(cls, x)
    m += made(cls, y)
    m -= 2.0 * made(cls, y)
    return m.toarray()


def reflected(cls, call, x, y):
    return numbers(call(made(cls, x), y))


def written(*given):
    def body(cls, call, x):
        m = made(cls, x)
        call(m, *given)
        return m.toarray()

    return body


def set_item(cls, call, x, a, w):
    m = made(cls, x)
    m[1, 2] = a
    m[0, :] = w
    m[3, 0] = a * a
    return m.toarray()


def set_diagonal(cls, call, x, w):
    m = made(cls, x)
    call(m, w)
    return m.toarray()


def elements(cls, call, x):
    m = made(cls, x)
    found = m[0, 2] * m[2, 1], m[1:3].toarray()
    if isinstance(m, sp.spmatrix):  # lists of rows and columns make an np.matrix of it
        return found
    return *found, m[:, 3].toarray(), m[[0, 2], [3, 0]]


ALL = [
    ("T transpose conj conjugate copy real imag toarray", of_one(), D_ENTRIES),
    ("tobsr tocoo tocsc tocsr todia todok tolil", of_one(), D_ENTRIES),
    ("__abs__ __neg__ trace sum mean diagonal", of_one(), D_ENTRIES),
    ("asformat", of("csr"), D_ENTRIES),
    ("astype", of(complex), D_ENTRIES),
    ("reshape", of((2, 8)), D_ENTRIES),
    ("power __pow__", of(2), D_ENTRIES),
    ("__add__ __sub__ __matmul__ multiply maximum minimum dot", of_two, D_ENTRIES, E_ENTRIES),
    ("__truediv__", lambda cls, call, x, c: numbers(call(made(cls, x), c)), D_ENTRIES, 1.7),
    ("__mul__ multiply", lambda cls, call, x, c: numbers(call(made(cls, x), c)), D_ENTRIES, 1.7),
    ("__rmul__", lambda cls, call, x, c: numbers(c * made(cls, x)), D_ENTRIES, 1.7),
    ("__radd__", lambda cls, call, x: numbers(0 + made(cls, x)), D_ENTRIES),
    ("__rsub__", lambda cls, call, x: numbers(0 - made(cls, x)), D_ENTRIES),
    ("__matmul__ dot", times, D_ENTRIES, W),
    ("__rmatmul__", lambda cls, call, x, w: w @ made(cls, x), D_ENTRIES, W),
    ("__imul__ __itruediv__", scaled_in_place, D_ENTRIES, 1.7),
    ("__iadd__ __isub__", changed_in_place, D_ENTRIES, E_ENTRIES),
    ("resize", written((3, 5)), D_ENTRIES),
    ("__iter__", lambda cls, call, x: [numbers(row) for row in made(cls, x).tocsr()], D_ENTRIES),
]
DIAGONALS = [("setdiag", set_diagonal, D_ENTRIES, W)]  # of blocks it fails in SciPy itself
DATA = [
    ("arcsin arcsinh arctan arctanh deg2rad expm1 log1p rad2deg sin sinh sqrt tan tanh", of_one(),
     np.abs(D_ENTRIES)),
]  # fmt: skip
EXTREMA = [("max min nanmax nanmin", of_one(), D_ENTRIES)]
INDEXED = [("__getitem__", elements, D_ENTRIES), ("__setitem__", set_item, D_ENTRIES, 0.7, W)]
STORED_ONCE = [("sorted_indices", of_one(), D_ENTRIES)]
TENSORS = [("tensordot", of_two, D_ENTRIES, E_ENTRIES)]
ROWS = [("getrow", of(1), D_ENTRIES)]
MATRICES = [
    ("__mul__", times, D_ENTRIES, W),
    ("__rmul__", lambda cls, call, x, c: numbers(c * made(cls, x)), D_ENTRIES, 1.7),
    ("getH asfptype", of_one(), D_ENTRIES),
    ("getrow getcol", of(1), D_ENTRIES),
]
KEYS = [
    (
        "get",
        lambda cls, call, x: (call(made(cls, x), (0, 2)), call(made(cls, x), (0, 1), 0.0)),
        D_ENTRIES,
    ),
    ("items", lambda cls, call, x: [v for _, v in call(made(cls, x))], D_ENTRIES),
    ("values", lambda cls, call, x: list(call(made(cls, x))), D_ENTRIES),
    ("pop", lambda cls, call, x: popped(made(cls, x), call), D_ENTRIES),
    ("popitem", lambda cls, call, x: popped_item(made(cls, x), call), D_ENTRIES),
    ("setdefault", lambda cls, call, x, a: defaulted(made(cls, x), call, a), D_ENTRIES, 0.7),
    ("fromkeys", lambda cls, call, a: call(cls, [(0, 1), (2, 0)], a).toarray(), 0.7),
    ("update", lambda cls, call, x, a: updated(made(cls, x), call, a), D_ENTRIES, 0.7),
]


def popped(m, call):
    return call(m, (0, 2)), m.toarray()


def popped_item(m, call):
    _, value = call(m)
    return value, m.toarray()


def defaulted(m, call, a):
    return call(m, (0, 1), a), call(m, (0, 2), a), m.toarray()


def updated(m, call, a):
    call(m, {(0, 1): a, (0, 2): a * a})
    return m.toarray()


def rows_of(format, kind):
    """The rows of a class: those of its format, and of matrices what only they have."""
    matrix = kind == "matrix"
    rows = [("todense", of_one(), D_ENTRIES)] if kind == "array" else []
    rows += [row for row in ALL if not (matrix and row[0].startswith(("__mul__", "__rmul__")))]
    if format in WITH_DATA:
        rows += DATA
    if format != "bsr":
        rows += DIAGONALS
    if format in ("bsr", "coo", "csc", "csr"):
        rows += EXTREMA
    if format not in WITHOUT_INDEXING and not (matrix and format == "coo"):
        rows += INDEXED
    if format in ("bsr", "csc", "csr"):
        rows += STORED_ONCE
    if format == "coo":
        rows += TENSORS
    if format == "lil":
        rows += ROWS
    if format == "dok":
        rows += KEYS
    return rows + MATRICES if matrix else rows


SAMPLES = {
    f"scipy.sparse.{format}_{kind}": rows_of(format, kind)
    for format in FORMATS
    for kind in ("array", "matrix")
}
