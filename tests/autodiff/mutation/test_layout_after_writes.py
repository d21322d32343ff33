"""An array that was written into lies in memory as it did: whether ``ravel`` copies hangs on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import compile, value_and_gradient

ARRAYS: dict[str, Callable] = {
    "eigenvalues": lambda x: np.linalg.eigvals(x[0] @ x[0].T),
    "real part of a transform": lambda x: np.fft.ifft(x.ravel()).real,
    "real part of a product": lambda x: (x.ravel() * (1 + 0j)).real,
    "reversed column": lambda x: x[0].T[::-1, 0],
    "column of a stack": lambda x: np.stack([x.ravel(), x.ravel()], 1)[:, 0],
    "reversed rows": lambda x: (x * 1.0)[:, ::-1, 0],
    "swapped axes": lambda x: np.swapaxes(x * 2.0, 0, 1),
    "Fortran's order": lambda x: np.asfortranarray(x[0]),
    "compact": lambda x: x * 3.0,
}
VIEWS_OR_COPIES: dict[str, Callable] = {
    "ravel": lambda v: v.ravel(),
    "ravel K": lambda v: v.ravel("K"),
    "ravel F": lambda v: v.ravel("F"),
    "reshape": lambda v: v.reshape(-1),
    "reshape of T": lambda v: v.T.reshape(-1),
    "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray,
    "require": lambda v: np.require(v, requirements="C"),
}


def _at(v: Any) -> None:
    np.add.at(v, 0, 0.85)


def _item(v: Any) -> None:
    v[0] = v[0] * v[-1]


def _none(v: Any) -> None:
    pass


@pytest.mark.parametrize("made", ARRAYS)
@pytest.mark.parametrize("write", [_none, _at, _item])
def test_views_stay_views_and_copies_stay_copies(made: str, write: Callable) -> None:
    x = np.linspace(-0.7, 1.9, 8).reshape(2, 2, 2) ** 2

    for name, seen_as in VIEWS_OR_COPIES.items():

        def f(x: Any, seen_as: Callable = seen_as) -> Any:
            v = ARRAYS[made](x)
            write(v)
            seen_as(v)[...] *= 0.5
            return np.real(np.sum(v * v))  # NumPy 2.5 has complex eigenvalues always

        expected = f(x.copy())
        assert value_and_gradient(f, x.copy())[0] == pytest.approx(expected, rel=1e-12), name
        compiled = compile(lambda x, f=f: value_and_gradient(f, x)[0])
        assert compiled(x.copy()) == pytest.approx(expected, rel=1e-12), name
