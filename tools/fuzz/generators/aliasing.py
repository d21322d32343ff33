"""Programs about memory: who else holds an array, and what is written into it, and when.

Covered are plain arrays that a pullback holds and that are written into before or after they are
used (by ``out=``, methods, views, buffers, code without source), results that are the very argument
(``np.asarray(y) is y``), the same array twice, arrays that are read-only, and what a checkpointed
call reads. Arrays made in different ways are crossed with ways to use them, to write into them and
to look at them, in a random order.
"""

from __future__ import annotations

import random

HEADER = """\
import functools
import operator
import random
import types

import numpy as np
import scipy.linalg
import scipy.linalg.blas
import scipy.ndimage

from autodiff import checkpoint

N = {n}
C = np.linspace(-1.5, 2.0, N) + 0.3 * np.cos(np.arange(N))
D = np.cos(np.arange(float(N)) * 0.7)
BUFFER = np.empty(N)
PLACES = np.arange(N)[::-1].copy()
HIDDEN = {{"np": np}}
exec("def unseen(a, k=2.0):\\n    a *= k\\n", HIDDEN)
unseen = HIDDEN["unseen"]


class Box:
    def __init__(self):
        self.buffer = np.empty(N)

    def fill(self, k):
        np.multiply(C, k, out=self.buffer)
        return self.buffer


BOX = Box()


def buffers(k):
    work = np.empty(N)
    for shift in (0.0, k, 0.0):
        np.add(C, shift, out=work)
        yield work


def twice(a, b):
    return np.sum(a * b) + (np.sum(a) if a is b else 0.0)


def program({parameters}):
    s = 0.0
{body}
    return s


ARGUMENTS = {arguments}
"""

