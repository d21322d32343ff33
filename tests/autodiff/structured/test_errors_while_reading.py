"""Errors that are raised while a function is read, or its machine code made, are handled there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.structured import calls

special = pytest.importorskip("scipy.special")


def test_of_calls_with_samples(monkeypatch: pytest.MonkeyPatch, runs: list[str]) -> None:
    monkeypatch.setattr(calls.Settings, "native", -1.0)

    def f(x: Any, s: Any) -> Any:
        t = 0.0
        for i in range(2):
            y = special.zetac(x * s)
            t = t + np.sum(y * (i + 1.5)) + y[0]
        return t

    x, h = np.array([0.3, 0.8, 1.7, 2.4]), 1e-6
    expected = (f(x, 0.7 + h) - f(x, 0.7 - h)) / (2 * h)
    for _ in range(3):
        assert autodiff.gradient(lambda s: f(x, s), 0.7) == pytest.approx(expected, rel=1e-6)
    assert "f" in runs
