"""Programs of arrays that are written into, reused and converted."""

import numpy as np

X = [0.7, 1.3, 2.1, 0.4]


def nditer_write(x):
    y = x.copy()
    with np.nditer(y, op_flags=["readwrite"]) as it:
        for v in it:
            v[...] = 2 * v + 1
    return (y**2).sum()


def complex_array_fill(x):
    z = np.zeros(4, complex)
    z.real = x
    z.imag[1:] = x[:-1] ** 2
    z[0] += 1j * x[3]
    z *= np.exp(1j * x[0])
    z.imag *= 2
    return (z * z.conj()).real.sum() + z.imag @ z.real


def zero_d_arrays(x):
    a = np.array(x[0])
    b = np.asarray(x[1])
    c = a[()] * b
    d = np.zeros(())
    d[()] = x[2]
    d += a
    d[...] *= 2
    e = np.float64(x[3])
    a2 = a.copy()
    a2[...] = e
    return float(c + d + a2.item() ** 2 + np.array([a, b, d]).prod())


def views_written_through(x):
    A = np.zeros((3, 4))
    A[1] = x
    B = A.T
    B[0, 0] = x[0] * 3
    C = A.reshape(-1)
    C[::5] += x[1]
    D = A[:, ::-1]
    D[2] = x**2
    E = A.ravel()
    E[3] *= 2
    A.flat[1] = x[3]
    np.fill_diagonal(A[:, 1:], x[2])
    A[[0, 1]] += 1
    V = A.swapaxes(0, 1)[1:3]
    V -= x[0]
    return (A**2).sum() + B[3, 2] * C[4]


def out_positional(x):
    buf = np.empty(4)
    np.sin(x, buf)
    np.add(buf, x, buf)
    np.multiply(buf, 2.0, out=buf, where=x > 0.5)
    s = np.zeros(())
    np.add.reduce(buf, 0, None, s)
    c = np.empty((4, 4))
    np.outer(x, buf, c)
    np.cumsum(c, axis=0, out=c)
    m = np.empty(4)
    c.max(0, m)
    np.clip(m, 0, 5, m)
    return float(s) + m @ buf + c[2, 3]


def masked_assignment(x):
    y = np.zeros((2, 4))
    y[:, x > 1] = x[x > 1]
    y[1][x < 1] = 7 * x[0]
    y[y == 0] = x[3]
    y[y > 2] **= 2
    y[..., -1] -= x.mean()
    np.putmask(y, y > 10, y * 0.5)
    np.place(y, y < 0.1, [x[1], x[2]])
    np.copyto(y, 3 * x, where=np.array([[0, 1, 0, 0], [0, 0, 0, 1]], bool))
    return y.sum() * y[1, 1]


def fancy_accumulate(x):
    h = np.zeros(5)
    np.add.at(h, [0, 1, 1, 4], x)
    np.maximum.at(h, [1, 2], x[:2])
    np.multiply.at(h, np.array([0, 0]), x[2])
    h[[0, 0, 3]] += x[:3]
    idx = np.digitize(x, [0.5, 1.0, 2.0])
    h[idx] += np.sin(x)
    g = np.zeros((2, 2))
    g[np.unravel_index([0, 3, 3], (2, 2))] = x[:3]
    return h @ h + g[1, 1] * g[0, 0]


class Tagged(np.lib.mixins.NDArrayOperatorsMixin):
    def __init__(self, v):
        self.v = v

    def __array_ufunc__(self, uf, method, *ins, **kw):
        ins = [i.v if isinstance(i, Tagged) else i for i in ins]
        return Tagged(getattr(uf, method)(*ins, **kw))


def array_ufunc_mixin(x):
    t = Tagged(x) * 2 + np.sin(Tagged(x**2))
    u = np.add.reduce(t)
    v = -t / (1 + t)
    return float(u.v) + v.v[1] * (3.0 - t).v[2] + (t > 1).v.sum() * x[0]


class Wrapped:
    def __init__(self, a):
        self.a = a

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.a)


def dunder_array_traced(x):
    w = Wrapped(x * 2)
    return (
        np.sum(np.asarray(w)) + np.sum(np.sin(np.array(w))) + (x * w).sum() + (w - x)[1]
        if False
        else np.sum(np.asarray(w))
        + np.sum(np.sin(w))
        + (x * w).sum() * np.dot(w, x)
        + np.linalg.norm(w)
        + np.concatenate([x, np.array(w)]).sum()
    )


def list_const_mutated(x):
    L = [1.0, 2.0, 3.0, 4.0]
    y = np.dot(L, x)
    L[0] = 100.0
    return y * y


def bool_mask_reused(x):
    m = np.zeros(4, bool)
    s = 0.0
    for i in range(4):
        m[:] = False
        m[i] = True
        s += np.where(m, x**2, 0).sum() * (i + 1)
        s += x[m][0]
    return s


def int_index_reused(x):
    idx = np.zeros(2, int)
    s = 0.0
    for i in range(3):
        idx[0] = i
        idx[1] = i + 1
        s += x[idx].prod() * (i + 1) + np.take(x, idx).sum()
    return s


def index_list_mutated(x):
    i = [0, 2]
    y = x[i]
    i[0] = 3
    z = x[i]
    np.add.at(z, [0, 0], 1.0)
    return (y * z).sum()


def shape_list_mutated(x):
    sh = [2, 2]
    y = x.reshape(sh)
    sh[0] = 4
    perm = [1, 0]
    z = np.transpose(y, perm)
    perm.reverse()
    return (y * z)[0, 1] + z[1, 0] ** 2


def select_condlist(x):
    cl = [x > 1, x > 0]
    y = np.select(cl, [x**2, x])
    cl.reverse()
    ch = [x, x**3]
    z = np.choose([0, 1, 1, 0], ch)
    ch.reverse()
    return (y * z).sum()


PROGRAMS = [(f, X) for f in [
    nditer_write, complex_array_fill, zero_d_arrays, views_written_through, out_positional,
    masked_assignment, fancy_accumulate, array_ufunc_mixin, dunder_array_traced,
    list_const_mutated, bool_mask_reused, int_index_reused, index_list_mutated, shape_list_mutated,
    select_condlist,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
