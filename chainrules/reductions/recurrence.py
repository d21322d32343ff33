"""Linear recurrences y_i = m_i y_{i-1} + b_i along the last axis, without a loop over i.

Two steps make one of the same form: y_{2j+1} = (m_{2j+1} m_{2j}) y_{2j-1} + (m_{2j+1} b_{2j} +
b_{2j+1}). So the odd elements follow from a recurrence of half the length, and the even ones from
the odd: O(n) operations in O(log n) calls (the "cyclic reduction" of parallel prefix sums). Nothing
is divided, so zeros are exact; and the calls have rules, so derivatives of any order are.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def recurrence(m: Any, b: Any) -> Any:
    """Return y with y_i = m_i y_{i-1} + b_i and y_{-1} = 0.

    Examples
    --------
    >>> recurrence(np.array([7.0, 2.0, 0.0, 3.0]), np.array([1.0, 1.0, 5.0, 1.0]))
    array([ 1.,  3.,  5., 16.])
    """
    n = np.shape(b)[-1]
    if n <= 1:
        return b
    odd_m, odd_b = m[..., 1::2], b[..., 1::2]
    even_m, even_b = m[..., 0::2], b[..., 0::2]
    pairs = n // 2
    odd = recurrence(odd_m * even_m[..., :pairs], odd_m * even_b[..., :pairs] + odd_b)
    before = np.concatenate([np.zeros_like(odd[..., :1]), odd[..., : n - pairs - 1]], axis=-1)
    even = even_m * before + even_b
    woven = np.reshape(np.stack([even[..., :pairs], odd], axis=-1), (*np.shape(b)[:-1], 2 * pairs))
    return woven if n % 2 == 0 else np.concatenate([woven, even[..., -1:]], axis=-1)


def reversed_recurrence(m: Any, b: Any) -> Any:
    """Return y with y_i = m_{i+1} y_{i+1} + b_i and y_n = 0.

    Examples
    --------
    >>> reversed_recurrence(np.array([7.0, 2.0, 0.0]), np.array([1.0, 1.0, 5.0]))
    array([3., 1., 5.])
    """
    shifted = np.concatenate([m[..., 1:], m[..., :1]], axis=-1)  # m_n multiplies y_n = 0
    return recurrence(shifted[..., ::-1], b[..., ::-1])[..., ::-1]
