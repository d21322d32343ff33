"""Texts made of traced values inside a traced function, and numbers that are read from texts.

Python formats in C: what ``f"{x:.3f} m"``, ``"%g" % x`` or ``", ".join(texts)`` make is a plain
``str``. In a traced function they are calls of the functions here, which mark what is made of a
traced value (:class:`autodiff.trace.checks.conversions.TracedText`) and note the numbers in it.
Functions that read numbers look for the mark, and for these numbers: a file or a
compressor returns texts without the mark.
"""

from __future__ import annotations

import ast
import datetime
import functools
import importlib
import math
import numbers
import operator
import re
import types
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import innermost
from autodiff.intercept.syntax import syntax_ops
from autodiff.trace.checks.conversions import (
    EXACT,
    TracedText,
    holds_traced_text,
    marked,
    number_of_text,
    numbers_of,
    text_of_values,
    words_of,
)
from autodiff.trace.pytree import leaves_of, map_leaves
from autodiff.trace.tracer import is_tracer, untraced
from chainrules_core.interpreter.noticed import numbers_noted

# -- making texts --------------------------------------------------------------------------------


_CONVERSIONS: dict[int, Callable] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


def formatted(x: Any, conversion: int, spec: str) -> str:
    """Return the text of a value in an f-string."""
    shown = syntax_ops.as_text(x)
    text = format(shown if conversion < 0 else _CONVERSIONS[conversion](shown), spec)
    return text_of_values(text) if is_traced(x) else text


def joined(*parts: str) -> str:
    """Return the text of an f-string."""
    return _made_by(_concatenated, parts) if TracedText in map(type, parts) else "".join(parts)


def _concatenated(*parts: str) -> str:
    return "".join(parts)


def is_traced(x: Any) -> bool:
    """Whether `x` is, or holds, a traced value or the text of one."""
    return innermost((x,), {}) is not None or holds_traced_text(x)


def _made_of(text: Any, given: Any, known_words: Counter[str] | None = None) -> Any:
    """Mark a text, or several, if what they were made of holds a traced value or its text."""

    def mark(x: Any) -> Any:
        return text_of_values(x, known_words) if isinstance(x, str) else marked(x)

    return map_leaves(text, mark) if any(map(is_traced, given)) else text


def _made_by(make: Callable, args: tuple, named: dict[str, Any] | None = None) -> Any:
    """Return the text that a function makes of plain values, marked if it shows a traced one."""
    named = named or {}
    given = (*args, *named.values())
    plain = {name: syntax_ops.as_text(a) for name, a in named.items()}
    text = make(*map(syntax_ops.as_text, args), **plain)
    if not any(map(is_traced, given)):
        return text
    return _made_of(text, given, _known_words(make, args, named))


def _known_words(make: Callable, args: tuple, named: dict[str, Any]) -> Counter[str]:
    """Return the words of a text that show no traced value, or are those of a text before it.

    The text is made again without traced values to find out.
    """
    hidden: Any = map_leaves((args, named), _hidden)
    try:
        known = words_of(make(*hidden[0], **hidden[1]))
    except Exception:  # a format may take nothing but a number
        known = Counter()
    for word in [word for word in known if _HIDDEN in word or "nan" in word.lower()]:
        del known[word]
    return known + words_of(*[x for x in leaves_of((args, named)) if type(x) is TracedText])


_HIDDEN = "\0"


class _Hidden:
    """Stands for a traced value in a text that is not to show it."""

    def __repr__(self) -> str:
        return _HIDDEN

    def __format__(self, spec: str) -> str:
        return _HIDDEN

    def __float__(self) -> float:
        return math.nan


def _hidden(x: Any) -> Any:
    return _HIDDEN if type(x) is TracedText else _Hidden() if is_tracer(x) else x


def modulo(a: Any, b: Any) -> Any:
    """Do ``a % b``; into a text go plain values."""
    if not isinstance(a, (str, bytes)):
        return _modulo(a, b)
    return _made_by(lambda a, b: _modulo(a, map_leaves(b, untraced)), (a, b))


