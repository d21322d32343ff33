"""Programs about sparse arrays that share memory: with what they are made of, and with one another.

Arrays of scipy.sparse in every format, in order or not, with elements stored once or twice, are
crossed with ways to make another array of them (views, copies, other formats), ways to write into
one of the two or into the array of their entries, by the program or by SciPy's own methods (which
put entries in order and add them up in place), and ways to read them afterwards.
"""

from __future__ import annotations

import random

HEADER = """\
import operator
import warnings

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
W = np.cos(np.arange(64.0) * 1.3) + 0.2
C = np.linspace(0.5, 2.0, 6)


def read(a):
    m = a if isinstance(a, np.ndarray) else a.toarray()
    return np.sum(np.sin(m) * np.resize(W, m.shape)) + 0.3 * np.sum(m**2)


def entries(a):
    if a.format in ("lil", "dok"):
        return 0.0
    d = a.data
    return np.sum(np.real(d) ** 3 * np.resize(W, d.shape)) / 10


def program(x):
    s = 0.0
{body}
    return s


ARGUMENTS = (0.5 + 0.4 * np.sin(np.arange(6.0) + {start}.0),)
"""

# Each makes `y`, the entries.
ENTRIES = (
    "y = x.copy()",
    "y = x",
    "y = x * 1.0",
    "y = np.zeros(6)\ny[:] = x",
    "y = np.zeros(6)\ny[:3] = C[:3]\ny[3:] = x[3:]",
    "y = np.stack([x, x])[1]",
    "z = np.zeros(9)\nz[2:8] = x\ny = z[2:8]",
    "y = C.copy()",
    "y = C * x[0]",
)
# Each makes the sparse array `a`, of four rows and columns, of `y`.
MAKE = (
    "a = sp.{f}_{k}((y, (np.array([0, 1, 2, 0, 3, 3]), np.array([1, 2, 0, 0, 3, 1]))), (4, 4))",
    "a = sp.coo_{k}((y, (np.array([0, 1, 2, 0, 3, 3]), np.array([1, 2, 0, 0, 3, 1]))), (4, 4))",
    "a = sp.coo_{k}((y, (np.array([0, 1, 0, 0, 3, 1]), np.array([1, 2, 1, 0, 3, 2]))), (4, 4))",
    "a = sp.{c}_{k}((y, np.array([0, 2, 1, 0, 1, 3]), np.array([0, 2, 3, 4, 6])), shape=(4, 4))",
    "a = sp.{c}_{k}((y, np.array([2, 0, 1, 0, 3, 1]), np.array([0, 2, 3, 4, 6])), shape=(4, 4))",
    "a = sp.{c}_{k}((y, np.array([1, 1, 1, 0, 3, 3]), np.array([0, 2, 3, 4, 6])), shape=(4, 4))",
    "a = sp.{c}_{k}((y, np.array([0, 2, 1, 0, 1, 3]), np.array([0, 2, 3, 4, 6])), copy=True)",
    "a = sp.dia_{k}((y[:4].reshape(1, 4), np.array([0])), shape=(4, 4))",
    "a = sp.dia_{k}((np.stack([y[:4], y[2:]]), np.array([0, 1])), shape=(4, 4))",
    "a = sp.spdiags(y[:4].reshape(1, 4), np.array([1]), 4, 4)",
    "a = sp.bsr_{k}((y[:4].reshape(1, 2, 2), np.array([1]), np.array([0, 1, 1])), shape=(4, 4))",
    "a = sp.bsr_{k}((y[2:].reshape(1, 2, 2), np.array([0]), np.array([0, 0, 1])), shape=(4, 4))",
    "a = sp.diags_array([y[:4], y[:3]], offsets=[0, 1])",
)  # fmt: skip
# Each makes the array `b` of `a`.
DERIVE = (
    "b = a", "b = a.T", "b = a.transpose(copy=True)", "b = a.copy()", "b = a.tocsr(copy=False)",
    "b = a.tocsr(copy=True)", "b = a.tocsc()", "b = a.tocoo(copy=False)", "b = a.tocoo(copy=True)",
    "b = a.tobsr(blocksize=(1, 1))", "b = a.tobsr(blocksize=(2, 2))", "b = a.todia()",
    "b = a.tolil()", "b = a.todok()", "b = a.reshape((2, 8))", "b = a.reshape((16, 1), copy=True)",
    "b = a.real", "b = a.imag", "b = a.conj(copy=False)", "b = a.conjugate()",
    "b = a.astype(float, copy=False)", "b = a.astype(float)", "b = a.asformat(a.format)",
    "b = a.asformat('csr', copy=False)", "b = type(a)(a)", "b = type(a)(a, copy=True)",
    "b = sp.csr_array(a)", "b = sp.coo_array(a)", "b = sp.csc_array(a)", "b = sp.lil_array(a)",
    "b = sp.lil_array(sp.lil_array(a))", "b = sp.dok_array(sp.dok_array(a))", "b = -a",
    "b = a * 2.0", "b = abs(a)", "b = a + 0", "b = sp.hstack([a])", "b = sp.vstack([a])",
    "b = sp.tril(a)", "b = a.tocsr()[1:3]", "b = a.tocsr().T.T", "b = a.T.tocoo().T",
    "b = a.tocoo().tobsr(blocksize=(1, 1))", "b = a.tocsr().sorted_indices()", "b = a.T.conj().T",
    "b = sp.permute_dims(sp.coo_array(a), (1, 0))", "b = a.tocsr().tobsr(blocksize=(1, 1)).tocoo()",
)  # fmt: skip
# Each writes into `y`, into `a` or into `b`, or has SciPy do so.
WRITE = (
    "y[0] = {v}", "y *= {n}", "y[1:4] = {v}", "y[...] = y * y", "y[::2] += x[::2]",
    "np.multiply(y, {n}, out=y)", "{t} *= {n}", "{t} *= {v}", "{t} /= {n}", "{t} /= {v}",
    "{t}.data[...] = {t}.data * {t}.data", "{t}.data[0] = {v}", "{t}.data *= {n}",
    "{t}.data.fill({n})", "d = {t}.data\nd[-1:] = {v}", "{t}.data = {t}.data * {v}",
    "{t}.data.sort()", "{t}[0, 0] = {v}", "{t}[1, 0] = {v}", "{t}[0, 1] = {n}",
    "{t}[0, :2] = {v}", "{t}.setdiag({v})", "{t}.setdiag(x[:4])", "{t}.setdiag(x[:3], k=1)",
    "{t}.sort_indices()", "{t}.sum_duplicates()", "{t}.eliminate_zeros()",
    "y[1] = 0.0\n{t}.eliminate_zeros()", "{t}.data[-1] = 0.0\n{t}.eliminate_zeros()",
    "{t}.prune()", "{t}.resize((3, 4))", "{t}.resize((5, 5))", "{t}.count_nonzero()",
    "{t}.max()", "{t}.max(axis=1)", "{t}.argmax(axis=0)", "{t}.argmin()", "({t} > 0.4).nnz",
    "({t} != 0.1).nnz", "{t}.sin()", "{t}.power(2)", "{t}.maximum(0.2)", "spl.norm({t})",
    "spl.expm({t})", "{t}.tocsr()[0]", "{t}.todok()", "(-{t}).sort_indices()",
    "({t} * 2.0).sum_duplicates()", "{t}.real.sort_indices()", "{t}.T.sort_indices()",
    "sp.find({t})", "{t}.nonzero()", "{t}.indices[0] = 3", "{t}.diagonal()[0] = {v}",
    "{t}.toarray()[...] = 0.0", "setattr({t}, 'data', {t}.data[::-1])",
    "operator.imul({t}, {n})", "{t}.__imul__({v})", "{t}[{t}.nonzero()] = {n}",
)  # fmt: skip
# Each adds something to `s`.
READ = (
    "s = s + read(a)", "s = s + read(b)", "s = s + np.sum(y * y * C)", "s = s + entries(b)",
    "s = s + entries(a)", "s = s + np.sum((b @ np.ones(b.shape[1])) ** 2)", "s = s + a.sum()",
    "s = s + read(b.T)", "s = s + a.tocsr()[0, 1]", "s = s + b.diagonal() @ W[: min(b.shape)]",
    "s = s + y[0] * x[1]",
)  # fmt: skip


def write(seed: int) -> str:
    """Return the source of a program."""
    rng = random.Random(seed)
    parts = [_filled(rng, ENTRIES), _filled(rng, MAKE), _filled(rng, DERIVE)]
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.3:
            parts.append(_filled(rng, READ))
        parts.append(_filled(rng, WRITE))
    parts += rng.sample(READ, rng.randint(2, 4))
    parts += ["s = s + read(a) + 2.0 * read(b) + np.sum(np.cos(y) * W[:6])"]
    body = "".join(f"    {line}\n" for part in parts for line in part.splitlines())
    return HEADER.format(body=body.rstrip(), start=rng.randrange(9))


def _filled(rng: random.Random, phrases: tuple[str, ...]) -> str:
    return rng.choice(phrases).format(
        f=rng.choice(("coo", "csr", "csc", "lil", "dok", "bsr")),
        c=rng.choice(("csr", "csc")),
        k=rng.choice(("array", "array", "array", "matrix")),
        n=rng.choice((0.5, 2.0, -1.5)),
        t=rng.choice(("a", "b")),
        v=rng.choice(("x[1] * 2.0", "x[0] * x[2]", "np.sin(x[3])", "1.5")),
    )
