"""Programs of people who differentiate inside a loop: descents, training, roots, leapfrogs.

The loss is a global function, an inner one or a lambda; it captures numbers, arrays, loop variables
and other functions. The state is a number, a vector, an item of a list or a variable that is
written into; later iterations, branches and the result read what was captured before.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import math

import numpy as np

from autodiff import (
    derivative, grad, gradient, hessian, hvp, jacfwd, jacobian, jvp, pullback, value_and_grad,
    value_and_gradient, vjp,
)
from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
TABLE = np.array([[0.5, -0.3, 0.2], [0.1, 0.7, -0.6], [-0.4, 0.2, 0.9]])
RATE = 0.1


def bowl(u, k):
    return u * u * 0.5 + math.sin(u * k)


def quadratic(v, w):
    r = TABLE @ v - w
    return r @ r


def part(v, rows, i):
    return np.sum(np.tanh(rows[i] * v)) + np.sum(v * v) * 0.1 * (i + 1)


def looped(v, k):
    total = 0.0
    for i in range(len(v)):
        total = total + math.sin(v[i] * k) * (total + 1.0)
    return total


def moved(v, k):
    return np.sin(v * k) + 0.1 * v[::-1]


def penalized(p, k, power=2.0, *, scale=0.5):
    return np.sum(np.abs(p["v"]) ** power) * scale + p["s"] * k + np.sum(p["v"] * p["s"])


def of_pairs(ps, k):
    total = 0.0
    for a, b in ps:
        total = total + np.sum(np.tanh(a * b)) * k
    return total


def with_more(v, k):
    r = np.sin(v) * k
    return r @ r, (np.mean(v), r)


class Well:
    def __init__(self, w, k):
        self.w, self.k = w, k

    def depth(self, v):
        return self.k * np.sum(v * self.w)

    def energy(self, v):
        return np.sum(v * v) + math.sin(self.depth(v))


of_bowl, of_quadratic = grad(bowl), value_and_grad(quadratic)


def kernel(v, w, rows, s, t):
    states = [s, t]
    kept = []
    total = 0.0
    scale = 0.5
    order = np.array([2, 0, 1])
    chosen = w > 0.0
    well = Well(w * 1.0, t)
    slope_along = grad(lambda u: bowl(u, t) * scale)
    pair = (w * 0.5, scale)
    def along(u):
        return u * s * scale + bowl(u, t)
    for i in range({turns}):
{inside}
    return total + s * scale + np.sum(v * w) + sum(states) + sum([np.sum(x) for x in kept]) + t


def program(a, b):
    return kernel(a * 1.0, b * 0.5, np.outer(a, b), a[0] * 0.7, b[1])


"""

