"""What is known of functions of NumPy and Python: one entry of facts for each.

Everybody who needs to know something of a function looks it up here: the recorder, the compiler,
and the proof of purity. What depends on two functions agreeing cannot differ between them.
"""

from __future__ import annotations

import bisect
import builtins
import cmath
import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from autodiff import python_operators
from chainrules_core.define.scalar import ScalarRule

ELEMENTWISE, VIEW, REDUCTION, PRODUCT = "elementwise", "view", "reduction", "product"
_ALL = 99


# A frozen one takes four times as long to make, at import, 200 times.
@dataclasses.dataclass(slots=True, kw_only=True, eq=False)
class FunctionFacts:
    """What is known of a function; the form of a value is its type, dtype and shape."""

    kind: str = ""
    """ELEMENTWISE, VIEW (the result has elements of the first argument), REDUCTION (along
    ``axis``), PRODUCT (of vectors and matrices), or "" for others."""
    is_pure: bool = True
    """It does nothing but return a value that depends on the values of the arguments."""

    # -- the form of the result
    has_fixed_form: bool = True
    """It follows from the forms of the arguments."""
    data: int = 1
    """So many arguments without names are data; integers behind them say which form it has."""
    reads_form: bool = False
    """The result depends on the forms of the arguments alone …"""
    reads_memory: bool = False
    """… and on where they lie in memory."""
    makes_form: bool = False
    """The result is a new array of the form of the argument, whatever that holds."""

    # -- memory
    is_new: bool = False
    """The result is new memory (or a number), but for exceptions: see `is_new_memory`."""
    is_own: bool = False
    """It is so without exceptions, and never an element of the argument."""
    is_container: bool = False
    """The result is an array into which a user may write values later."""
    may_copy: bool = False
    """The result is a view or a copy, as the argument lies in memory."""
    order: int = 0
    """At this place the order of elements is given."""

    # -- errors
    raises_by_value: bool = False
    """It raises for some values of valid forms."""
    never_raises: bool = False
    """It never raises for valid forms, in a module where others do."""
    domain: str = ""
    """Of functions of ``math``: where the argument is so, it does not raise."""

    # -- what it computes
    takes_numbers: bool = False
    """It makes of a number an array all elements of which are this number."""
    parameters: tuple[str, ...] = ()
    """The names of the arguments of a function that moves elements."""
    ufunc: np.ufunc | None = None
    """The ufunc that computes the same, for numbers too."""
    math: Callable | None = None
    """The function of ``math`` for floats, which raises where NumPy gives Inf or NaN."""
    is_rounded: bool = False
    """There is one right result, whoever computes it."""
    is_logical: bool = False
    """It works on truths."""

    # -- how it is written
    sign: str = ""
    """The operator between two floats."""
    python: str = ""
    """The expression for floats, in Python and in machine code."""
    loops: str = ""
    """The expression in loops of machine code over arrays."""
    undefined: str = ""
    """Where this holds machine code gives NaN or Inf, and ``math`` raises; ``y`` is the result."""
    simd: str = ""
    """Loops of machine code compute it for several elements at once: "always", or if "long"."""


_entries: dict[Any, FunctionFacts] = {}
NOTHING = FunctionFacts(is_pure=False, has_fixed_form=False)


def note(functions: Any, **facts: Any) -> None:
    """Give functions their entry; each has one."""
    entry = FunctionFacts(**facts)
    for f in functions:
        assert f not in _entries, f"there are two entries for {f}"
        _entries[f] = entry


def named(module: Any, names: str) -> set[Any]:
    """Return the functions of a module that have these names, as far as there are such."""
    return {f for name in names.split() if (f := getattr(module, name, None)) is not None}


def facts_of(f: Any) -> FunctionFacts:
    """Return the entry of a function; one that says nothing for a function without."""
    found = _entries.get(f)
    if found is None and getattr(f, "__module__", None) in _LOADED_LATE:
        _note_loaded_late()
        found = _entries.get(f)
    return NOTHING if found is None else found


def entries() -> Mapping[Any, FunctionFacts]:
    """Return all entries."""
    _note_loaded_late()
    return MappingProxyType(_entries)


def known(name: str) -> dict[Any, Any]:
    """Return one fact of all functions of which it holds, or is given: function → fact."""
    return {f: fact for f, entry in _entries.items() if (fact := getattr(entry, name))}


def of_kind(kind: str) -> frozenset[Any]:
    """Return the functions of a kind."""
    return frozenset(f for f, entry in _entries.items() if entry.kind == kind)


