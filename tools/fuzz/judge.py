"""Run a program plainly and differentiated, and say how the derivatives compare.

The reference is the plain program: central differences along a random direction, extrapolated from
three steps. Where they do not agree with one another (a kink or a jump nearby, too strong a
curvature), the program is discarded. A gradient is compared by its product with the direction: an
element that is wrong shows in it. Where a program computes in single precision, the reference is
taken of the same program in double precision.
"""

from __future__ import annotations

import contextlib
import linecache
import random
import struct
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import autodiff
from chainrules_core import ChainRulesError
from tools.fuzz import observed, repeated
from tools.fuzz.limits import TooSlow, limited

FILE = "<fuzzed program>"
UNSEEN = "<text without source>"
CALLS = 12  # of a program that is made of a function
STEP = 1e-3
SECONDS = 20
ROUNDING = 1e-13  # the value may differ by: it is counted apart
ROUNDED = "its value has other last bits"
KINDS = ("right", "error", "wrong", "crash", "discarded")
TRACED = ("reverse", "forward", "second")
MODES = (*TRACED, "automatic", "compiled", "unverified")
NAMED = (*MODES, "observed")  # which takes longer, so it is asked for by name
SECOND = 0.4  # of the programs are differentiated twice


class Outcome(NamedTuple):
    """What one mode made of a program: one of `KINDS`, and the details."""

    kind: str
    mode: str
    detail: str = ""

    @property
    def failed(self) -> bool:
        return self.kind in ("wrong", "crash")


class Discarded(Exception):  # noqa: N818 - not an error: there is nothing to compare with
    """The plain program is no reference."""


def load(source: str, file: str = FILE) -> tuple[Callable, tuple]:
    """Return the function and the arguments of a program; in `UNSEEN` nobody finds its source."""
    if file != UNSEEN:
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": "fuzzed"}
    exec(compile(source, file, "exec", dont_inherit=True), namespace)
    return namespace["program"], namespace["ARGUMENTS"]


