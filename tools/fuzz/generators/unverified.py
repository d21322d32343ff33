"""Programs for code whose source is not to be had, as `exec` makes it.

Calls in such code are not seen: a traced value is asked by Python itself. The class of holes: the
program learns from an answer, or from an error that it swallows, that there is a tracer, and takes
another path than it takes without a derivative. So *values* (floats, elements, reductions, arrays)
are crossed with *questions* (types, attributes, identities, texts, conversions by C code) and *ways
of going on* (branches, handlers, managers, ``finally``), in each *kind of place* where code may
stand (helpers, lambdas, methods, comprehensions, closures, generators).

A program is right, or an error of ours. The runner reads `WITHOUT_SOURCE`: the text of a program
must not be in `linecache` when it is differentiated.
"""

from __future__ import annotations

import random

WITHOUT_SOURCE = True

HEAD = """\
import abc
import array
import ast
import builtins
import collections
import collections.abc
import contextlib
import copy
import dataclasses
import enum
import functools
import inspect
import json
import math
import numbers
import operator
import struct
import sys
import types
from collections.abc import Hashable, Iterable, Mapping, Sequence, Sized
from typing import SupportsFloat, SupportsIndex

import numpy as np

a_type = type
the_same = operator.is_
MISSING = object()
REGISTRY = {"size": 3}
sys.modules.setdefault(__name__, types.ModuleType(__name__))  # a dataclass looks for its module


class Failed(Exception):
    pass


class Swallowing:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return error is not None


@contextlib.contextmanager
def swallowing():
    try:
        yield
    except Exception:
        pass


@dataclasses.dataclass
class Box:
    held: object
    extra: list = dataclasses.field(default_factory=list)


Pair = collections.namedtuple("Pair", "first second")


@functools.singledispatch
def kind_of(v):
    return 1.5


@kind_of.register
def _(v: float):
    return 0.5


@kind_of.register
def _(v: np.ndarray):
    return 0.25
"""

# What a term is about: expressions of the arguments x (a float) and a (an array of 3).
NUMBERS = (
    "x", "x * x", "x + 1.0", "a[0]", "a[1] * x", "np.sum(a)", "a.sum()", "a.max()", "np.dot(a, a)",
    "Box(x).held", "Pair(a[2], 1.0).first", "[x, 2.0][0]", "{'k': x}['k']", "(lambda u: u)(x)",
    "abs(x)", "max(x, 0.1)", "x ** 2", "next(iter([x, 1.0]))",
)  # fmt: skip
ARRAYS = ("a", "a * 2.0", "a[:2]", "a[None]", "a.reshape(3, 1)", "np.sin(a)", "a + x", "a.copy()")

# Questions with the answer as a condition.
QUESTIONS = (
    "type(v) is float", "type(v) == float", "type(v) in (float, int)", "type(v) is np.float64",
    "type(v) is np.ndarray", "type(v).__name__ == 'float'", "type(v).__mro__[0] is float",
    "a_type(v) is float", "builtins.type(v) is float", "v.__class__ is float",
    "v.__class__.__name__ == 'float64'", "isinstance(v, float)", "isinstance(v, np.ndarray)",
    "isinstance(v, np.floating)", "isinstance(v, (int, float))", "isinstance(v, numbers.Real)",
    "isinstance(v, Iterable)", "isinstance(v, collections.abc.Iterable)", "isinstance(v, Sized)",
    "isinstance(v, Hashable)", "isinstance(v, Sequence)", "isinstance(v, Mapping)",
    "isinstance(v, collections.abc.Container)", "isinstance(v, collections.abc.Reversible)",
    "isinstance(v, SupportsFloat)", "isinstance(v, SupportsIndex)", "isinstance(v, str)",
    "issubclass(type(v), float)", "hasattr(v, '__len__')", "hasattr(v, '__iter__')",
    "hasattr(v, 'shape')", "hasattr(v, 'hex')", "hasattr(v, '__array__')", "hasattr(v, 'data')",
    "hasattr(v, '__array_interface__')", "hasattr(v, '__dict__')", "hasattr(v, 'real')",
    "getattr(v, '__len__', None) is None", "getattr(v, 'is_integer', None) is not None",
    "getattr(v, 'ndim', 0) == 0", "callable(v)", "callable(getattr(v, 'item', None))",
    "'hex' in dir(v)", "'__len__' in dir(v)", "id(v) == id(x)", "v is x", "v is a",
    "v is not MISSING", "v is None", "the_same(v, x)", "np.asarray(v) is v", "float(v) is v",
    "np.isscalar(v)", "np.ndim(v) == 0", "np.iterable(v)", "bool(v)", "v in [x, 1.0]",
    "any(v is u for u in [x, a])", "repr(v).startswith('T')", "len(repr(v)) > 12",
    "str(v) == repr(v)", "f'{v!r}'[0] == 'T'", "sys.getsizeof(v) == 24",
    "inspect.isclass(type(v))", "copy.copy(v) is v", "copy.deepcopy(v) is v",
    "isinstance([v, 1], list)", "v == v", "np.array_equal(v, v)", "kind_of(v) == 0.5",
    "types.SimpleNamespace(k=v).k is v", "Box(v).held is v", "v.__doc__ is None",
    "v.__hash__ is None", "hasattr(type(v), '__slots__')", "REGISTRY.get('size') == 3",
)  # fmt: skip

