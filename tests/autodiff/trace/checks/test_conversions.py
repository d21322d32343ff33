# ruff: noqa: UP031, UP032 - texts are made in every way
"""Texts and integers that hold all digits of a traced value: no number is read from them."""

from __future__ import annotations

import ast
import copy
import decimal
import fractions
import io
import json
import logging
import math
import pickle
import re
import string
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import LostValueError, gradient, pushforward
from autodiff.trace.checks.conversions import EXACT, TracedBytes, TracedText, marked, plain_text
from chainrules.refused import RefusedError

X = np.array([1.25, 2.0, 3.0])

TEXTS: dict[str, Callable] = {
    "str": lambda x: str(x),
    "repr": lambda x: repr(x),
    "f-string": lambda x: f"{x}",
    "f-string with words": lambda x: f"{x} m"[:-2],
    "f-string of the repr": lambda x: f"{x!r}",
    "f-string with a form": lambda x: f"{x:{'.17'}g}",
    "percent": lambda x: "%r" % (x,),
    "percent of one": lambda x: "%s" % x,
    "percent with names": lambda x: "%(x)s" % {"x": x},
    "percent, called": lambda x: "%s".__mod__(x),
    "format": lambda x: "{}".format(x),
    "format with names": lambda x: "{x:.17g}".format(x=x),
    "format, called": lambda x: format(x, ".17g"),
    "format_map": lambda x: "{x}".format_map({"x": x}),
    "str.format": lambda x: str.format("{}", x),
    "join": lambda x: "".join([str(x)]),
    "join of a generator": lambda x: "".join(c for c in str(x)),
    "plus": lambda x: "" + str(x) + "",
    "plus in place": lambda x: [s := "", s := s + str(x)][-1],
    "replace": lambda x: "X".replace("X", str(x)),
    "strip": lambda x: (str(x) + "  ").strip(),
    "split": lambda x: f"a {x} b".split()[1],
    "partition": lambda x: f"{x};".partition(";")[0],
    "slice": lambda x: str([x])[1:-1],
    "upper": lambda x: str(x).upper().rjust(30),
    "NumPy's": lambda x: np.format_float_positional(x),
    "an array's": lambda x: np.array2string(np.array([x]))[1:-1],
    "searched": lambda x: re.search(r"[\d.]+", f"v {x}").group(),  # type: ignore[union-attr] # it is there
    "found": lambda x: re.findall(r"[\d.]+", f"v {x}")[0],
    "substituted": lambda x: re.sub("v", "", f"v {x}"),
    "by a pattern": lambda x: re.compile("v").sub("", f"v {x}"),
    "item of a match": lambda x: re.match("v(.*)", f"v {x}")[1],  # type: ignore[index] # it is there
    "part of a match": lambda x: re.match(r"\d+[.](\d+)", f"{x}").group(1),  # type: ignore[union-attr] # it is there
    "printed": lambda x: printed(x),
    "written": lambda x: io.StringIO(str(x)).read(),
    "bytes": lambda x: str(x).encode().decode(),
    "json": lambda x: json.dumps(str(x))[1:-1],
    "ascii": lambda x: ascii(x),
    "from a dict": lambda x: {"x": str(x)}["x"],
    "a copy": lambda x: copy.deepcopy([str(x)])[0],
}
# What these return has no mark; the numbers in it are known.
UNMARKED = {"printed", "written", "json"}
READERS: dict[str, Callable] = {
    "float": lambda t: float(t),
    "int": lambda t: int(t.split(".")[0]),
    "complex": lambda t: complex(t.strip()).real,
    "eval": lambda t: eval(t),
    "literal_eval": lambda t: ast.literal_eval(t.strip()),
    "Decimal": lambda t: float(decimal.Decimal(t.strip())),
    "Fraction": lambda t: float(fractions.Fraction(t.strip())),
    "json": lambda t: json.loads(t),
    "float64": lambda t: np.float64(t) * 1.0,
    "fromstring": lambda t: np.fromstring(t, sep=" ")[0],
    "loadtxt": lambda t: np.loadtxt(io.StringIO(t)).item(),
    "genfromtxt": lambda t: np.genfromtxt(io.StringIO(t)).item(),
    "an array": lambda t: np.array([t], dtype=float)[0],
    "an array of texts": lambda t: np.array([t]).astype(float)[0],
    "map": lambda t: sum(map(float, t.split())),
    "bytes": lambda t: float(bytes(t, "ascii")),
}


def printed(x: Any) -> str:
    out = io.StringIO()
    print("value", x, file=out)
    return out.getvalue().split()[1]


