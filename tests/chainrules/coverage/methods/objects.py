"""Sample calls of the methods of rotations, operators, solvers and systems."""

import numpy as np
import scipy.sparse as sp
from scipy import integrate, signal
from scipy.spatial import transform

Q = np.array([[0.3, -0.7, 0.55, 0.85], [0.2, 0.4, -0.6, 0.9], [-0.5, 0.1, 0.8, 0.7]])
VECTORS = np.array([[0.4, -0.2, 0.75], [0.15, 0.6, -0.45], [0.9, 0.3, 0.2]])
OTHERS = VECTORS[::-1] + 0.1 * np.cos(np.arange(9.0)).reshape(3, 3)
AXES = np.eye(3)[[2, 1, 0]]
SHIFT = np.array([0.3, -0.7, 0.55])
DUAL = np.array([0.1, 0.2, -0.3, 0.9, 0.4, -0.5, 0.2, 0.3])


def rotation(q):
    return transform.Rotation.from_quat(q)


def of(*given, **options):
    """A body that calls a method of rotations made of quaternions."""
    return lambda cls, call, q: call(cls.from_quat(q), *given, **options)


def matrix_of(y):
    return y.as_matrix()


ROTATION = [
    ("apply", lambda cls, call, q, v: call(cls.from_quat(q), v), Q, VECTORS),
    ("as_matrix as_mrp as_quat as_rotvec magnitude", of(), Q),
    ("as_euler", of("xyz"), Q),
    ("as_davenport", of(AXES, "extrinsic"), Q),
    ("inv mean", lambda cls, call, q: matrix_of(call(cls.from_quat(q))), Q),
    ("reduce", lambda cls, call, q: matrix_of(call(cls.from_quat(q), cls.create_group("C2"))), Q),
    ("from_quat", lambda cls, call, q: matrix_of(call(cls, q)), Q),
    ("from_rotvec from_mrp", lambda cls, call, v: matrix_of(call(cls, v)), VECTORS),
    ("from_matrix", lambda cls, call, m: matrix_of(call(cls, m)), VECTORS + np.eye(3)),
    ("from_euler", lambda cls, call, a: matrix_of(call(cls, "ZYX", a)), VECTORS),
    ("from_davenport", lambda cls, call, a: matrix_of(call(cls, AXES, "extrinsic", a)), VECTORS),
    ("concatenate", lambda cls, call, q: matrix_of(call(cls, [rotation(q), rotation(q[0])])), Q),
    ("align_vectors", lambda cls, call, a, b: aligned(call(cls, a, b)), VECTORS, OTHERS),
    ("__getitem__", lambda cls, call, q: matrix_of(cls.from_quat(q)[1]), Q),
    ("__iter__", lambda cls, call, q: [matrix_of(r) for r in cls.from_quat(q)], Q),
    ("__mul__", lambda cls, call, q: matrix_of(cls.from_quat(q) * cls.from_quat(q[0])), Q),
    ("__pow__", lambda cls, call, q: matrix_of(cls.from_quat(q) ** 0.7), Q),
]


def aligned(y):
    r, distance = y
    return r.as_matrix(), distance


def rigid(cls, q, t):
    return cls.from_components(t, rotation(q))


