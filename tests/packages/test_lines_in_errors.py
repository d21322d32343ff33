"""In an error, the user's own line comes first, then the library's, whoever calls whom."""

from __future__ import annotations

import array
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate

from autodiff import gradient, pushforward
from chainrules_core import ChainRulesError
from tests.autodiff.trace.checks.test_swallowed_errors import library
from tests.packages.table import imported

NESTED = library(
    "import array\n"
    "def inner(x):\n    return array.array('d', [x])[0]\n"
    "def call(x):\n    return inner(x) + inner(x)\n",
    "nested",
)
CALLING = library("def call(f, x):\n    return f(x) + 1.0\n", "calling")
MADE_BY_EXEC = library(
    "import array\n"
    "def wrapped(f):\n"
    "    scope = {'f': f}\n"
    "    exec('def wrapper(*args): return f(*args)', scope)\n"
    "    return scope['wrapper']\n"
    "@wrapped\n"
    "def inner(x):\n    return array.array('d', [x])[0]\n"
    "def call(x):\n    return inner(x)\n",
    "made_by_exec",
)


def in_a_library(x: Any) -> Any:
    y = x * 2.0
    return NESTED(y)


def in_a_callback(x: Any) -> Any:
    def called_back(y: Any) -> Any:
        return array.array("d", [y])[0]

    return CALLING(called_back, x)


def in_a_library_that_a_callback_calls(x: Any) -> Any:
    def called_back(y: Any) -> Any:
        return NESTED(y)

    return CALLING(called_back, x)


def in_a_callback_of_a_rule(x: Any) -> Any:
    def called_back(y: Any) -> Any:
        return array.array("d", [x])[0] * y

    return scipy.integrate.quad(called_back, 0.0, 1.0)[0]


def in_a_wrapper_made_by_exec(x: Any) -> Any:
    return MADE_BY_EXEC(x)


def in_compiled_code(x: Any) -> Any:
    return array.array("d", [x])[0]


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for _ in range(2):
        total += NESTED(x)
    return total


def in_a_comprehension(x: Any) -> Any:
    return sum(NESTED(x * i) for i in range(2))


class Model:
    def of_a_class(self, x: Any) -> Any:
        return NESTED(x)


# What is called, a part of the user's own line, and the library's function, if it is in one.
CASES: dict[str, tuple[Callable, str, str]] = {
    "library": (in_a_library, "return NESTED(y)", "inner"),
    "callback": (in_a_callback, "array.array(", ""),
    "callback-library": (in_a_library_that_a_callback_calls, "return NESTED(y)", "inner"),
    "callback-rule": (in_a_callback_of_a_rule, "array.array(", ""),
    "exec": (in_a_wrapper_made_by_exec, "return MADE_BY_EXEC(x)", "inner"),
    "compiled": (in_compiled_code, "array.array(", ""),
    "loop": (in_a_loop, "total += NESTED(x)", "inner"),
    "comprehension": (in_a_comprehension, "sum(NESTED(", "inner"),
    "method": (Model().of_a_class, "return NESTED(x)", "inner"),
}


def lines_of(f: Callable, x: Any, run: Callable) -> tuple[str, str]:
    """Return the text of the user's line that an error names, and the library's place."""
    with pytest.raises(ChainRulesError) as caught:
        run(f, x)
    message = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    found = re.search(
        r"\n  at (?P<file>.+?), line (?P<line>\d+), in \S+(?: \(through (?P<library>.+)\))?$",
        message,
    )
    assert found is not None, message
    assert found["file"] == __file__, message
    with open(__file__) as file:
        text = file.read().splitlines()[int(found["line"]) - 1]
    source, first = inspect.getsourcelines(f)
    assert first <= int(found["line"]) < first + len(source), message
    return text, found["library"] or ""


def pushed(f: Callable, x: float) -> Any:
    return pushforward(f, x)[1](1.0)


@pytest.mark.parametrize("run", [gradient, pushed], ids=["reverse", "forward"])
@pytest.mark.parametrize("case", CASES)
def test_the_users_line_comes_first(case: str, run: Callable) -> None:
    f, line, through = CASES[case]
    text, place = lines_of(f, 0.7, run)
    assert line in text
    assert place.endswith(f"in {through}") if through else not place


pywt = imported("pywt")
mpmath = imported("mpmath")


def of_cython(x: Any) -> Any:
    y = np.sin(x)
    return pywt.dwt(y, "db2")[0].sum()


def of_mpmath(x: Any) -> Any:
    return mpmath.quad(lambda t: mpmath.exp(-x[0] * t), [0, 1])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "package, f, line, through",
    [
        (pywt, of_cython, "pywt.dwt", "pywt"),
        (mpmath, of_mpmath, "mpmath.quad", ""),  # its product is in the user's function
    ],
    ids=["pywt", "mpmath"],
)
def test_the_users_line_through_a_package(
    package: Any, f: Callable, line: str, through: str
) -> None:
    if package is None:
        pytest.skip("not installed")
    text, place = lines_of(f, np.array([0.3, 1.2, 0.7, 2.1, 1.6]), gradient)
    assert line in text
    assert (through in place) if through else not place


def test_a_function_made_of_text_is_the_users_where_nothing_else_is() -> None:
    scope: dict[str, Any] = {}
    exec("import array\ndef f(x):\n    return array.array('d', [x])[0]\n", scope)
    with pytest.raises(ChainRulesError, match=r"\n  at <string>, line 3, in f$"):
        gradient(scope["f"], 2.0)