# Each may read all variables.
STATEMENTS = [
    "s = s - RATE * gradient(bowl, s, t, argnums=0)",
    "s, t = s - RATE * gradient(bowl, s, t)[0], t + 0.05 * gradient(bowl, s, t)[1]",
    "v = v - RATE * gradient(quadratic, v, w, argnums=0)",
    "v -= RATE * gradient(quadratic, v, w, argnums=0)",
    "w = w - RATE * gradient(quadratic, v, w, argnums=1) * s",
    "v = v - RATE * gradient(part, v, rows, i, argnums=0)",
    "v = v - RATE * gradient(part, v, rows, i % 2, argnums=(0,))[0]",
    "v = v - 0.05 * gradient(looped, v, s, argnums=0)",
    "s = s - 0.05 * gradient(looped, v, s, argnums=1)",
    "t = t - RATE * gradient(along, t)",
    "t = t - RATE * gradient(lambda u: bowl(u, s) * scale, t)",
    "v = v - RATE * gradient(lambda u: np.sum(u * w) ** 2 * s, v)",
    "v = v - RATE * gradient(lambda u: np.sum(np.sin(u * rows[i % 3])) * (i + 1), v)",
    "w = w + 0.05 * gradient(lambda v: np.sum(v * v * w), v)",
    "s = s - 0.02 * gradient(lambda p: gradient(lambda q: q * q * p + math.cos(q), t) * p, s)",
    "s = s - 0.02 * gradient(lambda p: gradient(bowl, p, t, argnums=0) ** 2, s)",
    "total = total + np.sum(gradient(lambda p, q: np.sum(p * q) * s, v, w)[i % 2])",
    "states[i % 2] = states[i % 2] - RATE * gradient(bowl, states[i % 2], s, argnums=0)",
    "kept.append(gradient(lambda u: np.sum(u * u * w) * t, v))",
    "g = gradient(lambda u: u @ w * s, v)\nv = v - RATE * g\ng *= 2.0\ntotal += np.sum(g * w)",
    "g = gradient(quadratic, v, w)\nv, w = v - 0.05 * g[0], w - 0.05 * g[1]",
    "def shifted(u):\n    return bowl(u + s, scale) * t\ns = s - RATE * gradient(shifted, s)",
    "def near(u):\n    if u > t:\n        return u * u * s\n    return u * t\n"
    "s = s - RATE * gradient(near, s)",
    "total = total + gradient(lambda u: bowl(u, s) * scale, 0.7)",
    "s = s - 0.1 * gradient(bowl, 0.5, s)[1] + 0.05 * gradient(bowl, 1.5, t)[0]",
    "w = w + 0.02 * gradient(part, v, rows, 1, argnums=0) * gradient(lambda k: k**3 * t, 0.25 * i)",
    "v = v - 0.05 * gradient(lambda u: np.sum(u[order] * w * s), v)",
    "v = v - 0.05 * gradient(lambda u: np.sum(np.where(chosen, u, 0.5 * s) ** 2), v)",
    "value, g = value_and_gradient(quadratic, v, w, argnums=0)\nv = v - RATE * g\n"
    "total = total + value * s",
    "value, (g, h) = value_and_gradient(bowl, s, t)\ns, t = s - RATE * g, t + 0.1 * h * value",
    "s = s - RATE * of_bowl(s, t)",
    "value, g = of_quadratic(v, w)\nv = v - 0.05 * g * value",
    "s = s - RATE * grad(along)(s)",
    "t = t - RATE * slope_along(t) * s",
    "s = s - RATE * derivative(bowl, s, t)",
    "s = s - RATE * derivative(grad(bowl), s, t, argnums=1)",
    "v = v - 0.05 * hessian(quadratic, v, w, argnums=0) @ v * s",
    "total = total + np.sum(hessian(lambda u, r: np.sum(u * u * r) * s, v, w)[0][1] ** 2)",
    "v = v + 0.1 * jacobian(moved, v, s, argnums=0) @ w",
    "w = w + 0.1 * jacfwd(moved)(v, s).T @ v",
    "total = total + np.sum(jacobian(lambda u: moved(u, t), v) ** 2)",
    "y, dot = jvp(lambda u: moved(u, s), (v,), (w,))\nv = v + 0.1 * dot * y",
    "v = v - 0.05 * jvp(grad(quadratic), (v, w), (w, v))[1] * s",
    "v = v - 0.05 * hvp(quadratic, v, v * s, w)",
    "y, back = vjp(moved, v, s)\nby_v, by_s = back(y * w)\nv, s = v - 0.1 * by_v, s - 0.1 * by_s",
    "y, back = pullback(lambda u: moved(u, s) * scale, v)\ns = s + 0.1\nv = v + 0.1 * back(w)",
    "g = gradient(penalized, {'v': v, 's': s}, t, argnums=0)\n"
    "v, s = v - 0.05 * g['v'], s - 0.05 * g['s']",
    "g = gradient(penalized, {'v': v, 's': t}, 0.5, scale=s, argnums=0)\nv = v - 0.05 * g['v']",
    "p = {'v': v, 's': s}\ng = gradient(penalized, p, t, argnums=0)\n"
    "for key in p:\n    p[key] = p[key] - 0.05 * g[key]\nv, s = p['v'], p['s']",
    "gs = gradient(of_pairs, [(v, w), (v * s, rows[0])], t, argnums=0)\n"
    "v = v - 0.1 * gs[0][0] + 0.1 * gs[1][1]",
    "ps = [(v, w), (w, rows[1])]\nfor a, b in gradient(lambda ps: of_pairs(ps, s), ps):\n"
    "    w = w - 0.1 * a * b",
    "(value, (mean, r)), g = value_and_grad(with_more, has_aux=True)(v, s)\n"
    "v = v - 0.1 * g + 0.01 * r\ntotal = total + value * mean",
    "v = v - 0.1 * gradient(well.energy, v) * s",
    "value, g = value_and_gradient(lambda u: well.energy(u) * well.k, v)\n"
    "v = v - 0.05 * g * value",
    "v = v - 0.1 * gradient(lambda u: np.sum(u * pair[0]) ** 2 * pair[1], v)",
    "s = s - 0.1 * gradient(lambda u, k=t, *, c=0.5: bowl(u, k) * c, s)",
    "order[i % 3] = (order[i % 3] + 1) % 3",
    "rows[i % 3] *= 0.9",
    "w[i % 3] = w[i % 3] * 0.8 + s * 0.1",
    "scale = scale * 0.9 + 0.02 * i",
    "t = t * 0.9 + 0.1 * s",
    "if s > t:\n    s = s - RATE * gradient(bowl, s, scale, argnums=0)\nelse:\n    s = 0.5 * s",
    "step = 0\nwhile abs(gradient(bowl, t, 0.3, argnums=0)) > 0.2 and step < 4:\n"
    "    t = t - 0.3 * gradient(bowl, t, 0.3, argnums=0)\n    step += 1",
]  # fmt: skip

ARGUMENTS = """\
ARGUMENTS = (np.array([{0}, {1}, {2}]), np.array([{3}, {4}, {5}]))
ARGNUMS = {6}
"""


def write(seed: int) -> str:
    """Return the source of a module with `program` and `ARGUMENTS`."""
    rng = random.Random(seed)
    lines: list[str] = []
    for _ in range(rng.randint(1, 4)):
        lines += rng.choice(STATEMENTS).split("\n")
    inside = "\n".join(f"        {line}" for line in lines)
    text = HEADER.format(turns=rng.randint(1, 4), inside=inside)
    numbers = [round(rng.uniform(-1.5, 1.5), 3) for _ in range(6)]
    return text + ARGUMENTS.format(*numbers, argnums(seed, 2))
