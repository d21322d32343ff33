"""Functions that compiled code calls back, crossed with how they hold a traced value.

A callback gets a traced value from somewhere (an argument, a closure, an object, a global); some
function of NumPy, SciPy or Python calls it, often from C or Fortran. The class of holes: compiled
code that meets a traced value, or an error it does not expect, and leaves memory in disorder, drops
the derivative or takes another way. A right derivative and a clear error are both fine; so each
program calls the integrators of `scipy.integrate.ode` on plain values in the end, which a
disorder of theirs would show.
"""

from __future__ import annotations

import random

# How the callback `g(t)`, a smooth function of t and of the traced k, gets hold of k.
HOLDS = {
    "closure": "g = lambda t: np.sin(k * t) + k",
    "math": "g = lambda t: math.exp(-k * float(t)) + k * t",
    "default": "def g(t, k=k):\n    return np.sin(k * t) + k",
    "partial": "g = functools.partial(lambda k, t: np.cos(k * t) + t, k)",
    "nested closure": "inner = lambda t: k * t\n"
    "def g(t):\n    return np.tanh(inner(t)) + inner(1.0)",
    "list": "held = [k, 2.0]\ng = lambda t: held[0] * t * t + held[1] + held[0]",
    "dict": "held = {'k': k}\ng = lambda t: np.exp(-held['k'] * t)",
    "array": "held = np.array([k, 1.0, k * k])\ng = lambda t: np.polyval(held, t)",
    "array made inside": "def g(t):\n    w = np.zeros(2)\n    w[0] = k\n"
    "    return np.sum(w) * t + 1.0",
    "method": "g = Held(k).value",
    "instance": "g = Held(k)",
    "object": "held = Held(k)\ng = lambda t: held.value(t) + held.k",
    "slots": "held = Slotted(k)\ng = lambda t: held.k * t * t + held.k",
    "global": "SHARED['k'] = k\ndef g(t):\n    return np.sin(SHARED['k'] * t) + SHARED['k']",
    "class attribute": "Held.shared = k\ng = lambda t: Held.shared * t + 1.0",
    "frozen": "held = Pair(k, 2.0)\ng = lambda t: held.a * t + held.b * held.a",
    "caught": "def g(t):\n    try:\n        return math.sqrt(k * k + t * t)\n"
    "    except (ValueError, TypeError):\n        return 0.0",
    "constant": "g = lambda t: np.sin(1.7 * t) + 1.0",
}
# The steps that a solver chooses count as constants; differences move with them, by its tolerance.
FINE = ", rtol=1e-9, atol=1e-10"
# What calls it; y is the result.
CALLS = {
    "quad": "y = integrate.quad(g, 0.1, 1.0)[0]",
    "quad to k": "y = integrate.quad(g, 0.1, 1.0 + k)[0]",
    "quad args": "y = integrate.quad(lambda t, c: c * g(t), 0.1, 1.0, args=(k,))[0]",
    "quad points": "y = integrate.quad(g, 0.0, 1.0, points=[0.5])[0]",
    "quad weight": "y = integrate.quad(g, 0.0, 1.0, weight='cos', wvar=2.0)[0]",
    "quad_vec": "y = integrate.quad_vec(lambda t: np.array([g(t), t]), 0.0, 1.0)[0][0]",
    "dblquad": "y = integrate.dblquad(lambda s, t: g(t) * s, 0.0, 1.0, 0.0, 1.0)[0]",
    "nquad": "y = integrate.nquad(lambda s, t: g(t) + s, [[0.0, 1.0], [0.0, 0.5]])[0]",
    "fixed_quad": "y = integrate.fixed_quad(lambda t: np.array([g(s) for s in t]), 0.0, 1.0)[0]",
    "odeint": "y = integrate.odeint(lambda u, t: -u * g(t), 1.0, [0.0, 0.5])[-1, 0]",
    "odeint from k": "y = integrate.odeint(lambda u, t: -u + 0.1 * g(t), k, [0.0, 0.5])[-1, 0]",
    "solve_ivp": "y = integrate.solve_ivp(lambda t, u: -u * g(t), (0.0, 0.5), [1.0]"
    f"{FINE}).y[0, -1]",
    "solve_ivp LSODA": "y = integrate.solve_ivp(lambda t, u: -u * g(t), (0.0, 0.5), [1.0], "
    f"method='LSODA'{FINE}).y[0, -1]",
    "LSODA": f"s = integrate.LSODA(lambda t, u: -u * g(t), 0.0, np.array([1.0]), 0.5{FINE})\n"
    "while s.status == 'running':\n    s.step()\ny = s.y[0]",
    **{
        f"ode {name}": f"s = integrate.ode(lambda t, u: -u * g(t)).set_integrator('{name}'{FINE})\n"
        "s.set_initial_value([1.0], 0.0)\ny = s.integrate(0.5)[0]"
        for name in ("lsoda", "vode", "dopri5", "dop853")
    },
    "ode from k": f"s = integrate.ode(lambda t, u: -u).set_integrator('lsoda'{FINE})\n"
    "s.set_initial_value([k], 0.0)\ny = s.integrate(0.5)[0]",
    "ode of k": f"s = integrate.ode(lambda t, u, c: -c * u).set_integrator('lsoda'{FINE})\n"
    "s.set_initial_value([1.0], 0.0).set_f_params(k)\ny = s.integrate(0.5)[0]",
    "ode to k": f"s = integrate.ode(lambda t, u: -u).set_integrator('lsoda'{FINE})\n"
    "s.set_initial_value([1.0], 0.0)\ny = s.integrate(k)[0]",
    "ode, its function": f"s = integrate.ode(lambda t, u: -u).set_integrator('lsoda'{FINE})\n"
    "s.f = lambda t, u: -u * g(t)\ns.set_initial_value([1.0], 0.0)\ny = s.integrate(0.5)[0]",
    "ode, its state": f"s = integrate.ode(lambda t, u: -u).set_integrator('lsoda'{FINE})\n"
    "s.set_initial_value([1.0], 0.0)\ns._y = np.array([k])\ny = s.integrate(0.5)[0]",
    "ode solout": f"seen = []\ns = integrate.ode(lambda t, u: -u).set_integrator('dopri5'{FINE})\n"
    "s.set_solout(lambda t, u: seen.append(g(t)))\ns.set_initial_value([1.0], 0.0)\n"
    "y = s.integrate(0.5)[0] + seen[-1]",
    "complex_ode": "s = integrate.complex_ode(lambda t, u: -1j * u * g(t))\n"
    f"s.set_integrator('vode'{FINE})\n"
    "s.set_initial_value([1.0 + 0j], 0.0)\ny = s.integrate(0.5)[0].real",
    **{
        name: f"y = optimize.{name}(lambda t: g(t) - 1.0 - 3.0 * t, -2.0, 3.0)"
        for name in ("brentq", "brenth", "ridder", "bisect", "toms748")
    },
    "newton": "y = optimize.newton(lambda t: g(t) - 1.0 - 3.0 * t, 0.5)",
    "root_scalar": "y = optimize.root_scalar(lambda t: g(t) - 1 - 3 * t, bracket=[-2.0, 3.0]).root",
    "fsolve": "y = optimize.fsolve(lambda t: g(t[0]) - 1.0 - 3.0 * t, [0.5])[0]",
    "root": "y = optimize.root(lambda t: [g(t[0]) - 1.0 - 3.0 * t[0]], [0.5], method='lm').x[0]",
    "leastsq": "y = optimize.leastsq(lambda t: [g(t[0]) - 1.0 - 3.0 * t[0]], [0.5])[0][0]",
    "least_squares": "y = optimize.least_squares(lambda t: [g(t[0]) - 1 - 3 * t[0]], [0.5]).x[0]",
    "fixed_point": "y = optimize.fixed_point(lambda t: 0.1 * g(t), 0.5)",
    **{
        f"minimize {name}": f"y = optimize.minimize(lambda t: (3 * t[0] + 1 - g(t[0])) ** 2, "
        f"[0.4], method='{name}', tol=1e-10).x[0]"
        for name in ("BFGS", "L-BFGS-B", "COBYLA", "Nelder-Mead", "TNC", "Powell")
    },
    "minimize_scalar": "y = optimize.minimize_scalar(lambda t: (3 * t + 1 - g(t)) ** 2, "
    "bounds=(-1.0, 2.0), method='bounded', options={'xatol': 1e-10}).x",
    "curve_fit": "s = np.linspace(0.1, 1.0, 5)\n"
    "y = optimize.curve_fit(lambda s, a: a * g(s), s, s * s, [1.0])[0][0]",
    "minpack": "from scipy.optimize import _minpack\n"
    "y = _minpack._hybrd(lambda t: np.array([g(t[0]) - 1 - 3 * t[0]]), np.array([0.5]), (), 1, "
    "1e-10, 0, -10, -10, 0.0, 100.0, None)[0][0]",
    "zeros": "from scipy.optimize import _zeros\n"
    "y = _zeros._brentq(lambda t: g(t) - 1 - 3 * t, -2.0, 3.0, 1e-12, 1e-12, 100, (), False, True)",
    "quadpack": "from scipy.integrate import _quadpack\n"
    "y = _quadpack._qagse(g, 0.0, 1.0, (), 0, 1e-10, 1e-10, 50)[0]",
    "generic_filter": "y = np.sum(ndimage.generic_filter(ROW, lambda w: w[0] * g(w[1]), size=3))",
    "generic_filter of k": "y = np.sum(ndimage.generic_filter(k * ROW, lambda w: w[0] * w[1], 3))",
    "generic_filter1d": "def line(a, b):\n    b[:] = a[:-2] * g(0.5)\n"
    "y = np.sum(ndimage.generic_filter1d(ROW, line, 3))",
    "geometric_transform": "y = np.sum(ndimage.geometric_transform(ROW, "
    "lambda at: (at[0] * 0.5 + 0.1 * g(0.3),), order=1))",
    "labeled_comprehension": "y = np.sum(ndimage.labeled_comprehension(ROW, [0, 1, 1, 0, 1], "
    "[0, 1], lambda v: np.sum(v) * g(0.5), float, 0.0))",
    "cdist": "y = np.sum(distance.cdist(GRID, GRID, lambda u, v: g(u[0] - v[1])))",
    "pdist": "y = np.sum(distance.pdist(GRID * k, lambda u, v: g(u[0] - v[1])))",
    "vectorize": "y = np.sum(np.vectorize(g)(ROW))",
    "vectorize otypes": "y = np.sum(np.vectorize(g, otypes=[float])(ROW))",
    "frompyfunc": "y = np.sum(np.frompyfunc(g, 1, 1)(ROW).astype(float))",
    "frompyfunc reduce": "y = np.frompyfunc(lambda a, b: a * g(b), 2, 1).reduce(ROW)",
    "apply_along_axis": "y = np.sum(np.apply_along_axis(lambda r: g(r[0]) * r[1], 1, GRID))",
    "apply_over_axes": "y = np.sum(np.apply_over_axes(lambda a, i: np.sum(a, i) * g(0.5), GRID, "
    "[0]))",
    "fromfunction": "y = np.sum(np.fromfunction(lambda i: g(i / 4.0), (3,)))",
    "fromiter": "y = np.sum(np.fromiter((g(t) for t in ROW), float))",
    "piecewise": "y = np.sum(np.piecewise(ROW, [ROW < 0.5], [g, lambda t: t * t]))",
    "interp": "y = np.interp(0.45, ROW, [g(t) for t in ROW])",
    "cg": "A = sparse_linalg.LinearOperator((2, 2), matvec=lambda v: 4.0 * v + 0.1 * g(0.5) * v)\n"
    "y = np.sum(sparse_linalg.cg(A, np.array([1.0, 2.0]), rtol=1e-12)[0])",
    "gmres": "A = sparse_linalg.LinearOperator((2, 2), matvec=lambda v: 4 * v + 0.1 * g(0.5) * v)\n"
    "y = np.sum(sparse_linalg.gmres(A, np.array([1.0, 2.0]), rtol=1e-12)[0])",
    "eigsh": "A = sparse_linalg.LinearOperator((5, 5), matvec=lambda v: ROW * v * g(0.5), "
    "dtype=float)\n"
    "y = sparse_linalg.eigsh(A, k=1, v0=np.ones(5), return_eigenvectors=False)[0]",
    "eigs": "A = sparse_linalg.LinearOperator((5, 5), matvec=lambda v: ROW * v * g(0.5), "
    "dtype=float)\n"
    "y = sparse_linalg.eigs(A, k=1, v0=np.ones(5), return_eigenvectors=False)[0].real",
    "svds": "A = sparse_linalg.LinearOperator((5, 5), matvec=lambda v: ROW * v * g(0.5), "
    "rmatvec=lambda v: ROW * v * g(0.5), dtype=float)\n"
    "y = sparse_linalg.svds(A, k=1, v0=np.ones(5), return_singular_vectors=False)[0]",
    "expm_multiply": "A = sparse_linalg.aslinearoperator(0.1 * g(0.5) * np.eye(2))\n"
    "y = np.sum(sparse_linalg.expm_multiply(A, np.ones(2), traceA=0.2))",
    "rbf": "y = float(interpolate.Rbf(ROW, ROW**2, function=lambda self, r: g(0.3) + r)(0.45))",
    "sorted": "y = sorted([0.9, 0.2, 0.5], key=g)[0] * g(0.3)",
    "min": "y = min([0.9, 0.2, 0.5], key=lambda t: -t * t) * g(0.3)",
    "reduce": "y = functools.reduce(lambda a, t: a * g(t), [0.1, 0.4], 1.0)",
    "map": "y = sum(map(g, [0.1, 0.4]))",
    "groupby": "y = sum(key * len(list(v)) for key, v in itertools.groupby([0.1, 0.1, 0.3], g))",
    "accumulate": "y = list(itertools.accumulate([0.1, 0.4, 0.2], lambda a, t: a + g(t)))[-1]",
    "lru_cache": "y = functools.lru_cache(g)(0.3) * 2.0",
    "thread": "with futures.ThreadPoolExecutor(1) as pool:\n    y = pool.submit(g, 0.3).result()",
    "methodcaller": "y = operator.methodcaller('__call__', 0.3)(g)",
    "ctypes": "y = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(g)(0.3)",
    "low level": "y = integrate.quad(LowLevelCallable(ctypes.CFUNCTYPE(ctypes.c_double, "
    "ctypes.c_double)(g)), 0.0, 1.0)[0]",
    "re.sub": "seen = []\nre.sub('a', lambda m: seen.append(g(0.3)) or 'b', 'aa')\ny = sum(seen)",
}
# What is done with the result.
ENDS = ("y", "y * y + k", "np.sin(y) * 2.0", "y + 0.1 * k * y")

