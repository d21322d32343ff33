"""Write a random program, trying each statement before it is kept.

The writer has the values that the names of the program hold at this point. A phrase is chosen by
the type and shape of one of them, its holes are filled, and the statement is run at once: if it
fails, or makes something too large to compare derivatives of, it is left out, and what it may have
changed is restored by running the statements before it again.

Statements inside a branch, a loop or a function are tried on a straight line: the branch is taken,
the loop is at its first round, parameters hold the arguments of the first call. Then the whole
block is tried as it is.
"""

from __future__ import annotations

import ast
import cmath
import collections
import contextlib
import dataclasses
import functools
import itertools
import math
import operator
import random
import re
import textwrap
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

from tools.fuzz.holes import Holes, NoFilling, is_inexact, is_number_like
from tools.fuzz.limits import TooSlow, limited

MODULES = {
    m.__name__ if m is not np else "np": m
    for m in (
        cmath, collections, contextlib, dataclasses, functools, itertools, math, np, operator,
        scipy, types,
    )
}  # fmt: skip
IMPORTS = "\n".join(f"import {name}" for name in sorted(set(MODULES) - {"np", "scipy"}))
IMPORTS += "\n\nimport numpy as np\nimport scipy.linalg\nimport scipy.special\n"
DECORATORS = """
def keep(f):
    return f


def wrapped(f):
    @functools.wraps(f)
    def calling(*args, **kwargs):
        return f(*args, **kwargs)

    return calling
"""
LARGEST = 200.0  # values beyond are not built upon: differences lose too many digits there
SECONDS = 2.0  # a statement that never ends is none
SIZE = 40  # elements of an array
STATEMENTS = (4, 14)


