"""Loops become machine code at the first call here."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("llvmlite")

import autodiff
from autodiff.structured import calls
from autodiff.structured.runtime import Structured


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[Structured]:
    """The programs whose loops became machine code, as far as they could."""
    found: list[Structured] = []
    make = Structured._make_native

    def noted(self: Structured) -> None:
        make(self)
        found.append(self)

    monkeypatch.setattr(Structured, "_make_native", noted)
    monkeypatch.setattr(calls.Settings, "native", -1.0)
    return found


@pytest.fixture
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Take a gradient by the source for NumPy."""

    def gradient(f: Callable, *args: object) -> object:
        with monkeypatch.context() as m:
            m.setattr(calls.Settings, "native", float("inf"))
            return autodiff.gradient(f, *args)

    return gradient