_modulo = syntax_ops.BINARY["mod"]
syntax_ops.BINARY["mod"] = modulo


def texting(as_before: Callable) -> Callable:
    """Return ``str`` and its kin: a text shows plain values, and is known to be made of them."""

    def write(*args: Any, **kwargs: Any) -> Any:
        return _made_of(as_before(*map(syntax_ops.as_text, args), **kwargs), args)

    return functools.wraps(as_before, updated=())(write)


def printing(as_before: Callable) -> Callable:
    """Return ``print``: the numbers that it writes, maybe into a file, are noted."""

    def show(*args: Any, **kwargs: Any) -> None:
        shown: list[str] = []
        plain = list(map(syntax_ops.as_text, args))
        sep = kwargs.get("sep")
        for text, given in zip(map(str, plain), args, strict=True):
            shown += [" " if sep is None else sep, _made_of(text, (given,))]
        joined(*shown)
        as_before(*plain, **kwargs)

    return functools.wraps(as_before)(show)


def _keeping(g: Callable) -> Callable:
    """Return a function of texts, of which the result is marked where an argument is."""

    @functools.wraps(g, updated=())
    def keeping(*args: Any, **kwargs: Any) -> Any:
        return _made_by(g, args, kwargs)

    return keeping


_MAKING_TEXTS = frozenset({"__add__", "__mod__", "format", "format_map", "replace"})


OWNERS = frozenset({str, re.Pattern, re.Match})
"""The classes whose methods make texts of texts."""


def of_method(g: Any) -> Callable | None:
    """Return what is called in place of such a method; None where it stays as it is."""
    owner = g.__self__
    if type(owner) is re.Pattern:
        return _keeping(g)
    if type(owner) is re.Match:
        return lambda *args: _made_of(g(*args), (owner.string,))
    if g.__name__ == "join":
        return lambda texts: _keeping(g)(texts if type(texts) is list else list(texts))
    return _keeping(g) if g.__name__ in _MAKING_TEXTS else None


# -- reading -------------------------------------------------------------------------------------


def reading(as_before: Callable, name: str = "") -> Callable:
    """Return a function that reads numbers from texts: none is read from a traced value's."""
    name = name or getattr(as_before, "__name__", "this function")

    def read(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values()) if kwargs else args
        if any(map(holds_traced_text, given)):
            raise number_of_text(f"{name}(text)")
        made = as_before(*args, **kwargs)
        return made if all(map(_is_no_text, given)) else check_read(made, f"{name}(text)")

    return functools.wraps(as_before, updated=())(read)


def _is_no_text(x: Any) -> bool:
    return type(x) in _NUMBERS or isinstance(x, (np.ndarray, numbers.Number))


_NUMBERS = frozenset({float, int, np.float64})


def check_read(read: Any, how: str) -> Any:
    """Return what was read from a text; raise if it holds a number of a traced value's text."""
    noted = numbers_noted()
    if noted and not noted.isdisjoint(_numbers_in(read)):
        raise number_of_text(how)
    return read


def _numbers_in(read: Any) -> Iterator[float]:
    """Yield the sizes of numbers; small integers are left out, since they may be rounded."""
    for x in leaves_of(read):
        if is_tracer(x) or (isinstance(x, int) and -EXACT < x < EXACT):
            continue
        if isinstance(x, np.ndarray):
            yield from _numbers_in(x.ravel().tolist() if x.dtype.kind in "fc" else [])
        elif isinstance(x, numbers.Complex) and not isinstance(x, numbers.Real):
            yield from (abs(float(x.real)), abs(float(x.imag)))
        elif isinstance(x, numbers.Number):
            yield abs(float(x))  # type: ignore[arg-type] # each number, Decimal too, can be converted


