"""Values that SciPy has found, with the derivatives of a formula for the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core import ignore_derivatives


def with_value(known: Any, y: Any) -> Any:
    """Return y with its derivatives and another value; without them where that is infinite."""
    y = np.where(np.isinf(known), 0.0, y)
    return known + (y - ignore_derivatives(y))
