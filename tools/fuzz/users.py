"""Random programs as users write them, for `autodiff.compile`: written while they are run.

A program is a function of some arrays, numbers, flags and nests. Each statement is tried before it
is kept, so what is written is right by construction, and shapes need not be known beforehand.
"""

from __future__ import annotations

import copy
import dataclasses
import linecache
import math
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np

_LARGEST, _MOST = 60, 1e3


@dataclasses.dataclass
class Box:
    """A nest among the arguments."""

    a: Any
    b: Any


# What is drawn for {letters}: v a vector, m a matrix, a an array, s a float, i an index, n a small
# count, q a mask, p an array of places, c a constant; digits make another draw of the same kind.
_VALUES = """
np.tanh({a}); np.sin({a}) * 0.7; {a} + {a1}; {a} * {a1}; {a} - {a1}; {a} * {s}; {s} - {a}
{a} / (1.0 + {a1} ** 2); -{a}; {a}[::-1]; {m}.T; {m}[{i}]; {m}[:, {i}]; {v}[{i}]; {m}[{i}, {i1}]
{v}[1:]; {v}[:-1]; {v}[::2]; {m}[1:, ::-1]; {m}[::-1, :{n}]; {a}[None]; {a}[..., None]; {a}.copy()
np.sum({a}); np.mean({a}, axis=0); np.sum({m}, axis=1, keepdims=True); np.max({a})
np.min({a}, axis=-1); np.max({m}, axis=0, keepdims=True); {m}.var(axis=1); np.std({a} + 0.1)
np.prod({a} + 1.0); {m} @ {v}; {m} @ {m1}; {v} @ {v1}; {m}.T @ {m1}; np.outer({v}, {v1})
np.dot({v}, {v1}); np.where({a} > {c}, {a}, {c1}); np.where({q}, {a}, {a1})
np.clip({a}, -0.5, {c}); np.clip({a}, {a1}, None); np.maximum({a}, {c}); np.minimum({a}, {a1})
np.abs({a}); np.sign({a}) * {a}; np.round({a}, 1) * {a}; np.cumsum({a})
np.cumsum({m}, axis={n} - 1); np.cumprod(1.0 + 0.1 * {v}); np.sort({a}); np.sort({m}, axis=0)
{v}[np.argsort({v})]; {v}[np.argmax({v})]; {m}[np.argmin({m}[:, 0])]; np.argsort({v})
np.argmax({m}, axis=0); {v}[{p}]; {m}[{p}]; {m}[{p}, 0]; {v}[{q}]; {m}[{q}]; np.take({v}, {p})
np.take({m}, {p}, axis=0); {a} > {c}; {a} <= {a1}; ~{q}; {q} & {q1}; np.isfinite({a})
{a}.astype(int); ({a} * 10).astype(int) % 3; np.concatenate([{v}, {v1}]); np.stack([{v}, {v1}])
np.stack([{a}, {a1}], axis=-1); np.vstack([{m}, {v}]); np.hstack([{v}, {s}]); np.append({v}, {s})
np.roll({a}, 1); np.roll({m}, {n}, axis=0); np.flip({m}, 1); np.diff({v}); np.diff({m}, axis=0)
np.pad({v}, 1); np.repeat({v}, 2); np.tile({v}, 2); np.ravel({m}); {m}.reshape(-1)
np.broadcast_to({v}, (2, len({v}))).ravel("K"); {m}.T.ravel("K"); np.ravel({m}[:1] + 0.0 * {m}, "A")
{a}.reshape(1, -1); {v}.reshape(-1, 1); np.diag({v}); np.diagonal({m}); np.trace({m})
np.triu({m}); np.tril({m}, -1); np.eye(len({v})) * {v}; np.zeros_like({a})
np.ones_like({a}) * {s}; np.zeros(len({v})); np.full({n}, {s})
np.array([{s}, {s1}, {c}]); np.arange({n}) * {s}; np.linspace(0.0, {s}, 4)
np.array([[{s}, {c}], [{c1}, {s1}]]); np.linalg.norm({a}); np.linalg.norm({m}, axis=0)
np.linalg.solve({m} @ {m}.T + 3.0 * np.eye(len({m})), np.ones(len({m})))
np.linalg.inv({m} @ {m}.T + 2.0 * np.eye(len({m}))); np.linalg.det({m} @ {m}.T + np.eye(len({m})))
np.linalg.cholesky({m} @ {m}.T + 2.0 * np.eye(len({m}))); np.einsum("ij,j->i", {m}, {v})
np.einsum("ij->ji", {m}); np.einsum("i,i->", {v}, {v1}); np.einsum("ij->j", {m})
np.exp(-{a} ** 2); np.exp({a} * 0.3); np.log(1.0 + {a} ** 2); np.sqrt({a} ** 2 + 0.1)
np.arctan2({a}, 1.5); np.hypot({a}, {s}); {a} ** 2; {a} ** 3; ({a} ** 2 + 0.5) ** 0.5
({a} ** 2 + 0.5) ** {s}; 2.0 ** {a}; np.power(np.abs({a}) + 0.2, {a1}); {a} % 0.7; {a} // 0.3
np.floor({a} * 3.0); np.mod({a}, 1.3); np.fmod({a}, 0.6); np.hypot({s}, {s1}); math.sin({s})
math.exp(-{s} ** 2); abs({s}); max({s}, {s1}); min({s}, 0.3); math.sqrt(abs({s}) + 0.1)
{s} * {s1} - {c}; float({s}); int({s} * 3); {s} / ({s1} ** 2 + 0.4); {s} ** 2
{s} if {s} > {c} else {s1} * 2.0; sum({v}[:3]); max({v}); sorted([{s}, {s1}, {c}])[1]
[{v}[j] * {s} for j in range(len({v}))]; np.array([{v}[j] ** 2 for j in range({n})])
sum([{m}[j, 0] for j in range({n})]); ({a} + 1j * {a1}); np.abs(({a} + 0.3j) ** 2); np.real({z})
np.imag({z}); np.conj({z}); {z} * np.exp(1j * {z}.real); np.angle({z} + 2.0)
{a}.astype(np.float32); np.float32(0.5) * {a}; {a}.astype(float); np.asarray({a}, dtype=float)
np.float64({s}); np.array({s}); np.sum({q}); np.any({q}); np.all({a} > -9.0)
np.count_nonzero({q}); len({v}); {a}.size; {a}.shape[0]; np.sum({a} * {q}); {a}.sum()
{a}.mean(axis=0); {a}.max(); {m}.min(axis=1); {a}.dot({v}); {a}.ravel(); {a}.flatten(); {a}.T
{a}.item(0); np.searchsorted(np.sort({v}), {s}); np.interp({s}, np.arange(3.0), {v}[:3])
np.percentile({v}, 30.0); np.median({v}); np.nansum({a}); np.convolve({v}, {v1}[:2])
np.cross({v}[:3], {v1}[:3]); np.kron({v}[:2], {v1}); np.logaddexp({a}, {a1})
np.squeeze({a}[None]); np.broadcast_to({v}, (2, len({v}))); np.swapaxes({m}, 0, 1)
np.atleast_2d({v}); np.expand_dims({v}, 0); np.nan_to_num({a}); np.unwrap({v})
np.split({v}, [1])[1]; np.array_split({a}, 2)[0]; np.unique(np.round({v})); np.flatnonzero({q})
np.nonzero({v} > 0)[0]; np.meshgrid({v}, {v1})[0]; {m}.copy(); {v}.copy(); {m}.copy().ravel()
np.asfortranarray({m}) * 1.0; {m}.T.copy(); np.zeros(len({v}), dtype=int); np.arange(len({v}))
np.ones(len({v}), dtype=bool); {p} * 2; {p} % 2; ({a} > {c}).tolist(); np.argsort({v}).tolist()
np.argmax({v}).item(); {m}[0, ({m1}[0] > {c}).nonzero()]; {m}[:, [0]]; {m}[[0, -1], 1:]
hasattr({s}, "__len__"); isinstance({s}, float); {q}.item(0); {q} ^ {q1}; math.sin({a}.flat[0])
np.unique(np.round({a}), return_inverse=True)[1]; np.histogram({a}, 3, (-2.0, 2.0))[0]
np.where({q})[0]; np.bincount(np.abs({p}), minlength=3); np.conj({s}); np.cbrt({s}); 1 / {s}
"""
_WRITES = """
{a}[...] = {s}; {v}[{i}] = {s}; {v}[{i}] += {s}; {v}[{i}] *= {v1}[{i1}]; {m}[{i}] = {v}
{m}[{i}] += 0.5 * {m1}[{i1}]; {m}[:, {i}] = {v}; {m}[{i}, {i1}] = {s}; {m}[{i}, {i1}] -= {v}[{i}]
{a}[{q}] = {c}; {a}[{q}] *= 0.5; {v}[{p}] = {s}; {v}[{p}] += {v1}[{p}]; {a} += {a1}; {a} *= 0.7
{a} -= {s}; {a}[1:] += 0.3 * {a1}[:-1]; {a}[::2] = {c}; {a}[::-1][0] = {s}; {a}.T[0] += {s}
{m}[1:, 1:] *= {s}; {a}[:] = {a}[::-1]; {a}.fill({c}); {v}.sort(); np.add.at({v}, {p}, {s})
np.add({a}, {a1}, out={a}); np.multiply({a}, {s}, out={a1}); {m}[{p}] = {v}; {m}[{p}, 0] += {s}
{a}.flat[{i}] = {s}; np.copyto({a}, {a1}); np.fill_diagonal({m}, {s}); {z}.real[:] = {s}
{m}[np.argmax({m}[:, 0])] *= 0.5; {v}[np.argmin({v})] = {s}; {v}[np.argsort({v})[0]] += {s}
{v}[0], {v}[1] = {v}[1], {v}[0]; {m}[[0, 1]] = {m}[[1, 0]]; {a}[{a} > {c}] = {s}
{v}[int(abs({s})) % len({v})] = {c}; {p}[{i}] = np.argmax({v}); {p} += 1; {p}[1:] += len({v})
{q}[{i}] = {s} > {c}; {q} |= {q1}; {q}[:] = {a}.ravel()[0] > 0; {v}[{v1} > {c}] += {s}
{v}[np.argsort({v1})] = {v1}; {m}[:, 0][{v} > {c}] = {s}; {m}.ravel()[{i}] = {s}
np.maximum.at({v}, {p}, {s}); np.put({v}, {p}, {s}); np.sqrt({a} * {a}, where={a} > {c}, out={a})
{m}[0, ({m}[0] > {c}).nonzero()] = {s}; np.putmask({a}, {a} > {c}, {s}); {m}[..., {i}] *= {s}
"""
_TESTS = """
{s} > {c}; np.sum({a}) > {c}; {v}[0] < {v1}[-1]; flag; k > 1; np.any({a} > 0.8); len({v}) > 3
not flag; {s} > {s1} or flag; 0 < {s} < 1; np.all({q}); {v}[{i}] > 0 and k != 2
"""
_LOOPS = (
    "for t in range({n} + 2):", "for t in range(len({v})):", "for t in range(k):",
    "for t, e in enumerate({v}):", "for row in {m}:", "for t in range({m}.shape[0]):",
    "for e, g in zip({v}, {v1}):", "for t in range(1, len({v})):",
    "for t in reversed(range(len({v}))):", "while np.sum({a}) < {c} and rounds < 4:",
)  # fmt: skip
_IN_LOOPS = """
{v}[t] = 0.5 * {v1}[t - 1] + {s}; {v}[t] += {v1}[t]; {m}[t] = np.tanh({m1}[t - 1])
{m}[t, t] = {s}; {s} += 0.5 * e; {s} += np.sum(row); h = np.tanh(0.5 * h + 0.3 * {v})
h = {m} @ h * 0.5; h[t % len(h)] += {s}; h = h + 0.1 * row; {v}[(t + 1) % len({v})] = {v}[t] * 0.9
u = u * 0.9 + {s}; h = np.where(h > {c}, h, {v}); u += {v}[t] * {v1}[t]; u = math.tanh(u) + e
{a}[t:] += 0.1; {m}[:, t] *= 0.5; {m}[t, 1:] += {m1}[t, :-1]; u = max(u, {v}[t])
rows.append(h * 1.0); rows.append({v}[t]); h = {v}.copy() + h; u = u + np.sum(h) * 0.1
h[1:] = 0.5 * h[:-1] + {s}; h *= 0.5; {a} *= 0.9
"""