def forward(f: Callable, x: Any) -> Any:
    return pushforward(f, x)[1](1.0)


@pytest.mark.parametrize("differentiate", [gradient, forward])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("reader", READERS)
def test_no_number_is_read_from_the_text_of_a_value(
    reader: str, text: str, differentiate: Callable
) -> None:
    make, read = TEXTS[text], READERS[reader]
    if reader == "int" and text in UNMARKED:
        pytest.skip("a whole part is rounded")
    assert float(read(make(1.25))) in (1.25, 1.0, 1.2, 25.0)

    def f(x: Any) -> Any:
        return x * read(make(x))

    with pytest.raises(autodiff.DifferentiationError, match=r"text of a traced value|text"):
        differentiate(f, 1.25)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_those_of_the_value(text: str) -> None:
    seen: list[str] = []

    def f(x: Any) -> Any:
        t = TEXTS[text](x)
        seen.append(plain_text(t))
        return x * len(t) * isinstance(t, str) * (type(t) is str) * (t == plain_text(t))

    assert gradient(f, 1.25) == len(TEXTS[text](1.25))
    assert seen == [TEXTS[text](1.25)]


@pytest.mark.parametrize("kind", ["path", "open", "lines", "print", "gz", "bytes"])
def test_files(kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / ("values.txt.gz" if kind == "gz" else "values.txt"))

    def f(x: Any) -> Any:
        if kind in ("path", "gz"):
            np.savetxt(path, x)
            return np.sum(np.loadtxt(path))
        if kind == "bytes":
            out = io.BytesIO()
            np.savetxt(out, x)
            out.seek(0)
            return np.sum(np.loadtxt(out))
        with open(path, "w") as file:
            if kind == "print":
                print(x[0], file=file)
            else:
                file.write(f"{x[0]}\n")
        with open(path) as file:
            if kind == "lines":
                return sum(float(line) for line in file)
            return float(file.read())

    with pytest.raises(LostValueError, match="text of a traced value"):
        gradient(f, X)
    # In another differentiation it is a file like any other.
    if kind == "open":

        def g(x: Any) -> Any:
            with open(path) as file:
                return x * float(file.read())

        assert gradient(g, 2.0) == 1.25


def test_printing_and_logging_go_on(capsys: Any, caplog: Any) -> None:
    def f(x: Any) -> Any:
        print(x, f"{x:.3f}", [x])
        logging.getLogger("faces").warning("loss %s at %.2f", x, x)
        logging.getLogger("faces").warning(f"loss {x!r}")
        label = f"run {x:.1f}"
        factors = {label: 2.0}
        return x * x * factors[label] * float("1.5") * float(str(np.ones(1)[0]))

    assert gradient(f, 2.0) == 12.0
    assert capsys.readouterr().out == "2.0 2.000 [2.0]\n"
    assert "loss 2.0 at 2.00" in caplog.text
    assert "loss 2.0\n" in caplog.text


LINES: list[Callable] = [
    lambda i, x: print(f"iteration {i}: loss {x:.4f}"),
    lambda i, x: print("step", i, "of 7: x =", x),
    lambda i, x: print("step %d of %d: %g" % (i, 7, x)),
    lambda i, x: print("{} {:>3} {:.2e}".format(i, 7, x)),
    lambda i, x: print("step " + str(i) + ": " + str(x)),
    lambda i, x: print(" ".join([str(i), str(7), str(x)])),
    lambda i, x: print(f"{i} {x}\n".replace("\n", " 7 \n").strip()),
    lambda i, x: logging.getLogger("faces").warning("step %d of %d: %g", i, 7, x),
]


@pytest.mark.parametrize("show", LINES)
def test_numbers_beside_those_of_values_may_be_read(show: Callable) -> None:
    def f(x: Any) -> Any:
        for i in range(3):
            show(i, x * 1.25 * i)
        return x * float("1") * float("2.0") * float("7")

    assert gradient(f, 3.0) == 14.0


GLUED: list[Callable] = [
    lambda x, file: print("1", x, sep="", file=file),
    lambda x, file: file.write("1" + str(x)),
    lambda x, file: file.write(f"1{x}"),
    lambda x, file: file.write("%d%s" % (1, x)),
    lambda x, file: file.write("{}{}".format(1, x)),
    lambda x, file: file.write("".join(["1", str(x)])),
    lambda x, file: file.write(f"{x} 11.25".split()[0].replace("1.", "11.")),
]