# -- elementwise functions ------------------------------------------------------------------------


def _add(f: Any, of_math: Any = None, same: tuple = (), domain: str = "", **facts: Any) -> None:
    """Note a function, with the one of ``math`` and others that compute the same.

    What is not said of machine code follows from what is written in Python.
    """
    if of_math is not None:
        operands = "{0}, {1}" if f.nin == 2 else "{0}"
        facts.setdefault("loops", f"math.{of_math.__name__}({operands})")
        takes_the_same = of_math not in (math.log, math.hypot)
        ufunc = f if takes_the_same else None
        note([of_math], data=_ALL, ufunc=ufunc, domain=domain)
    note(same, data=_ALL, ufunc=f)
    if "sign" in facts:
        facts["python"] = f"{{0}} {facts['sign']} {{1}}"
    if facts.get("simd") == "always":
        facts["loops"] = f"{f.__name__}({{0}})"
    facts.setdefault("loops", facts.get("python", ""))
    note([f], **{"kind": ELEMENTWISE, "data": _ALL, "math": of_math, **facts})


_ONE = "-1.0 <= {0} <= 1.0"
_ANGLE = "abs({0}) != 1e999"
_EXPONENT = "(not 709.782712893384 < {0} < 1e999)"
_HYPERBOLIC = "(not 710.4758600739439 < abs({0}) < 1e999)"
_IS_NAN, _IS_LARGE, _IS_ANY_LARGE = "{y} != {y}", "not {y} < 1e308", "not abs({y}) < 1e308"

for _f, _same in (
    (np.add, operator.add), (np.subtract, operator.sub), (np.multiply, operator.mul),
    (np.true_divide, operator.truediv), (np.less, operator.lt), (np.less_equal, operator.le),
    (np.greater, operator.gt), (np.greater_equal, operator.ge), (np.equal, operator.eq),
    (np.not_equal, operator.ne),
):  # fmt: skip
    _add(_f, same=(_same,), sign=python_operators.SIGNS[_same], is_rounded=True)

_add(np.negative, same=(operator.neg,), python="-{0}", is_rounded=True)
_add(np.absolute, same=(abs, math.fabs), python="abs({0})", is_rounded=True)
_add(np.fabs, python="abs({0})")
_add(np.positive, same=(operator.pos,), python="+{0}")
_add(np.square, python="{0} * {0}")
_add(np.reciprocal, python="1.0 / {0}")
_add(np.sign, python="(1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else {0})")
_add(np.maximum, python="({0} if {0} >= {1} or {0} != {0} else {1})")
_add(np.minimum, python="({0} if {0} <= {1} or {0} != {0} else {1})")
_add(np.isnan, python="({0} != {0})")
_add(np.isfinite, loops="({0} - {0} == 0.0)")
_add(np.deg2rad, python="({0} * 0.017453292519943295)")
_add(np.floor, loops="np.floor({0})")
_add(np.ceil, loops="np.ceil({0})")
_add(np.trunc, loops="np.trunc({0})")
_add(np.rint, loops="np.rint({0})")
_add(np.copysign, loops="math.copysign({0}, {1})")
_add(np.logaddexp, loops="np.logaddexp({0}, {1})")
_add(np.exp2, loops="2.0 ** {0}")
_add(np.conj)

_add(np.sin, math.sin, domain=_ANGLE, undefined=_IS_NAN, simd="long")
_add(np.cos, math.cos, domain=_ANGLE, undefined=_IS_NAN, simd="long")
_add(np.tan, math.tan, domain=_ANGLE, undefined=_IS_NAN)
_add(np.arcsin, math.asin, domain=_ONE, undefined=_IS_NAN)
_add(np.arccos, math.acos, domain=_ONE, undefined=_IS_NAN)
_add(np.arctan, math.atan)
_add(np.arctan2, math.atan2)
_add(np.hypot, math.hypot)
_add(np.sinh, math.sinh, domain=_HYPERBOLIC, undefined=_IS_ANY_LARGE)
_add(np.cosh, math.cosh, domain=_HYPERBOLIC, undefined=_IS_LARGE)
_add(np.tanh, math.tanh, simd="always")
_add(np.arcsinh, math.asinh)
_add(np.arccosh, math.acosh, domain="{0} >= 1.0", undefined=_IS_NAN)
_add(np.arctanh, math.atanh, domain="-1.0 < {0} < 1.0", undefined=_IS_ANY_LARGE)
_add(np.exp, math.exp, domain=_EXPONENT, undefined=_IS_LARGE, simd="always")
_add(np.expm1, math.expm1, domain=_EXPONENT, undefined=_IS_LARGE, simd="long")
_add(np.log, math.log, domain="{0} > 0.0", undefined="not {0} > 0.0", simd="long")
_add(np.log1p, math.log1p, domain="{0} > -1.0", undefined="not {0} > -1.0", simd="long")
_add(np.log2, math.log2, domain="{0} > 0.0", undefined="not {0} > 0.0", loops="np.log2({0})")
_add(np.log10, math.log10, domain="{0} > 0.0", undefined="not {0} > 0.0")
_add(np.sqrt, math.sqrt, domain="{0} >= 0.0", undefined="not {0} >= 0.0", is_rounded=True)
_add(np.cbrt, math.cbrt, loops="np.cbrt({0})")
_add(np.power, math.pow, (operator.pow,), undefined=_IS_ANY_LARGE, loops="{0} ** {1}")
note([pow], has_fixed_form=False, ufunc=np.power)

