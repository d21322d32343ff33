"""Sums of outer products, which rules write for matrices times vectors, as products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.compiler.passes.simplify import nan_of_product


def products(a: Any, x: Any) -> Any:
    y = a @ x
    return y @ (a @ y)


@pytest.mark.parametrize("n, is_product", [(20, False), (80, True)])
def test_two_outer_products_of_rules_are_one_product(n: int, is_product: bool) -> None:
    a = np.cos(np.arange(float(n * n))).reshape(n, n) / n
    x = np.sin(np.arange(float(n)))
    compiled = autodiff.compile(lambda a, x: autodiff.gradient(products, a, x))
    before = autodiff.gradient(products, a, x)
    for _ in range(3):
        for found, expected in zip(compiled(a, x), before, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    assert (".dot(" in compiled.source and "array([" in compiled.source) == is_product


def test_outer_products_of_the_user_keep_their_bits() -> None:
    def f(u: Any, v: Any) -> Any:
        return np.outer(u, v) + np.outer(v, u)

    u, v = np.cos(np.arange(100.0)), np.sin(np.arange(100.0)) * 3.3
    compiled = autodiff.compile(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(u, v), f(u, v))


@pytest.mark.parametrize("bad", [None, np.nan, np.inf, 1e200])
@pytest.mark.parametrize("where", ["x", "w"])
def test_a_large_product_is_searched_for_nan_by_its_factors(bad: float | None, where: str) -> None:
    """What is not finite is found all the same, and then zeros win over infinite slopes."""

    def loss(a: Any, x: Any, w: Any) -> Any:
        y = a @ x
        return np.sum(w * np.sqrt(np.where(y > 0, y, 0.0))) + np.sum((x @ a) * w)

    rng = np.random.default_rng(0)
    a, x, w = rng.normal(size=(80, 80)), rng.normal(size=80), rng.normal(size=80)
    compiled = autodiff.compile(lambda a, x, w: autodiff.gradient(loss, a, x, w))
    given = {"x": x, "w": w}
    with np.errstate(all="ignore"):
        for k in range(3):
            if k and bad is not None:
                given[where][7] = bad
            found, expected = compiled(a, x, w), autodiff.gradient(loss, a, x, w)
            for mine, theirs in zip(found, expected, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-9)
    variants = compiled._variants[3]
    assert any(s.f is nan_of_product for v in variants for s in v.program.steps)