@pytest.mark.parametrize("write", GLUED)
def test_a_value_that_is_part_of_a_number_is_one_of_a_text(write: Callable) -> None:
    def read(x: Any) -> float:
        file = io.StringIO()
        write(x, file)
        return float(file.getvalue())

    assert read(1.25) in (11.25, 1.25)
    with pytest.raises(LostValueError, match="text of a traced value"):
        gradient(lambda x: x * read(x), 1.25)


def test_the_way_out_of_the_message_works() -> None:
    def f(x: Any) -> Any:
        return x * float(str(autodiff.ignore_derivatives(x)))

    assert gradient(f, 3.0) == 3.0


def test_the_error_names_the_line() -> None:
    def f(x: Any) -> Any:
        return float(str(x))

    line = f.__code__.co_firstlineno + 1
    with pytest.raises(LostValueError, match=f"{re.escape(__file__)}, line {line}"):
        gradient(f, 1.5)


def test_a_traced_text_is_a_text() -> None:
    t = TracedText("1.5")
    assert t == "1.5"
    assert hash(t) == hash("1.5")
    assert {t: 1}["1.5"] == 1
    assert len(t) == 3
    assert json.dumps([t]) == '["1.5"]'
    assert getattr(3, TracedText("real")) == 3
    assert type(pickle.loads(pickle.dumps(t))) is str
    assert isinstance(t, str)
    assert t.__class__ is str
    assert type(copy.copy(t)) is TracedText
    for made in ("a" + t, t + "a", t[0], t * 2, t.strip(), "%s" % t, t.zfill(9), *t.split(".")):
        assert type(made) is TracedText
    assert type(t.encode()) is TracedBytes
    assert type(t.encode().decode()) is TracedText
    assert type(pickle.loads(pickle.dumps(t.encode()))) is bytes
    assert marked([1, "a", (b"b",)]) == [1, "a", (b"b",)]
    for read in (float, int, np.float64, lambda t: float(t.encode())):
        with pytest.raises(LostValueError, match="text"):
            read(t)


@pytest.mark.parametrize("text", ["str", "f-string", "percent", "join", "format"])
def test_compiled_functions_run_as_they_are_written(text: str) -> None:
    f = autodiff.compile(lambda x: 2.0 * float(TEXTS[text](x)))
    assert f(1.25) == 2.5
    assert f(1.5) == 3.0


# ------------------------------------------------------------------------------ exact conversions

BIG = 2.0**60
EXACTLY: dict[str, tuple[Callable, Any]] = {
    "int": (lambda x: int(x * BIG) / BIG, 1.3),
    "negative": (lambda x: int(x * -BIG) / BIG, 1.3),
    "floor": (lambda x: math.floor(x * BIG) / BIG, 1.3),
    "ceil": (lambda x: math.ceil(x * BIG) / BIG, 1.3),
    "trunc": (lambda x: math.trunc(x * BIG) / BIG, 1.3),
    "round": (lambda x: round(x * BIG) / BIG, 1.3),
    "frexp": (lambda x: int(math.frexp(x)[0] * 2**53) * 2.0**-53, 1.3),
    "int64": (lambda x: np.int64(x * BIG) / BIG, 1.3),
    "astype": (lambda x: np.sum((x * BIG).astype(np.int64) / BIG), X),
    "asarray": (lambda x: np.sum(np.asarray(x * BIG, dtype=np.int64) / BIG), X),
    "unsigned": (lambda x: np.sum((x * BIG).astype(np.uint64) / BIG), X),
    "of a vector": (lambda x: int(x[1] * BIG) / BIG, X),
    "of NumPy's": (lambda x: int(np.exp(x) * BIG) / BIG, 1.3),
}


@pytest.mark.parametrize("differentiate", [gradient, lambda f, x: pushforward(f, x)[1](x)])
@pytest.mark.parametrize("f, x", EXACTLY.values(), ids=EXACTLY)
def test_an_integer_that_holds_all_of_a_value_is_an_error(
    f: Callable, x: Any, differentiate: Callable
) -> None:
    for _ in range(20):  # by the general way, and by those that are remembered
        with pytest.raises(LostValueError, match="rounds nothing"):
            differentiate(f, x)


def test_compiled_too() -> None:
    f = autodiff.compile(lambda x: gradient(EXACTLY["int"][0], x))
    with pytest.raises(LostValueError, match="rounds nothing"):
        f(1.3)


