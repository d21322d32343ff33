"""Programs of numbers as people write them: tables, factorisations, filters, nets, prices."""

# ruff: noqa: N802, N805

import math

import numpy as np

X = [0.7, 1.3, 2.1, 0.4]


def viterbi_backtrack(x):
    T = np.log(np.array([[0.7, 0.3], [0.4, 0.6]]))
    E = np.stack([-((np.arange(3) - x[0]) ** 2), -((np.arange(3) - x[1]) ** 2) * x[2]])
    V = np.zeros((3, 2))
    back = np.zeros((3, 2), int)
    V[0] = E[:, 0] + math.log(0.5)
    for t in range(1, 3):
        cand = V[t - 1][:, None] + T * x[3]
        back[t] = cand.argmax(axis=0)
        V[t] = cand.max(0) + E[:, t]
    path = [int(V[-1].argmax())]
    for t in range(2, 0, -1):
        path.insert(0, back[t, path[0]])
    return V[-1].max() + sum(E[s, t] for t, s in enumerate(path))


def soft_needleman_wunsch(x):
    n, m = 3, 4
    S = np.sin(np.add.outer(x[:3], x))
    D = np.zeros((n + 1, m + 1))
    D[1:, 0] = -np.arange(1, n + 1) * x[0]
    D[0, 1:] = -np.arange(1, m + 1) * x[1]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            o = np.array(
                [D[i - 1, j - 1] + S[i - 1, j - 1], D[i - 1, j] - x[2], D[i, j - 1] - x[3]]
            )
            mx = o.max()
            D[i, j] = mx + np.log(np.exp(o - mx).sum())
    return D[-1, -1]


def lu_pivot_permutation(x):
    A = np.array([[x[0], 2.0, x[1]], [3.0, x[2], 1.0], [x[3], -1.0, 4.0]])
    n = 3
    P = list(range(n))
    sign = 1
    for k in range(n):
        p = k + int(np.argmax(np.abs(A[k:, k])))
        if p != k:
            A[[k, p]] = A[[p, k]]
            P[k], P[p] = P[p], P[k]
            sign = -sign
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return sign * np.prod(np.diagonal(A)) + P[0]


def qr_givens(x):
    A = np.outer(x[:3], [1.0, 2.0, -1.0]) + np.diag(x[1:])
    for j in range(3):
        for i in range(2, j, -1):
            a, b = A[i - 1, j], A[i, j]
            r = math.hypot(a, b)
            c, s = a / r, -b / r
            G = np.array([[c, -s], [s, c]])
            A[[i - 1, i], :] = G @ A[[i - 1, i], :]
    return A[0, 0] * A[1, 2] + A[2, 2]


def verlet_nbody(x):
    n = 3
    pos = np.array([[0.0, 0.0], [1.0, x[0]], [-1.0, x[1]]])
    vel = np.zeros((n, 2))
    vel[1, 1] = x[2]
    vel[2] = [0.1, x[3]]
    m = np.array([3.0, 1.0, 0.5])

    def acc(p):
        a = np.zeros_like(p)
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                d = p[j] - p[i]
                a[i] += m[j] * d / (np.dot(d, d) + 0.1) ** 1.5
        return a

    a = acc(pos)
    for _ in range(5):
        pos += vel * 0.1 + 0.5 * a * 0.01
        new = acc(pos)
        vel += 0.5 * (a + new) * 0.1
        a = new
    return 0.5 * np.sum(m[:, None] * vel**2) + pos[1, 0] * pos[2, 1]


def particle_filter(x):
    rng = np.random.default_rng(3)
    parts = rng.normal(size=20) * x[1]
    ll = 0.0
    for z in (0.2, 0.5, 0.1):
        parts = x[0] * parts + x[2] * rng.standard_normal(20)
        w = np.exp(-0.5 * ((z - parts) / x[3]) ** 2) / x[3]
        ll += np.log(w.mean())
        w = w / w.sum()
        idx = np.searchsorted(np.cumsum(w), (np.arange(20) + 0.5) / 20).clip(max=19)
        parts = parts[idx]
    return ll + parts.mean()


