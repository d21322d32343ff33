"""Errors of these packages that other code swallows, while an engine differentiates.

A value that cannot be traced is an error. The code around it may swallow the error (``except
Exception``, ``suppress``, a library that then tries something else), and take a path that the
function does not take when it is called without derivatives. So each error is noted when it is
made, and raised at the end of the differentiation unless `forgive` has marked it as handled.
"""

from __future__ import annotations

import threading
from typing import Any

from chainrules_core.interpreter.places import say_where


class _Here(threading.local):
    innermost: noticing | None = None


here = _Here()
"""The block that notes errors in this thread."""


class noticing:  # noqa: N801 - it reads like a function
    """A ``with`` block that raises, at its end, an error that was swallowed inside.

    Errors that leave the block name the user's line.

    Attributes
    ----------
    error : Exception or None
        The first error that was made inside and not forgiven.
    numbers : set of float
        What an engine notes by `numbers_noted`.
    """

    __slots__ = ("_around", "error", "numbers")

    def __init__(self) -> None:
        self.error: Any = None
        self.numbers: set[float] = set()

    def __enter__(self) -> None:
        self._around = here.innermost
        here.innermost = self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        here.innermost = self._around
        if self.error is not None or error is not None:
            self._end(error)

    def _end(self, error: Any) -> None:
        for one in (self.error, error):
            if is_ours(one):
                say_where(one)
        if self.error is None:
            return
        around = self._around
        if around is not None and around.error is None:
            around.error = self.error
        # An exception that ends the block may be a consequence of the swallowed error, so that one
        # is raised instead. Errors of ours, and KeyboardInterrupt and the like, pass through.
        if error is None or (isinstance(error, Exception) and not is_ours(error)):
            raise self.error


class ChainRulesError(Exception):
    """Base of every exception that these packages define.

    If one is made while a function is differentiated, it is raised in the end, even if code catches
    it.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> ChainRulesError:
        """Make the error, and note it."""
        error = super().__new__(cls, *args, **kwargs)
        note(error)
        return error


def is_ours(error: Any) -> bool:
    """Whether these packages define the class of an exception."""
    return isinstance(error, ChainRulesError)


def note(error: Exception) -> None:
    """Note an error, which is raised at the end of the block unless it is forgiven."""
    block = here.innermost
    if block is not None and block.error is None:
        block.error = error


def forgive(error: BaseException) -> None:
    """Mark a caught error and its causes as handled."""
    block = here.innermost
    if block is None or block.error is None:
        return
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if cause is block.error:
            block.error = None
            return
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__


def mark() -> Any:
    """Return the error that is noted so far, for `restore`."""
    block = here.innermost
    return None if block is None else block.error


def restore(before: Any) -> None:
    """Forget an error noted since `mark`, because the attempt is repeated in another way."""
    if here.innermost is not None:
        here.innermost.error = before


def innermost() -> noticing | None:
    """Return the block that notes errors in this thread, to pass it to another thread."""
    return here.innermost


def numbers_noted() -> set[float] | None:
    """Return the numbers that are noted until the whole differentiation ends; None outside one."""
    block = here.innermost
    while block is not None and block._around is not None:
        block = block._around
    return None if block is None else block.numbers


class within:  # noqa: N801 - it reads like a function
    """A ``with`` block whose errors are noted in that of another thread, or nowhere (None)."""

    __slots__ = ("_before", "_block")

    def __init__(self, block: noticing | None) -> None:
        self._block = block

    def __enter__(self) -> None:
        self._before, here.innermost = here.innermost, self._block

    def __exit__(self, *_: Any) -> None:
        here.innermost = self._before