RIGID = [
    ("apply", lambda cls, call, q, t, v: call(rigid(cls, q, t), v), Q[0], SHIFT, VECTORS),
    ("as_matrix as_dual_quat as_exp_coords translation",
     lambda cls, call, q, t: call(rigid(cls, q, t)), Q[0], SHIFT),
    ("rotation", lambda cls, call, q, t: matrix_of(call(rigid(cls, q, t))), Q[0], SHIFT),
    ("as_components", lambda cls, call, q, t: components(call(rigid(cls, q, t))), Q[0], SHIFT),
    ("inv", lambda cls, call, q, t: matrix_of(call(rigid(cls, q, t))), Q[0], SHIFT),
    ("mean", lambda cls, call, q, t: matrix_of(call(rigid(cls, q, t))), Q, VECTORS),
    ("concatenate", lambda cls, call, q, t: matrix_of(call(cls, [rigid(cls, q, t)] * 2)), Q[0],
     SHIFT),
    ("from_components", lambda cls, call, q, t: matrix_of(call(cls, t, rotation(q))), Q[0], SHIFT),
    ("from_dual_quat", lambda cls, call, d: matrix_of(call(cls, d)), DUAL),
    ("from_exp_coords", lambda cls, call, d: matrix_of(call(cls, d)), DUAL[:6]),
    ("from_matrix", lambda cls, call, q, t: matrix_of(call(cls, rigid(cls, q, t).as_matrix())),
     Q[0], SHIFT),
    ("from_rotation", lambda cls, call, q: matrix_of(call(cls, rotation(q))), Q),
    ("from_translation", lambda cls, call, t: matrix_of(call(cls, t)), SHIFT),
    ("__getitem__", lambda cls, call, q, t: matrix_of(rigid(cls, q, t)[1]), Q, VECTORS),
    ("__iter__", lambda cls, call, q, t: [matrix_of(r) for r in rigid(cls, q, t)], Q, VECTORS),
    ("__mul__", lambda cls, call, q, t: matrix_of(rigid(cls, q, t) * rigid(cls, q, t)), Q[0],
     SHIFT),
    ("__pow__", lambda cls, call, q, t: matrix_of(rigid(cls, q, t) ** 0.7), Q[0], SHIFT),
]  # fmt: skip


def components(y):
    translation, turned = y
    return translation, turned.as_matrix()


M = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [-0.3, 0.45, 1.8]])
X = np.array([0.4, -0.9, 0.7])


def operator(m):
    return sp.linalg.aslinearoperator(m)


OPERATOR = [
    ("matvec rmatvec dot __call__ __matmul__ __mul__",
     lambda cls, call, m, x: call(operator(m), x), M, X),
    ("matmat rmatmat", lambda cls, call, m, x: call(operator(m), x), M, M.T.copy()),
    ("T H adjoint transpose", lambda cls, call, m, x: call(operator(m)) @ x, M, X),
    ("__neg__", lambda cls, call, m, x: (-operator(m)) @ x, M, X),
    ("__add__ __sub__", lambda cls, call, m, x: call(operator(m), operator(m.T)) @ x, M, X),
    ("__pow__", lambda cls, call, m, x: call(operator(m), 2) @ x, M, X),
    ("__truediv__", lambda cls, call, m, c: call(operator(m), c) @ X, M, 1.7),
    ("__rmul__", lambda cls, call, m, c: (c * operator(m)) @ X, M, 1.7),
    ("__rmatmul__", lambda cls, call, m, x: x @ operator(m), M, X),
]  # fmt: skip


def factors(m):
    return sp.linalg.splu(sp.csc_array(m))


SUPER_LU = [
    ("solve", lambda cls, call, m, x: call(factors(m), x), M, X),
    ("L U", lambda cls, call, m: call(factors(m)).toarray(), M),
]


def spring(k):
    return lambda t, y: np.array([y[1], -k * y[0] - 0.2 * y[1]])


def stepped(cls, call, k, y):
    # Steps of a fixed size: differences would see the others move.
    solver = cls(spring(k), 0.0, y, 1.0, max_step=0.05, rtol=1.0, atol=1.0, **first(cls))
    for _ in range(3):
        call(solver)
    return solver.y, solver.t


def first(cls):
    return {"first_step": 0.05}


def dense(cls, call, k, y):
    solver = cls(spring(k), 0.0, y, 1.0, max_step=0.05, rtol=1.0, atol=1.0, **first(cls))
    for _ in range(3):
        solver.step()
    return call(solver)(0.12)


START = np.array([1.0, 0.2])
SOLVER = [("step", stepped, 1.3, START), ("dense_output", dense, 1.3, START)]


def solution(k, y):
    return integrate.solve_ivp(
        spring(k), (0, 1), y, dense_output=True, max_step=0.05, first_step=0.05, rtol=1, atol=1
    ).sol


def integrator(k, y):
    f = lambda t, y, k: [y[1], -k * y[0]]  # noqa: E731
    return integrate.ode(f).set_integrator("dopri5", rtol=1e-10), y, k


def prepared(k, y):
    o, y, k = integrator(k, y)
    return o.set_initial_value(y, 0.0).set_f_params(k)


ODE = [
    ("integrate", lambda cls, call, k, y: call(prepared(k, y), 0.8), 1.3, START),
    ("set_f_params", lambda cls, call, k, y: with_parameters(call, k, y), 1.3, START),
    ("set_initial_value", lambda cls, call, k, y: with_start(call, k, y), 1.3, START),
    ("y", lambda cls, call, k, y: read(call, prepared(k, y)), 1.3, START),
]


