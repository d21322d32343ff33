"""Random sequences of reads and writes of parts of arrays, beside central differences.

Views are kept over writes, arrays have two names, values are read before and after, and what is
written is a number, a row that is broadcast, or a part of an array itself.
"""

import random

import numpy as np
import pytest

import autodiff
from autodiff import gradient, jvp
from autodiff.structured import calls
from tests.helpers import define

INDICES = (
    "i", "-1", "i:", "::2", "::-1", ":, 1", "i, 2", "..., 0", "1:3, i:", ":", "...", "i, None",
    "np.int64(1)", "(0, slice(None))", "[0, 2]", "[i, 2, i]", "np.array([1, -1])", "x[:, 1] > 0",
    "y > 0.1", "[i], 1:", "np.ix_([0, 2], [1, 3])",
)  # fmt: skip
VALUES = (
    "s", "2.0", "x[0]", "x[1:]", "C[i]", "y[0]", "y[i, 1]", "x[None, i]", "np.sin(y[1])", "v",
    "y[:, 0].sum()", "w[i]",
)  # fmt: skip
STATEMENTS = (
    "y[{index}] = {value}", "y[{index}] += {value}", "y[{index}] *= {value}",
    "y[i][{column}] = {value}", "y[i][{column}] -= {value}", "v[{column}] = {value}",
    "v[{column}] += {value}", "y += {value}", "y *= {value}", "v *= {value}", "v = y[i]",
    "v = y[i].copy()", "z = y", "z = y * 1.0", "z[{index}] = {value}", "s = s * y[i, 1] + y[0, 0]",
    "kept.append(y[i] * x)", "w = y.T", "w[1] = {value}", "y = y * s", "y = np.zeros((4, 4))",
    "y = C * 1.0", "v = v + y[:, 2]",
)  # fmt: skip
PROGRAM = """
import numpy as np

C = np.cos(np.arange(16.0)).reshape(4, 4)

def program(x):
    y, s, kept = {start}, x[0, 1], []
    z, v, w = y, y[2], C.copy()
    x, i = x * 1.0, 0
    for i in range({turns}):
        {body}
    return np.sum(np.sin(y)) + np.sum(z * C) + s + sum(np.sum(k) for k in kept) + np.sum(v * w[1])
"""


def written(seed):
    rng = random.Random(seed)
    lines = []
    for _ in range(rng.randint(2, 7)):
        parts = {
            "index": rng.choice(INDICES),
            "value": rng.choice(VALUES),
            "column": rng.choice(("1", "1:3", ":", "::-1", "-1")),
        }
        line = rng.choice(STATEMENTS).format(**parts)
        lines.append(line if rng.random() < 0.8 else f"if i > 0: {line}")
    start = rng.choice(("np.zeros((4, 4))", "x * 2.0", "x", "x.copy()", "C.copy()", "x.T * 1.0"))
    return PROGRAM.format(start=start, turns=rng.randint(1, 3), body="\n        ".join(lines))


def outcome(f, x):
    with np.errstate(all="ignore"):
        try:
            return f(x)
        except Exception as error:
            return type(error)


@pytest.mark.parametrize("seed", range(150))
def test_writes(seed, monkeypatch):
    monkeypatch.setattr(calls.Settings, "enabled", False)
    text = written(seed)
    f = define(text, f"<writes {seed}>", {"__name__": f"writes_{seed}"})["program"]
    x = 0.5 * np.cos(np.arange(16.0) * 1.3).reshape(4, 4)
    before = autodiff.automatic_compile(False)
    try:
        value, slope = outcome(lambda x: f(x.copy()), x), outcome(lambda x: gradient(f, x), x)
        d = np.sin(np.arange(16.0)).reshape(4, 4)
        pushed = outcome(lambda x: jvp(f, (x,), (d,))[1], x)
    finally:
        autodiff.automatic_compile(before)
    if isinstance(value, type):
        assert isinstance(slope, type), text
        return
    if isinstance(slope, type):  # what is not followed is an error
        assert issubclass(slope, autodiff.MutationError), (slope, text)
        return
    if not np.isfinite(value) or abs(value) > 1e6:
        return
    h = 1e-6
    expected = (f(x + h * d) - f(x - h * d)) / (2 * h)
    if not abs(expected) < 1e5:
        return
    np.testing.assert_allclose(np.sum(slope * d), expected, rtol=1e-4, atol=1e-5, err_msg=text)
    if not isinstance(pushed, type):
        np.testing.assert_allclose(pushed, np.sum(slope * d), rtol=1e-8, atol=1e-9, err_msg=text)