# What C code makes of a value, as a number.
CONVERSIONS = (
    "math.sqrt(abs(v))", "math.exp(-v)", "math.fsum([v, v])", "math.hypot(v, 1.0)", "float(v)",
    "complex(v).real", "float(str(v))", "float(repr(v))", "float(f'{v}')", "float('%.17g' % v)",
    "float('%r' % v)", "float(format(v, '.17g'))", "ast.literal_eval(repr(float(v)))",
    "struct.unpack('d', struct.pack('d', v))[0]", "array.array('d', [v])[0]",
    "float.fromhex(float(v).hex())", "float.fromhex(v.hex())", "float.hex(v) and v * 2.0",
    "np.asarray(v).item()", "np.array([v, v])[0]", "np.array(v, dtype=float) * 1.0",
    "np.float64(v) * 2.0", "float(np.float64(v))", "{v: 3.0}[v]", "len({v, 2.5}) * v",
    "json.loads(json.dumps(v))", "math.frexp(v)[0]", "math.ldexp(*math.frexp(v))",
    "round(v, 2) + v", "int(v) + v", "math.floor(v) + v", "v.as_integer_ratio()[0] * v",
    "v.__float__()", "operator.index(v)", "np.frombuffer(v.tobytes())[0]", "v.item() * 2.0",
    "np.sin(v) * 1.0", "operator.mul(v, v)", "sum([v, v])",
    "functools.reduce(operator.add, [v, v])",
    "max(v, 0.3)", "pow(v, 2)", "divmod(v, 0.7)[1]", "np.linalg.norm(v)", "copy.copy(v) * v",
    "copy.deepcopy(v) * v", "np.vectorize(lambda u: u * u)(v)", "np.max(np.atleast_1d(v))",
    "memoryview(v)[0]", "sorted([v, 0.2])[0]", "Box(v).held * v",
    "dataclasses.replace(Box(v)).held", "Pair(v, 1.0)._replace(second=v).second",
    "list(map(math.sin, [v]))[0]",
)  # fmt: skip

CAUGHT = (
    "Exception", "TypeError", "(TypeError, ValueError)", "(ValueError, TypeError, AttributeError)",
    "AttributeError", "BaseException", "ValueError", "RuntimeError", "ArithmeticError", "KeyError",
    "(KeyError, IndexError)", "ZeroDivisionError", "struct.error", "Failed", "Exception as error",
    "(LookupError, TypeError) as error", "NotImplementedError", "OverflowError",
)  # fmt: skip
# Ways to try a conversion {c} of a value v; what comes after does the same for all values.
TRIALS = (
    "try:\n    r = {c}\nexcept {e}:\n    r = 0.5 * v",
    "try:\n    r = {c}\nexcept:\n    r = 0.5 * v",
    "r = 0.5 * v\ntry:\n    r = {c}\nfinally:\n    return r",
    "r = 0.5 * v\nwith contextlib.suppress({s}):\n    r = {c}",
    "r = 0.5 * v\nwith Swallowing():\n    r = {c}",
    "r = 0.5 * v\nwith swallowing():\n    r = {c}",
    "with np.errstate(all='ignore'):\n    r = {c}",
    "try:\n    r = {c}\nexcept {e}:\n    raise Failed('no') from None",
    "try:\n    try:\n        r = {c}\n    except {e}:\n        raise Failed('no')\n"
    "except Failed:\n    r = 2.0 * v",
    "for k in range(2):\n    try:\n        r = {c}\n        break\n    except {e}:\n        r = v",
    "try:\n    r = {c}\nexcept {e}:\n    r = 3.0 * v\nelse:\n    r = r + v",
    "try:\n    r = {c}\nfinally:\n    done = 1",
    "try:\n    r = REGISTRY['none']\nexcept KeyError:\n    r = {c}",
    "r = {c}",
    "r = ({c}) * v",
)