def with_parameters(call, k, y):
    o, y, k = integrator(k, y)
    o.set_initial_value(y, 0.0)
    call(o, k)
    return o.integrate(0.8)


def with_start(call, k, y):
    o, y, k = integrator(k, y)
    o.set_f_params(k)
    call(o, y, 0.0)
    return o.integrate(0.8)


def read(call, o):
    o.integrate(0.8)
    return call(o)


NUM, DEN, DEN_Z = np.array([1.0, 2.0]), np.array([1.0, 3.0, 2.5]), np.array([1.0, -0.3, 0.25])
T = np.linspace(0.0, 1.0, 5)
INPUT = np.array([0.3, -0.7, 0.55, 0.85, -0.2])
W = np.array([0.5, 1.0])


def parts(system):
    """The numbers of a system of any form."""
    names = ("num", "den", "zeros", "poles", "gain", "A", "B", "C", "D")
    kinds = {"TransferFunction": names[:2], "ZerosPolesGain": names[2:5], "StateSpace": names[5:]}
    kind = next(k for k in kinds if k in type(system).__name__)
    return [symmetric_sums(getattr(system, name)) for name in kinds[kind]]


def symmetric_sums(z):
    return np.real(np.sum(z)), np.real(np.sum(np.asarray(z) ** 2))


def continuous(n, d):
    return signal.lti(n, d)


LTI = [
    ("impulse step", lambda cls, call, n, d: call(continuous(n, d), T=T)[1], NUM, DEN),
    ("output", lambda cls, call, n, d, u: call(continuous(n, d), u, T)[1], NUM, DEN, INPUT),
    ("bode freqresp", lambda cls, call, n, d: call(continuous(n, d), W)[1:], NUM, DEN),
    ("to_discrete", lambda cls, call, n, d: parts(call(continuous(n, d), 0.1)), NUM, DEN),
    ("poles zeros", lambda cls, call, n, d: symmetric_sums(call(continuous(n, d))), NUM, DEN),
]
DLTI = [
    ("impulse step", lambda cls, call, n, d: call(cls(n, d, dt=0.1), n=6)[1], NUM, DEN_Z),
    (
        "output",
        lambda cls, call, n, d, u: call(cls(n, d, dt=0.1), u, T / 2.5)[1],
        NUM,
        DEN_Z,
        INPUT,
    ),
    ("bode freqresp", lambda cls, call, n, d: call(cls(n, d, dt=0.1), W)[1:], NUM, DEN_Z),
    ("poles zeros", lambda cls, call, n, d: symmetric_sums(call(cls(n, d, dt=0.1))), NUM, DEN_Z),
]


def forms(make, *data):
    return [
        ("to_ss to_tf to_zpk", lambda cls, call, *d: parts(call(make(cls, *d))), *data),
        ("poles zeros", lambda cls, call, *d: symmetric_sums(call(make(cls, *d))), *data),
    ]


def made(cls, *parts):
    return cls(*parts)


STATES = np.array([[-1.0, 0.3], [0.2, -2.0]]), NUM[:, None], NUM[None] - 0.4, np.array([[0.3]])
ZPK = np.array([-1.0, -0.7]), np.array([-0.3, -2.0, -1.1]), 1.5
SIGNAL = np.cos(0.9 * np.arange(24.0) + 0.3)
WINDOW = np.hanning(8)[1:-1] + 0.1


def transform_of(cls, w, **options):
    return cls(w, hop=3, fs=2.0, **options)


def scaled(s, call, x):
    call(s, "psd")
    return s.stft(x)


STFT = [
    ("stft spectrogram", lambda cls, call, w, x: call(transform_of(cls, w), x), WINDOW, SIGNAL),
    ("stft_detrend",
     lambda cls, call, w, x: call(transform_of(cls, w), x, "linear"), WINDOW, SIGNAL),
    ("win dual_win fac_magnitude fac_psd",
     lambda cls, call, w: call(transform_of(cls, w)), WINDOW),
    ("istft", lambda cls, call, w, x: there_and_back(transform_of(cls, w), call, x), WINDOW,
     SIGNAL),
    ("scale_to", lambda cls, call, w, x: scaled(transform_of(cls, w), call, x), WINDOW, SIGNAL),
    ("from_dual", lambda cls, call, w: call(cls, w, 3, 2.0).win, WINDOW),
    ("from_window",
     lambda cls, call, x: call(cls, "hann", 2.0, 8, 5).stft(x), SIGNAL),
    ("from_win_equals_dual", lambda cls, call, w: call(cls, w, 3, 2.0).win, WINDOW),
]  # fmt: skip


