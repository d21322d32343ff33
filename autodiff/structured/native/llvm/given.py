"""What arrays are that are given to machine code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Given:
    """An array as machine code takes it.

    Attributes
    ----------
    shape : tuple
        Its shape; None for an axis that may have any length.
    dtype : np.dtype
        Of its elements.
    strides : tuple of int, optional
        In bytes, if its elements are not in the order of C.
    is_written : bool
        Whether the function writes into it.
    """

    shape: tuple
    dtype: np.dtype
    strides: tuple | None = None
    is_written: bool = False