def check_array(made: Any, args: tuple) -> None:
    """Raise if an array was read from texts that hold a number of a traced value's text."""
    given = args[0] if args else None
    may_hold_texts = type(given) in (str, bytes, list, tuple) and numbers_noted()
    if may_hold_texts and any(isinstance(x, (str, bytes)) for x in leaves_of(given)):
        check_read(made, "an array of texts")


def _rows(as_before: Callable) -> Callable:
    """Return ``csv.reader``, which may read numbers where it is told about quotes."""

    def reader(*args: Any, **kwargs: Any) -> Any:
        rows = as_before(*args, **kwargs)
        if "quoting" not in kwargs:
            return rows
        return (check_read(row, "csv.reader with quoting=") for row in rows)

    return reader


def source_text(x: Any) -> Any:
    """Return what is to be evaluated: no code is read from the text of a traced value."""
    noted = numbers_noted()
    is_noted = noted and isinstance(x, str) and not noted.isdisjoint(numbers_of(x))
    if is_noted or holds_traced_text(x):
        raise number_of_text("eval(text)")
    return x


READERS: frozenset[Any] = frozenset(
    {
        complex, compile, float.fromhex, ast.literal_eval,
        np.fromstring, np.loadtxt, np.genfromtxt,
    }
)  # fmt: skip
WRAPPERS: dict[Any, Callable[[Callable], Callable]] = {
    **dict.fromkeys((str, repr, format, ascii), texting),
    print: printing,
    bytes: _keeping,
    bytearray: reading,
    memoryview: reading,
    int.from_bytes: reading,
    datetime.datetime.strptime: reading,
    ord: reading,
    **dict.fromkeys(READERS, reading),
    **dict.fromkeys([np.dtype(code).type for code in "efdgFDG"], reading),
}
"""How functions and classes that are made in C are wrapped."""
_OF_MODULES: dict[str, dict[str, Callable[[Callable], Callable]]] = {
    "csv": {"reader": _rows, "DictReader": _rows},
    "decimal": {"Decimal": reading},
    "fractions": {"Fraction": reading},
    "json": {"load": reading, "loads": reading},
}
"""How functions and classes are wrapped whose modules load only if somebody uses them."""
_PARSING = {
    "configparser": {"read_string", "read_dict", "set", "__setitem__", "getfloat"},
    "mpmath": {"convert", "mpf", "mpmathify"},
    "pandas": {"read_csv", "read_json", "read_table", "to_numeric"},
    "plistlib": {"load", "loads"},
    "sympy": {"Float", "Rational", "convert", "parse_expr", "sympify"},
    "tomllib": {"load", "loads"},
    "yaml": {"load", "safe_load"},
}
"""Packages → their functions and classes that make numbers, or other objects, of texts."""


@functools.cache
def _wrappers_of(module: str) -> dict[Any, Callable[[Callable], Callable]]:
    """Return how the functions of a module are wrapped."""
    loaded = importlib.import_module(module)
    found = _OF_MODULES[module].items()
    return {operator.attrgetter(name)(loaded): wrapper for name, wrapper in found}


def wrapper_of(g: Any) -> Callable[[Callable], Callable] | None:
    """Return how a function or class of the library's modules is wrapped; None for nearly all."""
    module = (g.__module__ or "").partition(".")[0].lstrip("_")  # part of csv is made in C: _csv
    return _wrappers_of(module).get(g) if module in _OF_MODULES else None


def _parses(g: Any) -> bool:
    """Whether a function or class of a library makes numbers of texts."""
    return g.__name__ in _PARSING.get((g.__module__ or "").partition(".")[0], ())


def of_class(g: type) -> Callable[[Callable], Callable] | None:
    """Return how a class is wrapped; None for nearly all."""
    return reading if _parses(g) else wrapper_of(g)


def of_function(g: types.FunctionType) -> Callable[[Callable], Callable] | None:
    """Return how a function written in Python is wrapped; None for nearly all."""
    return reading if g in READERS or _parses(g) else wrapper_of(g)
