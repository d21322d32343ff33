"""Texts and exact conversions: numbers that leave the program and come back as others.

The class: a value is turned into something that keeps all of its digits (a text, an integer, bytes,
a ``Fraction``, a number of mpmath's or sympy's), by any of many ways, handed on through a file, a
container or another text, and read back as a number. The derivative has to be right, or the
program an error; that it is 0 is what the generator looks for. Conversions that round (``round``,
``int`` of small numbers) are constant by nature, and do not occur.
"""

from __future__ import annotations

import random

IMPORTS = """\
import array
import ast
import copy
import ctypes
import decimal
import fractions
import io
import json
import logging
import math
import pickle
import re
import statistics
import struct

import numpy as np
"""

ARGUMENTS = {
    "{number}": ("x0", "x0 * 1.5", "abs(x0)", "max(x0, 0.1)", "-x0", "x0 / 3", "x0 + 0"),
    "np.float64({number})": ("x0", "np.exp(x0)", "x0 * 1.5", "float(x0)", "x0.item()"),
    "np.array([{number}, {number}])": (
        "x0[0]", "x0[-1] * 2", "np.sum(x0)", "float(x0[1])", "x0.max()", "x0.item(0)",
        "np.sin(x0[0])", "x0.tolist()[1]", "[*x0][0]",
    ),
    "np.array([{number}, {number}], dtype=np.float32)": ("x0[0]", "np.sum(x0)", "float(x0[1])"),
    "np.array({number})": ("x0", "x0[()]", "x0.item()", "float(x0)"),
    "[{number}, {number}]": ("x0[0]", "x0[0] * x0[1]", "sum(x0)", "math.hypot(*x0)"),
    "{{'a': {number}}}": ("x0['a']", "x0['a'] ** 2", "[*x0.values()][0]"),
}  # fmt: skip