# Places where the code of a term may stand.
PLACES = (
    "def term{n}(v, x, a):\n{body}\n    return np.sum(r) * {w}\n",
    "def inner{n}(v, x, a):\n{body}\n    return r\n\n\n"
    "def term{n}(v, x, a):\n    return np.sum(inner{n}(v, x, a)) * {w}\n",
    "class Holder{n}:\n    def __init__(self, weight):\n        self.weight = weight\n\n"
    "    def run(self, v, x, a):\n{deeper}\n        return r\n\n"
    "    def __call__(self, v, x, a):\n        return np.sum(self.run(v, x, a)) * self.weight\n\n\n"
    "holder{n} = Holder{n}({w})\n\n\n"
    "def term{n}(v, x, a):\n    return holder{n}(v, x, a)\n",
    "class Holder{n}:\n    weight = {w}\n\n    @staticmethod\n    def run(v, x, a):\n{deeper}\n"
    "        return r\n\n\n"
    "def term{n}(v, x, a):\n    return np.sum(Holder{n}.run(v, x, a)) * Holder{n}.weight\n",
    "def term{n}(v, x, a):\n    def inside():\n{deeper}\n        return r\n\n"
    "    return np.sum(inside()) * {w}\n",
    "def made{n}(w):\n    def made(v, x, a):\n{deeper}\n        return np.sum(r) * w\n\n"
    "    return made\n\n\nterm{n} = made{n}({w})\n",
    "def turns{n}(v, x, a):\n    for _ in range(2):\n{deeper}\n        yield np.sum(r) * {w}\n\n\n"
    "def term{n}(v, x, a):\n    return sum(turns{n}(v, x, a))\n",
    "def inner{n}(v, x, a):\n{body}\n    return np.sum(r)\n\n\n"
    "term{n} = functools.partial(lambda f, v, x, a: f(v, x, a) * {w}, inner{n})\n",
    "def term{n}(v, x, a):\n    return sum([np.sum(u) * {w} for u in (lambda: rest{n}(v, x, a),) "
    "for u in [u()]])\n\n\ndef rest{n}(v, x, a):\n{body}\n    return r\n",
)


def write(seed: int) -> str:
    """Return the text of a module with `program` and `ARGUMENTS`."""
    rng = random.Random(seed)
    terms, calls = [], []
    for n in range(rng.choice((1, 1, 2, 3))):
        value = rng.choice(NUMBERS if rng.random() < 0.75 else ARRAYS)
        w = rng.choice(("1.0", "0.5", "2.0"))
        body = _body(rng)
        if "return r" in body:  # of a `finally`
            body = body.replace("return r", "return np.sum(r)")
        text = rng.choice(PLACES).format(
            n=n, w=w, body=_indented(body, 4), deeper=_indented(body, 8)
        )
        terms.append(text)
        calls.append(f"term{n}({value}, x, a)")
    total = " + ".join(calls)
    at = rng.uniform(0.3, 2.2)
    elements = ", ".join(f"{rng.uniform(0.3, 2.0):.4f}" for _ in range(3))
    return (
        f"{HEAD}\n\n" + "\n\n".join(terms) + f"\n\ndef program(x, a):\n    return {total}\n\n\n"
        f"ARGUMENTS = ({at:.4f}, np.array([{elements}]))\n"
    )


def _body(rng: random.Random) -> str:
    """Return statements that compute r of v."""
    chance = rng.random()
    if chance < 0.45:
        return _asked(rng)
    if chance < 0.9:
        return _tried(rng)
    return f"{_tried(rng)}\nv = r\n{_asked(rng)}"


def _asked(rng: random.Random) -> str:
    question = rng.choice(QUESTIONS)
    form = rng.randrange(5)
    if form == 0:
        return f"r = v * v if {question} else v * 3.0"
    if form == 1:
        return f"if {question}:\n    r = v * v\nelse:\n    r = v * 3.0"
    if form == 2:
        return f"r = [v * 3.0, v * v][bool({question})]"
    if form == 3:
        return f"r = v\nwhile {question}:\n    r = v * v\n    break"
    other = rng.choice(QUESTIONS)
    return f"r = v * v if ({question}) and not ({other}) else v * 3.0"


def _tried(rng: random.Random) -> str:
    caught = rng.choice(CAUGHT)
    return rng.choice(TRIALS).format(
        c=rng.choice(CONVERSIONS), e=caught, s=caught.partition(" as ")[0]
    )


def _indented(text: str, by: int) -> str:
    return "\n".join(" " * by + line for line in text.split("\n"))
