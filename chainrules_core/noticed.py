"""Errors of ours that somebody swallows, noticed for as long as an engine differentiates.

A value that cannot be followed is an error. Code around it may swallow that error (``except
Exception``, ``suppress``, a library that tries another way), and go on along a path which the
function does not take without a derivative. So each error of ours is noted when it is made, and
raised at the end of the differentiation unless somebody has said that it is dealt with.
"""

from __future__ import annotations

import threading
from typing import Any

from chainrules_core.places import say_where


class _Here(threading.local):
    innermost: noticing | None = None


here = _Here()
"""Where errors are noted in this thread."""


class noticing:  # noqa: N801 - it reads like a function
    """A ``with`` block at whose end an error of ours that was swallowed in it is raised.

    Errors that leave it name the user's line.

    Attributes
    ----------
    error : Exception or None
        The first error of ours that was made in it and not forgiven.
    """

    __slots__ = ("_around", "error")

    def __init__(self) -> None:
        self.error: Any = None

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
        # What ends the block may be made of it ("unsupported", say); another error of ours is as
        # good, and what is no Exception (KeyboardInterrupt) is let through.
        if error is None or (isinstance(error, Exception) and not is_ours(error)):
            raise self.error


class ChainRulesError(Exception):
    """Base of every exception that these packages define.

    One that is made while a function is differentiated is raised in the end, whoever swallows it.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> ChainRulesError:
        """Make it, and note that it was made."""
        error = super().__new__(cls, *args, **kwargs)
        note(error)
        return error


def is_ours(error: Any) -> bool:
    """Whether an exception is one of these packages'."""
    return isinstance(error, ChainRulesError)


def note(error: Exception) -> None:
    """Note that an error of ours was made: it is raised in the end if nobody hears of it."""
    block = here.innermost
    if block is not None and block.error is None:
        block.error = error


def forgive(error: BaseException) -> None:
    """Mark a caught error, and what caused it, as dealt with."""
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
    """Return what is noted by now, for `restore`."""
    block = here.innermost
    return None if block is None else block.error


def restore(before: Any) -> None:
    """Forget what was noted since `mark`: what was tried since then is done in another way."""
    if here.innermost is not None:
        here.innermost.error = before


def innermost() -> noticing | None:
    """Return the block that notes errors in this thread, to be handed to another one."""
    return here.innermost


class within:  # noqa: N801 - it reads like a function
    """A ``with`` block of another thread: its errors are noted where that thread was begun."""

    __slots__ = ("_before", "_block")

    def __init__(self, block: noticing | None) -> None:
        self._block = block

    def __enter__(self) -> None:
        self._before, here.innermost = here.innermost, self._block

    def __exit__(self, *_: Any) -> None:
        here.innermost = self._before