TEXTS = (
    "str({v})", "repr({v})", "f'{{{v}}}'", "f'{{{v}!r}}'", "f'{{{v}:.17g}}'", "'%r' % ({v},)",
    "'%.15g' % {v}", "'{{}}'.format({v})", "'{{:.16e}}'.format({v})", "format({v}, '.17g')",
    "np.format_float_positional({v})", "np.format_float_scientific({v})", "' '.join([str({v})])",
    "(str({v}) + ' ')", "('' + f'{{{v}}}')", "str([{v}])[1:-1]", "'{{v}}'.format(v={v})",
    "'%(v)s' % {{'v': {v}}}", "'A'.replace('A', str({v}))", "''.join(c for c in str({v}))",
    "'a %s b' .__mod__({v})[2:-2]", "np.array2string(np.asarray({v}), precision=17)", "ascii({v})",
    "json.dumps({v})", "decimal.Decimal({v}).to_eng_string()", "str(fractions.Fraction({v}))",
    "printed({v})", "written({v})", "'{{0!s:>30}}'.format({v})", "f'{{{v}:{{20}}}}'",
    "format_map({v})", "''.join(map(str, [{v}]))", "str(np.array([{v}]))[1:-1]",
    "(lambda t: t[:30])(str({v}))", "float.__repr__(float({v}))", "{v}.__str__()",
    "{v}.__format__('.17g')", "str({v}).rjust(40)", "str.format('{{}}', {v})",
    "'|'.join(['0', repr({v})]).split('|')[1]",
)  # fmt: skip
READ = (
    "float({t})", "float({t}.strip())", "eval({t})", "ast.literal_eval({t}.strip())",
    "float(decimal.Decimal({t}.strip()))", "float(fractions.Fraction({t}.strip()))",
    "json.loads({t})", "np.float64({t})", "np.fromstring({t}, sep=' ')[0]", "complex({t}).real",
    "np.loadtxt(io.StringIO({t})).item()", "np.genfromtxt(io.StringIO({t})).item()",
    "np.array([{t}]).astype(float)[0]", "np.array([{t}, '1'], dtype=float)[0]",
    "float(re.search(r'[-+.e0-9]+', {t}).group())", "float(re.findall(r'[-+.e0-9]+', {t})[0])",
    "float({t}.split()[0])", "float({t}.partition(' ')[0] or 1)", "sum(map(float, {t}.split()))",
    "float({t}.encode())", "float(io.StringIO({t}).read())", "float({{'k': {t}}}['k'])",
    "[float(s) for s in [{t}]][0]", "float({t}.lower().replace('x', ''))",
    "float(next(iter({t}.splitlines())))", "float(bytes({t}, 'ascii'))",
)  # fmt: skip
EXACT = (
    "int({v} * 2.0**60) / 2.0**60", "math.floor({v} * 2.0**58) / 2.0**58",
    "round({v} * 2.0**59) / 2.0**59", "math.trunc({v} * 2.0**61) * 2.0**-61",
    "(lambda p: int(p[0] * 2**53) * 2.0 ** (p[1] - 53))(math.frexp({v}))",
    "(lambda r: r[0] / r[1])({v}.as_integer_ratio())", "float.fromhex({v}.hex())",
    "float.fromhex(float.hex(float({v})))", "struct.unpack('d', struct.pack('d', {v}))[0]",
    "struct.unpack('>d', struct.pack('>d', *[{v}]))[0]", "float(fractions.Fraction({v}))",
    "float(fractions.Fraction.from_float(float({v})))", "float(decimal.Decimal({v}))",
    "float(decimal.Decimal.from_float(float({v})))", "array.array('d', [{v}])[0]",
    "ctypes.c_double({v}).value", "np.frombuffer(np.float64({v}).tobytes())[0]",
    "np.array([{v}]).view(np.int64).view(float)[0]", "np.int64({v} * 2.0**60) / 2.0**60",
    "(np.array([{v}]) * 2.0**60).astype(np.int64)[0] / 2.0**60",
    "memoryview(np.array([{v}]))[0]", "np.array([{v}]).data[0]", "pickle.loads(pickle.dumps({v}))",
    "copy.deepcopy([{v}])[0]", "json.loads(json.dumps([{v}]))[0]", "statistics.mean([{v}, {v}])",
    "float(statistics.mean([fractions.Fraction({v})]))",
    "np.float64({v}).as_integer_ratio()[0] * 1.0",
    "np.asarray(np.array([{v}]) * 2.0**60, dtype=int)[0] / 2.0**60",
    "np.array([{v}]).tobytes()[0] * 0.0 + np.frombuffer(np.array([{v}]).tobytes())[0]",
    "saved({v})", "table({v})", "float(mpmath.mpf({v}))", "float(mpmath.sin({v}))",
    "float(mpmath.mpf(2) * {v} + mpmath.pi)", "float({v} * mpmath.mpf(2))",
    "float(mpmath.mpf({v}) ** 2)", "float(mpmath.quad(lambda t: t * {v}, [0, 1]))",
    "float(sympy.Float({v}))", "float(sympy.sin({v}))", "float(sympy.pi * {v})",
    "float(sympy.Rational({v}))", "float((sympy.Symbol('s') ** 2).subs('s', {v}))",
    "sympy.lambdify(sympy.Symbol('s'), sympy.Symbol('s') ** 2)({v})",
    "float(sympy.sympify(str({v})))", "complex({v}).real", "np.longdouble({v}) * 1",
    "divmod({v}, 1e6)[1]", "math.modf({v})[0]", "math.ldexp(*math.frexp({v}))",
    "np.nextafter({v}, 9)", "math.fsum([{v}])", "np.ldexp(*np.frexp({v}))",
)  # fmt: skip
HELPERS = {
    "printed": """
def printed(v):
    out = io.StringIO()
    print("v", v, file=out)
    return out.getvalue().split()[-1]
""",
    "written": """
def written(v):
    out = io.StringIO()
    out.write(f"{v}\\n")
    out.seek(0)
    for line in out:
        return line.strip()
""",
    "format_map": """
def format_map(v):
    return "{v}".format_map({"v": v})
""",
    "saved": """
def saved(v):
    out = io.BytesIO()
    np.save(out, np.array([v]))
    out.seek(0)
    return np.load(out)[0]
""",
    "table": """
def table(v):
    out = io.StringIO()
    np.savetxt(out, np.array([v, v * 2]))
    out.seek(0)
    return np.sum(np.loadtxt(out))
""",
}
USES = (
    "{c}", "{c} * {v}", "np.sin({c}) + {v}", "{c} ** 2 + {c}", "{c} - {v} ** 2", "[{c}, {v}][0]",
    "np.sum(np.array([{c}, {v}]))", "max({c}, {v} - 5)", "({c} if {v} > -9 else {v})",
)  # fmt: skip
FORMS = (
    "def program(x0):\n    return {value}\n",
    "def program(x0):\n    t = {inner}\n    c = {read}\n    return {used}\n",
    "def program(x0):\n    def read(t):\n        return {read}\n    c = read({inner})\n"
    "    return {used}\n",
    "def program(x0):\n    kept = []\n    kept.append({inner})\n    t = kept[0]\n    c = {read}\n"
    "    return {used}\n",
    "def program(x0):\n    print(x0, file=io.StringIO())\n    t = {inner}\n    total = 0.0\n"
    "    for _ in range(2):\n        total = total + {read}\n    c = total\n    return {used}\n",
    "class Store:\n    def put(self, t):\n        self.t = t\n    def get(self):\n"
    "        t = self.t\n        return {read}\n\n\n"
    "def program(x0):\n    store = Store()\n    store.put({inner})\n    c = store.get()\n"
    "    return {used}\n",
)


def write(seed: int) -> str:
    """Return the source of the program of a seed."""
    rng = random.Random(seed)
    argument = rng.choice([*ARGUMENTS])
    v = rng.choice(ARGUMENTS[argument])
    filled = argument
    while "{number}" in filled:
        filled = filled.replace("{number}", repr(round(rng.uniform(0.3, 2.9), 3)), 1)
    if rng.random() < 0.6:
        inner, read = rng.choice(TEXTS).format(v=v), rng.choice(READ).format(t="t")
        whole = read.replace("(t", f"({inner}", 1) if "(t" in read else inner
    else:
        inner = v
        read = whole = rng.choice(EXACT).format(v=v)
    form = rng.choice(FORMS) if whole is not inner else FORMS[1]
    value = rng.choice(USES).format(c=f"({whole})", v=v)
    used = rng.choice(USES).format(c="c", v=v)
    text = form.format(value=value, inner=inner, read=read, used=used)
    if "get(self)" in form and read == whole:  # an exact conversion reads x0, which is not there
        text = FORMS[1].format(inner=inner, read=read, used=used)
    helpers = "\n".join(source for name, source in HELPERS.items() if f"{name}(" in text)
    extra = "".join(f"import {m}\n" for m in ("mpmath", "sympy") if f"{m}." in text)
    filled = filled.replace("{{", "{").replace("}}", "}")
    return f"{IMPORTS}{extra}{helpers}\n\n{text}\n\nARGUMENTS = ({filled},)\n"
