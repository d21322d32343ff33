"""Programs whose loops call functions of NumPy that have no machine code, among those that have.

Vectors, matrices and complex arrays go through transforms, factorisations, sorting, statistics and
stacked products, which read views, write into parts of arrays, and stand inside expressions,
branches and inner loops.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
N = {n}
PICK = np.array([2, 0, 1, 2])
FLAG = np.arange(N * 3).reshape(N, 3) % 4 == 1


def settled(x):
    return x / (1.0 + np.real(x * np.conj(x)))


def kernel(a, b, n):
    x = {x}
    y = {y}
    m = np.outer(x[:3], y[:3]) + 2.0 * np.eye(3, dtype=x.dtype)
    f = np.zeros((2, N, 3), dtype=x.dtype)
    z = x * (0.5 + 0.2j)
    s = 0.0
    old = x
    for t in range(n):
{body}
        x, y, z, m, f = settled(x), settled(y), settled(z), settled(m), settled(f)
    z = z * 1.0
    total = np.sum(x * y) + np.sum(m * m) + np.sum(f * 0.3)
    return total + np.sum(np.real(z) * 0.5 - np.imag(z)) + np.sin(s)


def program(a, b):
    return kernel({first}, b * 1.0, {turns})


_numbers = np.arange(float(N)) + 0.3
ARGUMENTS = (np.sin(_numbers * 2.0).astype(np.{dtype}), np.cos(_numbers * 3.0).astype(np.{dtype}))
ARGNUMS = {argnums}
"""


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def vector(self) -> str:
        """Write a real vector of N elements."""
        x, y = self.pick("x", "y", "a", "b"), self.pick("x", "y", "old")
        plain = self.pick(x, f"{x}[::-1]", f"({x} * {y})", f"np.tanh({x})", f"({x} - 0.3 * {y})")
        return self.pick(
            plain,
            plain,
            f"np.sort({plain})",
            f"np.fft.ifft(np.fft.fft({plain}) * 0.9).real.astype(x.dtype)",
            f"np.fft.irfft(np.fft.rfft({plain}), N).astype(x.dtype)",
            f"np.abs(np.fft.fft({plain})).astype(x.dtype) * 0.3",
            f"np.interp({plain}, np.linspace(-1.0, 1.0, 5), a[:5]).astype(x.dtype)",
            f"np.nan_to_num({plain})",
            f"np.gradient({plain})",
            f"np.diff({plain}, prepend=0.0)",
            f"np.cumprod(1.0 + 0.1 * {plain})",
            f"np.median(np.outer({plain}, {y}), axis=1)",
            f"np.std(np.outer({plain}, {y}) + 0.1, axis=0)",
            f"np.max(np.outer({plain}, {y}), axis=1)",
            f"np.squeeze(np.outer({plain}, {y})[:, :1])",
            f"np.einsum('i,ij->j', {plain}, np.outer(x, y))",
            f"np.repeat({plain}[::2], 2)[:N]",
            f"np.take_along_axis({plain}, np.argsort(y), 0)",
        )

    def matrix(self) -> str:
        """Write a real matrix of three rows and columns."""
        x, y = self.pick("x", "y"), self.pick("x", "y")
        plain = self.pick("m", "m.T", f"np.outer({x}[:3], {y}[1:4])", "(m @ m)", "(m * 0.5)")
        safe = f"({plain} * 0.2 + 3.0 * np.eye(3, dtype=x.dtype))"
        return self.pick(
            plain,
            f"np.linalg.inv({safe})",
            f"np.linalg.qr({safe})[0]",
            f"np.linalg.svd({safe} + np.diag(np.arange(3.0).astype(x.dtype)))[0] ** 2",
            f"np.linalg.solve({safe}, {plain})",
            f"np.linalg.matrix_power({plain}, 2)",
            f"np.linalg.pinv({safe})",
            f"np.kron({plain}[:1, :1], {plain})",
            f"(np.stack([{plain}, m]) @ {safe})[0]",
            f"np.linalg.solve(np.stack([{safe}, {safe}]), np.stack([m, {plain}]))[1]",
            f"np.linalg.cholesky({safe} @ {safe}.T)",
            f"np.cov({plain})",
            f"np.moveaxis(np.stack([{plain}, m, m.T]), 0, 1)[1]",
        )

    def complex_vector(self) -> str:
        """Write a complex vector of N elements."""
        plain = self.pick("z", "(z * x)", "np.conj(z)", "z[::-1]", "(z + 1j * y)")
        return self.pick(
            plain, f"np.fft.fft({plain})", f"np.fft.ifft({plain} * np.exp(1j * x))",
            f"np.roll({plain}, t)",
            f"np.fft.fftshift({plain})", f"np.fft.fft(np.outer({plain}, x[:2]), axis=0)[:, 1]",
        )  # fmt: skip

    def number(self) -> str:
        return self.pick(
            f"np.linalg.norm({self.matrix()}, 'nuc')", f"np.prod({self.vector()}[:3])",
            f"np.quantile({self.vector()}, 0.4)", f"np.trapezoid({self.vector()})",
            f"np.sum({self.vector()})", f"np.linalg.det({self.matrix()})", "0.3 * t", "s",
            "np.real(np.linalg.det(m * (1.0 + 0.3j)))",
            f"np.linalg.slogdet({self.matrix()} + 2.0 * np.eye(3))[1]",
        )  # fmt: skip

    def statement(self) -> list[str]:
        x = self.pick("x", "y")
        return self.rng.choice([
            [f"{x} = {self.vector()}"],
            [f"{x} = {self.vector()} + {self.vector()} * 0.5"],
            [f"{x} = {x} * 1.0", f"{x}[:] = {self.vector()}"],
            [f"{x} = {x} * 1.0", f"{x}[{self.pick('1:4', '::2', '-3:', 'PICK', '[3, 1]')}] *= 0.7"],
            [f"{x} = {x} * 1.0", f"v = {x}[1:5]", f"v += {self.vector()}[:4]",
             f"s = s + np.sum({x})"],
            [f"m = {self.matrix()}"],
            [f"m = 0.5 * m + {self.matrix()} * np.sum(x)"],
            ["m = m * 1.0", f"m[:, 1] = {self.vector()}[:3]"],
            ["u, w = np.linalg.qr(m + 3.0 * np.eye(3, dtype=x.dtype))",
             "m = w.T @ w * 0.1 + u * s"],
            ["w, v = np.linalg.eigh(m @ m.T + np.diag(np.arange(3.0)))", "m = v ** 2 * w[:, None]"],
            [f"s = s + {self.number()} * 0.1"],
            [f"z = {self.complex_vector()}"],
            ["z = z * 1.0", f"z[2:] = {self.complex_vector()}[2:] * 0.5"],
            ["f[0] = np.outer(x, y[:3])", "f = f * 1.0", "f[:, FLAG] *= 0.5",
             "s = s + np.sum(f[1])"],
            ["f = f * 1.0", "g = f[:, FLAG]", "f[1] = np.outer(y, x[:3])",
             "f[:, FLAG] = g[::-1] + 0.1"],
            [f"if s > {self.pick('0.0', '0.3', '9.0')}:", f"    {x} = {self.vector()}", "else:",
             f"    s = s + {self.number()} * 0.2"],
            ["for k in range(2):", f"    {x} = {self.vector()} * 0.8", f"    s = s + {x}[k]"],
            [f"old = {self.vector()}"],
        ])  # fmt: skip


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(f"library calls {seed}")
    writer = _Writer(rng)
    lines = [line for _ in range(rng.randint(2, 5)) for line in writer.statement()]
    return HEADER.format(
        n=rng.choice((6, 8, 9, 16)),
        dtype=rng.choice(("float64", "float64", "float64", "float32")),
        x=rng.choice(("a", "a * 1.0", "b * 0.5")),
        y=rng.choice(("b", "np.ones_like(b)", "a * b")),
        body="\n".join(" " * 8 + line for line in lines),
        first=rng.choice(("a * 1.0", "a * 1.0", "a[::-1]")),
        turns=rng.choice("1345"),
        argnums=argnums(seed, 2),
    )