# Each makes `r`, an array of N plain numbers.
MAKE = (
    "r = C - 3.0",
    "r = np.subtract(C, 0.5)",
    "r = C.copy()",
    "r = np.abs(C) + D",
    "r = (C * 2.0)[::-1]",
    "r = np.stack([C, D])[1]",
    "r = np.multiply(C, {k}, out=BUFFER)",
    "BUFFER[:] = D\nr = BUFFER",
    "r = BOX.fill({k})",
    "r = Box().fill({k})",
    "r = [C * 0.5, C + 1.0][0]",
    "r = {{'k': C - 1.0}}['k']",
    "r = types.SimpleNamespace(a=C + D).a",
    "r = np.frombuffer(bytearray((C * {k}).tobytes()))",
    "r = np.zeros((N, 2))[:, 1]\nr[...] = D",
    "r = np.ravel(np.outer(C, [1.0, {k}])[:, :1])",
    "r = np.where(C > 0.0, C, D)",
    "r = np.array([C, D]).sum(axis=0)",
    "r = np.ones(N) * {k}",
    "r = np.linspace(0.0, 1.0, N) - D",
    "r = C.reshape(2, -1).T.ravel()",
)
# Each adds something of the differentiated `x` and of `r` to `s`.
USE = (
    "s = s + np.sum(r * x)",
    "s = s + np.dot(r, x)",
    "s = s + np.sum(np.tanh(x) * r)",
    "s = s + np.sum(r / (x * x + 1.0))",
    "s = s + np.sum(np.where(r > 0.0, x * r, x))",
    "s = s + np.einsum('i,i->', r, x * x)",
    "s = s + np.sum(x ** 2 / (r * r + 1.0))",
    "s = s + np.sum(np.concatenate([x, r]) ** 2)",
    "s = s + np.average(x * x, weights=r * r + 1.0)",
    "s = s + np.sum(np.hypot(x, r))",
    "s = s + np.sum(x[np.argsort(r)] * r)",
    "s = s + np.sum(np.stack([x, r]) * np.stack([r, x]))",
    "s = s + np.vdot(r * x, x)",
    "s = s + np.sum(np.prod([x, r], axis=0))",
    "s = s + np.sum(x * x, where=r > 0.0)",
    "s = s + np.sum(np.convolve(x[:4], r[:3]))",
    "s = s + np.sum(np.linalg.multi_dot([x[:3], np.outer(r[:3], D[:3]), x[:3]]))",
    "s = s + sum(float(k) * v for k, v in zip(r[:3], x[:3]))",
    "s = s + np.sum((r + x * r) ** 2) + np.sum(1.0 / (1.0 + np.exp(-x * r)))",
    "s = s + np.sum(checkpoint(lambda a: np.sin(a) * r)(x))",
    "s = s + np.sum(checkpoint(lambda a, b: a * b * b)(x, r))",
    "s = s + np.interp(x[0], [-3.0, 0.0, 3.0], r[:3])",
    "y = x * 1.0\ny[1:] *= r[1:]\ns = s + np.sum(y)",
    "for v in np.split(r, 2):\n    s = s + np.sum(v * x[: len(v)])",
)
# Each writes into `r`.
WRITE = (
    "np.square(r, out=r)",
    "np.add(r, {k}, out=r)",
    "np.multiply(r, 0.5, r)",
    "np.negative(r, r)",
    "np.divide(r, 2.0, out=r, where=r > 0.0)",
    "np.cumsum(r, out=r)\nr /= N",
    "np.clip(r, -0.5, 0.5, out=r)",
    "np.take(C, PLACES, out=r)",
    "r.clip(-0.5, 0.5, out=r)",
    "r.round(1, out=r)",
    "np.random.default_rng(1).random(out=r)",
    "np.random.default_rng(2).shuffle(r)",
    "np.random.RandomState(2).shuffle(r)",
    "random.Random(3).shuffle(r)",
    "np.copyto(r, {k})",
    "np.copyto(r, D, where=C > 0.0)",
    "np.put(r, [0, 1], [5.0, {k}])",
    "np.place(r, r > 0.0, [{k}])",
    "np.putmask(r, C > 0.0, D)",
    "np.put_along_axis(r, np.array([0, 2]), {k}, 0)",
    "np.nan_to_num(r, copy=False)\nr += 1.0",
    "r.sort()",
    "r.partition(1)",
    "r.fill({k})",
    "r.put([1], [{k}])",
    "r[...] = D",
    "r[0] = {k}",
    "r[::2] *= 3.0",
    "r[r > 0.0] = {k}",
    "r += 1.0",
    "r *= {k}",
    "r -= D",
    "np.add.at(r, [0, 0], {k})",
    "np.add.at(r, [1, 0, 1], r[1:4])",
    "q = r[::-1]\nnp.multiply.at(q, [0, 2], r[:2])",
    "np.einsum('i,i->i', r, D, out=r)",
    "r.flat[1] = {k}",
    "r.flat = D",
    "r.T[...] = D",
    "r[::-1][1:] = {k}",
    "r.reshape(-1)[1] = {k}",
    "memoryview(r)[0] = {k}",
    "np.ndarray.fill(r, {k})",
    "np.ndarray.__setitem__(r, 0, {k})",
    "r.__imul__(3.0)",
    "r.__setitem__(1, {k})",
    "operator.imul(r, {k})",
    "operator.setitem(r, 0, {k})",
    "operator.methodcaller('fill', {k})(r)",
    "list(map(r.__setitem__, [0, 1], [2.0, {k}]))",
    "functools.partial(np.multiply, r, 2.0, out=r)()",
    "r.real = D",
    "setattr(r, 'flat', D)",
    "for v in np.nditer(r[:4], op_flags=[['readwrite']]):\n    v[...] = v * 0.5",
    "for i in range(3):\n    r[i] = i",
    "unseen(r)",
    "unseen(r)\nunseen(r, 0.5)",
    "scipy.linalg.blas.dscal({k}, r)",
    "scipy.ndimage.gaussian_filter1d(D, 1.0, output=r)",
    "r.setfield({k}, float)",
    "r.byteswap(True).byteswap(True)\nr += 1.0",
    "q = r[1:]\nq *= {k}",
    "q = [r]\nq[0] += {k}",
    "q = types.SimpleNamespace(a=r)\nq.a *= {k}",
    "(lambda a: np.multiply(a, {k}, out=a))(r)",
)
# Each makes `z` of the differentiated array `y`: the very array, a view or a copy.
FORM = (
    "np.asarray(y)", "np.asanyarray(y)", "np.atleast_1d(y)", "np.atleast_2d(y)",
    "np.ascontiguousarray(y)", "np.asfortranarray(y)", "np.require(y)",
    "np.require(y, float, ['C', 'W'])", "np.array(y, copy=None)", "np.array(y)",
    "np.asarray(y, float)", "np.array(y, ndmin=1, copy=None)", "y.astype(float, copy=False)",
    "y.astype(float)", "np.squeeze(y)", "np.ravel(y)", "y.ravel()", "y.reshape(-1)", "y[:]",
    "y[...]", "y.view()", "y.T", "y.real", "np.real(y)", "np.real_if_close(y)", "y.conj()",
    "np.broadcast_to(y, y.shape)", "np.broadcast_arrays(y, D)[0]", "np.asarray_chkfinite(y)",
    "np.nan_to_num(y, copy=False)", "y.copy()", "+y", "np.expand_dims(y, 0)[0]", "[y][0]",
    "np.array(y, order='F', copy=None)", "np.ascontiguousarray(y[::-1])", "np.atleast_1d(y, D)[0]",
    "np.asarray([y])[0]", "np.moveaxis(y, 0, 0)", "y.squeeze()", "np.reshape(y, y.shape)",
)  # fmt: skip
# Each looks at `z` and `y`, or writes through one of them.
LOOK = (
    "if z is y:\n    z = z * 2.0",
    "if z is not y:\n    s = s + np.sum(z)",
    "s = s + np.sum(z * y if z is y else z)",
    "if np.shares_memory(z, y):\n    s = s + np.sum(z * z)",
    "if np.may_share_memory(z, y):\n    z = np.array(z)",
    "if z.base is None:\n    s = s + np.sum(z * 0.5)",
    "if z is y:\n    z = z.copy()\nif z.flags.writeable:\n    z *= 2.0",
    "if z.flags.writeable:\n    z[0] = {k}",
    "if z.flags.writeable:\n    z += 1.0",
    "y[1] = {k}",
    "y *= x",
    "s = s + twice(z, y)",
    "s = s + twice(y, y)",
    "pair = [y, y]\npair[0][0] = {k}\ns = s + np.sum(pair[1] * x)",
    "z.flags.writeable = False\ntry:\n    z[0] = {k}\nexcept ValueError:\n    s = s + np.sum(z)",
    "y.setflags(write=False)\ntry:\n    y *= 3.0\nexcept ValueError:\n    s = s + y[0]",
    "if any(v is y for v in (z, x)):\n    s = s + np.sum(z)",
    "if id(z) == id(y):\n    s = s + np.sum(z)",
)


