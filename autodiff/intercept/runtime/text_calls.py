"""Texts made of traced values inside a traced function, and numbers that are read from texts.

Python formats in C: what ``f"{x:.3f} m"``, ``"%g" % x`` or ``", ".join(texts)`` make is a plain
``str``. In a traced function they are calls of the functions here, which mark what is made of a
traced value (:class:`autodiff.trace.checks.conversions.TracedText`). Functions that read numbers
from texts look for the mark, and those of files pass it on.
"""

from __future__ import annotations

import ast
import codecs
import datetime
import functools
import importlib
import io
import operator
import os
import re
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.dispatch.arguments import innermost
from autodiff.intercept.syntax import syntax_ops
from autodiff.trace.checks.conversions import (
    TracedBytes,
    TracedText,
    holds_traced_text,
    marked,
    number_of_text,
)
from autodiff.trace.pytree import map_leaves
from autodiff.trace.trace_stack import active_tapes
from autodiff.trace.tracer import untraced

# -- f-strings -----------------------------------------------------------------------------------


_CONVERSIONS: dict[int, Callable] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


def formatted(x: Any, conversion: int, spec: str) -> str:
    """Return the text of a value in an f-string."""
    shown = syntax_ops.as_text(x)
    text = format(shown if conversion < 0 else _CONVERSIONS[conversion](shown), spec)
    return marked(text) if is_traced(x) else text


def joined(*parts: str) -> str:
    """Return the text of an f-string."""
    text = "".join(parts)
    return TracedText(text) if TracedText in map(type, parts) else text


def is_traced(x: Any) -> bool:
    """Whether `x` is, or holds, a traced value or the text of one."""
    return innermost((x,), {}) is not None or holds_traced_text(x)


# -- other ways to make a text -------------------------------------------------------------------


def modulo(a: Any, b: Any) -> Any:
    """Do ``a % b``; into a text go plain values."""
    if not isinstance(a, (str, bytes)):
        return _modulo(a, b)
    text = _modulo(a, map_leaves(b, untraced))
    return marked(text) if is_traced(b) else text


_modulo = syntax_ops.BINARY["mod"]
syntax_ops.BINARY["mod"] = modulo


def texting(as_before: Callable) -> Callable:
    """Return ``str`` and its kin: a text shows plain values, and is known to be made of them."""

    def write(*args: Any, **kwargs: Any) -> Any:
        text = as_before(*[syntax_ops.as_text(a) for a in args], **kwargs)
        return marked(text) if any(map(is_traced, args)) else text

    return functools.wraps(as_before, updated=())(write)


def printing(as_before: Callable) -> Callable:
    """Return ``print``: what it writes into a file is known there."""
    write = texting(as_before)

    def show(*args: Any, **kwargs: Any) -> None:
        write(*args, **kwargs)
        if kwargs.get("file") is not None and any(map(is_traced, args)):
            _note(kwargs["file"])

    return functools.wraps(as_before)(show)


def _keeping(g: Callable) -> Callable:
    """Return a function of texts, of which the result is marked where an argument is."""

    @functools.wraps(g, updated=())
    def keeping(*args: Any, **kwargs: Any) -> Any:
        noted = list(filter(is_traced, (*args, *kwargs.values())))
        plain = [_noting(a, noted) for a in args]
        named = {name: _noting(a, noted) for name, a in kwargs.items()}
        text = g(*plain, **named)
        return marked(text) if noted else text

    return keeping


def _noting(a: Any, noted: list) -> Any:
    """Return a text as it is shown; a function (of ``re.sub``) notes texts of traced values."""
    if type(a) not in (types.FunctionType, types.MethodType):
        return syntax_ops.as_text(a)

    def called(*args: Any, **kwargs: Any) -> Any:
        text = a(*args, **kwargs)
        if is_traced(text):
            noted.append(text)
        return text

    return called


def _handing_on(g: Callable) -> Callable:
    """Return a function of the library that makes texts, or files, of what it is given."""

    @functools.wraps(g)
    def handing_on(*args: Any, **kwargs: Any) -> Any:
        noted: list = []
        made = g(*[_noting(a, noted) if callable(a) else a for a in args], **kwargs)
        if not noted and not any(map(holds_traced_text, (*args, *kwargs.values()))):
            return made
        for a in args:
            _note(a)
        return marked(made)

    return handing_on


_MAKING_TEXTS = frozenset({"__add__", "__mod__", "format", "format_map", "replace"})
_STREAMS = (io.StringIO, io.BytesIO, io.TextIOWrapper, io.BufferedWriter, io.BufferedReader)
C_METHOD = type(re.compile("").sub)  # another type than other methods made in C have
_COMPRESSORS = frozenset(
    {("zlib", "Compress"), ("_bz2", "BZ2Compressor"), ("_lzma", "LZMACompressor")}
)
OWNERS = frozenset({str, re.Pattern, re.Match, *_STREAMS})
"""The classes whose methods make texts of texts, or keep some."""