_TRUTHS: tuple[tuple[tuple[Any, ...], str], ...] = (
    ((operator.and_, np.bitwise_and), "({0} & {1})"),
    ((operator.or_, np.bitwise_or), "({0} | {1})"),
    ((operator.xor,), "({0} ^ {1})"),
    ((operator.invert, np.invert, np.logical_not), "(not {0})"),
    ((np.logical_and,), "({0} and {1})"),
    ((np.logical_or,), "({0} or {1})"),
)
for _functions, _text in _TRUTHS:
    for _function in _functions:
        _add(_function, python=_text, is_logical=True)

# The upper bound last: it is what is left where the lower one is above it.
_RAISED = "({0} if {0} > {1} or {0} != {0} else {1})"
_CLIPPED = "({lower} if {lower} < {{2}} or {lower} != {lower} else {{2}})"
_add(np.clip, loops=_CLIPPED.format(lower=_RAISED), is_new=True)
_add(np.where, python="({1} if {0} else {2})", is_new=True)
_add(np.copy, loops="{0}", data=1, is_new=True, is_own=True, is_container=True)

_GAMMA = (
    "(not (({0} <= 0.0 and ({0} % 1.0 == 0.0 or {0} < -1e300))"
    " or 171.6 < {0} < 1e999 or abs({0}) < 5.6e-309))"
)
note([math.gamma], data=_ALL, domain=_GAMMA)
_LOG_GAMMA = "(not (({0} <= 0.0 and {0} % 1.0 == 0.0) or 2.5e305 < {0} < 1e999))"
note([math.lgamma], data=_ALL, domain=_LOG_GAMMA)
_others = {f for f in vars(math).values() if callable(f)}
note(_others - _entries.keys(), data=_ALL)
note(
    named(operator, "floordiv mod")
    | {max, min, sum, float, complex, round, bool, np.float64, np.ndarray.item},
    data=_ALL,
)


def _numpy(names: str, **facts: Any) -> None:
    note(named(np, names), **facts)


def _linalg(names: str, **facts: Any) -> None:
    note(named(np.linalg, names), **facts)


# -- reductions -----------------------------------------------------------------------------------

_numpy("sum mean max min var std", kind=REDUCTION, is_new=True)
_numpy("any all", kind=REDUCTION)
_numpy("cumsum", kind=REDUCTION, is_new=True, is_own=True)
_numpy("cumprod", is_new=True, is_own=True)
_numpy("prod argmax argmin trace", is_new=True)
_numpy(
    "amax amin ptp nansum nanmean nanmax nanmin nanstd nanvar median count_nonzero gradient unwrap",
    is_new=True,
)
_numpy("average", is_new=True, raises_by_value=True)
_numpy("percentile quantile", data=2, is_new=True, raises_by_value=True)
_numpy("cov corrcoef", data=_ALL, is_new=True)
_numpy("trapezoid", data=3, is_new=True)

# -- products and matrices ------------------------------------------------------------------------

