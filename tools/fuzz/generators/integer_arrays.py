"""Programs whose loops write into arrays of integers and truth values, and index with them.

A kernel is given counts `c`, places `z` (a permutation at first) and a mask `m`, or makes them: of
several dtypes, contiguous or not, aliases of one another, read-only, views of larger arrays, used
before or afterwards. It returns some of them or none. What they hold in the end is a factor of the
result, so it shows in the gradient.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
N = {n}
W = np.cos(np.arange(float(N)))
OUTSIDE = np.arange(N)


def visit(c, z, i):
    for j in range(2):
        c[z[i - j]] += 1
    return c


def nearest(x, v):
    best, at = 9.0, 0
    for j in range(len(x)):
        if abs(x[j] - v) < best:
            best, at = abs(x[j] - v), j
    return at


def kernel(a, b, c, z, m, n):
    x, y = a * 1.0, b * 0.5
    s = 0.0
    k = {k}
{body}
    return {result}


def value(r):
    if r is None:
        return 0.0
    if isinstance(r, tuple):
        return sum(value(part) for part in r)
    if isinstance(r, np.ndarray) and r.dtype.kind in "iub":
        return float(np.sum(r * W[: len(r)]))
    return np.sum(np.sin(r))


def program(a, b):
    c = {c}
    z = {z}
    m = {m}
    u = a * 1.0
{before}
    total = np.sum(u) * 0.1
    r = ()
    for turn in range({turns}):
{call}
{between}
    parts = r if isinstance(r, tuple) else (r,)
    same = {same}
    total = total + value(r) * (1.0 + np.sum(u * u)) + same * u[0]
{after}
    held = value((c, z, m)) + np.sum(OUTSIDE)
    return total + held * np.sum(np.sin(u)) + value(r) * u[1]


_numbers = np.arange(float(N))
ARGUMENTS = ((np.sin(_numbers * 2.0 + 0.3) * 1.1).astype(np.{dtype}),
             np.cos(_numbers * 3.0 + 0.1).astype(np.{dtype}))
ARGNUMS = {argnums}
"""


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def array(self) -> str:
        return self.pick("x", "x", "y", "a", "b")

    def mask(self) -> str:
        return self.pick(
            "m", "m", "~m", "x > 0.2", "(x < y)", "c > t", "(c == z)", "m & (x > -0.5)", "m[::-1]"
        )

    def place(self) -> str:
        """Write an index of one element."""
        return self.pick(
            "i", "i", "-i", "n - 1 - i", "z[i]", "z[i]", "z[-1 - i]", "c[i] % n", "int(m[i])",
            "nearest(x, y[i])", "int(np.argmin(np.abs(x - y[i])))", "int(x[i] * 20.0) % n",
        )  # fmt: skip

    def integer(self) -> str:
        return self.pick(
            "t", "i", "1", "-2", "n", "z[i]", "c[i]", "i * t", "k[i] + 1", "t + z[i] % 3", "100",
            "int(x[i] > 0.0)", "2 * c[i]", "len(x)", f"nearest(y, {self.array()}[i])",
        )  # fmt: skip

    def integers(self) -> str:
        """Write n integers."""
        return self.pick(
            "z", "c", "k", "z[::-1]", "np.arange(n)", "np.argsort(x)", "(c + t) % n", "z[z]",
            "np.where(m, z, 1)", "np.where(x > y, t, c)", "(k * 2)", "(OUTSIDE + t)", "c.copy()",
        )  # fmt: skip

    def statement(self) -> list[str]:
        """Write a statement of the loop over t."""
        target = self.pick("c", "c", "c", "k")
        mask = self.mask()
        return self.rng.choice(
            [
                [f"{target}[{mask}] {self.pick('=', '=', '+=')} {self.pick('t', '1', 'n')}"],
                [f"{target}[{mask}] = {self.integers()}[{mask}]"],
                [f"{target} {self.pick('+=', '-=', '*=', '//=')} {self.pick('1', '3', 'k', '50')}"],
                [f"{target}[{self.pick(':', '1:', '::2')}] = t"],
                [f"{target}[:] = {self.integers()}"],
                [f"{target}[1:] {self.pick('=', '+=')} {self.integers()}[:-1]"],
                [f"z[:] = {self.pick('np.argsort(x)', 'z[::-1]', '(z + 1) % n', 'np.roll(z, 1)')}"],
                [f"{self.pick('z', 'k', 'c')} = {self.integers()}"],
                ["v = c[1:]", f"v[{self.pick('0', '-1', 't % 2')}] {self.pick('=', '+=')} t"],
                ["v = z[:]", "v[0], v[1] = v[1], v[0]"],
                [f"m[:] = {mask}"],
                [f"m = {mask}"],
                [f"m[m] = {mask}[m]"],
                [f"{target}[z] = {self.pick('t', 'c', 'z', 'k')}"],
                ["np.add.at(c, z, 1)"],
                [f"np.{self.pick('minimum', 'maximum', 'add')}(c, {self.pick('3', 'c')}, out=c)"],
                [f"{target}.fill({self.pick('0', 't', '7')})"],
                ["c, k = k, c"],
                ["visit(c, z, t)"],
                [f"x[{mask}] {self.pick('=', '*=', '+=')} {self.pick('0.5', 's', '0.1 * t')}"],
                [f"x[{mask}] = y[{mask}] * 0.7"],
                [f"x = x[z] * 0.9 + {self.pick('y', '0.1')}"],
                [f"y[z] {self.pick('=', '+=')} np.sin(x)"],
                ["np.add.at(y, z, x)"],
                [f"y = np.where({mask}, x, 0.5 * y)"],
                [f"s = s + np.sum(x[{mask}]) * 0.3"],
                [f"s = s + np.sum(x * {self.pick('c', 'z', 'm', 'k')}) * 0.02"],
                [f"s = s + np.sum({self.pick('c', 'm', 'k')}) * y[0] * 0.01"],
                [f"s = s + x[np.argmax(y)] * {self.pick('c', 'z')}[0]"],
                *self.rng.sample(_RARE, 2),
            ]
        )

    def inner(self) -> list[str]:
        """Write a statement of the loop over i in it."""
        target = self.pick("c", "c", "c", "z", "k", "m")
        value = self.integer() if target in "ck" else f"({self.integer()}) % n"
        if target == "m":
            value = self.pick("x[i] > 0.1", "not m[i]", "True", "c[i] > 1", "m[z[i]]", "False")
        place = self.place()
        return self.rng.choice(
            [
                [f"{target}[{place}] = {value}"],
                [f"{target}[{place}] = {value}"],
                [f"c[{place}] += {self.integer()}"],
                [f"c[{place}] {self.pick('*=', '-=', '+=')} 2"],
                ["z[i], z[-1 - i] = z[-1 - i], z[i]"],
                [f"if {self.pick('m[i]', 'c[i] > 2', 'x[i] > 0.3', 'z[i] == i')}:",
                 f"    {target}[{place}] = {value}", f"    x[i] = y[{place}] * 0.5"],
                [f"s = s + x[{place}] * 0.5"],
                [f"s = s + x[i] * {self.pick('c[i]', 'z[i]', 'k[i]', 'c[z[i]]')} * 0.1"],
                [f"x[{place}] = np.sin(y[i]) + 0.1 * s"],
                [f"y[{place}] += x[i] * 0.3"],
                [f"if c[i] > {self.pick('6', '12', '90')}:",
                 f"    {self.pick('break', 'continue', 'raise ValueError')}"],
            ]
        )  # fmt: skip


