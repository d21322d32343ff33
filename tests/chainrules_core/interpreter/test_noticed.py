"""Errors of ours that somebody swallows are raised at the end of a block that notices them."""

# ruff: noqa: PT012 - blocks are what is tested

from __future__ import annotations

import threading

import pytest

from chainrules_core import ChainRulesError
from chainrules_core.interpreter.noticed import forgive, innermost, mark, noticing, restore, within


class OursError(ChainRulesError, TypeError):
    pass


def swallow(text: str = "lost") -> Exception:
    try:
        raise OursError(text)
    except TypeError as error:
        return error


def test_a_swallowed_error_is_raised_at_the_end() -> None:
    with pytest.raises(OursError, match="lost"), noticing():
        swallow()


def test_the_first_of_several_is_raised() -> None:
    with pytest.raises(OursError, match="first"), noticing():
        swallow("first")
        swallow("second")


def test_so_is_one_that_was_made_into_another() -> None:
    with pytest.raises(OursError, match="lost"), noticing():
        swallow()
        raise ValueError("unsupported")


def test_another_of_ours_and_an_interrupt_go_on() -> None:
    with pytest.raises(OursError, match="second"), noticing():
        swallow("first")
        raise OursError("second")
    with pytest.raises(KeyboardInterrupt), noticing():
        swallow()
        raise KeyboardInterrupt


def test_all_blocks_around_notice_it() -> None:
    with pytest.raises(OursError), noticing():
        try:
            with noticing():
                swallow()
        except OursError:
            pass
    with noticing():
        pass  # nothing is left of it


def test_what_is_forgiven_is_not_raised() -> None:
    with noticing():
        forgive(swallow())
    with noticing():
        try:
            try:
                raise OursError("lost")
            except OursError as error:
                raise ValueError("of it") from error
        except ValueError as error:
            forgive(error)
    with pytest.raises(OursError, match="lost"), noticing():
        swallow()
        forgive(ValueError("another"))


def test_what_is_tried_leaves_nothing() -> None:
    with noticing():
        before = mark()
        swallow()
        restore(before)
    with pytest.raises(OursError, match="first"), noticing():
        swallow("first")
        before = mark()
        swallow("second")
        restore(before)


def test_another_thread_notes_where_it_was_begun() -> None:
    with pytest.raises(OursError), noticing():
        block = innermost()

        def run() -> None:
            with within(block):
                swallow()

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()


def test_nothing_is_noted_outside() -> None:
    swallow()
    assert mark() is None
    with noticing():
        pass
