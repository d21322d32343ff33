"""What a wrong derivative looks like: guesses at the mistake, for failure messages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def hint(actual: np.ndarray, expected: np.ndarray, rtol: float = 1e-6) -> str:
    """Return a sentence that says how a wrong value resembles the right one, or nothing.

    Examples
    --------
    >>> hint(np.array([1.0, -2.0]), np.array([-1.0, 2.0]))
    '. It is the negative of what is expected: is a sign missing?'
    """
    if expected.size == 0 or expected.dtype.kind not in "fc":
        return ""
    with np.errstate(all="ignore"):
        for resembles, sentence in _guesses(actual, expected, max(rtol, 1e-6)):
            if resembles:
                return f". {sentence}"
    return ""


def _guesses(a: np.ndarray, e: np.ndarray, rtol: float) -> Iterator[tuple[bool, str]]:
    def same(x: np.ndarray, y: np.ndarray) -> bool:
        return x.shape == y.shape and bool(np.allclose(x, y, rtol, 1e-9))

    if a.shape != e.shape:
        yield from _shape_guesses(a, e)
        return
    yield bool(np.isnan(a).any() and not np.isnan(e).any()), "There is NaN in it."
    yield not a.any(), "It is zero throughout."
    yield not e.any(), "Zero is expected throughout."
    yield same(a, -e), "It is the negative of what is expected: is a sign missing?"
    yield (
        bool(np.iscomplexobj(e) and same(a, np.conj(e))),
        "It is the complex conjugate of what is expected: is a conj missing, or one too many?",
    )
    yield (
        bool(np.iscomplexobj(e) and same(a, -np.conj(e))),
        "It is minus the complex conjugate of what is expected: conj and a sign.",
    )
    yield (
        bool(np.iscomplexobj(e) and same(np.real(a), np.real(e)) and not np.imag(a).any()),
        "It is the real part of what is expected: the imaginary part is lost.",
    )
    if e.ndim >= 2 and e.shape[-1] == e.shape[-2]:
        yield same(a, np.swapaxes(e, -1, -2)), "It is the transpose of what is expected."
        yield (
            same(a, np.conj(np.swapaxes(e, -1, -2))),
            "It is the conjugate transpose of what is expected.",
        )
    # One complex factor throughout.
    weight = np.vdot(e, e)
    factor = np.vdot(e, a) / weight if weight else 0.0
    yield (
        bool(np.isfinite(factor)) and e.size > 1 and factor != 0 and same(a, factor * e),
        f"It is {_plain(factor)} times what is expected, throughout.",
    )
    ratio = (a / e).ravel()[0] if e.size == 1 else np.nan
    yield (
        bool(np.isfinite(ratio)) and _is_simple(ratio),
        f"It is {_plain(ratio)} times what is expected.",
    )
    yield same(np.sort(a, axis=None), np.sort(e, axis=None)), "The entries are in another order."


def _shape_guesses(a: np.ndarray, e: np.ndarray) -> Iterator[tuple[bool, str]]:
    yield (
        a.size == e.size and np.squeeze(a).shape == np.squeeze(e).shape,
        "They differ in axes of length one.",
    )
    yield a.shape == e.shape[::-1], "The axes are in the reverse order: a transpose?"
    try:
        broadcasts = np.broadcast_shapes(a.shape, e.shape) == a.shape
    except ValueError:
        broadcasts = False
    yield (
        broadcasts,
        "The argument has been broadcast: sum its cotangent back with unbroadcast(x_bar, shape).",
    )


def _is_simple(ratio: complex) -> bool:
    """Whether a factor looks like one that somebody forgot."""
    size = abs(ratio)
    return any(np.isclose(size, k, rtol=1e-6) for k in (0.25, 1 / 3, 0.5, 2, 3, 4, np.pi))


def _plain(factor: complex) -> str:
    factor = complex(factor)
    return f"{factor.real:.6g}" if abs(factor.imag) <= 1e-9 * abs(factor) else f"{factor:.6g}"
