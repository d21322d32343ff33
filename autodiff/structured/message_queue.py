"""Messages of programs, which they print, log and warn of once they have ended; and their clocks.

A program may fail; the call is then traced from its beginning. So messages wait until it has ended.
If a program runs again for its sweep, its messages are dropped, and its clocks show the same times.
"""

from __future__ import annotations

import contextlib
import functools
import io
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
    times: list[float] | None = None
    is_again = False  # whether clocks show these times, in their order


_waiting = _Waiting()


def add_message(show: Callable[..., None], *values: Any) -> None:
    """Add a message, to be shown by ``show(*values)``."""
    if _waiting.messages is not None:
        kept = [x.copy() if isinstance(x, np.ndarray) else x for x in values]
        _waiting.messages.append((show, tuple(kept)))


@contextlib.contextmanager
def messages_of_run(
    times: list[float] | None = None,
) -> Iterator[tuple[list[Message], list[float]]]:
    """Collect the messages of what runs in this context, and the times that clocks show.

    With `times`, the clocks show these, in their order.
    """
    outer = _waiting.messages, _waiting.times, _waiting.is_again
    _waiting.messages, _waiting.is_again = [], times is not None
    _waiting.times = [] if times is None else times[::-1]
    try:
        yield _waiting.messages, _waiting.times
    finally:
        _waiting.messages, _waiting.times, _waiting.is_again = outer


def time_of(clock: Callable[[], float]) -> float:
    """Read a clock."""
    if _waiting.times is None:
        return clock()
    if _waiting.is_again:
        return _waiting.times.pop()
    _waiting.times.append(clock())
    return _waiting.times[-1]


def state_of_messages() -> list[tuple[list, list]]:
    """Return the messages and times so far, to be restored before another attempt."""
    return [(xs, xs.copy()) for xs in (_waiting.messages, _waiting.times) if xs is not None]


def restore_messages(state: list[tuple[list, list]]) -> None:
    """Drop the messages and times that an attempt has added."""
    for xs, before in state:
        xs[:] = before


def without_messages_of_failures(forward: Callable) -> Callable:
    """Return a function that drops the messages it has added if it raises an exception."""

    @functools.wraps(forward)
    def run(*values: Any) -> Any:
        before = state_of_messages()
        try:
            return forward(*values)
        except BaseException:
            restore_messages(before)
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


def warnings_may_raise() -> bool:
    """Whether some warnings are errors."""
    for action, message, category, module, line in warnings.filters:  # the first that fits counts
        if action == "error" or (message, category, module, line) == (None, Warning, None, 0):
            return action == "error"
    return False


@contextlib.contextmanager
def without_messages() -> Iterator[None]:
    """Run functions again without what they print, log and warn of."""
    level = logging.root.manager.disable
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            logging.disable()
            yield
    finally:
        logging.disable(level)
