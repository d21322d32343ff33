"""Write docs/_static/tape.svg, the drawing of a tape on the page about debugging.

python -m tools.tape_picture
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from autodiff import explain

PICTURE = Path(__file__).parent.parent / "docs" / "_static" / "tape.svg"


def misfit(w: Any, x: Any) -> Any:
    """Return a small loss, one part of which is constant."""
    best = np.argmax(x)
    return np.sum((np.tanh(x @ w) - 1.0) ** 2) * best


def drawing() -> str:
    """Return the drawing, which has no times and so is always the same."""
    report = explain(misfit, np.ones(3), np.arange(12.0).reshape(4, 3), memory=False)
    return report.svg(times=False)


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
