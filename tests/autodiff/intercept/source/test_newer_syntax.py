"""The syntax and the bytecode of newer Pythons: functions are found and differentiated."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from autodiff import gradient
from autodiff.intercept.source.find_source import definition_of
from tests.helpers import module_from

SOURCE = '''
import math

import numpy as np

def generic[T](x: T) -> T:
    y = np.zeros(2)
    y[0] = math.sin(x)
    return y[0] + x

class Box[T]:
    scale: T = 2.0
    def __init__(self, v: T) -> None:
        self.v = v
    def value[S](self, s: S) -> S:
        """Return it.

            indented docstring
        """
        return math.exp(self.v * s) * self.scale
    @staticmethod
    def twice(x):
        return [math.cos(t) for t in [x, x]][0]
    def outer(self):
        def inner(t): return math.sin(t) * self.v
        return inner

def uses_box(x):
    b = Box(x)
    return b.value(0.5) + Box.twice(x) + b.outer()(x)

def comprehension(x):
    k = [math.sin(t) * x for t in [x, 2 * x]]
    d = {i: math.cos(v) for i, v in enumerate(k)}
    return sum(k) + d[0] + max(math.sin(t) for t in k)

def alias(x):
    type Pair[A] = tuple[A, A]
    def f[Q: float](a: Q) -> Q:
        return math.sin(a)
    return f(x) * f(x)

def nested_fstring(x):
    s = f"{'a' + f"{1}"}"
    return math.sin(x) * len(s)

def matching(x):
    match [x, 1.0]:
        case [a, 1.0]:
            return math.sin(a)
    return x

lam = lambda x: [math.sin(q) for q in [x]][0]
def closure_default(x, *, f=lambda t: math.sin(t)):
    return f(x)
class Derived(Box[float]):
    def value(self, s):
        return super().value(s) * math.sin(s)
def derived(x):
    return Derived(x).value(x)
async def co(x):
    return math.sin(x)
def gen(x):
    def g():
        yield from (math.sin(t) for t in (x, x))
    return sum(g())
def excgroup(x):
    try:
        raise ExceptionGroup("e", [ValueError(1)])
    except* ValueError:
        y = math.sin(x)
    return y
ALL = [
    generic, uses_box, comprehension, alias, nested_fstring, matching, lam, closure_default,
    derived, gen, excgroup,
]
'''


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are new in Python 3.12")
def test_newer_syntax(tmp_path: Path) -> None:
    path = tmp_path / "newer_syntax.py"
    path.write_text(SOURCE)
    module = module_from(path)
    x, h = 0.7, 1e-5
    for f in module.ALL:
        assert definition_of(f) is not None, f.__name__
        expected = (f(x + h) - f(x - h)) / (2 * h)
        np.testing.assert_allclose(gradient(f, x), expected, rtol=1e-8, err_msg=f.__name__)