def of_method(g: Any) -> Callable | None:
    """Return what is called in place of such a method; None where it stays as it is."""
    owner, name = g.__self__, g.__name__
    if type(owner) is str:
        if name == "join":
            return lambda texts: _keeping(g)(texts if type(texts) is list else list(texts))
        return _keeping(g) if name in _MAKING_TEXTS else None
    if type(owner) is re.Pattern:
        return _keeping(g)
    if type(owner) is re.Match:
        return (lambda *args: marked(g(*args))) if holds_traced_text(owner.string) else None
    return _of_stream(g)


def of_compressor(g: Any) -> Callable | None:
    """Return what is called in place of a compressor's method; None for all other methods."""
    owner = type(g.__self__)
    if g.__name__ != "compress" or (owner.__module__, owner.__name__) not in _COMPRESSORS:
        return None
    return reading(g)  # what comes out later is not known


# -- files ---------------------------------------------------------------------------------------

_written: weakref.WeakSet[Any] = weakref.WeakSet()
"""Files, also in memory, into which the text of a traced value was written."""
_READING = frozenset({"getvalue", "read", "readline", "readlines"})
_paths: dict[str, int] = caches.register("paths of texts", {})
"""The path of such a file → the differentiation that wrote it, by the serial of its tape."""
_MOST_PATHS = 1000


def _note(stream: Any) -> None:
    """Note that the text of a traced value was written into a file."""
    if not isinstance(stream, _STREAMS):
        return
    _written.add(stream)
    _note_path(getattr(stream, "name", None))
    for name in ("buffer", "raw"):  # the file below
        _note(getattr(stream, name, None))


def _note_path(name: Any) -> None:
    path = _path_of(name)
    if path:
        caches.put(_paths, path, _differentiation(), _MOST_PATHS)


def _differentiation() -> int:
    """Return the serial of the outermost tape of this thread; 0 in forward mode, which has none."""
    tapes = active_tapes()
    return tapes[0].serial if tapes else 0


def _filling(make: Callable) -> Callable:
    """Return what makes a file, also in memory: what it holds is known where it is read."""

    def made(*args: Any, **kwargs: Any) -> Any:
        stream = make(*args, **kwargs)
        if any(holds_traced_text(a) or _was_written(a) for a in (*args, *kwargs.values())):
            _written.add(stream)
        return stream

    return made


def _path_of(name: Any) -> str:
    return os.path.realpath(name) if isinstance(name, (str, os.PathLike)) else ""


def _was_written(x: Any) -> bool:
    """Whether `x` is a file, or the path of one, that holds the text of a traced value."""
    if isinstance(x, _STREAMS):
        return x in _written
    return bool(_paths) and _paths.get(_path_of(x)) == _differentiation()


def _lines(stream: Any) -> Any:
    """Return what a loop over a file goes through."""
    is_known = stream in _written or _was_written(getattr(stream, "name", None))
    return map(marked, stream) if is_known else stream


syntax_ops.ITERATED.update(dict.fromkeys(_STREAMS, _lines))


def _of_path(g: Callable) -> Callable:
    """Return a method of ``pathlib.Path`` that writes a file, or reads one."""

    @functools.wraps(g)
    def of_path(path: Any, *args: Any, **kwargs: Any) -> Any:
        if any(map(is_traced, (*args, *kwargs.values()))):
            _note_path(path)
        made = g(path, *args, **kwargs)
        return marked(made) if _was_written(path) else made

    return of_path


def _of_stream(g: Any) -> Callable | None:
    """Return what is called in place of the method of a file of texts; None for other methods."""
    stream, name = g.__self__, g.__name__
    if name in ("write", "writelines"):

        def write(text: Any) -> Any:
            if name == "writelines":
                text = list(text)
            if is_traced(text):
                _note(stream)
            return g(text)

        return write
    if name in _READING and (stream in _written or _was_written(getattr(stream, "name", None))):
        return lambda *args: marked(g(*args))
    return None


# -- reading -------------------------------------------------------------------------------------


def reading(as_before: Callable, name: str = "") -> Callable:
    """Return a function that reads numbers from texts: none is read from a traced value's."""
    name = name or getattr(as_before, "__name__", "this function")

    def read(*args: Any, **kwargs: Any) -> Any:
        for a in (*args, *kwargs.values()) if kwargs else args:
            if type(a) not in _NO_TEXTS and (holds_traced_text(a) or _was_written(a)):
                raise number_of_text(f"{name}(text)")
        return as_before(*args, **kwargs)

    return functools.wraps(as_before, updated=())(read)