def sections() -> dict[str, list[str]]:
    """Return the tables of phrases."""
    found: dict[str, list[str]] = {}
    text = Path(__file__).with_name("phrases.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("[") and line.endswith("]") and "{" not in line:
            found[line[1:-1]] = phrases = []
        elif line and not line.startswith("#"):
            phrases.append(line.replace("\\n", "\n"))
    return found


PHRASES = sections()


def kinds_of(x: Any) -> tuple[str, ...]:
    """Return the sections of phrases that a value is an operand for."""
    if isinstance(x, dict):
        return ("dict",)
    if isinstance(x, (list, tuple)):
        return ("list",) if x else ()
    if isinstance(x, (bool, int, np.integer, np.bool_)):
        return ("integer",)
    if isinstance(x, (float, np.floating)):
        return ("real", "float", "float")
    if isinstance(x, (complex, np.complexfloating)):
        return ("complex",)
    if not isinstance(x, np.ndarray) or not x.size:
        return ()
    if x.dtype.kind in "biu":
        return ("integer", "array") if x.ndim else ("integer",)
    kinds = ["complex" if x.dtype.kind == "c" else "real"]
    kinds += ["array"] * (2 if x.ndim else 0)
    kinds += {1: ["vector"], 2: ["matrix"]}.get(x.ndim, [])
    return (*kinds, "square") if x.ndim == 2 and x.shape[0] == x.shape[1] else tuple(kinds)


def is_fit(x: Any, depth: int = 0) -> bool:
    """Whether a value may be built upon: finite, neither large nor deep."""
    kind = type(x)
    if kind is float or kind is int or isinstance(x, (complex, np.generic)):
        return bool(abs(x) <= LARGEST)
    if kind is np.ndarray:
        if x.dtype.kind not in "biufc" or x.size > SIZE or x.ndim > 4 or x.dtype == np.float16:
            return False
        return x.size == 0 or bool(np.abs(x).max() <= LARGEST)
    if kind in (list, tuple):
        return depth < 3 and len(x) <= 8 and all(is_fit(part, depth + 1) for part in x)
    if kind is dict:
        return depth < 3 and len(x) <= 8 and all(is_fit(part, depth + 1) for part in x.values())
    return kind in (str, bool) or not is_number_like(x)


class Program:
    """A program as text.

    Attributes
    ----------
    source : str
        A module with a function ``program`` and a tuple ``ARGUMENTS``.
    used : tuple of str
        The phrases and blocks that it is made of.
    """

    def __init__(self, source: str, used: tuple[str, ...]) -> None:
        self.source = source
        self.used = used


class Writer:
    """Writes one program; the same seed writes the same program."""

    count = STATEMENTS
    terms = (1, 2, 2, 3, 4)

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = itertools.count()
        self.prelude: list[str] = []  # definitions of the module
        self.trace: list[str] = []  # the statements so far, on a straight line
        self.locals: set[str] | None = None  # names of the function being written, if in one
        self.closed = False  # whether that function stands outside of the program
        self.functions: list[tuple[str, int]] = []  # local functions, and how many arguments
        self.counters: set[str] = set()  # names that loops count with
        self.depth = 0
        self.used: list[str] = []
        self.arguments: dict[str, str] = {}
        self.env: dict[str, Any] = {}

    # -- running ---------------------------------------------------------------------------------

    def restart(self) -> None:
        """Run all statements so far again, on fresh arguments."""
        self.env = {**MODULES, "__name__": "program"}
        for text in (DECORATORS, *self.prelude, *[f"{n} = {t}" for n, t in self.arguments.items()]):
            exec(compiled(text, "exec"), self.env)
        for text in self.trace:
            exec(compiled(on_a_line(text), "exec"), self.env)

    def attempt(self, statement: str) -> bool:
        """Run a statement and keep it; if it is not fit, undo it and return False."""
        try:
            exec(compiled(on_a_line(statement), "exec"), self.env)
            fit = all(is_fit(x) for name, x in self.env.items() if name[0] != "_")
        except Exception:
            fit = False
        if not fit:
            self.restart()
            return False
        self.trace.append(statement)
        if self.locals is not None:
            self.locals.update(bound_by(statement))
        return True

    def evaluate(self, text: str) -> Any:
        """Return the value of an expression at this point."""
        return eval(compiled(text, "eval"), self.env)

    # -- names and places ------------------------------------------------------------------------

    def fresh(self, letter: str) -> str:
        return f"{letter}{next(self.numbers)}"

    def may_rebind(self, name: str) -> bool:
        """Whether this is a name that a statement here may bind."""
        if not name.isidentifier() or name in self.counters:
            return False
        return self.locals is None or name in self.locals

    def places(self) -> list[tuple[str, Any]]:
        """Return all expressions that stand for something held: names, elements, attributes."""
        found: list[tuple[str, Any]] = []
        outer = not self.closed and (self.locals is None or self.random.random() < 0.3)
        for name, x in self.env.items():
            if name[0] in "vxa" and (outer or name in self.locals):  # type: ignore[operator]
                found.extend(_inside(name, x, 0))
        return found

    def place(self, wanted: Any) -> tuple[str, Any]:
        """Return one of them for which ``wanted(value)`` holds, most likely a recent one."""
        found = [(text, x) for text, x in self.places() if wanted(x)]
        if not found:
            raise NoFilling
        back = min(int(self.random.expovariate(0.35)), len(found) - 1)
        return found[-1 - back] if self.random.random() < 0.75 else self.random.choice(found)

    # -- expressions -----------------------------------------------------------------------------

    def filled(self, phrase: str, operand: str, value: Any) -> str:
        text = phrase.format_map(Holes(self, operand, value))
        self.used.append(phrase)
        return text

    def applied(self, operand: str, value: Any) -> tuple[str, Any]:
        """Return an expression with this operand, and its value."""
        for _ in range(4):
            kinds = kinds_of(value)
            if not kinds:
                break
            used = len(self.used)
            phrase = self.random.choice(PHRASES[self.random.choice(kinds)])
            try:
                text = self.filled(phrase, operand, value)
                result = self.evaluate(text)
                if is_fit(result) and len(text) < 160:
                    return text, result
            except Exception:
                pass
            del self.used[used:]
        raise NoFilling

    def expression(self, depth: int) -> tuple[str, Any]:
        """Return an expression of so many nested phrases, and its value."""
        text, x = self.place(kinds_of)
        for _ in range(depth):
            with contextlib.suppress(NoFilling):
                text, x = self.applied(text, x)
        return text, x

    def body_in(self, name: str, value: Any) -> str:
        """Return an expression in a new name that stands for a value."""
        self.env[name] = value
        text = name
        try:
            for _ in range(self.random.choice((1, 1, 2))):
                text, value = self.applied(text, value)
        finally:
            del self.env[name]
        return text

    # -- statements ------------------------------------------------------------------------------

    def statement(self) -> bool:
        """Write a statement; return whether there is one more."""
        from tools.fuzz.blocks import BLOCKS  # which need this module

        roll = self.random.random()
        used = len(self.used)
        try:
            if roll < 0.3:
                text, _ = self.expression(self.random.choice((1, 1, 2, 2, 3)))
                names = [n for n, x in self.env.items() if n[0] in "vx" and self.may_rebind(n)]
                rebind = names and self.random.random() < 0.2
                done = self.attempt(
                    f"{self.random.choice(names) if rebind else self.fresh('v')} = {text}"
                )
            elif roll < 0.4:
                done = self.said("views", is_array)
            elif roll < 0.46:
                done = self.said("buffers", is_array)
            elif roll < 0.7:
                done = self.said("writes", is_written_array)
            elif roll < 0.78:
                done = self.said("statements on numbers", is_float)
            elif roll < 0.81:
                done = self.said("writes into lists", lambda x: type(x) is list and x)
            elif roll < 0.83:
                done = self.said("writes into dicts", lambda x: type(x) is dict and x)
            elif self.depth < 2:
                block = self.random.choice(BLOCKS)
                done = block(self)
                self.used.append(block.__name__)
            else:
                done = False
        except NoFilling:
            done = False
        except Exception:  # a hole that does not fit the value after all
            self.restart()
            done = False
        if not done:
            del self.used[used:]
        return done

    def said(self, section: str, wanted: Any) -> bool:
        """Write a statement of a section about a place that is wanted."""
        text, x = self.place(wanted)
        phrase = self.random.choice(PHRASES[section])
        return self.attempt(self.filled(phrase, text, x))

    def statements(self, count: int) -> None:
        for _ in range(count):
            self.statement()

    @contextlib.contextmanager
    def inside(self, *setting: str) -> Iterator[list[str]]:
        """Write the statements of a block, tried after some that set the scene.

        Gives a list that holds the statements when the block has ended; afterwards the values are
        those from before.
        """
        before, named, body = self.trace, None if self.locals is None else set(self.locals), []
        self.trace = list(before)
        self.depth += 1
        try:
            for text in setting:
                if not self.attempt(text):
                    raise NoFilling
            start = len(self.trace)
            yield body
            body.extend(self.trace[start:])
        finally:
            self.depth -= 1
            self.trace, self.locals = before, named
            self.restart()

    # -- the whole -------------------------------------------------------------------------------

    def term(self) -> str:
        """Return a real number made of something that is held."""
        text, x = self.place(lambda x: is_inexact(x) or (is_number_like(x) and np.iscomplexobj(x)))
        if np.iscomplexobj(x):
            kind = "complex"
        else:
            kind = "array" if isinstance(x, np.ndarray) and x.ndim else "float"
        return self.filled(self.random.choice(PHRASES[f"terms of {kind}"]), text, x)

    def program(self) -> Program:
        """Write the whole program."""
        for _ in range(self.random.choice((1, 1, 1, 2, 2, 3))):
            self.arguments[self.fresh("x")] = argument(self.random)
        self.restart()
        self.statements(self.random.randint(*self.count))
        terms = []
        for _ in range(self.random.choice(self.terms)):
            with contextlib.suppress(Exception):
                text = self.term()
                if is_fit(self.evaluate(text)):
                    terms.append(text)
        return Program(self.text(terms or ["0.0"]), tuple(self.used))

    def text(self, terms: list[str]) -> str:
        body = "\n".join([*self.trace, f"return {' + '.join(dict.fromkeys(terms))}"])
        return "\n".join(
            [
                IMPORTS,
                DECORATORS if "@wrapped" in body or "@keep" in body else "",
                *[f"{text}\n" for text in self.prelude],
                f"def program({', '.join(self.arguments)}):",
                textwrap.indent(body, "    "),
                "",
                "",
                f"ARGUMENTS = ({', '.join(self.arguments.values())},)",
                "",
            ]
        )


def argument(rng: random.Random) -> str:
    """Return the text of an argument: mostly an array, or a number, or a nest of both."""

    def numbers(n: int) -> str:
        return ", ".join(repr(round(rng.uniform(-1.6, 1.9), 3) or 0.4) for _ in range(n))

    def array(*shape: int) -> str:
        if len(shape) == 1:
            return f"np.array([{numbers(shape[0])}])"
        size = math.prod(shape)
        return f"np.array([{numbers(size)}]).reshape({shape})"

    roll = rng.random()
    if roll < 0.4:
        return array(rng.choice((2, 3, 4, 5, 1)))
    if roll < 0.6:
        return array(rng.choice((2, 3)), rng.choice((2, 3, 4)))
    if roll < 0.66:
        return array(2, 2, rng.choice((2, 3)))
    if roll < 0.82:
        return numbers(1)
    if roll < 0.86:
        return array(3).replace("])", "], dtype=np.float32)")
    if roll < 0.9:
        return f"({array(3)} + 1j * {array(3)})"
    if roll < 0.93:
        return f"{{'p': {array(3)}, 'q': {numbers(1)}}}"
    if roll < 0.96:
        return f"[{array(2)}, {array(2)}, {numbers(1)}]"
    return f"({numbers(1)}, {array(2, 2)})"


def is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size > 0


def is_written_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc" and x.size > 0 and x.flags.writeable


def is_float(x: Any) -> bool:
    return isinstance(x, (float, np.floating))


def on_a_line(statement: str) -> str:
    """A statement as it is tried: what it binds around it is global here, and nothing returns."""
    return EARLY.sub(r"\1_ =", statement.replace("nonlocal ", "global "))


EARLY = re.compile(r"\A(if [^\n]*:\n    )return")


def bound_by(statement: str) -> set[str]:
    """Return the names that a statement binds."""
    return {
        node.id
        for node in ast.walk(ast.parse(statement))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _inside(text: str, x: Any, depth: int) -> Iterator[tuple[str, Any]]:
    yield text, x
    if depth == 2:
        return
    if type(x) in (list, tuple):
        for i, part in enumerate(x[:3]):
            yield from _inside(f"{text}[{i}]", part, depth + 1)
    elif type(x) is dict:
        for key, part in itertools.islice(x.items(), 3):
            yield from _inside(f"{text}[{key!r}]", part, depth + 1)
    elif hasattr(x, "__dict__") and type(x).__module__ not in ("builtins", "numpy"):
        for key, part in itertools.islice(vars(x).items(), 4):
            if key[0] != "_" and not callable(part):
                yield from _inside(f"{text}.{key}", part, depth + 1)


@functools.lru_cache(maxsize=2000)
def compiled(text: str, mode: str) -> types.CodeType:
    return compile(text, "<tried>", mode, dont_inherit=True)


def write(seed: int) -> Program:
    """Return the program of a seed."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with limited(SECONDS):
                return Writer(seed).program()
        except TooSlow:
            return Program("def program(x0):\n    return 0.0\n\nARGUMENTS = (0.5,)\n", ())
