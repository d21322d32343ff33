"""Loops over set displays take the items in the order in which the plain function takes them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.structured import settings
from tests.helpers import module_from

X = np.array([0.9, 0.4, 1.6])

WAYS = [
    "for k in {items}:\n        t = t * 0.9 + x[1] * number(k)",
    "s = {items}\n    for k in s:\n        t = t * 0.9 + x[1] * number(k)",
    "for y in [x[1] * number(k) for k in {items}]:\n        t = t * 0.9 + y",
    "s = set({items})\n    for k in s:\n        t = t * 0.9 + x[1] * number(k)",
    "s = {items}\n    s.add({first})\n    for k in s:\n        t = t * 0.9 + x[1] * number(k)",
    "s = {items} | {{{first}}}\n    for k in sorted(s, key=str) + list(s):\n"
    "        t = t * 0.9 + x[1] * number(k)",
    "for k in (lambda: {items})():\n        t = t * 0.9 + x[1] * number(k)",
    "if {first} in {items} and 7 not in {items}:\n        t = t * 2.0\n"
    "    for k in {items}:\n        t = t * 0.9 + x[1] * number(k)",
]


def items_of(rng: random.Random) -> list[str]:
    """Return the items of a display: integers that collide in the table of a set, and texts."""
    if rng.random() < 0.3:
        return [repr(c * n) for n, c in enumerate(rng.sample("abcdefgh", rng.randint(2, 6)), 1)]
    signs = ["", "", "-", "1 + "]
    return [rng.choice(signs) + str(8 * k) for k in rng.sample(range(1, 40), rng.randint(2, 9))]


def program(seed: int) -> str:
    rng = random.Random(seed)
    lines = ["def number(k):\n    return float(len(k) if type(k) is str else k % 23)\n"]
    for i, way in enumerate(WAYS):
        items = items_of(rng)
        text = way.format(items="{" + ", ".join(items) + "}", first=items[0])
        lines.append(f"def f{i}(x):\n    t = x[0]\n    {text}\n    return t + x[2]\n")
    return "\n".join(lines)


def called(f: Callable) -> Any:
    for _ in range(3):
        found = autodiff.value_and_gradient(f, X)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_orders(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("turns", "worth", "least"):
        monkeypatch.setattr(settings.Settings, name, 0)
    path = tmp_path / f"set_displays_{seed}.py"
    path.write_text(program(seed))
    # Frozen sets of code that was loaded from a file may have another order than compiled ones.
    for module in (module_from(path), module_from(path)):
        for i in range(len(WAYS)):
            f = getattr(module, f"f{i}")
            slope = [(f(X + d) - f(X - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
            for is_enabled in (True, False):
                monkeypatch.setattr(settings.Settings, "enabled", is_enabled)
                compiled = autodiff.compile(lambda x, f=f: autodiff.value_and_gradient(f, x))
                for value, found in (called(f), compiled(X)):
                    assert value == pytest.approx(f(X), rel=1e-13)
                    np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-6)


def test_texts_have_another_order_in_each_process() -> None:
    """The plain function runs in this process as well, so any order of it will do."""

    def f(x: Any) -> Any:
        t = x[0]
        for word in {"in", "out", "wall", "door", "floor"}:
            t = t * 0.5 + x[1] * len(word)
        return t

    value, found = autodiff.value_and_gradient(f, X)
    assert value == f(X)
    np.testing.assert_allclose(found[1], f(np.array([0.0, 1.0, 0.0])), rtol=1e-12)