def of_texts(made: Any, given: Any, g: Callable) -> Any:
    """Return what a library's function made of texts of traced values: texts, but no numbers."""
    if not any(
        type(x) is TracedBytes or (type(x) is TracedText and any(map(str.isdigit, x)))
        for x in given
    ):
        return made  # names
    if isinstance(made, (float, complex, np.inexact)) or (
        isinstance(made, np.ndarray) and made.dtype.kind in "fc"
    ):
        raise number_of_text(f"{g.__name__}(text)")
    return marked(made)


class CsvWriter:
    """A ``csv.writer`` that says into which file it writes the texts of traced values."""

    def __init__(self, stream: Any, *args: Any, **kwargs: Any) -> None:
        import csv

        self._stream = stream
        self._writer = csv.writer(stream, *args, **kwargs)
        self.dialect = self._writer.dialect

    def writerow(self, row: Any) -> Any:
        """Write a row."""
        row = list(row)
        if is_traced(row):
            _note(self._stream)
        return self._writer.writerow(syntax_ops.as_text(row))

    def writerows(self, rows: Any) -> None:
        """Write several rows."""
        for row in rows:
            self.writerow(row)


def _rows(as_before: Callable) -> Callable:
    """Return ``csv.reader`` or ``csv.DictReader``: what is read from a known text is known."""
    import csv

    def reader(f: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(f, _STREAMS):
            f = list(f)
        rows = as_before(f, *args, **kwargs)
        if not (holds_traced_text(f) or _was_written(f)):
            return rows
        if not isinstance(rows, csv.DictReader):
            return _CsvRows(rows)
        rows.reader = _CsvRows(rows.reader)  # type: ignore[assignment] # it passes for one
        return rows

    return reader


class _CsvRows:
    """A ``csv.reader`` whose texts are known."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __iter__(self) -> _CsvRows:
        return self

    def __next__(self) -> Any:
        row = next(self._rows)
        if float in map(type, row):
            raise number_of_text("csv.reader with quoting=")
        return marked(row)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)


def source_text(x: Any) -> Any:
    """Return what is to be evaluated: no code is read from the text of a traced value."""
    if holds_traced_text(x):
        raise number_of_text("eval(text)")
    return x


_NO_TEXTS = frozenset({float, int, np.ndarray, type(None)})

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
    **dict.fromkeys((codecs.encode, codecs.decode), _keeping),
    ord: reading,
    **dict.fromkeys((open, io.StringIO, io.BytesIO, io.TextIOWrapper), _filling),
    **dict.fromkeys(READERS, reading),
    **dict.fromkeys((np.complex64, np.complex128, np.longdouble, np.clongdouble), reading),
}
"""How functions and classes that are made in C are wrapped."""
_OF_MODULES: dict[str, dict[str, Callable[[Callable], Callable]]] = {
    "binascii": dict.fromkeys(("hexlify", "unhexlify", "b2a_base64", "a2b_base64"), _keeping),
    "csv": {"reader": _rows, "DictReader": _rows, "writer": lambda as_before: CsvWriter},
    "decimal": {"Decimal": reading},
    "fractions": {"Fraction": reading},
    "json": {"load": reading, "loads": reading, "dump": _handing_on, "dumps": _handing_on},
    "pathlib": dict.fromkeys(
        ("Path.write_text", "Path.write_bytes", "Path.read_text", "Path.read_bytes"), _of_path
    ),
    "zlib": {"compress": _keeping, "decompress": _keeping},
}
"""How functions and classes are wrapped whose modules load only if somebody uses them."""
_PARSING = {
    "configparser": {"read_string", "read_dict", "set", "__setitem__"},
    "mpmath": {"convert", "mpf", "mpmathify"},
    "pandas": {"read_csv", "read_json", "read_table", "to_numeric"},
    "plistlib": {"dump", "dumps", "loads"},
    "sympy": {"Float", "Rational", "convert", "parse_expr", "sympify"},
    "tomllib": {"load", "loads"},
    "xml": {"XML", "XMLID", "feed", "fromstring", "fromstringlist", "parseString"},
    "yaml": {"load", "safe_load"},
}
"""Packages → their functions and classes that make numbers, or other objects, of texts."""
_OF_TEXTS: frozenset[Any] = frozenset({re.findall, re.split, re.sub, re.subn})


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
    if g in READERS or _parses(g):
        return reading
    return _handing_on if g in _OF_TEXTS else wrapper_of(g)
