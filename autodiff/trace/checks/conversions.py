"""Constants made of traced values, and those that keep all digits: strings and large integers.

An index, a count or a rounded number is piecewise constant: its derivative is rightly zero. But a
string, or the integer ``int(m * 2**53)``, holds every digit of the value. A number that is read
back from it depends on the value, and its derivative would be lost silently. So a string made of a
traced value is a `TracedText`, which cannot be converted to a number, and an integer that holds all
bits of a float is an error. All constants that the engine makes of traced values pass through
`constant`.

Files, compressors and other processes return plain strings. So the numbers in each text of a traced
value are noted until the differentiation ends, and it is an error if one of them is read from any
text (:mod:`autodiff.intercept.runtime.text_calls`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from autodiff.errors import LostValueError
from chainrules_core.interpreter import noticed

EXACT = 1 << 52
"""From here on all floats are whole numbers, and an integer made of one holds all of its bits."""


_of_shape: list[Any] = [np.empty_like, np.ones_like, np.zeros_like]
OF_SHAPE = frozenset(_of_shape)
"""Functions whose result depends only on the shape of a value."""


def constant(y: Any) -> Any:
    """Return a constant made of a traced value; raise if it holds all digits of the value."""
    kind = type(y)
    if kind is str:  # without digits it is no number
        return text_of_values(y) if any(map(str.isdigit, y)) else y
    plain = y._value if hasattr(kind, "_tape") and y._tape.program else y
    if isinstance(plain, (np.ndarray, np.character)) and plain.dtype.kind in "US":
        raise number_of_text("an array of texts, which holds the digits of each element,")
    if not _is_rounded(y, kind):
        raise exact_integer()
    return y


def _is_rounded(y: Any, kind: type) -> bool:
    """Whether a constant is not an integer that may hold all digits of the traced value."""
    if kind is int:
        return -EXACT < y < EXACT
    if kind is np.ndarray or isinstance(y, np.integer):
        return y.dtype.kind not in "iu" or are_small(y)
    if hasattr(kind, "_tape") and y._tape.program and _is_integer(y._value):
        return bool(y._tape.read(y, are_small))  # a guard of the recorded program
    return True


def _is_integer(y: Any) -> bool:
    return type(y) is int or getattr(getattr(y, "dtype", None), "kind", "") in ("i", "u")


def are_small(y: Any) -> bool:
    """Whether integers made of floats are so small that digits may have been rounded off."""
    if type(y) is int:
        return -EXACT < y < EXACT
    return y.size == 0 or bool(y.min() > -EXACT and y.max() < EXACT)


def exact_integer() -> LostValueError:
    """Build the error for an integer that holds all bits of a float."""
    return LostValueError(
        "a traced value of 2**52 or more is turned into an integer. Floats are whole numbers "
        "there, so that the integer holds all of the value and rounds nothing: what is computed "
        "with it would silently lose its derivative. Libraries such as mpmath, sympy and "
        "fractions make numbers of their own that way: compute with math, NumPy or SciPy instead, "
        "or give the function a rule (chainrules_core.rrule.register). If the integer is to be a "
        "constant, wrap the value in autodiff.ignore_derivatives(...)."
    )


def number_of_text(how: str) -> LostValueError:
    """Build the error for a number that is read from the text of a traced value."""
    return LostValueError(
        f"{how} reads a number from the text of a traced value, and its derivative would be "
        "silently lost. Use the value itself, or, if the number is to be a constant, make the text "
        "of autodiff.ignore_derivatives(value)."
    )


def check_texts(x: Any) -> None:
    """Raise if strings made of traced values, alone or in lists, are converted to an array."""
    if holds_traced_text(x):
        raise number_of_text("an array of texts")


_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_SEPARATOR = re.compile(r"(?<=\d)[,_](?=\d{3})")  # as in 1,000.5


def text_of_values(text: str, known_words: Counter[str] | None = None) -> TracedText:
    """Mark a text that is made of traced values, and note the numbers in it.

    The known words are left out: those that show no traced value, or that have been noted before.
    """
    if type(text) is TracedText:
        return text
    noted = noticed.numbers_noted()
    if noted is not None:
        words = words_of(text) - (known_words or Counter())
        noted |= numbers_of(" ".join(words))
    return TracedText(text)


def numbers_of(text: str) -> set[float]:
    """Return the numbers in a text, without their signs."""
    plain = plain_text(text)
    without_separators = _SEPARATOR.sub("", plain)
    return {float(n) for n in _NUMBER.findall(plain) + _NUMBER.findall(without_separators)}


class TracedText(str):
    """A string made of a traced value, which cannot be converted to a number.

    It passes for a ``str``. Slicing, splitting, joining or formatting it gives a `TracedText`.
    """

    __slots__ = ()

    @property  # type: ignore[misc] # object's is writeable; this one is not
    def __class__(self) -> type:
        return str

    def __float__(self) -> NoReturn:
        raise number_of_text("float(text)")

    def __int__(self) -> NoReturn:
        raise number_of_text("int(text)")

    def __str__(self) -> str:
        return self

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, str):
            return NotImplemented
        return marked(str.__add__(other, self), words_of(other, self))

    def __rmod__(self, other: Any) -> Any:
        if not isinstance(other, str):
            return NotImplemented
        return marked(str.__mod__(other, plain_text(self)), words_of(other, self))

    def __iter__(self) -> Any:
        return map(TracedText, super().__iter__())

    def __copy__(self) -> TracedText:
        return self

    def __deepcopy__(self, memo: dict) -> TracedText:
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return str, (plain_text(self),)


def _marking(name: str) -> Callable:
    """Return a version of a method of ``str`` whose result is marked."""
    of_text = getattr(str, name)

    def method(self: TracedText, *args: Any, **kwargs: Any) -> Any:
        return marked(of_text(self, *args, **kwargs), words_of(self, *args))

    method.__name__ = name
    method.__qualname__ = f"str.{name}"
    method.__doc__ = of_text.__doc__
    return method


for _name in (
    "__add__", "__format__", "__getitem__", "__mod__", "__mul__", "__rmul__", "capitalize",
    "casefold", "center", "encode", "expandtabs", "format", "format_map", "join", "ljust", "lower",
    "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rjust", "rpartition",
    "rsplit", "rstrip", "split", "splitlines", "strip", "swapcase", "title", "translate", "upper",
    "zfill",
):  # fmt: skip
    setattr(TracedText, _name, _marking(_name))


class TracedBytes(bytes):
    """A `TracedText` that was encoded."""

    __slots__ = ()

    @property  # type: ignore[misc] # object's is writeable; this one is not
    def __class__(self) -> type:
        return bytes

    __float__ = TracedText.__float__
    __int__ = TracedText.__int__

    def __iter__(self) -> NoReturn:
        raise number_of_text("a loop over the bytes of a text")

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice):
            raise number_of_text("bytes[index]")
        return TracedBytes(super().__getitem__(key))

    def decode(self, *args: Any, **kwargs: Any) -> str:
        """Return the decoded string."""
        return TracedText(super().decode(*args, **kwargs))

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return bytes, (bytes.__getitem__(self, slice(None)),)


def plain_text(text: str) -> str:
    """Return a plain copy of a string, without the mark."""
    return str.__str__(text) if type(text) is str else str.__getitem__(text, slice(None))


def words_of(*texts: Any) -> Counter[str]:
    """Return the words of texts, and how often each occurs."""
    words: Counter[str] = Counter()
    for text in texts:
        if isinstance(text, str):
            words.update(plain_text(text).split())
    return words


def marked(y: Any, known_words: Counter[str] | None = None) -> Any:
    """Mark strings, also in a list, tuple or dict, as made of a traced value; leave all else.

    The numbers in all words but the known ones are noted.
    """
    if isinstance(y, str):
        return y if type(y) is TracedText else text_of_values(y, known_words)
    if isinstance(y, bytes):
        return y if type(y) is TracedBytes else TracedBytes(y)
    if type(y) in (list, tuple):
        return type(y)([marked(part, known_words) for part in y])
    if type(y) is dict:
        return {key: marked(part, known_words) for key, part in y.items()}
    return y


def holds_traced_text(x: Any) -> bool:
    """Whether `x` is a string made of a traced value, or a list, tuple or dict with one."""
    kind = type(x)
    if kind is TracedText or kind is TracedBytes:
        return True
    if kind is dict:
        return any(map(holds_traced_text, x.values()))
    return kind in (list, tuple) and any(map(holds_traced_text, x))
