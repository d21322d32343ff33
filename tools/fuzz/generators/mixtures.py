"""Whole programs that mix features: those of the writer, between longer ideas of how people write.

The ideas (``mixtures.txt``) have definitions of the module and statements that use them: classes
with properties, operators and inheritance, closures, generators, decorators, state of the module
and of default arguments, containers that change, exceptions, views and writes through them. They
stand wherever the writer puts a statement, so they meet its branches, loops and functions.
"""

from __future__ import annotations

import functools
import random
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tools.fuzz.blocks import defined
from tools.fuzz.holes import NoFilling
from tools.fuzz.limits import TooSlow, limited
from tools.fuzz.writer import SECONDS, Writer, is_array, is_float

SHARE = 0.4  # of the statements are ideas

PLACES = {
    "v": lambda x: is_array(x) and x.ndim == 1 and len(x) > 1,
    "m": lambda x: is_array(x) and x.ndim == 2,
    "a": lambda x: is_array(x) and x.ndim > 0,
    "s": is_float,
}


@functools.cache
def ideas() -> list[tuple[str, str]]:
    """Return the definitions and the statements of each idea."""
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    found = []
    for idea in text.split("===\n"):
        definitions, _, statements = idea.partition("---\n")
        found.append((definitions.strip(), statements.strip()))
    return found


class MixtureWriter(Writer):
    """A writer whose statements are often ideas."""

    count = (3, 9)
    terms = (3, 5, 8)

    def statement(self) -> bool:
        """Write an idea, or what the writer would write."""
        if self.random.random() > SHARE:
            return super().statement()
        definitions, statements = self.random.choice(ideas())
        number = self.fresh("")
        try:
            definitions = self.with_places(definitions, number)
            statements = self.with_places(statements, number)
        except NoFilling:
            return False
        if definitions and not defined(self, definitions):
            return False
        if self.attempt(statements):
            return True
        if definitions:
            self.prelude.remove(definitions + "\n")
            self.restart()
        return False

    def with_places(self, text: str, number: str) -> str:
        """Return the text of an idea with what its letters stand for."""

        def one(found: re.Match[str]) -> str:
            letter = found[1]
            if letter in "np":
                return repr(round(self.random.uniform(0.2, 1.5) * self.sign(letter), 2))
            if letter == "k":
                return str(self.random.randint(2, 4))
            place: tuple[str, Any] = self.place(PLACES[letter])
            return place[0]

        return re.sub(r"\$([a-z])", one, re.sub(r"(?<=\w)@", number, text))

    def sign(self, letter: str) -> float:
        """Return the sign of a number: either one, unless it is to be positive."""
        return self.random.choice((1.0, 1.0, -1.0)) if letter == "n" else 1.0


def write(seed: int) -> str:
    """Return the source of a module with `program` and `ARGUMENTS`."""
    rng = random.Random(seed)
    vector = [round(rng.uniform(-1.5, 1.5), 3) for _ in range(9)]
    writer = MixtureWriter(seed)
    writer.arguments[writer.fresh("x")] = f"np.array({vector[: 3 + seed % 3]})"
    writer.arguments[writer.fresh("x")] = f"{vector[6]}"
    if seed % 2:
        writer.arguments[writer.fresh("x")] = f"np.array({vector[:6]}).reshape(2, 3)"
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with limited(SECONDS):
                return writer.program().source
        except TooSlow:
            return "def program(x0):\n    return 0.0\n\nARGUMENTS = (0.5,)\n"