def _listed(text: str) -> list[str]:
    return [t.strip() for line in text.strip().splitlines() for t in line.split("; ")]


VALUES, WRITES, TESTS, IN_LOOPS = map(_listed, (_VALUES, _WRITES, _TESTS, _IN_LOOPS))
_KINDS: dict[str, Callable[[Any], bool]] = {
    "v": lambda x: _is_array(x, 1) and len(x) > 0 and x.dtype.kind == "f",
    "m": lambda x: _is_array(x, 2) and x.size > 0 and x.dtype.kind == "f",
    "a": lambda x: _is_array(x, None) and x.dtype.kind == "f",
    "z": lambda x: _is_array(x, None) and x.dtype.kind == "c",
    "q": lambda x: _is_array(x, None) and x.dtype.kind == "b",
    "p": lambda x: _is_array(x, 1) and x.dtype.kind == "i",
    "s": lambda x: isinstance(x, (float, np.floating)),
}


def _is_array(x: Any, ndim: int | None) -> bool:
    return type(x) is np.ndarray and (x.ndim == ndim if ndim is not None else x.ndim > 0)


class UserWriter:
    """Writes one program; the same seed writes the same program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.depth = 1
        self.made = 0
        self.values: dict[str, Any] = {}
        n, rows = self.random.choice([1, 3, 4, 5]), self.random.choice([2, 3, 5])
        if self.random.random() < 0.12:
            n, rows = 40, 8  # as many as are written into memory that is there already
        dtype = self.random.choice([float] * 6 + [np.float32])
        self.arguments: dict[str, Any] = {
            "x": self.rng.standard_normal(n).astype(dtype),
            "w": self.rng.standard_normal((rows, n)).astype(dtype),
            "y": self.rng.standard_normal(n).astype(dtype),
            "s": float(self.rng.standard_normal()),
            "k": 2,
            "flag": True,
            "d": {"a": self.rng.standard_normal(n), "b": [0.4, self.rng.standard_normal((n, n))]},
            "o": Box(self.rng.standard_normal(3), 0.3),
        }
        kept = [p for p in "wysdo" if self.random.random() < 0.6]
        self.parameters = ["x", *kept, "k", "flag"]
        self.head = f"def f({', '.join(self.parameters)}):"

    def program(self) -> tuple[str, dict[str, Any]]:
        """Return the text of a function `f`, and its arguments by name."""
        self._run()
        for _ in range(self.random.randint(2, 9)):
            self._statement()
        for _ in range(self.random.randint(0, 2)):
            self.random.choice([self._loop, self._branch])()
        for _ in range(self.random.randint(0, 3)):
            self._statement()
        self.lines.append(f"    return {self._result()}")
        return self._text(), {p: self.arguments[p] for p in self.parameters}

    def _text(self, end: str = "") -> str:
        start = [self.head]
        if "d" in self.parameters:
            start.append("    da, db, dm = d['a'], *d['b']")
        if "o" in self.parameters:
            start.append("    oa, ob = o.a, o.b")
        start.append("    h, u, rows, rounds = x * 1.0, 0.2, [], 0")
        return "\n".join([*start, *self.lines, *([end] if end else [])]) + "\n"

    def _run(self) -> bool:
        """Run what is written so far; keep its variables, if it runs."""
        namespace: dict[str, Any] = {"np": np, "math": math}
        given = copy.deepcopy({p: self.arguments[p] for p in self.parameters})
        try:
            with np.errstate(all="ignore"):
                exec(self._text("    return locals()"), namespace)
                found = namespace["f"](**given)
        except Exception:
            return False
        found = {n: v for n, v in found.items() if n not in ("d", "o", "k", "flag")}
        if not all(map(_is_tame, found.values())):
            return False
        self.values = found
        return True

    def _try(self, line: str) -> bool:
        self.lines.append("    " * self.depth + line)
        if self._run():
            return True
        self.lines.pop()
        return False

    # -- what is drawn ---------------------------------------------------------------------------

    def _filled(self, template: str) -> str | None:
        known: dict[str, str] = {}
        for slot in re.findall(r"\{(\w+)\}", template):
            if slot not in known:
                drawn = self._drawn(slot[0])
                if drawn is None:
                    return None
                known[slot] = drawn
        return re.sub(r"\{(\w+)\}", lambda match: known[match.group(1)], template)

    def _drawn(self, kind: str) -> str | None:
        if kind == "c":
            return self.random.choice(["0.0", "0.5", "-0.3", "1.0", "0.1", "2"])
        if kind == "n":
            return self.random.choice(["1", "2", "3", "k"])
        if kind == "i":
            return self.random.choice(["0", "1", "-1", "-2", "k - 1", "2"])
        names = [n for n, v in self.values.items() if _KINDS[kind](v)]
        if kind == "p" and (not names or self.random.random() < 0.3):
            return self.random.choice(["[0, 1]", "[0, 0, -1]", "np.array([1, 0])"])
        if kind == "q" and not names:
            return None
        return self.random.choice(names) if names else None

    def _draw(self, templates: list[str]) -> str | None:
        return self._filled(self.random.choice(templates))

    # -- statements ------------------------------------------------------------------------------

    def _statement(self) -> None:
        for _ in range(12):
            if self.random.random() < 0.35:
                line = self._draw(WRITES)
            else:
                line = self._draw(VALUES)
                if line is not None:
                    self.made += 1
                    line = f"v{self.made} = {line}"
            if line is not None and self._try(line):
                return

    def _in_block(self, templates: list[str], wanted: int) -> int:
        """Write into a block; return how many lines were kept."""
        kept = 0
        for _ in range(30 if wanted else 0):
            line = self._draw(templates)
            if line is not None and not re.match(r"[xywk] [-+*]?=", line) and self._try(line):
                kept += 1
                if kept == wanted:
                    break
        return kept

    def _loop(self) -> None:
        head = self._filled(self.random.choice(_LOOPS))
        if head is None:
            return
        before = list(self.lines)
        self.lines.append("    " * self.depth + head)
        self.depth += 1
        if head.startswith("while"):
            self.lines.append("    " * self.depth + "rounds += 1")
        kept = self._in_block(IN_LOOPS + WRITES[:20], self.random.randint(1, 4))
        if kept and self.depth < 3 and self.random.random() < 0.4:
            self.random.choice([self._loop, self._branch])()
        self.depth -= 1
        if not kept or not self._run():
            self.lines = before
            self._run()

    def _branch(self) -> None:
        test = self._draw(TESTS)
        if test is None:
            return
        before = list(self.lines)
        self.lines.append("    " * self.depth + f"if {test}:")
        self.depth += 1
        self.lines.append("    " * self.depth + "u = u + 0.25")
        self._in_block(IN_LOOPS + WRITES, self.random.randint(0, 2))
        self.depth -= 1
        if self.random.random() < 0.6:
            self.lines.append("    " * self.depth + "else:")
            self.depth += 1
            self.lines.append("    " * self.depth + "u = u * 0.5")
            self._in_block(IN_LOOPS + WRITES, self.random.randint(0, 2))
            self.depth -= 1
        if not self._run():
            self.lines = before
            self._run()

    def _result(self) -> str:
        """Return one value or a nest of some, the latest ones rather than others."""
        names = [n for n in self.values if n not in ("rounds", "t", "rows")]
        late = [*names[-6:], "h", "u"]
        chosen = [self.random.choice(late + names) for _ in range(self.random.randint(1, 4))]
        if self.values["rows"]:
            chosen.append("rows")
        if len(chosen) == 1:
            return chosen[0]
        first, *others = chosen
        turned = [f"{n}[::-1]" if _is_sized(self.values.get(n)) else n for n in others]
        return self.random.choice(
            [
                ", ".join(chosen),
                "[" + ", ".join(chosen) + "]",
                "{" + ", ".join(f"'{name}': {name}" for name in chosen) + "}",
                f"{first}, {{'others': [{', '.join(others)}]}}",
                f"{first}, {', '.join(turned)}",
            ]
        )


def _is_sized(x: Any) -> bool:
    return type(x) is np.ndarray and x.ndim > 0


def _is_tame(x: Any) -> bool:
    if isinstance(x, (np.ndarray, np.generic)):
        if x.size > _LARGEST**2 or x.ndim > 3:
            return False
        if x.dtype.kind in "fc":
            return bool(np.all(np.abs(x) < _MOST))
        return x.dtype.kind in "iub"
    if isinstance(x, (list, tuple)):
        return len(x) < _LARGEST and all(map(_is_tame, x))
    return isinstance(x, (int, float, complex)) and abs(x) < _MOST


def user_program(seed: int) -> tuple[str, Callable, dict[str, Any]]:
    """Return the text of a program, its function, and its arguments by name."""
    source, arguments = UserWriter(seed).program()
    name = f"<user's {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np, "math": math, "__name__": "users"}
    exec(compile(source, name, "exec"), namespace)
    return source, namespace["f"], arguments
