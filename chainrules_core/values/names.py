"""Type groups for the signatures of rules: ``@rrule.register(np.dot, Array, Array)``.

A union is a tuple, as in `isinstance`. Note that ``np.float64`` is a `float` and ``np.complex128``
a `complex`; that `bool` is an `int`, so that `Number` and `Real` take truth values; and that
``np.bool_`` is no number to NumPy, and belongs to `Scalar` alone.
"""

import numpy as np

Real = (int, float, np.integer, np.floating)
"""Python's and NumPy's real numbers."""

Number = (int, float, complex, np.number)
"""Python's and NumPy's numbers, real or complex."""

Scalar = (*Number, np.bool_)
"""One number or truth value."""

Array = np.ndarray
"""Arrays of any shape and dtype."""

Numeric = (*Number, Array)
"""An array, or a number as an array without axes."""

Index = (int, np.integer, slice, tuple, type(None), type(Ellipsis), np.ndarray, list)
"""What may stand between the brackets of ``x[...]``."""

__all__ = ["Real", "Number", "Scalar", "Array", "Numeric", "Index"]
