"""What a failed check raises; the messages are sentences, the values are attributes."""

from __future__ import annotations

from typing import Any


class TangentMismatchError(AssertionError):
    """Two tangents differ.

    Attributes
    ----------
    problem : str
        The sentence that says how.
    path : str
        Where in a structure they differ, as code would write it: ``.weights[0]``.
    actual, expected : tangent
        The parts that differ.
    """

    def __init__(
        self, problem: str, path: str, actual: Any, expected: Any, message: str = ""
    ) -> None:
        super().__init__(problem, path, actual, expected, message)
        self.problem, self.path, self.message = problem, path, message
        self.actual, self.expected = actual, expected

    def __str__(self) -> str:
        where = f"at {self.path}: " if self.path else ""
        return ": ".join(filter(None, [self.message, where + self.problem]))


class RuleCheckError(AssertionError):
    """A rule failed a check.

    Attributes
    ----------
    problem : str
        What is wrong, in one sentence or several.
    subject : str
        Which rule, called how: ``"rrule of numpy.sin(x)"``.
    argument : int or None
        The number of the argument it is about; 0 is the function itself.
    """

    def __init__(self, problem: str, subject: str, argument: int | None = None) -> None:
        super().__init__(problem, subject, argument)
        self.problem, self.subject, self.argument = problem, subject, argument

    def __str__(self) -> str:
        return f"{self.subject}: {self.problem}"


class MissingDerivativeWarning(UserWarning):
    """A check met a derivative that its rule declares as not implemented."""


def sentence(text: str) -> str:
    """Return a text with a full stop, if it does not end like a sentence already.

    Examples
    --------
    >>> sentence("one differs"), sentence("is a sign missing?")
    ('one differs.', 'is a sign missing?')
    """
    return text if text.endswith((".", "?")) else f"{text}."


def shown(x: Any, limit: int = 160) -> str:
    """Return the repr of a value on one line, cut where it is long.

    Examples
    --------
    >>> shown(list(range(9)), 12)
    '[0, 1, 2,...'
    """
    try:
        text = " ".join(repr(x).split())
    except Exception as error:
        text = f"<{type(x).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def described(x: Any) -> str:
    """Return what kind of value `x` is: its type, dtype and shape.

    Examples
    --------
    >>> import numpy as np
    >>> described(np.zeros((2, 3), np.float32)), described(1.0)
    ('float32 array of shape (2, 3)', 'float')
    """
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    if shape is None or dtype is None:
        return type(x).__name__
    name = type(x).__name__
    if name == str(dtype):
        return name
    return f"{dtype} {'array' if name == 'ndarray' else name} of shape {shape}"