note([np.matmul, operator.matmul], kind=PRODUCT, data=_ALL, is_new=True)
_numpy("dot inner", kind=PRODUCT, data=_ALL, is_new=True, is_own=True)
_numpy("vdot", kind=PRODUCT, data=_ALL, is_new=True)
_numpy("einsum", data=_ALL, is_new=True)
_numpy("tensordot", data=2, is_new=True, is_own=True)
_numpy("cross", data=2, is_new=True, is_own=True)
_numpy("outer kron", data=_ALL, is_new=True, is_own=True, is_container=True)
_numpy("convolve correlate polyval", data=_ALL, is_new=True)
_linalg("solve", data=_ALL, is_new=True)
_linalg("inv cholesky", is_new=True)
_linalg("det", is_new=True, never_raises=True)
_linalg("slogdet norm trace matrix_norm vector_norm multi_dot", is_new=True, never_raises=True)
_linalg("matmul outer", data=_ALL, never_raises=True)
_linalg("cross vecdot", data=2, never_raises=True)
_linalg("tensorsolve", data=2)
_linalg("qr svd eigh eigvalsh pinv svdvals tensorinv", is_new=True)
_linalg("eig lstsq", has_fixed_form=False, is_new=True)
_linalg("matrix_power")

# -- Fourier transforms ---------------------------------------------------------------------------

_TRANSFORMS = (
    "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn",
    "fftshift ifftshift",
    "fftfreq rfftfreq",
)


_QUADRATURES = {
    "chebyshev": "chebgauss", "hermite": "hermgauss", "hermite_e": "hermegauss",
    "laguerre": "laggauss", "legendre": "leggauss",
}  # fmt: skip
"""The modules of ``numpy.polynomial`` → the function that returns nodes and weights."""
_LOADED_LATE = frozenset({"numpy.fft", *[f"numpy.polynomial.{name}" for name in _QUADRATURES]})
"""Modules that NumPy loads at first use."""


def _note_loaded_late() -> None:
    """Give the functions of modules that NumPy loads at first use their entries."""
    for module, name in _QUADRATURES.items():
        of_integer = FunctionFacts(has_fixed_form=False, raises_by_value=True)
        _entries[getattr(getattr(np.polynomial, module), name)] = of_integer
    for names, entry in zip(
        _TRANSFORMS,
        (
            FunctionFacts(is_new=True, is_own=True, raises_by_value=True),
            FunctionFacts(is_new=True, is_own=True),
            FunctionFacts(has_fixed_form=False, is_new=True, is_own=True),
        ),
        strict=True,
    ):
        _entries.update(dict.fromkeys(named(np.fft, names), entry))


# -- views ----------------------------------------------------------------------------------------

_numpy("transpose swapaxes moveaxis rollaxis squeeze diagonal", kind=VIEW)
_numpy("flip fliplr flipud rot90 atleast_3d matrix_transpose", kind=VIEW)
_numpy("expand_dims broadcast_to atleast_1d atleast_2d", kind=VIEW, takes_numbers=True)
_numpy("ravel", kind=VIEW, takes_numbers=True, may_copy=True, order=1)
_numpy("reshape", kind=VIEW, takes_numbers=True, may_copy=True, order=2)
_numpy("diag", kind=VIEW, is_container=True, parameters=("a", "k"))
_linalg("diagonal matrix_transpose", kind=VIEW, never_raises=True)
note([operator.getitem], kind=VIEW, has_fixed_form=False, data=_ALL)
_numpy("ascontiguousarray", may_copy=True, is_container=True)
_numpy("asfortranarray require", is_pure=False, has_fixed_form=False, may_copy=True)
_numpy("asarray asanyarray", is_container=True)
_numpy("real imag angle broadcast_arrays meshgrid split array_split hsplit vsplit dsplit")

# -- new arrays -----------------------------------------------------------------------------------

_numpy("array stack hstack vstack tile", is_new=True, is_own=True, is_container=True)
_numpy("concatenate", is_new=True, is_own=True, is_container=True, parameters=("a", "axis"))
_numpy(
    "tril triu",
    data=_ALL, is_new=True, is_own=True, is_container=True, parameters=("a", "k"),
)  # fmt: skip
_numpy(
    "roll",
    data=_ALL,
    is_new=True,
    is_own=True,
    is_container=True,
    parameters=("a", "shift", "axis"),
)
_numpy("diff", is_new=True, parameters=("a", "n", "axis"))
_numpy("pad", has_fixed_form=False, is_new=True, parameters=("a", "widths", "mode"))
_numpy("sort argsort", is_new=True)
_numpy("take", data=2, is_new=True, raises_by_value=True)
_numpy("take_along_axis append", data=2, is_new=True)
_numpy("insert delete ediff1d bincount", has_fixed_form=False, is_new=True)
_numpy("choose", data=_ALL, raises_by_value=True)
_numpy("select searchsorted interp isclose", data=_ALL, is_new=True)
_numpy("column_stack diagflat", is_new=True, is_container=True)
_numpy("sinc", is_new=True)
_numpy("round around nan_to_num i0 fix")
_numpy("put_along_axis", data=3, is_pure=False)
_numpy("logspace full_like vander", is_new=True, is_own=True, is_container=True)
_numpy("geomspace", is_container=True, raises_by_value=True)
_numpy(
    "zeros_like ones_like empty_like",
    has_fixed_form=False, makes_form=True, is_new=True, is_own=True, is_container=True,
)  # fmt: skip
_numpy(
    "arange bartlett blackman dstack empty eye full hamming hanning identity linspace ones repeat "
    "zeros",
    has_fixed_form=False, is_new=True, is_own=True, is_container=True,
)  # fmt: skip
_numpy("block indices tri", has_fixed_form=False, is_new=True, is_container=True)
_numpy("ix_ unravel_index ravel_multi_index", has_fixed_form=False, raises_by_value=True)
note([np.ndarray.astype])

