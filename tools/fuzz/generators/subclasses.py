"""Arrays and numbers of classes that compute in a way of their own, among traced values.

The class: a subclass of ``np.ndarray``, ``float`` or ``np.float64`` overrides operators, methods,
attributes or NumPy's protocols (units, degrees, scaled numbers), or nothing of that kind. An
instance is a constant of the program and meets the argument in any of many ways. The derivative has
to be that of what the plain program computes, or the program an error; that the class is taken for
a plain array is what the generator looks for.
"""

from __future__ import annotations

import random

IMPORTS = """\
import functools
import math
import operator

import numpy as np
"""
# What a subclass of arrays may define; {k} is a number that tells its results from an array's.
DEFINITIONS = (
    "    def __mul__(self, other):\n        return np.asarray(self) * other * {k}\n"
    "    __rmul__ = __mul__\n",
    "    def __add__(self, other):\n        return np.asarray(self) * {k} + other\n"
    "    __radd__ = __add__\n",
    "    def __sub__(self, other):\n        return np.asarray(self) * {k} - other\n",
    "    def __matmul__(self, other):\n        return {k} * (np.asarray(self) @ other)\n",
    "    def __rmatmul__(self, other):\n        return {k} * (other @ np.asarray(self))\n",
    "    def __pow__(self, n):\n        return np.asarray(self) ** n * {k}\n",
    "    def __neg__(self):\n        return np.asarray(self) * {k}\n",
    "    def __getitem__(self, i):\n        return np.asarray(self)[i] * {k}\n",
    "    def __iter__(self):\n        return iter((np.asarray(self) * {k}).tolist())\n",
    "    def sum(self, *args, **kwargs):\n        return np.asarray(self).sum() * {k}\n",
    "    def mean(self, *args, **kwargs):\n        return np.asarray(self).mean() + {k}\n",
    "    def dot(self, other):\n        return np.asarray(self).dot(other) * {k}\n",
    "    def reshape(self, *shape):\n        return np.asarray(self).reshape(*shape) * {k}\n",
    "    def copy(self, order='C'):\n        return np.asarray(self) * {k}\n",
    "    def clip(self, *args, **kwargs):\n        return np.asarray(self) * {k}\n",
    "    def astype(self, *args, **kwargs):\n        return np.asarray(self) * {k}\n",
    "    def max(self, *args, **kwargs):\n        return {k}\n",
    "    @property\n    def T(self):\n        return np.asarray(self) * {k}\n",
    "    @property\n    def real(self):\n        return np.asarray(self) * {k}\n",
    "    @property\n    def size(self):\n        return 7\n",
    "    def __array_wrap__(self, array, context=None, return_scalar=False):\n"
    "        return np.asarray(array) * {k}\n",
    "    def __array_ufunc__(self, f, method, *inputs, **options):\n"
    "        inputs = [np.asarray(x) * {k} if type(x) is type(self) else x for x in inputs]\n"
    "        return getattr(f, method)(*inputs, **options)\n",
    "    def __array_ufunc__(self, f, method, *inputs, **options):\n"
    "        inputs = [np.asarray(x) if type(x) is type(self) else x for x in inputs]\n"
    "        found = getattr(f, method)(*inputs, **options)\n"
    "        return found * {k} if f is np.multiply else found\n",
    "    def __array_ufunc__(self, f, method, *inputs, **options):\n"
    "        inputs = [np.asarray(x) * np.pi / 180 if type(x) is type(self) and f is np.sin\n"
    "                  else np.asarray(x) if type(x) is type(self) else x for x in inputs]\n"
    "        return getattr(f, method)(*inputs, **options)\n",
    "    def __array_function__(self, f, types, args, options):\n"
    "        args = [np.asarray(x) * {k} if type(x) is type(self) else x for x in args]\n"
    "        return f(*args, **options)\n",
    "    __array_priority__ = {k}\n",
    "    def hello(self):\n        return {k}\n",
    "    @property\n    def unit(self):\n        return 'm'\n",
    "    def __repr__(self):\n        return 'an array'\n",
    "    def __array_finalize__(self, other):\n        self.info = getattr(other, 'info', {k})\n",
    "    pass\n",
)
BASES = (
    ("np.ndarray", "np.array({values}).view(Own)"),
    ("Between", "np.array({values}).view(Own)"),
    ("np.ndarray", "np.array({values})[:].view(Own)"),
    ("np.memmap", "np.array({values}).view(Own)"),
)
USES = (
    "np.sum(c * x0)", "np.sum(x0 * c)", "np.sum(c + x0)", "np.sum(x0 + c)", "np.sum(x0 - c)",
    "np.sum(c - x0)", "np.dot(c, x0)", "np.dot(x0, c)", "c.dot(x0)", "x0.dot(c)", "c @ x0",
    "x0 @ c", "np.sum(np.multiply(x0, c))", "np.sum(np.sin(c * x0))", "np.sum(np.sin(c) * x0)",
    "np.sum(x0 ** c)", "np.sum(c ** 2 * x0)", "np.sum(np.where(x0 > 0, c, x0))",
    "np.sum(np.where(x0 > 0, c * x0, x0))", "np.sum(c) * np.sum(x0)", "c.sum() * np.sum(x0)",
    "c.mean() * np.sum(x0)", "np.mean(c) * np.sum(x0)", "(c * x0).mean()", "(x0 * c).sum()",
    "np.sum((x0 * c).T)", "np.sum((x0 + c).reshape(3, 1))", "np.sum((c * x0).copy() * x0)",
    "np.sum(np.concatenate([c, x0]))", "np.sum(np.stack([c, x0]) * 2)", "np.einsum('i,i', c, x0)",
    "np.inner(x0, c)", "np.outer(c, x0).sum()", "np.sum(np.maximum(c, x0))", "np.sum(c[0] * x0)",
    "sum(a * b for a, b in zip(c, x0))", "np.sum(np.asarray(c) * x0)", "np.sum(-c * x0)",
    "np.sum((np.zeros_like(c) + x0) * x0)", "np.sum(np.full_like(c, 2.0) * x0)",
    "np.sum(np.array([c, x0]))", "np.sum(x0[np.asarray(c) > 0])", "np.linalg.norm(x0 - c)",
    "np.sum(np.hypot(x0, c))", "np.sum(np.clip(x0, None, c))",
    "np.sum(np.interp(x0, [0, 9], c[:2]))",
    "np.sum(functools.reduce(operator.mul, [c, x0]))", "np.sum(np.tensordot(c, x0, 1))",
    "np.sum(np.cumsum(x0 * c))", "np.sum(np.divide(x0, c))", "np.sum(c.T * x0)", "len(c) * x0[0]",
    "c.size * x0[0]", "np.size(c) * x0[0]", "math.fsum(c * x0)", "np.sum(np.vdot(c, x0))",
    "np.sum(np.add.outer(c, x0))", "np.sum(np.ravel(c) * x0)", "c.max() * x0[1]",
    "np.max(c) * x0[1]", "np.sum(c.real * x0)", "np.sum(np.real(c) * x0)", "np.sum(c.copy() * x0)",
    "np.sum(np.copy(c) * x0)", "np.sum(np.polyval(c, x0))", "np.trapezoid(c, x0)",
    "np.average(x0, weights=c)", "np.sum(np.convolve(x0, c))", "np.sum(np.cross(c, x0))",
)  # fmt: skip
# Numbers.
NUMBERS = (
    "    def __mul__(self, other):\n        return float(self) * {k} * other\n"
    "    __rmul__ = __mul__\n",
    "    def __add__(self, other):\n        return float(self) * {k} + other\n"
    "    __radd__ = __add__\n",
    "    def __rsub__(self, other):\n        return other - float(self) * {k}\n",
    "    def __float__(self):\n        return {k}\n",
    "    def __rpow__(self, other):\n        return other ** {k}\n",
    "    def __truediv__(self, other):\n        return {k} / other\n",
    "    def hello(self):\n        return {k}\n",
    "    def __repr__(self):\n        return 'a number'\n",
)
NUMBER_USES = (
    "c * x0[0]", "x0[0] * c", "np.sum(x0 * c)", "np.sum(c * x0)", "x0[0] + c", "c + x0[0]",
    "x0[0] - c", "x0[0] ** c", "c / x0[0]", "np.sum(np.sin(x0) * c)", "np.sum(np.multiply(x0, c))",
    "float(c) * x0[0]", "math.hypot(x0[0], c)", "np.sum(np.array([c, x0[0]]))",
    "max(c, x0[0]) * 1.5",
    "sum([x0[0], c])", "np.sum(np.full(3, c) * x0)", "np.sum(x0 / c)", "math.pow(x0[0], c)",
    "np.sum(np.where(x0 > 0, x0 * c, x0))", "x0.item(0) * c", "c * float(x0[0])",
    "(c * 2.0) * x0[0]",
)  # fmt: skip
FORMS = (
    "def program(x0):\n    return {use}\n",
    "def program(x0):\n    s = {use}\n    return s * s + np.sum(x0)\n",
    "def inner(c, x0):\n    return {use}\n\n\ndef program(x0):\n    return inner(c, x0 * 1.5)\n",
    "def program(x0):\n    kept = {{'c': c}}\n    return (lambda c: {use})(kept['c'])\n",
)


