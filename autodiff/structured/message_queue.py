"""Messages of programs: what they print, log and warn of, once they have ended.

A program may fail; the call is then traced from its beginning. So messages wait until it has ended.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Message = tuple[Callable[..., None], tuple]
"""A function that shows a message, and its arguments."""


class _Waiting(threading.local):
    messages: list[Message] | None = None


_waiting = _Waiting()


def add_message(show: Callable[..., None], *values: Any) -> None:
    """Add a message, to be shown by ``show(*values)``."""
    if _waiting.messages is not None:
        kept = [x.copy() if isinstance(x, np.ndarray) else x for x in values]
        _waiting.messages.append((show, tuple(kept)))


@contextlib.contextmanager
def messages_of_run() -> Iterator[list[Message]]:
    """Collect the messages of what runs in this context."""
    outer, _waiting.messages = _waiting.messages, []
    try:
        yield _waiting.messages
    finally:
        _waiting.messages = outer


def without_messages_of_failures(forward: Callable) -> Callable:
    """Return a function that drops the messages it has added if it raises an exception."""

    @functools.wraps(forward)
    def run(*values: Any) -> Any:
        messages = [] if _waiting.messages is None else _waiting.messages
        n = len(messages)
        try:
            return forward(*values)
        except BaseException:
            del messages[n:]
            raise

    return run


def show_messages(messages: list[Message]) -> None:
    """Show messages, or leave that to the program that the run is a part of."""
    if _waiting.messages is not None:
        _waiting.messages += messages
        return
    for show, values in messages:
        show(*values)


def log(logger: logging.Logger, level: int, place: tuple[str, int, str], *args: Any) -> None:
    """Log a message as if from a place: file, line and function."""
    if logger is logging.root and not logger.handlers:
        logging.basicConfig()
    if logger.isEnabledFor(level):
        file, line, function = place
        record = logger.makeRecord(
            logger.name, level, file, line, args[0], args[1:], None, function
        )
        logger.handle(record)


def warn(namespace: dict[str, Any], place: tuple[str, int, str], message: Any,
         category: type[Warning] = UserWarning) -> None:  # fmt: skip
    """Warn as if from a place in a module with these globals."""
    file, line, _ = place
    registry = namespace.setdefault("__warningregistry__", {})
    module = namespace.get("__name__")
    warnings.warn_explicit(message, category, file, line, module, registry)
