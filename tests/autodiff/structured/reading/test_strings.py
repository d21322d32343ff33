"""Texts made of integers, and axes of one element: as programs, compared with traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient

X = np.array([0.3, -0.7, 0.5, 1.2, 0.1, -0.2, 0.9, 0.4])


def reversed_bits(x: Any) -> Any:
    bits = len(x).bit_length() - 1
    places = [int(format(i, "0%db" % bits)[::-1], 2) for i in range(len(x))]  # noqa: UP031
    return np.sum(x[np.array(places)] * x)


def digits(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        text = f"{i:0{3}b}"
        for k in range(3):
            if text[k] == "1":
                total = total + x[i] * (k + 1)
    return total**2


def numbers_as_texts(x: Any) -> Any:
    y = x[0]
    for i in range(1, len(x)):
        y = y + x[int(str(i)[-1])] ** 2 * len(bin(i))
    return y


def filled_up(x: Any) -> Any:
    y = 1.0
    for i in range(len(x)):
        name = "x" + str(i).zfill(3)
        y = y * x[i] if name.endswith("1") else y + x[i]
    return y


def gray_code(x: Any) -> Any:
    y = 0.0
    for i in range(len(x)):
        ones = "{:b}".format(i).count("1")  # noqa: UP032
        y = y - x[i] ** 2 if ones % 2 else y + x[i] ** 3
    return y


def logsumexp(x: Any, axis: Any = None) -> Any:
    m = np.max(x, axis=axis, keepdims=True)
    return np.squeeze(m + np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)), axis=axis)


def log_sums(x: Any) -> Any:
    a = x - logsumexp(x)
    b = x.reshape(2, 4)
    for _ in range(3):
        a = a + 0.1 * logsumexp(a) + logsumexp(b, axis=1)[0]
        b = b * a[:4]
    return logsumexp(a * a)


def one_column(x: Any) -> Any:
    y = x.reshape(4, 2)
    for k in range(3):
        left = y[:, :1]
        y = y + 0.1 * np.squeeze(left * left)[:, None] * (k + 1)
    return np.sum(y**2)


TABLE = """
# name value
a 1.0 2.0
b 0.5 1.5

c 2.0 0.1
"""


def parsed(x: Any) -> Any:
    y = 0.0
    for line in TABLE.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, u, v = line.split()
        y += float(u) * x[0] ** 2 + float(v) * x[1] * len(name)
        for k in range(4):
            y = y * 0.99 + x[k]
    return y


def calculated(x: Any) -> Any:
    known, y = {"a": x[0], "b": x[1]}, 0.0
    for _ in range(5):
        stack: list = []
        for token in ["3", "4", "+", "a", "*", "2", "b", "-", "/"]:
            if token in "+-*/":
                right, left = stack.pop(), stack.pop()
                if token == "+":
                    stack.append(left + right)
                elif token == "-":
                    stack.append(left - right)
                elif token == "*":
                    stack.append(left * right)
                else:
                    stack.append(left / right)
            elif token in known:
                stack.append(known[token])
            elif token.isdigit():
                stack.append(float(token))
        y = y * 0.5 + stack[-1]
    return y


def until_a_letter(x: Any) -> Any:
    y = 0.0
    for k in range(4):
        for letter in "abcd":
            y = y + x[k] * ord(letter) * 0.01
            if letter == "c" or y > 6.0:
                break
        else:
            y = y * 2.0
    return y + len(", ".join(["a", "b"]).partition(",")[2])


KERNELS = (
    reversed_bits, digits, numbers_as_texts, filled_up, gray_code, log_sums, one_column,
    parsed, calculated, until_a_letter,
)  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels(kernel: Callable, runs: list[str], traced: Callable) -> None:
    np.testing.assert_allclose(gradient(kernel, X), traced(kernel, X), rtol=1e-12)
    assert kernel.__name__ in runs


@pytest.mark.parametrize("n", [1, 2])
def test_axes_that_have_one_element_by_chance(n: int, traced: Callable) -> None:
    def f(x: Any) -> Any:
        y = 0.0
        for k in range(2):
            part = x[:n] * (k + 1)
            y = y + np.sum(np.squeeze(part) ** 2)
        return y

    np.testing.assert_allclose(gradient(f, X), traced(f, X), rtol=1e-12)


def text_of_a_variable(x: Any) -> Any:
    y = 0.0
    for v in x:
        y = y + v * len(f"{v:.0f}")
    return y


def test_a_text_of_a_variable(traced: Callable) -> None:
    def outcome(taken: Callable) -> Any:
        try:
            return taken(text_of_a_variable, X)
        except Exception as error:
            return type(error)

    np.testing.assert_equal(outcome(gradient), outcome(traced))
