"""Programs that set what NumPy does on a floating-point error, and take another path on one.

Overflow, underflow, division by zero and invalid values are ignored, warned of, raised, or given to
a function. Operations that meet one for the numbers at hand, or nearly do, stand in expressions
that run as machine code, in loops that run as programs from their source, and in functions that
are compiled after a while.
"""

from __future__ import annotations

import random

HEADER = """\
import math
import warnings

import numpy as np

{helpers}
def program(x, k):
    s = 0.0
{body}
    return s


ARGUMENTS = (0.4 + 0.3 * np.sin(np.arange({n}.0) + {start}.0), {k})
"""

HELPERS = """\
def looped(y, factor, turns):
    t = 1.0
    for i in range(turns):
        t = t * factor + y[i % len(y)] * 0.1
    return t


def filled(y, factor):
    z = np.empty(len(y))
    for i in range(len(y)):
        z[i] = y[i] * factor + 1.0 / (1.0 + y[i] * y[i])
    return z


"""

# Each makes the number or array `v` of `x` and `k`; some meet an error.
COMPUTE = (
    "v = x * {huge} * {huge2}",
    "v = np.exp(x * {large})",
    "v = np.exp(-x * {large})",
    "v = np.sum(np.exp(-x * {large}) * {tiny})",
    "v = x / (x[0] - x[{place}])",
    "v = np.log(x - {shift})",
    "v = np.sqrt(x - {shift})",
    "v = np.float64({tiny}) * k * {tiny}",
    "v = k * np.float64({huge}) * {huge2}",
    "v = np.power(x, {large})",
    "v = np.arcsin(x * {scale})",
    "v = np.divide(x, {zero})",
    "v = np.sum(x * x) / {zero}",
    "v = np.multiply(x, x) ** {large}",
    "v = looped(x * {huge}, np.float64({scale}), {turns})",
    "v = looped(x, k * {huge}, {turns})",
    "v = filled(x, {huge}) * {huge2}",
    "v = np.cumprod(np.tile(x, {turns}) * {tiny})",
    "v = np.prod(np.tile(x, {turns}) * {tiny2})",
    "v = np.tanh(x * {large}) + np.expm1(-x * {large})",
    "v = np.sum(np.where(x > {shift}, np.log(x), np.log(x - {shift})))",
    "v = np.hypot(x * {huge}, {huge})",
    "v = np.dot(x * {huge}, x * {huge2})",
    "v = np.exp(-x * x) * np.sin(x)",
)  # fmt: skip
# Around it; what is written behind `HERE` is put there.
AROUND = (
    "with np.errstate({kind}='raise'):\n    try:\n        HERE\n    except FloatingPointError:\n"
    "        v = x * 3.0",
    "try:\n    with np.errstate({kind}='raise'):\n        HERE\nexcept FloatingPointError as e:\n"
    "    v = np.sin(x) * (2.0 + ('overflow' in str(e)))",
    "with np.errstate({kind}='ignore'):\n    HERE",
    "with np.errstate({kind}='warn'):\n    with warnings.catch_warnings():\n"
    "        warnings.simplefilter('error')\n        try:\n            HERE\n"
    "        except RuntimeWarning:\n            v = x * x",
    "with np.errstate({kind}='warn'), warnings.catch_warnings(record=True) as seen:\n"
    "    warnings.simplefilter('always')\n    HERE\nv = v * (1.0 + 0.5 * len(seen))",
    "seen = []\nwith np.errstate({kind}='call', call=lambda kind, flag: seen.append(kind)):\n"
    "    HERE\nv = v if not seen else x * 0.7",
    "before = np.seterr({kind}='raise')\ntry:\n    HERE\nexcept FloatingPointError:\n"
    "    v = np.cos(x)\nfinally:\n    np.seterr(**before)",
    "with np.errstate(all='raise'):\n    try:\n        with np.errstate({kind}='ignore'):\n"
    "            HERE\n    except ArithmeticError:\n        v = x * 1.5",
    "@np.errstate({kind}='raise')\ndef computed(x, k):\n    HERE\n    return v\n"
    "try:\n    v = computed(x, k)\nexcept FloatingPointError:\n    v = x + k",
)  # fmt: skip
USE = (
    "s = s + np.sum(np.where(np.isfinite(v), v, 0.0) * 1e-3)",
    "s = s + np.sum(np.tanh(np.nan_to_num(v, nan=0.5, posinf=1.0, neginf=-1.0)))",
    "s = s + (1.0 if np.all(np.isfinite(v)) else 2.0) * np.sum(x * x)",
    "s = s + np.sum(np.clip(np.nan_to_num(v), -2.0, 2.0)) * k",
)


def write(seed: int) -> str:
    """Return the source of a program."""
    rng = random.Random(seed)
    parts: list[str] = []
    for _ in range(rng.randint(1, 3)):
        around, compute = rng.choice(AROUND), _filled(rng, rng.choice(COMPUTE))
        kind = rng.choice(("all", "over", "under", "divide", "invalid"))
        parts.append(around.replace("{kind}", kind).replace("HERE", compute))
        parts.append(rng.choice(USE))
    body = "".join(f"    {line}\n" for part in parts for line in part.splitlines())
    return HEADER.format(
        helpers=HELPERS,
        body=body.rstrip(),
        n=rng.choice((3, 4, 40, 3000)),
        start=rng.randrange(9),
        k=rng.choice((0.3, 1.7, -0.8)),
    )


def _filled(rng: random.Random, phrase: str) -> str:
    return phrase.format(
        huge=rng.choice(("1e10", "1e200", "1e306")),
        huge2=rng.choice(("1e-3", "1e120", "1e200")),
        tiny=rng.choice(("1e-10", "1e-200", "1e-306")),
        tiny2=rng.choice(("0.5", "1e-20", "1e-160")),
        large=rng.choice(("2.0", "40.0", "800.0", "2000.0")),
        place=rng.choice((0, 1, 2)),
        shift=rng.choice(("-1.0", "0.4", "0.6", "2.0")),
        scale=rng.choice(("0.5", "1.5", "20.0")),
        zero=rng.choice(("0.0", "1e-310", "2.0")),
        turns=rng.choice((2, 5, 60)),
    )
