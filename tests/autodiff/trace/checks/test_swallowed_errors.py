"""When code swallows an error of ours, the gradient is an error: it took another path."""

from __future__ import annotations

import contextlib
import json
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import (
    DifferentiationError,
    LostValueError,
    derivative,
    gradient,
    hessian,
    hvp,
    jacobian,
    jvp,
    pullback,
    pushforward,
    value_and_gradient,
)
from chainrules_core import ChainRulesError
from tests.helpers import define

ENTRIES: dict[str, Callable] = {
    "gradient": gradient,
    "value_and_gradient": value_and_gradient,
    "derivative": derivative,
    "pullback": lambda f, x: pullback(f, x)[1](1.0),
    "pushforward": lambda f, x: pushforward(f, x)[1](1.0),
    "jvp": lambda f, x: jvp(f, (x,), (1.0,)),
    "jacobian": jacobian,
    "hessian": hessian,
    "hvp": lambda f, x: hvp(f, x, 1.0),
    "nested": lambda f, x: gradient(lambda y: gradient(f, y), x),
    "explain": autodiff.explain,
}


def made(text: str) -> Callable:
    """Return the function f of a text that is not kept."""
    scope: dict[str, Any] = {"math": math, "contextlib": contextlib, "np": np}
    exec(text, scope)
    return scope["f"]


def of_finally(x: Any) -> Any:
    try:
        return {x: 1.0}
    finally:
        return 2.0 * x  # noqa: B012, SIM107 - that is what is tested


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_finally_that_returns(entry: str) -> None:
    with pytest.raises(ChainRulesError):
        ENTRIES[entry](of_finally, 2.0)


def library(text: str, name: str = "library") -> Callable:
    """Return a function of an installed package with this text."""
    file = f"{json.__file__.rpartition('/')[0]}/{name}_that_is_not_there.py"
    return define(text, file, {"math": math, "np": np, "__name__": name})["call"]


def test_a_library_that_tries_another_way() -> None:
    call = library(
        "def call(x):\n    try:\n        return {x: 2.0}[x] * x\n    except TypeError:\n"
        "        return 3.0 * x\n"
    )
    with pytest.raises(LostValueError, match="dict key"):
        gradient(lambda x: call(x), 2.0)
    with pytest.raises(LostValueError, match="dict key"):
        pushforward(lambda x: call(x), 2.0)[1](1.0)


def test_a_library_that_says_something_else() -> None:
    call = library(
        "def call(x):\n    try:\n        return {x: 2.0}[x] * x\n    except TypeError:\n"
        "        raise ValueError('not supported')\n"
    )
    with pytest.raises(LostValueError, match="dict key"):
        gradient(lambda x: call(x), 2.0)


def test_a_handler_that_names_the_class_has_dealt_with_it() -> None:
    def f(x: Any) -> Any:
        try:
            return {x: 2.0}[x] * x
        except LostValueError:
            return 3.0 * x

    def g(x: Any) -> Any:
        with contextlib.suppress(DifferentiationError):
            return {x: 2.0}[x] * x
        return 3.0 * x

    assert gradient(f, 2.0) == 3.0
    assert gradient(g, 2.0) == 3.0


def test_a_loop_that_tries_again_ends() -> None:
    def f(x: Any) -> Any:
        while True:
            try:
                return {x: 2.0}[x] * x
            except Exception:
                continue

    with pytest.raises(LostValueError):
        gradient(f, 2.0)


def test_an_array_that_is_no_number_or_key_refuses_as_it_does() -> None:
    """So a library that asks whether something is a number, or a key, takes the same path."""
    call = library(
        "def call(x):\n    try:\n        n = float(x)\n    except TypeError:\n"
        "        n = 0.0\n    try:\n        hash(x)\n    except TypeError:\n        n = n + 1.0\n"
        "    return np.sum(x * x) + n\n"
    )
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(gradient(lambda x: call(x), x), 2 * x)


def test_in_a_thread() -> None:
    def f(x: Any) -> Any:
        found = [x]

        def run() -> None:
            try:
                found[0] = {x: 2.0}[x] * x
            finally:
                return  # noqa: B012

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return found[0]

    with pytest.raises(LostValueError):
        gradient(f, 2.0)


def test_an_inner_derivative_that_fails() -> None:
    def f(x: Any) -> Any:
        y = x
        try:
            y = gradient(lambda t: {t}, x)
        finally:
            return y * x  # noqa: B012

    with pytest.raises(ChainRulesError):
        gradient(f, 2.0)


def test_nothing_is_left_for_the_next_one() -> None:
    with pytest.raises(LostValueError):
        gradient(of_finally, 2.0)
    assert gradient(lambda x: x * x, 2.0) == 4.0


def test_compiled() -> None:
    compiled = autodiff.compile(lambda x: gradient(of_finally, x))
    with pytest.raises(ChainRulesError):
        compiled(2.0)


@pytest.mark.parametrize(
    "body",
    [
        "try:\n        return math.sqrt(x)\n    except (ValueError, TypeError):\n"
        "        return 0.0",
        "try:\n        return math.sqrt(x)\n    except Exception:\n        return 0.0",
        "with contextlib.suppress(Exception):\n        return math.sqrt(x)\n    return 2.0 * x",
        "try:\n        return math.sqrt(x)\n    finally:\n        return 2.0 * x",
    ],
)
@pytest.mark.parametrize("entry", ["gradient", "pushforward", "hessian"])
def test_code_without_source(entry: str, body: str) -> None:
    with pytest.raises(ChainRulesError):
        ENTRIES[entry](made(f"def f(x):\n    {body}\n"), 2.0)