_RARE = [
    ["c[0] = 2.7"],
    ["c[1:3] = np.array([1.6, -2.6])"],
    ["c[0] = 300"],
    ["c[z[t] + 2] = t"],
    ["if t > 1:", "    raise ValueError(t)"],
    ["c = c.astype(np.int64)"],
    ["m = m.copy()"],
    ["s = s + float(np.sum(c > 1)) * x[0]"],
    ["y = y[m] if np.all(m) else y"],
    ["v = m[1:]", "v[:] = ~v"],
    ["q = c.view()", "q[0] = t"],
    ["c[:, None][0] = t"],
]


_CALL = "        r = kernel(u, b, c, z, m, N)"
_SAME = "sum((k + 1) * (part is q) for k, q in enumerate((c, z, m)) for part in parts)"
_TRIED = """\
        try:
            r = kernel(u, b, c, z, m, N)
        except (ValueError, IndexError, OverflowError):
            total = total + 0.3 * np.sum(u)"""


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(f"integer arrays {seed}")
    writer = _Writer(rng)
    lines = ["for t in range(3):"]
    for _ in range(rng.randint(1, 4)):
        if rng.random() < 0.45:
            body = [line for _ in range(rng.randint(1, 3)) for line in writer.inner()]
            head = rng.choice(("range(n)", "range(1, n)", "range(n - 2, 0, -1)"))
            lines += [f"    for i in {head}:", *["        " + line for line in body]]
        else:
            lines += ["    " + line for line in writer.statement()]
    kind = rng.choice(("np.int64", "np.int64", "np.int64", "np.int32", "np.int8", "np.uint8"))
    counts = [
        f"np.zeros(N, dtype={kind})",
        f"np.zeros(N, dtype={kind})",
        f"np.arange(N, dtype={kind})",
        f"np.ones(2 * N, dtype={kind})[::2]",
        f"np.zeros((3, N), dtype={kind})[1]",
        f"np.zeros((N, 2), dtype={kind})[:, 0]",
        f"np.arange(N, dtype={kind})[::-1]",
    ]
    places = [
        "np.arange(N)",
        "np.arange(N)[::-1].copy()",
        "(np.arange(N) * 2) % N",
        "np.argsort(a)",
    ]
    masks = ["np.zeros(N, dtype=bool)", "np.ones(N, bool)", "np.arange(N) % 2 == 0", "a > 0.1"]
    if rng.random() < 0.15:
        places = ["c", "c[:]", "c[::-1]"] if kind == "np.int64" else places
    before = ["u = u * 0.9"]
    if rng.random() < 0.3:
        before += [rng.choice(("u = u + u[z % N] * 0.5", "u[m] = 0.3", "u = u * (c + 1)"))]
    if rng.random() < 0.1:
        before += [rng.choice(("c", "z", "m")) + ".flags.writeable = False"]
    if rng.random() < 0.15:
        before += ["v = c[1:]", "v[0] = 2"]
    between = rng.choice(
        (
            "total = total + 0.1 * turn",
            "u = u[z % N] * 0.8",
            "c[0] = turn",
            "z[:2] = z[:2][::-1]",
            "m[turn] = not m[turn]",
            "u = u + c * 0.01",
            "c = c + 1",
        )
    )
    after = rng.choice(
        (
            "pass",
            "c[...] = 1",
            "z[...] = 0",
            "m[...] = True",
            "c += 1",
            "if isinstance(r, tuple) and isinstance(r[-1], np.ndarray):\n        r[-1][0] = 1",
            "total = total + np.sum(u[z % N] * c)",
        )
    )
    results = (
        "s", "s", "x", "(s, x)", "(x, c)", "(s, c)", "(s, z, m)", "(x, k)", "(s, c, c)",
        "(c, s)", "(s, m)", "c", "(x, c[1:])", "(s, x > 0.0)", "(s, z + 0)", "None", "(s, k, c)",
        "(y, m, z)", "(s, v)",
    )  # fmt: skip
    result = rng.choice(results)
    if result == "(s, v)":
        lines.insert(0, rng.choice(("v = c", "v = c[::2]", "v = z.copy()")))
    result = "s * 1.0, " * (result == "None") + result
    return HEADER.format(
        n=rng.randint(4, 7),
        k=rng.choice(("np.zeros(n, dtype=np.int64)", "c.copy()", "np.arange(n)", "z * 1", "c")),
        body="\n".join("    " + line for line in lines),
        result=result,
        c=rng.choice(counts),
        z=rng.choice(places),
        m=rng.choice(masks),
        before="\n".join("    " + line for line in before),
        turns=rng.choice("1123"),
        same=rng.choice(("0.5", _SAME)),
        call=rng.choice((_CALL, _CALL, _TRIED)),
        between="        " + between,
        after="    " + after,
        dtype=rng.choice(("float64", "float64", "float64", "float32")),
        argnums=argnums(seed, 2),
    )