def em_step_gmm(x):
    data = np.array([0.1, 0.2, 0.9, 1.1, 2.0, 2.2])
    mu = x[:2].copy()
    pi = np.array([0.4, 0.6])
    s = x[2:]
    for _ in range(3):
        r = pi * np.exp(-0.5 * ((data[:, None] - mu) / s) ** 2) / s
        r = r / r.sum(axis=1, keepdims=True)
        nk = r.sum(0)
        mu = (r * data[:, None]).sum(0) / nk
        s = np.sqrt((r * (data[:, None] - mu) ** 2).sum(0) / nk)
        pi = nk / len(data)
    return mu @ s + pi[0]


def pca(x):
    M = np.array([[1.0, 2, 0.5], [0.3, 1, 2], [2, 0.1, 1], [1.5, 1.2, 0.7]]) * x[:, None]
    M = M - M.mean(axis=0)
    C = M.T @ M / 3
    w, V = np.linalg.eigh(C)
    order = np.argsort(w)[::-1]
    w, V = w[order], V[:, order]
    proj = M @ V[:, :2]
    return (proj**2).sum() / w.sum() + (V[:, 0] ** 2) @ [1, 2, 3]


def conv2d_loops(x):
    img = np.sin(np.arange(36.0)).reshape(6, 6)
    k = x.reshape(2, 2)
    out = np.zeros((5, 5))
    for i in range(5):
        for j in range(5):
            out[i, j] = np.sum(img[i : i + 2, j : j + 2] * k)
    out = np.maximum(out, 0)
    pool = out[:4, :4].reshape(2, 2, 2, 2).max(axis=(1, 3))
    return pool.sum() + (out**2).mean()


def multihead_attention(x):
    S = np.sin(np.outer(np.arange(3) + 1, np.r_[x, x**2]))
    H, D = 2, 4
    q = S.reshape(3, H, D).transpose(1, 0, 2)
    k = np.cos(q)
    v = q[..., ::-1]
    sc = q @ k.swapaxes(-1, -2) / np.sqrt(D)
    sc = np.where(np.tril(np.ones((3, 3), bool)), sc, -np.inf)
    a = np.exp(sc - sc.max(-1, keepdims=True))
    a /= a.sum(-1, keepdims=True)
    return np.einsum("hqk,hkd->qhd", a, v).reshape(3, -1).std()


def american_binomial(x):
    S, K, r, n = 100.0 * x[0], 75.0, 0.05 * x[1], 5
    dt = x[2] / n
    u = math.exp(0.3 * x[3] * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(r * dt) - d) / (u - d)
    V = np.maximum(K - S * u ** np.arange(n, -n - 1, -2), 0)
    for i in range(n - 1, -1, -1):
        V = np.maximum(
            np.exp(-r * dt) * (p * V[:-1] + (1 - p) * V[1:]),
            K - S * u ** np.arange(i, -i - 1, -2.0),
        )
    return float(V[0])


def natural_cubic_spline(x):
    t = np.array([0.0, 1, 2, 3])
    h = np.diff(t)
    n = 4
    A = np.zeros((n, n))
    b = np.zeros(n)
    A[0, 0] = A[-1, -1] = 1
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        b[i] = 3 * ((x[i + 1] - x[i]) / h[i] - (x[i] - x[i - 1]) / h[i - 1])
    c = np.linalg.solve(A, b)
    d = np.diff(c) / (3 * h)
    bb = np.diff(x) / h - h * (2 * c[:-1] + c[1:]) / 3
    q = 1.4
    i = np.searchsorted(t, q) - 1
    dx = q - t[i]
    return x[i] + bb[i] * dx + c[i] * dx**2 + d[i] * dx**3


