"""Wrappers without source that hand on what they are given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autodiff import SourceError, gradient
from tests.helpers import check_gradient

X = np.array([0.3, 1.2, 0.7])


def written(body: str, f: Any) -> Any:
    """Return a function made of a text that is not kept, which holds `f` in a default."""
    scope: dict[str, Any] = {}
    exec(f"def wrapper(*args, _f=None, **kwargs):\n    {body}\n", scope)
    wrapper = scope["wrapper"]
    wrapper.__kwdefaults__ = {"_f": f}
    wrapper.__wrapped__ = f
    return wrapper


def sine(x: Any, scale: float = 1.0) -> Any:
    return math.sin(x) * scale


CHECKS = "assert type(args[0]) is float; y = _f(*args, **kwargs); assert type(y) is float; return y"


def test_a_check_of_types() -> None:
    checked = written(CHECKS, sine)
    np.testing.assert_allclose(gradient(lambda x: checked(x, scale=2.0), 0.7), 2 * math.cos(0.7))
    np.testing.assert_allclose(gradient(lambda x: checked(0.5, scale=x), 0.7), math.sin(0.5))
    with pytest.raises(AssertionError):
        gradient(lambda x: checked(1, scale=x), 0.7)


def test_arrays() -> None:
    checked = written("assert type(args[0]) is not int; return _f(*args)", lambda x: np.sin(x) ** 2)
    check_gradient(lambda x: np.sum(checked(x)), X)


@pytest.mark.parametrize(
    "body",
    [
        "assert type(args[0]) is float; return _f(args[0] * 2.0)",
        "assert type(args[0]) is float; return _f(*args) + 1.0",
        "assert type(args[0]) is float; return 3.0",
    ],
)
def test_one_that_changes_something_is_refused(body: str) -> None:
    changing = written(body, sine)
    with pytest.raises(SourceError):
        gradient(lambda x: changing(x), 0.7)


def test_one_that_writes_into_an_array_is_refused() -> None:
    writing = written("assert type(args[0]); args[0][0] = 2.0; return _f(*args)", np.sum)
    with pytest.raises((SourceError, ValueError)):
        gradient(lambda x: writing(x * 1.0), X)
