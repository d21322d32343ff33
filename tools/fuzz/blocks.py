"""What has statements inside: branches, loops, functions, classes.

Each block is a function of the writer that writes one and returns whether it holds.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from tools.fuzz.holes import Holes, is_inexact
from tools.fuzz.writer import Writer, is_array, is_float, kinds_of

Block = Callable[[Writer], bool]
BLOCKS: list[Block] = []


def block(weight: int) -> Callable[[Block], Block]:
    """List a block, as often as it is to be taken."""

    def listed(write: Block) -> Block:
        BLOCKS.extend([write] * weight)
        return write

    return listed


def under(header: str, body: list[str]) -> str:
    """Return a header with its block."""
    return f"{header}\n{textwrap.indent(chr(10).join(body) or 'pass', '    ')}"


def body_of(w: Writer, *setting: str, most: int = 3) -> list[str]:
    """Write the statements of a block after some that set the scene."""
    with w.inside(*setting) as body:
        w.statements(w.random.randint(1, most))
    return body


def test_of(w: Writer) -> str:
    text, x = w.place(lambda x: kinds_of(x) and type(x) is not dict)
    return Holes(w, text, x).hole_test()


def any_value(x: Any) -> bool:
    return is_inexact(x) or (type(x) in (list, tuple, dict) and bool(x)) or np.iscomplexobj(x)


# -- branches ------------------------------------------------------------------------------------


@block(6)
def branch(w: Writer) -> bool:
    parts = [under(f"if {test_of(w)}:", body_of(w))]
    if w.random.random() < 0.3:
        parts.append(under(f"elif {test_of(w)}:", body_of(w)))
    if w.random.random() < 0.5:
        parts.append(under("else:", body_of(w)))
    return w.attempt("\n".join(parts))


@block(2)
def matching(w: Writer) -> bool:
    text, x = w.place(any_value)
    a, b = w.fresh("v"), w.fresh("v")
    kind = w.random.choice(("list", "type", "shape", "guard"))
    if kind == "list" and type(x) in (list, tuple):
        subject, first = text, f"[{a}, *{b}]"
        setting = [f"{a}, *{b} = {text}"]
    elif kind == "list" and type(x) is dict:
        key = next(iter(x))
        subject, first, setting = text, f"{{{key!r}: {a}}}", [f"{a} = {text}[{key!r}]"]
    elif kind == "shape" and isinstance(x, np.ndarray) and x.ndim:
        subject, first, setting = f"{text}.shape", f"({a}, *_)", [f"{a} = {text}.shape[0]"]
    elif kind == "guard":
        n = Holes(w, text, x).hole_n()
        subject, first = text, f"{a} if np.sum({a}) > {n}" if is_inexact(x) else f"{a}"
        setting = [f"{a} = {text}"]
    else:
        subject, setting = text, [f"{a} = {text}"]
        first = f"float() | int() | np.ndarray() as {a}"
    cases = [
        under(f"case {first}:", body_of(w, *setting)),
        under("case _:", body_of(w)),
    ]
    return w.attempt(under(f"match {subject}:", cases))


@block(3)
def attempt(w: Writer) -> bool:
    """try, with a body that may raise half-way."""
    failing = w.random.choice(
        (f"if {test_of(w)}:\n    raise ValueError('no')", "[][0]", "1 / 0",
         "np.zeros(2) + np.zeros(3)", "{}['none']", "math.sqrt(-1.0)", "float('x')",
         "np.linalg.inv(np.zeros((2, 2)))", "pass",
         "np.zeros(2)[5]", f"assert {test_of(w)}", "raise KeyError('k')")
    )  # fmt: skip
    body = body_of(w)
    body.insert(w.random.randint(0, len(body)), failing)
    several = "(ArithmeticError, LookupError, ValueError, AssertionError)"
    caught = w.random.choice(("Exception", several, "(Exception, KeyError) as error"))
    parts = [under("try:", body), under(f"except {caught}:", body_of(w))]
    if w.random.random() < 0.3:
        parts.append(under("else:", body_of(w)))
    if w.random.random() < 0.3:
        parts.append(under("finally:", body_of(w)))
    return w.attempt("\n".join(parts))


@block(1)
def context(w: Writer) -> bool:
    text, _ = w.place(any_value)
    a = w.fresh("v")
    header, setting = w.random.choice(
        (("with np.errstate(all='ignore'):", []), ("with contextlib.suppress(ValueError):", []),
         (f"with contextlib.nullcontext({text}) as {a}:", [f"{a} = {text}"]))
    )  # fmt: skip
    return w.attempt(under(header, body_of(w, *setting)))


@block(1)
def early_return(w: Writer) -> bool:
    """A return half-way, in a branch that is not taken."""
    if w.locals is not None or w.depth:
        return False
    test = test_of(w)
    taken = bool(w.evaluate(test))
    return w.attempt(under(f"if {f'not ({test})' if taken else test}:", [f"return {w.term()}"]))


# -- loops ---------------------------------------------------------------------------------------


@block(6)
def counting(w: Writer) -> bool:
    """for over a range, which statements inside may take for an index."""
    i = w.fresh("v")
    text, x = w.place(is_array)
    n = len(x) if x.ndim else 2
    limit = w.random.choice(
        (f"{min(n, 4)}", "2", f"len({text})" if 0 < n <= 4 and x.ndim else "2", "1, 3")
    )
    body = body_of(w, f"{i} = {limit.split(',')[0] if ',' in limit else 0}")
    body += leaving(w)
    return w.attempt(under(f"for {i} in range({limit}):", body) + otherwise(w))


def leaving(w: Writer) -> list[str]:
    roll = w.random.random()
    if roll < 0.15:
        return [under(f"if {test_of(w)}:", ["break"])]
    if roll < 0.25:
        return [under(f"if {test_of(w)}:", ["continue"])]
    return []


def otherwise(w: Writer) -> str:
    return "\n" + under("else:", body_of(w, most=1)) if w.random.random() < 0.08 else ""


@block(4)
def over_elements(w: Writer) -> bool:
    text, x = w.place(lambda x: is_array(x) or (type(x) in (list, tuple) and x))
    if isinstance(x, np.ndarray) and not x.ndim:
        return False
    i, u = w.fresh("v"), w.fresh("v")
    other = Holes(w, text, x).hole_b() if is_array(x) else text
    header, setting = w.random.choice(
        ((f"for {u} in {text}:", [f"{u} = {text}[0]"]),
         (f"for {i}, {u} in enumerate({text}):", [f"{i}, {u} = 0, {text}[0]"]),
         (f"for {i}, {u} in zip({text}, {other}):", [f"{i}, {u} = {text}[0], {other}[0]"]),
         (f"for {u} in reversed({text}):", [f"{u} = {text}[-1]"]),
         (f"for {u} in list({text}):", [f"{u} = {text}[0]"]),
         (f"for {u} in {text}[::-1]:", [f"{u} = {text}[-1]"]))
    )  # fmt: skip
    return w.attempt(under(header, body_of(w, *setting) + leaving(w)))


@block(2)
def while_loop(w: Writer) -> bool:
    i = w.fresh("v")
    a, _ = w.place(lambda x: is_array(x) or is_float(x))
    w.counters.add(i)
    test = w.random.choice(
        (f"{i} < 3", f"{i} < 2 and np.sum({a}) < 5.0", f"{i} < len(np.ravel({a})) < 5")
    )
    with w.inside(f"{i} = 0") as body:
        w.statements(w.random.randint(1, 3))
    return w.attempt(f"{i} = 0\n" + under(f"while {test}:", [*body, f"{i} += 1"]))


# -- functions -----------------------------------------------------------------------------------


def parameters(w: Writer, most: int = 2) -> tuple[list[str], list[str]]:
    """Return names of parameters and what to pass."""
    given = [w.place(any_value)[0] for _ in range(w.random.randint(1, most))]
    return [w.fresh("a") for _ in given], given


def function_body(
    w: Writer, names: list[str], given: list[str], most: int = 4, *, closed: bool = False
) -> list[str]:
    """Write the body of a function, up to what it returns."""
    with w.inside(*[f"{n} = {g}" for n, g in zip(names, given, strict=True)]) as body:
        w.locals = set(names)
        was, w.closed = w.closed, closed or w.closed
        try:
            w.statements(w.random.randint(0, most))
            returned = w.expression(w.random.choice((0, 1, 1, 2)))[0]
            early = ""
            if w.random.random() < 0.15:
                early = under(f"if {test_of(w)}:", [f"return {w.expression(1)[0]}"])
            if w.random.random() < 0.1:
                returned = f"{returned}, {w.expression(0)[0]}"
        finally:
            w.closed = was
    if early:
        body.append(early)
    return [*body, f"return {returned}"]


@block(5)
def local_function(w: Writer) -> bool:
    names, given = parameters(w)
    f = w.fresh("f")
    signature = list(names)
    n = Holes(w, given[0], 0.0).hole_n()
    style = w.random.random()
    if style < 0.15:
        names.append(w.fresh("a"))
        given.append(n)
        signature.append(f"{names[-1]}={n}")
    elif style < 0.25 and len(names) == 2:
        signature.insert(1, "*")
    elif style < 0.3:
        signature[-1] += ", /"
    body = function_body(w, names, given)
    header = f"def {f}({', '.join(signature)}):"
    if style > 0.9:
        decorators = ("@keep", "@functools.lru_cache(maxsize=None)", "@wrapped")
        header = f"{w.random.choice(decorators)}\n{header}"
    passed = [f"{name}={text}" if w.random.random() < 0.2 or "*" in signature else text
              for name, text in zip(names, given, strict=True)]  # fmt: skip
    if ", /" in signature[-1]:
        passed = given
    passed.sort(key=lambda text: "=" in text.split("[")[0])
    if style < 0.15 and w.random.random() < 0.5:
        passed, given = passed[:-1], given
    if not w.attempt(under(header, body)):
        return False
    w.functions.append((f, len(given)))
    return called(w, f"{f}({', '.join(passed)})")


def called(w: Writer, call: str) -> bool:
    """Use a call in one of several ways."""
    v = w.fresh("v")
    roll = w.random.random()
    if roll < 0.1:
        return w.attempt(call)
    if roll < 0.2:
        return w.attempt(f"{v} = [{call} for _ in range(2)]")
    return w.attempt(f"{v} = {call}")


@block(3)
def call_again(w: Writer) -> bool:
    if not w.functions or w.closed:
        return False
    f, n = w.random.choice(w.functions)
    if f not in w.env:
        return False
    return called(w, f"{f}({', '.join(w.place(any_value)[0] for _ in range(n))})")


@block(2)
def module_function(w: Writer) -> bool:
    if w.closed:
        return False
    names, given = parameters(w)
    f = w.fresh("g")
    body = function_body(w, names, given, closed=True)
    return defined(w, under(f"def {f}({', '.join(names)}):", body)) and called(
        w, f"{f}({', '.join(given)})"
    )


def defined(w: Writer, text: str) -> bool:
    """Put a definition before the program."""
    w.prelude.append(text + "\n")
    try:
        w.restart()
    except Exception:
        w.prelude.pop()
        w.restart()
        return False
    return True


@block(1)
def counter(w: Writer) -> bool:
    """A closure that binds a variable of the program anew."""
    if w.locals is not None:
        return False
    text, x = w.place(lambda x: is_float(x) or is_array(x))
    s, f, a = w.fresh("v"), w.fresh("f"), w.fresh("a")
    holes = Holes(w, text, x)
    change = w.random.choice(
        (f"{s} = {s} * {holes['n']} + {a}", f"{s} += {a}", f"{s} -= {a} * {a}", f"{s} = {a} + {s}")
    )
    body = [f"nonlocal {s}", change, f"return {s}"]
    if w.random.random() < 0.3 and is_array(x):
        body.insert(1, f"{s} = {s}.copy()")
    call = f"{f}({holes['s']})"
    definition = under(f"def {f}({a}):", body)
    return w.attempt(f"{s} = {text}\n{definition}\n{call}\n{w.fresh('v')} = {call}")


@block(2)
def recursion(w: Writer) -> bool:
    names, given = parameters(w, 1)
    a, n, f = names[0], w.fresh("a"), w.fresh("f")
    with w.inside(f"{a} = {given[0]}", f"{n} = 1"):
        w.locals = {a, n}
        base = w.expression(1)[0]
        step = w.applied(a, w.env[a])[0]
        factor = Holes(w, a, w.env[a]).hole_n()
    again = w.random.choice(
        (f"{f}({step}, {n} - 1)", f"{f}({a} * {factor}, {n} - 1) * {factor} + {a}")
    )
    text = under(
        f"def {f}({a}, {n}):", [under(f"if {n} <= 0:", [f"return {base}"]), f"return {again}"]
    )
    if w.random.random() < 0.5:  # outside of the program, if nothing in it is needed
        if set(re.findall(r"\b[vxa]\d+\b", text)) - {a, n}:
            return False
        return defined(w, text) and called(w, f"{f}({given[0]}, 2)")
    return w.attempt(text) and called(w, f"{f}({given[0]}, 2)")


@block(2)
def generator(w: Writer) -> bool:
    text, x = w.place(lambda x: is_array(x) and x.ndim)
    f, a, u = w.fresh("f"), w.fresh("a"), w.fresh("v")
    with w.inside(f"{a} = {text}", f"{u} = {a}[0]") as body:
        w.locals = {a, u}
        w.statements(w.random.randint(0, 2))
        given = w.expression(w.random.choice((0, 1, 1)))[0]
    header = f"for {u} in {a}:"
    yielding = w.random.choice(
        (f"yield {given}", f"yield {u}, {given}", f"yield from ({u}, {given})")
    )
    definition = under(f"def {f}({a}):", [under(header, [*body, yielding])])
    v, n = w.fresh("v"), Holes(w, text, x).hole_n()
    use = w.random.choice(
        (f"{v} = list({f}({text}))", f"{v} = sum(np.sum({u}) for {u} in {f}({text}))",
         f"{v} = next({f}({text}))", f"{v} = [{u} for {u} in {f}({text})][-1]",
         f"{v} = 0.0\nfor {u} in {f}({text}):\n    {v} = {v} * {n} + np.sum({u})",
         f"{v} = functools.reduce(lambda p, q: np.sum(p) + np.sum(q), {f}({text}))",
         f"{v} = max({f}({text}), key=np.sum)", f"{v}, *_ = {f}({text})",
         f"{v} = list(itertools.islice({f}({text}), 2))", f"{v} = tuple(map(np.sum, {f}({text})))")
    )  # fmt: skip
    return w.attempt(f"{definition}\n{use}")


# -- classes -------------------------------------------------------------------------------------


def as_method(body: list[str], name: str) -> list[str]:
    """Statements on a local name as statements on self."""
    return [re.sub(rf"\b{name}\b", "self", text) for text in body]


@block(3)
def user_class(w: Writer) -> bool:
    if w.closed:
        return False
    (p, x), (q, _) = w.place(any_value), w.place(any_value)
    c, me, b = w.fresh("C"), w.fresh("a"), w.fresh("a")
    n, n1 = Holes(w, p, x)["n"], Holes(w, p, x)["n"]
    scene = [f"{me} = types.SimpleNamespace(p={p}, q={q}, scale={n})", f"{b} = {q}"]

    def method(most: int) -> list[str]:
        with w.inside(*scene) as body:
            w.locals = {me, b}
            was, w.closed = w.closed, True
            try:
                w.statements(w.random.randint(0, most))
                value = w.expression(w.random.choice((1, 1, 2)))[0]
            finally:
                w.closed = was
        return as_method([*body, f"return {value}"], me)

    slots = "    __slots__ = ('p', 'q')\n" if w.random.random() < 0.1 else ""
    style = w.random.random()
    if style < 0.25:
        fields = f"    p: object\n    q: object = 0.5\n    scale = {n}\n"
        header = f"@dataclasses.dataclass\nclass {c}:\n{fields}"
        if w.random.random() < 0.4:
            header += f"\n    def __post_init__(self):\n        self.q = self.q * {n1}\n"
    elif style < 0.35:
        header = f"class {c}(collections.namedtuple('Base', 'p q')):\n    scale = {n}\n"
    else:
        header = f"class {c}:\n{slots}    scale = {n}\n" + textwrap.indent(
            under("\ndef __init__(self, p, q=0.5):", ["self.p = p", f"self.q = q * {n1}"]), "    "
        )
    methods = [
        under(f"def value(self, {b}):", method(3)),
        w.random.choice(("", "@property\n"))
        + under("def total(self):", method_without(method(2), b)),
        under("def __add__(self, other):", [f"return {c}(self.p * {n} + other.p, self.q)"]),
        under("def __mul__(self, other):", [f"return {c}(self.p * other, self.q)"]),
        under("__rmul__ = __mul__\n\ndef __neg__(self):", [f"return {c}(-self.p, self.q)"]),
        under(f"def __call__(self, {b}):", method(2)),
        under("def __getitem__(self, i):", ["return (self.p, self.q)[i]"]),
        under("def __iter__(self):", ["yield self.p", "yield self.q"]) if style >= 0.35 else "",
        under("def grow(self, by):", ["self.p = self.p * by", "return self"]),
        under("def put(self, by):", ["self.p[0] = by", f"self.q *= {n}"]),
        under("@staticmethod\ndef twice(r):", [f"return r * r + {n}"]),
        under("@classmethod\ndef made(cls, r):", [f"return cls(r, r * {n})"]),
        under("def __enter__(self):", ["return self.p"]),
        under("def __exit__(self, *error):", ["return False"]),
    ]
    text = header + "\n\n".join(["", *[textwrap.indent(m, "    ") for m in methods if m]])
    if not defined(w, text):
        return False
    o = w.fresh("v")
    total = f"{o}.total" + ("" if "@property" in text else "()")
    if not w.attempt(f"{o} = {c}({p}, {q})"):
        return False
    uses = [
        f"{o}.value({q})", total, f"({o} + {o}).p", f"(2.0 * {o}).p", f"(-{o}).q", f"{o}({q})",
        f"{o}[0]", f"list({o})", f"{o}.grow({n}).p", f"{c}.twice({o}.q)", f"{c}.made({o}.q).p",
        f"{o}.p", f"{o}.scale * {o}.q", f"getattr({o}, 'p')", f"sum(({o} * {n} + {o}))",
        f"[{o}.value({q}) for _ in range(2)]", f"{o}.put({n})",
        f"setattr({o}, 'p', {o}.p * {n1})", f"functools.reduce(operator.add, [{o}, {o}, {o}]).p",
    ]  # fmt: skip
    for use in w.random.sample(uses, 3):
        w.attempt(f"{w.fresh('v')} = {use}")
    if w.random.random() < 0.2:
        w.attempt(under(f"with {o} as {w.fresh('v')}:", ["pass"]))
    if w.random.random() < 0.3:
        w.attempt(f"{o}.p = {o}.p * {n}")
    return True


def method_without(body: list[str], name: str) -> list[str]:
    """A method body with a number in the place of a parameter."""
    if any(re.search(rf"\b{name}\b", text) for text in body):
        return ["return self.p * self.scale"]
    return body