def test_a_program_made_of_small_numbers_is_not_used_for_large_ones() -> None:
    f = autodiff.compile(lambda x: gradient(lambda x: np.sum(x * x.astype(np.int64)), x))
    np.testing.assert_array_equal(f(X), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(f(X + 1), [2.0, 3.0, 4.0])
    with pytest.raises(LostValueError, match="rounds nothing"):
        f(X * BIG)


@pytest.mark.parametrize(
    "f, x, slope",
    [
        (lambda x: x * int(x), 3.7, 3.0),
        (lambda x: x * round(x), 3.7, 4.0),
        (lambda x: x * math.floor(x), -3.7, -4.0),
        (lambda x: x * int(x), float(EXACT - 1), float(EXACT - 1)),
        (lambda x: np.sum(x * x.astype(int)), X + 0.25, [1.0, 2.0, 3.0]),
        (lambda x: x[np.argmax(x)] * len(x), X, [0.0, 0.0, 3.0]),
        (lambda x: x * int(autodiff.ignore_derivatives(x * BIG)) / BIG, 1.3, 1.3),
    ],
)
def test_what_rounds_is_a_constant(f: Callable, x: Any, slope: Any) -> None:
    np.testing.assert_allclose(gradient(f, x), slope)


@pytest.mark.parametrize(
    "write",
    [
        lambda mpmath, x: float(mpmath.sin(x)),
        lambda mpmath, x: float(mpmath.mpf(x) ** 2),
        lambda mpmath, x: float(mpmath.mpf(str(x))),
    ],
)
def test_mpmath(write: Callable) -> None:
    mpmath = pytest.importorskip("mpmath")
    with pytest.raises((LostValueError, RefusedError)):
        gradient(lambda x: write(mpmath, x), 1.3)


def test_integers_made_of_a_shape_are_no_conversion():
    def f(x):
        places = np.empty_like(x, dtype=int)
        places[:] = 2**60  # stands for what happens to be in the memory
        return np.sum(x * np.empty_like(x, dtype=int).size) + 0.0 * np.sum(places)

    for _ in range(50):  # memory that was used before
        held = np.full(3, 2**61)
        del held
        np.testing.assert_array_equal(autodiff.gradient(f, np.ones(3)), np.full(3, 3.0))


@pytest.mark.parametrize(
    "text_of",
    [
        lambda x: string.Template("$v").substitute(v=x),
        lambda x: re.sub("v", lambda m: str(x), "v"),
        lambda x: re.compile("v").sub(lambda m: str(x), "v"),
        lambda x: re.compile("v").subn(lambda m: f"{x}", "v")[0],
    ],
)
def test_texts_put_in_by_a_function(text_of):
    with pytest.raises(LostValueError):
        gradient(lambda x: x * float(text_of(x)), 1.3)
    assert gradient(lambda x: x * float(text_of(1.5)), 1.3) == 1.5


@pytest.mark.parametrize("differentiate", [gradient, lambda f, x: pushforward(f, x)[1](x)])
def test_after_the_end_a_value_is_shown_as_plain_text(differentiate):
    kept = []
    differentiate(lambda x: [kept.append(x), np.sum(x * x)][1], np.ones(2))
    for text in (repr(kept[0]), str(kept[0]), f"{kept[0]!s:>9}"):
        assert type(text) is str  # test runners send it to other processes


@pytest.mark.parametrize("kind", [str, "U32", "S32"])
@pytest.mark.parametrize("element", [False, True], ids=["array", "element"])
def test_numbers_read_from_arrays_of_texts(kind, element):
    def f(x):
        y = np.array([x, 2.0])
        return np.sum((y[0] if element else y).astype(kind).astype(float)) * x

    with pytest.raises(LostValueError, match="texts"):
        gradient(f, 1.3)
    with pytest.raises(LostValueError, match="texts"):
        autodiff.compile(lambda x: gradient(f, x))(1.3)


def _by_print(x, path):
    with path.open("w") as file:
        print(x, file=file)
    with path.open() as file:
        return float(file.readline())


def _by_single_bytes(x, path):
    return float("".join(chr(b) for b in str(x).encode()))


def _by_an_index_of_bytes(x, path):
    text = str(x).encode()
    return (text[0] - 48.0) + 0.1 * (text[2] - 48.0)


def _by_pieces(x, path):
    packer = zlib.compressobj()
    packed = packer.compress(str(x).encode()) + packer.flush()
    return float(zlib.decompress(packed))


@pytest.mark.parametrize(
    "through", [_by_print, _by_single_bytes, _by_an_index_of_bytes, _by_pieces]
)
def test_numbers_that_come_back_from_files_and_bytes_are_errors(through, tmp_path):
    path = tmp_path / "number.txt"
    assert through(1.5, path) == 1.5
    with pytest.raises(autodiff.LostValueError):
        autodiff.gradient(lambda x: x * through(x, path), 1.5)
