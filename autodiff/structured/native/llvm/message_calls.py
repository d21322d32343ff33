"""Messages of machine code: it calls a function of Python with each of their numbers."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.message_queue import add_message
from autodiff.structured.native.llvm.function_builder import FunctionBuilder

_CLASSES: dict[str, Callable] = {
    "i": int, "b": bool, "d": float, "s": np.float32, "z": complex, "c": np.complex64,
}  # fmt: skip
_FLOATS = "dszc"


@dataclass
class NativeMessage:
    """A message: what shows it, and the letters of its numbers.

    Attributes
    ----------
    at : int
        Its address, by which machine code knows it.
    """

    show: Callable[..., None]
    letters: str
    at: int = field(init=False)

    def __post_init__(self) -> None:
        self.at = id(self)

    def add(self, words: list[int]) -> None:
        """Add the message with numbers that are given as words."""
        rest = iter(words)
        values = []
        for letter in self.letters:
            count = 2 if letter in "zc" else 1
            parts: list[Any] = [next(rest) for _ in range(count)]
            if letter in _FLOATS:
                parts = [struct.unpack("d", struct.pack("q", word))[0] for word in parts]
            values.append(_CLASSES[letter](complex(*parts) if count == 2 else parts[0]))
        add_message(self.show, *values)


class _Words(threading.local):
    def __init__(self) -> None:
        self.words: list[int] = []


_given = _Words()


@ctypes.CFUNCTYPE(None, ctypes.c_int64)
def _take_word(word: int) -> None:
    _given.words.append(word)


@ctypes.CFUNCTYPE(None, ctypes.c_int64)
def _add(address: int) -> None:
    words, _given.words = _given.words, []
    ctypes.cast(address, ctypes.py_object).value.add(words)


FUNCTIONS: dict[str, Any] = {"message_word": _take_word, "message_end": _add}
"""Python's functions, by the names under which machine code calls them."""


def emit_message(code: FunctionBuilder, message: NativeMessage, values: list[Any]) -> None:
    """Emit the calls that add a message."""
    for x in values:
        for word in code.to_words(x):
            code.call("message_word", ir.VoidType(), [word])
    code.call("message_end", ir.VoidType(), [code.whole(message.at)])