HEAD = '''import collections
import ctypes
import functools
import itertools
import math
import operator
import re
from concurrent import futures

import numpy as np
from scipy import LowLevelCallable, integrate, interpolate, ndimage, optimize
from scipy.sparse import linalg as sparse_linalg
from scipy.spatial import distance

ROW = np.array([0.1, 0.3, 0.4, 0.7, 0.9])
GRID = np.array([[0.1, 0.5], [0.3, 0.2], [0.8, 0.9]])
SHARED = {}


class Held:
    shared = 1.0

    def __init__(self, k):
        self.k = k

    def value(self, t):
        return np.sin(self.k * t) + self.k

    __call__ = value


class Slotted:
    __slots__ = ("k", "unset")

    def __init__(self, k):
        self.k = k


Pair = collections.namedtuple("Pair", "a b")


def is_in_order():
    """Integrators of SciPy after whatever went before."""
    for name in ("lsoda", "vode", "dopri5", "dop853"):
        solver = integrate.ode(lambda t, u: -u).set_integrator(name)
        assert abs(solver.set_initial_value([1.0], 0.0).integrate(1.0)[0] - math.exp(-1)) < 1e-4


is_in_order()

'''


def write(seed: int) -> str:
    """Return the program of a seed.

    Parameters
    ----------
    seed : int
        What chooses the phrases.

    Returns
    -------
    str
        The source of a module with `program` and `ARGUMENTS`.
    """
    rng = random.Random(seed)
    holds = HOLDS[rng.choice(list(HOLDS))]
    call = CALLS[rng.choice(list(CALLS))]
    end = rng.choice(ENDS)
    as_array = rng.random() < 0.3
    first = "k = a[0] + 0.0 * a[1]" if as_array else "k = a"
    lines = "\n".join([first, *holds.split("\n"), *call.split("\n"), f"return {end}"])
    body = "".join(f"    {line}\n" for line in lines.split("\n"))
    k = round(rng.uniform(0.6, 1.4), 3)
    argument = f"np.array([{k}, 0.5])" if as_array else f"{k}"
    return f"{HEAD}def program(a):\n{body}\n\nARGUMENTS = ({argument},)\n"