def write(seed: int) -> str:
    """Return the source of the program of a seed."""
    rng = random.Random(seed)
    k = rng.choice((2.0, 3.0, 1.25))

    def numbers(n: int) -> str:
        return ", ".join(repr(round(rng.uniform(0.3, 2.4), 3)) for _ in range(n))

    if rng.random() < 0.75:
        base, made = rng.choice(BASES)
        chosen = rng.sample(DEFINITIONS, rng.choice((1, 1, 1, 2)))
        made, use = made.format(values=f"[{numbers(3)}]"), rng.choice(USES)
    else:
        base = rng.choice(("float", "np.float64", "int"))
        chosen = [rng.choice(NUMBERS)]
        made = "Own(2)" if base == "int" else f"Own({numbers(1)})"
        use = rng.choice(NUMBER_USES)
    between = (
        "class Between(np.ndarray):\n    def info(self):\n        return 1\n\n\n"
        if base == "Between"
        else ""
    )
    body = "".join(definition.format(k=k) for definition in chosen)
    text = rng.choice(FORMS).format(use=use)
    return (
        f"{IMPORTS}\n\n{between}class Own({base}):\n{body}\n\nc = {made}\n\n\n{text}\n\n"
        f"ARGUMENTS = (np.array([{numbers(3)}]),)\n"
    )