def write(seed: int) -> str:
    """Return the source of a program."""
    rng = random.Random(seed)
    n = rng.choice((4, 4, 6, 600, 9000))
    chosen = _about_results(rng) if rng.random() < 0.35 else _about_writes(rng)
    body = "".join(f"    {line}\n" for part in chosen for line in part.splitlines())
    point = f"0.4 * np.sin(np.arange({n}.0) + {rng.randrange(9)}.0) + 0.1"
    return HEADER.format(n=n, parameters="x", body=body.rstrip(), arguments=f"({point},)")


def _filled(rng: random.Random, phrases: tuple[str, ...]) -> str:
    return rng.choice(phrases).format(k=rng.choice((0.0, 1.0, 2.0, -1.5, 0.25)))


def _about_writes(rng: random.Random) -> list[str]:
    """Write into a plain array before and after it is used."""
    parts = [_filled(rng, MAKE)]
    if rng.random() < 0.1:
        write, use = (_indented(_filled(rng, t)) for t in (WRITE, USE))
        return [*parts, f"for turn in range(3):\n{write}\n{use}"]
    if rng.random() < 0.1:
        step = rng.choice(("r", "r * 1.0"))
        use = _indented(_filled(rng, USE).replace("r", step) if step == "r" else _filled(rng, USE))
        return [f"for r in buffers({rng.choice((1.0, 2.0))}):\n{use}"]
    for _ in range(rng.randint(1, 3)):
        parts.append(_filled(rng, USE))
        parts.append(_filled(rng, WRITE))
        if rng.random() < 0.3:
            parts.append(_filled(rng, MAKE))
    if rng.random() < 0.6:
        parts.append(_filled(rng, USE))
    return parts


def _about_results(rng: random.Random) -> list[str]:
    """Ask what a result is, and write through one of several names."""
    parts = [rng.choice(("y = x * 1.0", "y = np.sin(x)", "y = x", "y = np.zeros(N)\ny += x"))]
    for _ in range(rng.randint(1, 2)):
        parts.append(f"z = {rng.choice(FORM)}")
        parts += [_filled(rng, LOOK) for _ in range(rng.randint(1, 2))]
    return [*parts, "s = s + np.sum(y * y) + np.sum(np.ravel(z) ** 2)"]


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines()).rstrip()
