"""Programs that choose between branches, of which one has NaN or Inf, or is the same as the other.

`where`, `maximum`, `abs`, `clip`, `select`, sorting and reductions choose an element. What is not
chosen has no part in the derivative: neither a NaN there, nor an infinite slope. At ties both
branches have the same derivative in these programs, however it is shared.
"""

from __future__ import annotations

import random

HEADER = """\
import math

import numpy as np
import scipy.special

C = np.cos(np.arange({n}.0) * 1.7)
NANS = np.where(C > 0.2, C, np.nan)
ODD = np.arange({n}) % 2 == 1
FIRST = np.where(np.arange({n}) == 0, 40.0, 0.0)


def program(x, k):
    s = 0.0
{body}
    return s


ARGUMENTS = (0.5 + 0.4 * np.sin(np.arange({n}.0) * 0.9 + {start}.0), {k})
"""

# Branches: finite everywhere, and not finite (or of infinite slope) where ODD, or where x < 0.5.
FINITE = ("x * x", "np.sin(x) + k", "x * k", "np.exp(-x)", "C * x", "1.0 * x", "np.tanh(x + C)")
BROKEN = (
    "np.where(ODD, np.nan, x)", "x * np.where(ODD, np.nan, 1.0)", "x / np.where(ODD, 0.0, 2.0)",
    "np.log(np.where(ODD, -x, x))", "np.sqrt(np.where(ODD, 0.0 * x, x))",
    "np.power(np.where(ODD, 0.0 * x, x), 0.5)", "np.where(ODD, np.inf, 1.0) * x",
    "np.arccos(np.where(ODD, 2.0, 0.5) * x / 2.0 + np.where(ODD, 2.0, 0.0))",
    "np.log(x * np.where(ODD, 0.0, 1.0))", "scipy.special.gamma(0.0 * x - ODD)",
    "np.divide(x, np.where(ODD, 0.0 * x, x + 1.0))", "np.cbrt(np.where(ODD, 0.0 * x, x))",
    "np.linalg.norm(np.where(ODD, 0.0, 1.0)[:, None] * x[:, None] * np.ones(2), axis=1)",
)  # fmt: skip
# {f} is a finite branch, {b} a broken one.
CHOOSE = (
    "v = np.where(ODD, {f}, {b})",
    "v = np.where(~ODD, {b}, {f})",
    "v = np.select([ODD, ~ODD], [{f}, {b}])",
    "v = np.choose(ODD.astype(int), [{b}, {f}])",
    "b = {b}\nv = np.where(np.isnan(b) | np.isinf(b) | ODD, {f}, b)",
    "v = np.piecewise(x, [ODD], [lambda t: t * t, lambda t: np.sqrt(t)])",
    "v = np.fmax({f}, {b} + np.where(ODD, np.nan, -9.0))",
    "v = np.fmin({f}, {b} + np.where(ODD, np.nan, 9.0))",
    "b = {b}\nf = {f}\nv = np.array([f[i] if ODD[i] else b[i] for i in range(len(x))])",
    "v = ({b})[~ODD]",
    "v = np.compress(~ODD, {b})",
    "v = np.extract(~ODD, {b})",
    "v = np.nansum(np.where(ODD, np.nan, {b}))",
    "v = np.nanmax(np.where(ODD, np.nan, {b}) + FIRST)",
    "v = np.nanmean(np.where(ODD, np.nan, {b}) * {f})",
    "v = np.ma.masked_array({b}, mask=ODD).sum()",
    "v = np.sum({b}, where=~ODD)",
    "v = np.max({b} + FIRST, where=~ODD, initial=-9.0)",
    "v = {f}\nv[~ODD] = ({b})[~ODD]",
    "v = np.zeros(len(x))\nnp.copyto(v, {b}, where=~ODD)",
    "v = np.zeros(len(x))\nnp.sqrt(x, out=v, where=~ODD)",
    "v = np.maximum({f}, -50.0) + np.minimum({f}, 50.0)",
    "v = np.maximum({f}, {f2})",
    "v = np.clip({f}, -3.0, np.where(ODD, np.inf, 3.0))",
    "v = sum(max(a, -math.inf) + min(a, math.inf) for a in x[:3])",
    "v = sum((math.sqrt(a) if a > 0.5 else a * a) for a in x[:4])",
)  # fmt: skip
# Ties: both sides are the same function.
TIES = (
    "y = {f}\nv = np.maximum(y, y)",
    "y = {f}\nv = np.minimum(y, y.copy())",
    "y = {f}\nv = np.where(y >= y, y, y * 1.0)",
    "y = {f}\nv = np.fmax(y, y + 0.0)",
    "y = {f}\nv = np.max(np.stack([y, y]), axis=0)",
    "y = {f}\nv = np.sort(np.concatenate([y, y]))",
    "y = {f}\nv = np.median(np.stack([y, y, y]), axis=0)",
    "y = {f}\nv = np.clip(y, y, y)",
    "y = {f}\nv = np.abs(y - y) * 0.0 + y",
    "y = {f}\nv = max(y[0], y[0] * 1.0) + min([y[1], y[1]])",
    "y = {f}\nv = np.max([y[0], y[0], -9.0])",
    "y = {f}\nv = np.maximum.reduce([y, y, y])",
    "y = {f}\nv = np.ptp(np.stack([y, y]), axis=0) + y",
    "y = {f}\nv = np.partition(np.stack([y, y]), 0, axis=0)",
    "y = {f}\nv = np.unique(np.concatenate([y, y]))",
    "y = {f}\nv = np.quantile(np.stack([y, y]), 0.3, axis=0)",
    "y = {f}\nv = np.hypot(y - y, y)",
    "y = {f}\nv = np.maximum.accumulate(np.repeat(np.sort(y), 2))",
    "y = {f}\nv = np.copysign(np.abs(y), y)",
)  # fmt: skip
USE = (
    "s = s + np.sum(v)",
    "s = s + np.sum(np.sin(v))",
    "s = s + np.sum(v * v)",
    "s = s + np.mean(np.abs(v + 10.0))",
)


def write(seed: int) -> str:
    """Return the source of a program."""
    rng = random.Random(seed)
    parts: list[str] = []
    for _ in range(rng.randint(1, 3)):
        phrase = rng.choice(CHOOSE if rng.random() < 0.65 else TIES)
        parts.append(
            phrase.format(f=rng.choice(FINITE), f2=rng.choice(FINITE), b=rng.choice(BROKEN))
        )
        parts.append(rng.choice(USE))
    body = "".join(f"    {line}\n" for part in parts for line in part.splitlines())
    n = rng.choice((4, 5, 40, 3000))
    return HEADER.format(n=n, body=body.rstrip(), start=rng.randrange(9), k=rng.choice((0.3, -0.8)))
