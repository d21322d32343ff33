"""An error about a lost value names the cause that applies, and a way out for that cause."""

from __future__ import annotations

import array
import code
import pickle
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import LeakedTracerError, LostValueError, gradient
from tests.autodiff.trace.checks.test_swallowed_errors import library
from tests.helpers import define

X = np.array([1.0, -2.0])


def in_a_set(x: Any) -> Any:
    return {x}


def as_a_key(x: Any) -> Any:
    return {x: 1.0}


def pickled(x: Any) -> Any:
    return pickle.dumps(x)


def bytes_of(x: Any) -> Any:
    return np.sum(x).tobytes()


def in_c(x: Any) -> Any:
    return array.array("d", [x])[0]


@pytest.mark.parametrize(
    "f, parts",
    [
        (in_a_set, ["A set, dict key or cache", "Equal values are not the same variable"]),
        (as_a_key, ["A set, dict key or cache", "(a name, an index)"]),
        (pickled, ["pickle", "where the value is computed"]),
        (bytes_of, ["x.tobytes()", "compute with the numbers"]),
        (in_c, ["float()", "done by C code that has no rule", "rrule.register"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_in_code_with_source(f: Callable, parts: list[str]) -> None:
    with pytest.raises(LostValueError) as caught:
        gradient(f, 2.0)
    message = str(caught.value)
    for part in [*parts, "ignore_derivatives", __file__, f.__name__]:
        assert part in message
    message = message.partition("\n")[0]
    for other in ("prompt", "source", "exec"):
        assert other not in message


def test_in_a_library() -> None:
    call = library("import array\ndef call(x):\n    return array.array('d', [x])[0]\n", "a_library")
    with pytest.raises(LostValueError) as caught:
        gradient(lambda x: call(x), 2.0)
    message = str(caught.value)
    assert "a library's function, a_library.call" in message
    assert f"at {__file__}" in message  # the user's line first
    assert "(through " in message
    assert "prompt" not in message


def test_a_value_kept_from_another_gradient() -> None:
    kept: list[Any] = []
    gradient(lambda x: kept.append(x) or x, 2.0)  # type: ignore[func-returns-value]
    for use in (lambda x: x * array.array("d", kept)[0], lambda x: {kept[0]: x}, float):
        with pytest.raises(LeakedTracerError):
            gradient(lambda x, use=use: use(x if use is not float else kept[0]), 2.0)


def test_code_made_of_text() -> None:
    scope: dict[str, Any] = {}
    exec("import math\ndef f(x):\n    return math.sin(x)\n", scope)
    with pytest.raises(LostValueError) as caught:
        gradient(scope["f"], 2.0)
    message = str(caught.value)
    assert "that of f is not: it was made by exec or eval" in message
    assert "linecache.cache" in message
    assert "prompt" not in message


def test_the_way_out_for_code_made_of_text_works() -> None:
    text = "import math\ndef f(x):\n    return math.sin(x)\n"
    assert gradient(define(text, "<mine>")["f"], 0.0) == 1.0


def test_what_was_typed_at_a_prompt(capsys: pytest.CaptureFixture) -> None:
    console = code.InteractiveConsole({"gradient": gradient})
    for line in ("import math", "def f(x):", "    return math.sin(x)", "", "gradient(f, 2.0)"):
        console.push(line)
    out, error = capsys.readouterr()
    assert "typed at a prompt that does not keep what was typed" in error or "-0.41614" in out


@pytest.mark.parametrize("ask", [float, complex, hash], ids=["float", "complex", "hash"])
def test_what_the_value_refuses_is_refused_as_it_does(ask: Callable) -> None:
    with pytest.raises(TypeError) as plain:
        ask(X)
    call = library(f"def call(x):\n    return {ask.__name__}(x)\n")
    with pytest.raises(TypeError) as traced:
        gradient(lambda x: call(x), X)
    if ask is not complex:  # which has a rule
        assert str(traced.value) == str(plain.value)


def test_a_statistic_of_a_library() -> None:
    with pytest.raises(LostValueError, match="traced float"):
        gradient(lambda x: statistics.NormalDist.from_samples(array.array("d", [x, 2.0])).mean, 2.0)
