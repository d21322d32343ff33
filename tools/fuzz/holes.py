"""What stands in the holes of a phrase, chosen to fit the operand that the phrase is about.

A hole keeps its text within one phrase: ``{n}`` is the same number twice, ``{n1}`` another one.

    a       the operand                     c       something that broadcasts to its shape
    b       another value of its shape      s       a real number, by any name or expression
    n, p    a number; a positive one        k       a small positive integer
    w       constants of its shape          m, sq   a constant matrix: a @ m, sq @ a are defined
    spd     a positive definite matrix      stacked two of its shape, stacked
    axis    one of its axes                 axes    an axis, a tuple of axes, None
    i       an index of its first axis      point   an index of an element
    index   any index: fancy, masks, …      view    an index by slices, which gives a view
    rows    a list of indices, repeating    flags   a truth value for each row
    mask    truth values of its shape       test    one truth value
    shape   a shape of as many elements     perm    its axes in another order
    fit     a value for ``a[index] = …``; fit_i, fit_view, fit_rows likewise
    t, u, v new local names                 new     a new name of the program
    term    an expression in t, which stands for a; each: one in u, which stands for an element
    name    the operand, if it is a name that may be bound anew
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tools.fuzz.writer import Writer


class NoFilling(Exception):  # noqa: N818 - no error: another phrase is taken
    """There is nothing that would fit into a hole."""


class Holes(dict):
    """The texts of the holes of one phrase, made when they are asked for."""

    def __init__(self, writer: Writer, operand: str, value: Any) -> None:
        super().__init__(a=operand)
        self.writer = writer
        self.random = writer.random
        self.value = value
        self.shape_of = np.shape(value) if is_number_like(value) else (1,)

    def __missing__(self, hole: str) -> str:
        make = getattr(self, "hole_" + hole.rstrip("0123456789"))
        self[hole] = text = make()
        return text

    # -- operands --------------------------------------------------------------------------------

    def hole_b(self) -> str:
        return self.of_shape(self.shape_of, self["a"])

    def of_shape(self, shape: tuple, like: str) -> str:
        """A value of some shape: another one of the program, a function of this one, constants."""
        if self.random.random() < 0.6:
            found = [
                text
                for text, x in self.writer.places()
                if is_inexact(x) and np.shape(x) == shape and text != like
            ]
            if found:
                return self.random.choice(found)
        if self.random.random() < 0.7 or shape == ():
            return self.random.choice(("np.cos({})", "({} * 0.5)", "({} + 0.25)")).format(like)
        return self.constants(shape)

    def hole_c(self) -> str:
        roll = self.random.random()
        if roll < 0.35:
            return self.hole_b()
        if roll < 0.75:
            found = [
                text
                for text, x in self.writer.places()
                if is_inexact(x) and broadcasts_to(np.shape(x), self.shape_of)
            ]
            if found:
                return self.random.choice(found)
        if roll < 0.85 and self.shape_of:
            return self.constants(self.shape_of[-1:])
        return self.hole_n()

    def hole_s(self) -> str:
        roll = self.random.random()
        if roll < 0.6:
            places = self.writer.places()
            numbers = [text for text, x in places if isinstance(x, (float, int)) and x is not True]
            arrays = [
                (text, x)
                for text, x in places
                if isinstance(x, np.ndarray) and x.size and x.dtype.kind == "f"
            ]
            if numbers and (roll < 0.35 or not arrays):
                return self.random.choice(numbers)
            if arrays:
                text, x = self.random.choice(arrays)
                if roll < 0.5:
                    return f"{text}[{self.point(x.shape)}]"
                return self.random.choice(("np.sum({})", "np.mean({})", "{}.max()")).format(text)
        return self.hole_n()

    def hole_n(self) -> str:
        return repr(round(self.random.uniform(-1.5, 1.5), 2) or 0.5)

    def hole_p(self) -> str:
        return repr(round(self.random.uniform(0.3, 1.8), 2))

    def hole_k(self) -> str:
        return str(self.random.choice((2, 3, 4, 1)))

    def hole_w(self) -> str:
        return self.constants(self.shape_of)

    def constants(self, shape: tuple) -> str:
        """Constants of a shape that broadcasting and symmetry do not confuse."""
        if not shape:
            return self.hole_n()
        size = int(np.prod(shape))
        if len(shape) == 1 and size <= 4:
            return f"np.array([{', '.join(self.hole_n() for _ in range(size))}])"
        flat = self.random.choice(
            (f"np.linspace(-1.0, 1.5, {size})", f"np.cos(np.arange({size}.0))")
        )
        return flat if len(shape) == 1 else f"{flat}.reshape({shape})"

    def hole_m(self) -> str:
        if not self.shape_of:
            raise NoFilling
        return self.constants((self.shape_of[-1], self.random.choice((1, 2, 3))))

    def hole_sq(self) -> str:
        n = self.shape_of[0] if self.shape_of else 1
        return f"(np.eye({n}) * {self['p']} + {self['n']})"

    def hole_spd(self) -> str:
        a = self["a"]
        return f"({a} @ {a}.T + {2.0 + self.shape_of[0]} * np.eye({self.shape_of[0]}))"

    def hole_stacked(self) -> str:
        return f"np.stack([{self['b']}, {self['a']} * {self['n']}])"

    def hole_literal(self) -> str:
        rows = [f"[{self.hole_n()}, {self.hole_n()}]" for _ in range(self.random.choice((2, 3)))]
        numbers = [self.hole_n() for _ in range(self.random.choice((2, 3, 4)))]
        return f"[{', '.join(self.random.choice((rows, numbers)))}]"

    # -- axes and shapes -------------------------------------------------------------------------

    def hole_axis(self) -> str:
        ndim = len(self.shape_of)
        if not ndim:
            raise NoFilling
        return str(self.random.randrange(-ndim, ndim))

    def hole_axes(self) -> str:
        ndim = len(self.shape_of)
        roll = self.random.random()
        if roll < 0.2 or not ndim:
            return "None"
        if roll < 0.6 or ndim == 1:
            return self.hole_axis()
        return str(tuple(self.random.sample(range(ndim), self.random.randint(1, ndim))))

    def hole_keep(self) -> str:
        return self.random.choice(("True", "False"))

    def hole_perm(self) -> str:
        return str(tuple(self.random.sample(range(len(self.shape_of)), len(self.shape_of))))

    def hole_shape(self) -> str:
        size = int(np.prod(self.shape_of))
        found = [(size,), (-1,), (1, size), (size, 1)]
        found += [(n, size // n) for n in range(2, size) if size % n == 0] * 2
        found += [(n, -1, 1) for n in range(2, size) if size % n == 0]
        return str(self.random.choice(found))

    # -- indices ---------------------------------------------------------------------------------

    def hole_i(self) -> str:
        n = self.shape_of[0] if self.shape_of else 1
        if not n:
            raise NoFilling
        if self.random.random() < 0.2:
            found = [t for t, x in self.writer.places() if type(x) is int and -n <= x < n]
            if found:
                return self.random.choice(found)
        return str(self.random.randrange(-n, n))

    def hole_point(self) -> str:
        return self.point(self.shape_of)

    def point(self, shape: tuple) -> str:
        if not all(shape):
            raise NoFilling
        return ", ".join(str(self.random.randrange(-n, n)) for n in shape) or "()"

    def hole_rows(self) -> str:
        n = self.shape_of[0] if self.shape_of else 1
        if not n:
            raise NoFilling
        rows = [self.random.randrange(-n, n) for _ in range(self.random.choice((2, 3)))]
        return self.random.choice((f"{rows}", f"np.array({rows})"))

    def hole_flags(self) -> str:
        n = self.shape_of[0] if self.shape_of else 1
        flags = [self.random.random() < 0.5 for _ in range(n)]
        return self.random.choice((f"{flags}", f"np.array({flags})"))

    def hole_mask(self) -> str:
        a, n = self["a"], self["n"]
        return self.random.choice(
            (f"{a} > {n}", f"{a} < {n}", f"np.abs({a}) > 0.5", f"({a} > -1.0) & ({a} < {n})",
             f"~({a} > {n})", f"np.logical_or({a} > 1.0, {a} < {n})", f"np.isfinite({a})")
        )  # fmt: skip

    def hole_test(self) -> str:
        a, n = self["a"], self["n"]
        if not is_number_like(self.value):
            return self.random.choice((f"len({a}) > 1", f"{a}", f"not {a}"))
        if self.shape_of == ():
            return self.random.choice((f"{a} > {n}", f"{a} <= {n}", f"abs({a}) < 1.0 < 2.0"))
        return self.random.choice(
            (f"np.sum({a}) > {n}", f"({a} > {n}).any()", f"np.all({a} < 2.0)", f"len({a}) == 2",
             f"{a}[{self.point(self.shape_of)}] < {n}", f"{a}.shape[0] > 2", f"{a}.ndim == 1",
             f"isinstance({a}, np.ndarray)", f"np.max({a}) >= {n} and {a}.size > 1")
        )  # fmt: skip

    def hole_slice(self) -> str:
        return self.slice_of(self.shape_of[0] if self.shape_of else 1)

    def slice_of(self, n: int) -> str:
        start = self.random.choice(("", "", "1", "-2", "0"))
        stop = self.random.choice(("", "", "-1", str(n), "2"))
        step = self.random.choice(("", "", "", ":2", ":-1" if not start and not stop else ""))
        return f"{start}:{stop}{step}"

    def hole_view(self) -> str:
        """An index made of slices, integers, ``...`` and ``None``."""
        parts = []
        for n in self.shape_of:
            roll = self.random.random()
            if roll < 0.08:
                parts.append("None")
            if roll < 0.3 and n:
                parts.append(str(self.random.randrange(-n, n)))
            else:
                parts.append(self.slice_of(n))
        if all(part.lstrip("-").isdigit() for part in parts):
            parts[-1:] = [self.slice_of(n)] if self.shape_of else ["..."]
        if self.random.random() < 0.3:
            cut = self.random.randrange(len(parts))
            parts[cut:] = ["..."] if self.random.random() < 0.5 else []
        return ", ".join(parts) or "..."

    def hole_index(self) -> str:
        """Any index."""
        ndim, a = len(self.shape_of), self["a"]
        roll = self.random.random()
        if not ndim or not all(self.shape_of):
            return self.random.choice(("...", "()", "None"))
        if roll < 0.25:
            return self.hole_view()
        if roll < 0.4:
            return self["rows"]
        if roll < 0.5:
            return self.hole_mask()
        if roll < 0.55:
            return self["flags"]
        if roll < 0.6:
            return self["point"]
        if roll < 0.65:
            return f"np.nonzero({self.hole_mask()})"
        if roll < 0.7:
            return f"np.unravel_index(np.argmax({a}), {a}.shape)"
        if ndim == 1:
            return self.random.choice(
                (f"np.argsort({a})", f"np.argmax({a})", f"range({a}.size - 1)", f"len({a}) - 1",
                 f"np.arange({a}.size)[::2]", "slice(1, None)", "(slice(0, 2),)",
                 "[[0, -1], [-1, 0]]", "np.array([], dtype=int)",
                 f"np.where({a} > {self['n']})[0]", "(..., -1)", "[0], None")
            )  # fmt: skip
        i, j = self["rows"], self.random.randrange(self.shape_of[1])
        return self.random.choice(
            (f":, {j}", f":, [{j}, 0]", f"{i}, {j}", f"{i}, :1", f":1, [{j}, -1]", f"..., {j - 1}",
             f"0, [{j}, 0]", f"np.ix_([0, -1], [{j}])", f"[0, -1], [{j}, 0]",
             f"[[0], [-1]], [{j}, 0]", f"np.arange(len({a})), {j}", f"({self['flags']}, {j})",
             f"None, {i}", f"..., [{j}, 0, {j}]",
             "np.diag_indices(2)", "np.triu_indices(2)")
        )  # fmt: skip

    # -- values to be written --------------------------------------------------------------------

    def hole_fit(self) -> str:
        return self.fitting(self["index"])

    def hole_fit_i(self) -> str:
        return self.fitting(self["i"])

    def hole_fit_view(self) -> str:
        return self.fitting(self["view"])

    def hole_fit_rows(self) -> str:
        return self.fitting(self["rows"])

    def fitting(self, index: str) -> str:
        """A value that ``a[index]`` can take."""
        region = self.writer.evaluate(f"{self['a']}[{index}]")
        shape = np.shape(region)
        roll = self.random.random()
        if roll < 0.3:
            return self["s"]
        if roll < 0.6:
            found = [
                text
                for text, x in self.writer.places()
                if is_inexact(x) and broadcasts_to(np.shape(x), shape)
            ]
            if found:
                return self.random.choice(found)
        if roll < 0.8 and shape == self.shape_of:
            return self.hole_b()
        if roll < 0.9:
            return f"{self.hole_b()}[{index}]"
        return self.random.choice(("{} * 0.5", "np.sin({})", "{} + {}", "{}.copy()")).replace(
            "{}", f"{self['a']}[{index}]"
        )

    # -- names and what is said with them --------------------------------------------------------

    def hole_name(self) -> str:
        if not self.writer.may_rebind(self["a"]):
            raise NoFilling
        return self["a"]

    def hole_new(self) -> str:
        return self.writer.fresh("v")

    def hole_t(self) -> str:
        return self.writer.fresh("t")

    hole_u = hole_t
    hole_v = hole_t

    def hole_term(self) -> str:
        return self.writer.body_in(self["t"], self.value)

    def hole_each(self) -> str:
        return self.writer.body_in(self["u"], next(iter(itertools.islice(self.value, 1))))


def is_number_like(x: Any) -> bool:
    """Whether `x` is a number or an array of numbers."""
    return isinstance(x, (bool, int, float, complex, np.ndarray, np.generic))


def is_inexact(x: Any) -> bool:
    """Whether `x` is a real number or array that may be differentiated."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "f"
    return isinstance(x, (float, np.floating))


def broadcasts_to(shape: tuple, target: tuple) -> bool:
    """Whether an array of one shape can be broadcast to another."""
    padded = (1,) * (len(target) - len(shape)) + shape
    return len(padded) == len(target) and all(
        n in (1, m) for n, m in zip(padded, target, strict=True)
    )
