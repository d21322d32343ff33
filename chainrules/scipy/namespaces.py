"""Functions of NumPy in the spelling of the array API, by which SciPy's own code calls them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy._lib._array_api import array_namespace

from chainrules_core import decompose

namespace = array_namespace(np.zeros(1))
solve = getattr(getattr(namespace, "linalg", None), "solve", np.linalg.solve)

if solve is not np.linalg.solve:

    @decompose(solve)
    def solve_body(x1: Any, x2: Any) -> Any:
        return np.linalg.solve(x1, x2)