def by_drawn_arguments(gradient: Callable, f: Callable, arguments: tuple) -> list[tuple]:
    """Return the gradient by the arguments that a program draws, and which these are.

    It is empty if a traced value is written into an array that then is not traced: tracing refuses.
    """
    chosen = f.__globals__["ARGNUMS"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", autodiff.NoPathWarning)
            found = gradient(f, *fresh(arguments), argnums=chosen)
    except autodiff.MutationError:
        return []
    return list(zip(chosen, found, strict=True))


def widened(source: str) -> str:
    """The program in double precision."""
    return source.replace("float32", "float64").replace("complex64", "complex128")


# -- nests of arguments ----------------------------------------------------------------------------


def mapped(f: Callable, *nests: Any) -> Any:
    """Apply a function to the numbers and arrays of nests of the same form."""
    first = nests[0]
    if isinstance(first, (tuple, list)):
        return type(first)(mapped(f, *parts) for parts in zip(*nests, strict=True))
    if isinstance(first, dict):
        return {key: mapped(f, *[nest[key] for nest in nests]) for key in first}
    return f(*nests)


def leaves(nest: Any) -> list:
    found: list = []
    mapped(found.append, nest)
    return found


def fresh(arguments: tuple) -> tuple:
    return mapped(lambda x: x.copy() if isinstance(x, np.ndarray) else x, arguments)


def outcome(gradient: Callable, f: Callable, arguments: tuple) -> Any:
    """Return what a derivative of a program is, or the class of the error that it raises."""
    try:
        with warnings.catch_warnings():
            # A program knows of ways from the source, the tape of those that were taken.
            warnings.simplefilter("ignore", autodiff.NoPathWarning)
            return gradient(f, *fresh(arguments))
    except Exception as error:
        return type(error)


def direction(arguments: tuple, rng: np.random.Generator) -> tuple:
    """Return a random direction for each argument, of its own type."""

    def one(x: Any) -> Any:
        d = rng.uniform(0.3, 1.0, np.shape(x)) * rng.choice([-1.0, 1.0], np.shape(x))
        if np.iscomplexobj(x):
            d = d + 1j * rng.uniform(-1.0, 1.0, np.shape(x))
        return d.astype(x.dtype) if isinstance(x, np.ndarray) else float(d)

    return mapped(one, arguments)


def product(bars: Any, dots: Any) -> float:
    """Return the inner product of a gradient with a direction."""
    pairs = zip(leaves(bars), leaves(dots), strict=True)
    return float(sum(np.sum(np.real(np.conj(bar) * dot)) for bar, dot in pairs))


# -- the reference ---------------------------------------------------------------------------------


class Reference(NamedTuple):
    """Derivatives of the plain program along a direction, with their uncertainty."""

    first: float
    first_error: float
    second: float
    second_error: float


def value_of(program: Callable, arguments: tuple) -> float:
    value = program(*arguments)
    if not isinstance(value, (float, np.floating)) and np.shape(value) == ():
        value = float(value)
    if not isinstance(value, (float, np.floating)) or not abs(value) < 1e5:
        raise Discarded("no finite real number")
    if isinstance(value, np.float16):  # np.cos(True) is one
        raise Discarded("half precision")
    return value


def reference(program: Callable, arguments: tuple, dots: tuple) -> Reference:
    """Return the derivatives along a direction, by differences."""

    def at(h: float) -> float:
        return float(value_of(program, mapped(lambda x, d: x + h * d, arguments, dots)))

    middle = float(value_of(program, fresh(arguments)))
    slopes, curvatures, kinks = [], [], []
    for h in (STEP, STEP / 2, STEP / 4):
        ahead, back = at(h), at(-h)
        slopes.append((ahead - back) / (2 * h))
        curvatures.append((ahead - 2 * middle + back) / h**2)
        kinks.append(abs(ahead - 2 * middle + back) / h)
    first, rough = (4 * slopes[2] - slopes[1]) / 3, (4 * slopes[1] - slopes[0]) / 3
    scale = max(1.0, abs(first), abs(middle))
    error = abs(first - rough) + 1e-12 * scale / STEP
    if error > 1e-5 * scale:
        raise Discarded("differences disagree")
    if kinks[2] > 0.6 * kinks[0] and kinks[2] > 1e-6 * scale:
        raise Discarded("a kink")
    # Where a value is as good as constant, its rounding may pass for a slope at steps of 2 to 1.
    odd = 0.3 * STEP
    bend = (slopes[1] - slopes[2]) / (STEP / 2) ** 2 * 4 / 3
    if abs((at(odd) - at(-odd)) / (2 * odd) - first - bend * odd**2) > 1e-4 * scale:
        raise Discarded("differences disagree")
    second = (4 * curvatures[1] - curvatures[0]) / 3
    # The smallest step shows the noise of programs that iterate until they are near enough.
    spread = abs(second - curvatures[0]) + abs(curvatures[2] - curvatures[1])
    return Reference(first, error, second, spread + 1e-14 * scale / STEP**2)


# -- the judgement ---------------------------------------------------------------------------------


def judge(source: str, seed: int, modes: tuple[str, ...] | None = None) -> list[Outcome]:
    """Return the outcome of each mode."""
    rng = np.random.default_rng(seed)
    if modes is None:
        modes = TRACED if random.Random(seed).random() < SECOND else TRACED[:2]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", autodiff.NoPathWarning)  # it is as good as an error
        try:
            with limited(SECONDS):
                program, arguments = load(source)
                value = value_of(program, fresh(arguments))
                if bits(value_of(program, fresh(arguments))) != bits(value):
                    raise Discarded("not the same twice")
                dots = direction(arguments, rng)
                narrow = widened(source) != source
                plain, wide_arguments = load(widened(source)) if narrow else (program, arguments)
                wide_dots = mapped(lambda d: d.astype(float) if is_single(d) else d, dots)
                expected = reference(plain, wide_arguments, wide_dots)
                if narrow:
                    wide = value_of(plain, fresh(wide_arguments))
                    if abs(wide - value) > 1e-3 * max(1.0, abs(wide)):
                        raise Discarded("another program in double precision")
                    program, arguments = load(source)
        except TooSlow:
            return [Outcome("discarded", "plain", "too slow")]
        except Discarded as reason:
            return [Outcome("discarded", "plain", str(reason))]
        except Exception as error:
            return [Outcome("discarded", "plain", type(error).__name__)]
        case = Case(source, program, arguments, dots, value, expected, narrow, seed)
        return [case.outcome(mode) for mode in modes]


@contextlib.contextmanager
def noted_errors() -> Iterator[list[str]]:
    """Give a list of the messages of all errors of the engine, also of those that are caught."""
    raised: list[str] = []

    def noting(self: Any, *args: Any) -> None:
        if isinstance(self, autodiff.DifferentiationError):
            raised.append(str(args[0]))
        Exception.__init__(self, *args)

    ChainRulesError.__init__ = noting  # where it inherits that of Exception
    try:
        yield raised
    finally:
        del ChainRulesError.__init__


class Case:
    """A program with what its derivatives should be."""

    def __init__(
        self,
        source: str,
        program: Callable,
        arguments: tuple,
        dots: tuple,
        value: float,
        expected: Reference,
        narrow: bool,
        seed: int,
    ) -> None:
        self.source = source
        self.program = program
        self.arguments = arguments
        self.dots = dots
        self.value = value
        self.expected = expected
        self.narrow = narrow
        self.seed = seed
        self.rounded = False

    def outcome(self, mode: str) -> Outcome:
        """Differentiate in one mode, and compare."""
        self.rounded = False
        try:
            with limited(SECONDS), noted_errors() as raised:
                problem = getattr(self, mode)()
        except (ChainRulesError, autodiff.NoPathWarning) as error:
            return Outcome("error", mode, f"{type(error).__name__}: {error}")
        except TooSlow as error:
            return Outcome("crash", mode, f"TooSlow: {error}")
        except Discarded as error:
            return Outcome("discarded", mode, str(error))
        except Exception as error:
            return Outcome("crash", mode, f"{type(error).__name__}: {error}\n{last_frames(error)}")
        if problem and raised:
            problem = f"the program caught an error of ours: {raised[0]}\n{problem}"
        if problem:
            return Outcome("wrong", mode, problem)
        return Outcome("right", mode, ROUNDED if self.rounded else "")

    def reverse(self) -> str:
        return self.by_reverse(self.program)

    def unverified(self) -> str:
        """The same from text without source: the right gradient, or an error."""
        return self.by_reverse(load(self.source, UNSEEN)[0])

    def automatic(self) -> str:
        """The automatic tier, called with changing data."""
        calls = repeated.points(self.arguments, self.seed, CALLS)
        return repeated.automatic_difference(self.program, calls)

    def compiled(self) -> str:
        """The compiled gradient, called with changing data."""
        calls = repeated.points(self.arguments, self.seed, CALLS)
        return repeated.compiled_difference(self.program, calls)

    def observed(self) -> str:
        """All that a user can observe, in every tier."""
        return observed.observed_difference(lambda: load(self.source), self.seed)

    def by_reverse(self, program: Callable) -> str:
        given = fresh(self.arguments)
        value, found = autodiff.value_and_gradient(program, *given)
        bars = (found,) if len(given) == 1 else found
        problem = self.about_value(value) or self.about_form(bars)
        if not problem and any(
            not np.array_equal(a, b)
            for a, b in zip(leaves(given), leaves(self.arguments), strict=True)
        ):
            problem = "an argument was changed"
        return problem or self.about_slope(product(bars, self.dots), "gradient")

    def forward(self) -> str:
        value, push = autodiff.pushforward(self.program, *fresh(self.arguments))
        return self.about_value(value) or self.about_slope(push(*self.dots), "pushforward")

    def second(self) -> str:
        """The second derivative along the direction, in one of three ways."""
        if abs(self.expected.second_error) > 1e-3 * max(1.0, abs(self.expected.second)):
            raise Discarded("second differences disagree")
        ways = (self.forward_over_reverse, self.reverse_over_reverse, self.forward_over_forward)
        way = ways[self.seed % 3]
        return self.about(
            way(), self.expected.second, self.expected.second_error, 1e-4, way.__name__
        )

    def along(self, h: Any) -> tuple:
        """The arguments on the line through them, at h."""
        return mapped(lambda x, d: x + h * d, self.arguments, self.dots)

    def forward_over_reverse(self) -> Any:
        def slope(*given: Any) -> Any:
            found = autodiff.gradient(self.program, *given)
            return inner((found,) if len(given) == 1 else found, self.dots)

        return autodiff.pushforward(slope, *fresh(self.arguments))[1](*self.dots)

    def reverse_over_reverse(self) -> Any:
        def slope(*given: Any) -> Any:
            found = autodiff.gradient(self.program, *given)
            return inner((found,) if len(given) == 1 else found, self.dots)

        found = autodiff.gradient(slope, *fresh(self.arguments))
        return product((found,) if len(self.arguments) == 1 else found, self.dots)

    def forward_over_forward(self) -> Any:
        def slope(*given: Any) -> Any:
            return autodiff.pushforward(self.program, *given)[1](*self.dots)

        return autodiff.pushforward(slope, *fresh(self.arguments))[1](*self.dots)

    # -- comparisons; each returns what is wrong, or nothing -------------------------------------

    def about_value(self, value: Any) -> str:
        if bits(value) == bits(self.value):
            return ""
        rounding = 1e-5 if self.narrow else ROUNDING
        if abs(value - self.value) <= rounding * max(1.0, abs(value)):
            self.rounded = True
            return ""
        return f"value {value!r}, plainly {self.value!r}"

    def about_form(self, bars: Any) -> str:
        for bar, x in zip(leaves(bars), leaves(self.arguments), strict=True):
            if np.shape(bar) != np.shape(x):
                return f"a gradient of shape {np.shape(bar)} for an argument of shape {np.shape(x)}"
            if isinstance(x, np.ndarray) and getattr(bar, "dtype", None) != x.dtype:
                return (
                    f"a gradient of dtype {getattr(bar, 'dtype', type(bar))} for one of {x.dtype}"
                )
        return ""

    def about_slope(self, found: Any, what: str) -> str:
        return self.about(found, self.expected.first, self.expected.first_error, 1e-6, what)

    def about(self, found: Any, expected: float, error: float, rtol: float, what: str) -> str:
        found = 0.0 if found is None else found  # an output that cannot be perturbed
        scale = max(1.0, abs(expected))
        tolerance = (2e-2 if self.narrow else rtol) * scale + 20 * error
        if np.shape(found) != () or not abs(found - expected) <= tolerance:
            return f"{what} along the direction {found!r}, differences {expected!r}"
        return ""


def inner(bars: Any, dots: tuple) -> Any:
    """The inner product, of traced values as well."""
    total = 0.0
    for bar, dot in zip(leaves(bars), leaves(dots), strict=True):
        total = total + np.sum(np.real(np.conj(bar) * dot))
    return total


def is_single(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == np.float32


def bits(value: Any) -> bytes:
    return struct.pack("d", 0.0 if value == 0 else float(value))


def last_frames(error: Exception) -> str:
    """Where a foreign exception comes from: the program's line, and the last two of ours."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"line {f.lineno} of the program: {f.line}" for f in frames if f.filename == FILE][-1:]
    lines += [f"{f.filename.rpartition('/site-packages/')[2]}:{f.lineno} in {f.name}: {f.line}"
              for f in frames[-3:] if f.filename != FILE]  # fmt: skip
    return "\n".join(lines)
