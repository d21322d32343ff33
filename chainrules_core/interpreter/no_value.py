"""What NumPy's functions have as the default of an argument that was not given."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np


def _default() -> Any:
    """Return the default as a public function shows it."""
    return inspect.signature(np.sum).parameters["initial"].default


# The only private name of NumPy's in use.
NO_VALUE: Any = np._NoValue if hasattr(np, "_NoValue") else _default()