# -- what is known while recording ----------------------------------------------------------------

_numpy(
    "shape ndim size iscomplexobj isrealobj isscalar result_type can_cast min_scalar_type "
    "common_type issubdtype broadcast_shapes iterable",
    has_fixed_form=False, reads_form=True,
)  # fmt: skip
note([isinstance, len, type, callable, hasattr], has_fixed_form=False, reads_form=True)
_numpy(
    "may_share_memory shares_memory",
    has_fixed_form=False, is_pure=False, reads_form=True, reads_memory=True,
)  # fmt: skip

# -- what is pure, and no more is known -----------------------------------------------------------

note(
    named(
        builtins,
        "all any bin dict divmod enumerate filter frozenset hex int list map oct range reversed "
        "set slice sorted str tuple zip",
    )
    | named(operator, "contains index lshift not_ rshift truth")
    | named(itertools, "accumulate chain combinations islice pairwise permutations product")
    | {functools.reduce, functools.partial}
    | named(bisect, "bisect_left bisect_right"),
    has_fixed_form=False,
)
note({f for f in vars(cmath).values() if callable(f)} - _entries.keys(), has_fixed_form=False)

# -- what follows ---------------------------------------------------------------------------------

UFUNC_OF: dict[Any, np.ufunc] = known("ufunc")
"""The ufunc that computes the same: one name for each function in a program."""
SIGNS: dict[Any, str] = known("sign")
OPERATORS: dict[Any, str] = {
    f: python_operators.SIGNS[f]
    for f in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow)
}
"""Functions of Python's arithmetic operators, and what stands for them in code. What ``**`` gives
for two floats is not always a float, so that it is no sign of `np.power`."""
MATRIX_PRODUCTS = frozenset({np.dot, np.matmul, operator.matmul})
"""Products of vectors and matrices that are the same for all of them."""
COMPARISONS = frozenset(f for f, sign in SIGNS.items() if sign not in "+-*/")


def is_elementwise(f: Any) -> bool:
    """Whether a function is a ufunc of one output that works element by element."""
    return isinstance(f, np.ufunc) and f.signature is None and f.nout == 1


@functools.cache
def takes_floats(f: np.ufunc) -> bool:
    """Whether integers given to a ufunc may as well be floats: the exponents of `ldexp` may not."""
    operands = [t.partition("->")[0] for t in f.types if t.endswith("->d")]
    return not any("d" in kinds and set(kinds) & _INTEGERS for kinds in operands)


_INTEGERS = frozenset("bBhHiIlLqQ")


def is_new_memory(f: Any, args: tuple, kwargs: dict | None) -> bool:
    """Whether the result of a call is new memory, which nothing else shares."""
    if not facts_of(f).is_new:
        return False
    options = kwargs or {}
    if f is np.einsum:  # of one array it may be a view: a transpose, a diagonal
        return type(args[0]) is str and len(args) > 2 and "out" not in options
    if f is np.diff:  # the array itself if no differences are taken
        n = args[1] if len(args) > 1 else options.get("n", 1)
        return isinstance(n, (int, np.integer)) and bool(n > 0)
    return "out" not in options and options.get("copy", True) is True


def is_builtin_rule(rule: Any) -> bool:
    """Whether a rule belongs to `chainrules`, and not to the user."""
    partials = rule.partials[0] if isinstance(rule, ScalarRule) else ()
    written = (*getattr(rule, "adjoints", ()), *[p.function for p in partials])
    own = getattr(rule, "function", None) or getattr(rule, "body", None)  # of a decomposition
    function = own or next(filter(None, written), None)
    author = getattr(function, "without_lists", function)
    return (getattr(author, "__module__", None) or "").partition(".")[0] == "chainrules"