def fft_by_recursion(x):
    def fft(a):
        n = len(a)
        if n == 1:
            return a
        e, o = fft(a[::2]), fft(a[1::2])
        w = np.exp(-2j * np.pi * np.arange(n // 2) / n)
        return np.concatenate([e + w * o, e - w * o])

    return np.sum(np.abs(fft(np.concatenate([x, np.sin(x)]).astype(complex))) ** 3)


def fem_assembly(x):
    nodes = np.array([0.0, 0.7, 1.5, 2.0, 3.0])
    K = np.zeros((5, 5))
    f = np.zeros(5)
    for e in range(4):
        h = nodes[e + 1] - nodes[e]
        ke = x[e] / h * np.array([[1, -1], [-1, 1]])
        idx = [e, e + 1]
        K[np.ix_(idx, idx)] += ke
        np.add.at(f, idx, h / 2 * x[e] ** 2)
    free = [1, 2, 3]
    u = np.zeros(5)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], f[free])
    return u @ K @ u + u.max()


def quaternion_class(x):
    class Q:
        def __init__(s, w, *v):
            s.w, s.v = w, np.array(v[0] if len(v) == 1 else v)

        def __mul__(s, o):
            return Q(s.w * o.w - s.v @ o.v, s.w * o.v + o.w * s.v + np.cross(s.v, o.v))

        def conj(s):
            return Q(s.w, -s.v)

        @classmethod
        def axis(cls, a, th):
            return cls(math.cos(th / 2), np.asarray(a) * math.sin(th / 2))

    q = Q.axis([0, 0, 1.0], x[0]) * Q.axis([1.0, 0, 0], x[1])
    r = q * Q(0.0, x[1], x[2], x[3]) * q.conj()
    return r.v @ np.array([1.0, 2.0, 3.0]) + r.w


def adam_inside(x):
    w = np.zeros(2)
    m = np.zeros_like(w)
    v = np.zeros_like(w)
    b1, b2 = 0.9, 0.99
    for t in range(1, 6):
        g = 2 * (w - x[:2]) + x[2] * np.cos(w)
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g**2
        w = w - 0.1 * x[3] * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + 1e-8)
    return w @ w


def multigrid_vcycle(x):
    def smooth(u, f, h):
        for _ in range(2):
            u = u.copy()
            u[1:-1] = 0.5 * (u[2:] + u[:-2] + h * h * f[1:-1])
        return u

    def V(u, f, h):
        u = smooth(u, f, h)
        if len(u) <= 3:
            return u
        r = np.zeros_like(u)
        r[1:-1] = f[1:-1] + (u[2:] - 2 * u[1:-1] + u[:-2]) / h**2
        e = V(np.zeros(len(u) // 2 + 1), r[::2], 2 * h)
        ef = np.zeros_like(u)
        ef[::2] = e
        ef[1::2] = 0.5 * (e[1:] + e[:-1])
        return smooth(u + ef, f, h)

    f = np.zeros(9)
    f[1:5] = x
    f[5:8] = x[:3] ** 2
    return (V(np.zeros(9), f, 0.125) * 100).sum()


def fdtd_maxwell(x):
    E, H = np.zeros(20), np.zeros(19)
    eps = np.ones(20)
    eps[10:] = 1 + x[0] ** 2
    tr = []
    for n in range(15):
        H += 0.5 * (E[1:] - E[:-1])
        E[1:-1] += 0.5 / eps[1:-1] * (H[1:] - H[:-1])
        E[5] += math.exp(-(((n - 5) / (2 * x[1])) ** 2)) * x[2]
        tr.append(E[9])
    return sum(t * t for t in tr) * x[3]


PROGRAMS = [(f, X) for f in [
    viterbi_backtrack, soft_needleman_wunsch, lu_pivot_permutation, qr_givens, verlet_nbody,
    particle_filter, em_step_gmm, pca, conv2d_loops, multihead_attention, american_binomial,
    natural_cubic_spline, fft_by_recursion, fem_assembly, quaternion_class, adam_inside,
    multigrid_vcycle, fdtd_maxwell,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