def there_and_back(s, call, x):
    return call(s, 1.5 * s.stft(x) ** 2, k1=24)


ZOOM = [("__call__", lambda cls, call, x: cls(24, [0.1, 0.4], fs=2.0)(x), SIGNAL)]

SAMPLES = {
    "scipy.spatial.transform.Rotation": ROTATION,
    "scipy.stats.qmc.MultivariateNormalQMC": [
        ("random", lambda cls, call, m: call(cls(X + m, M @ M.T, rng=7), 4), X),
    ],
    "scipy.spatial.transform.Slerp": [
        ("__call__", lambda cls, call, q: matrix_of(call(cls([0, 1, 2], rotation(q)), 0.7)), Q),
    ],
    "scipy.spatial.transform.RotationSpline": [
        ("__call__", lambda cls, call, q: matrix_of(call(cls([0, 1, 2], rotation(q)), 0.7)), Q),
    ],
    "scipy.sparse.linalg.LinearOperator": OPERATOR,
    "scipy.sparse.linalg.SuperLU": SUPER_LU,
    **{
        f"scipy.integrate.{name}": SOLVER
        for name in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
    },
    "scipy.integrate.OdeSolution": [
        ("__call__", lambda cls, call, k, y: call(solution(k, y), 0.37), 1.3, START),
    ],
    "scipy.integrate.ode": ODE,
    "scipy.integrate.complex_ode": [
        ("integrate", lambda cls, call, k, y: call(complex_prepared(k, y), 0.8), 1.3, START[0]),
        ("set_f_params", lambda cls, call, k, y: complex_set(call, k, y), 1.3, START[0]),
        ("set_initial_value", lambda cls, call, k, y: complex_start(call, k, y), 1.3, START[0]),
        ("y", lambda cls, call, k, y: read(call, complex_prepared(k, y)), 1.3, START[0]),
    ],
    "scipy.signal.lti": LTI,
    "scipy.signal.dlti": DLTI,
    "scipy.signal.TransferFunction": [
        *forms(made, NUM, DEN),
        ("num den", lambda cls, call, n, d: call(cls(n, d)), NUM, DEN),
    ],
    "scipy.signal.ZerosPolesGain": [
        *forms(made, *ZPK),
        ("gain", lambda cls, call, z, p, k: call(cls(z, p, k)), *ZPK),
    ],
    "scipy.signal.StateSpace": [
        *forms(made, *STATES),
        ("A B C D", lambda cls, call, *s: call(cls(*s)), *STATES),
    ],
    "scipy.signal.ShortTimeFFT": STFT,
    "scipy.signal.CZT": [
        ("__call__", lambda cls, call, x: cls(24, m=7)(x), SIGNAL),
        ("points", lambda cls, call, w: call(cls(24, 7, np.exp(-1j * w))), 0.3),
    ],
    "scipy.signal.ZoomFFT": [
        *ZOOM,
        ("points", lambda cls, call, f: call(cls(24, [0.1, f], fs=2.0)), 0.4),
    ],
}
if hasattr(transform, "RigidTransform"):  # SciPy 1.15 has none
    SAMPLES["scipy.spatial.transform.RigidTransform"] = RIGID


def complex_integrator():
    f = lambda t, y, k: 1j * k * y - 0.1 * y**2  # noqa: E731
    return integrate.complex_ode(f).set_integrator("dopri5", rtol=1e-10)


def complex_prepared(k, y):
    return complex_integrator().set_initial_value(y, 0.0).set_f_params(k)


def complex_set(call, k, y):
    o = complex_integrator().set_initial_value(y, 0.0)
    call(o, k)
    return o.integrate(0.8)


def complex_start(call, k, y):
    o = complex_integrator().set_f_params(k)
    call(o, y, 0.0)
    return o.integrate(0.8)
