"""Parameters that the tests of scipy.signal share."""

import pytest
from scipy import signal


def case(name, f, *xs, new=None):
    """Return the parameters (f, xs) of a test; it is skipped where SciPy has no function `new`."""
    missing = new is not None and not hasattr(signal, new)
    marks = [pytest.mark.skip(reason=f"this SciPy has no {new}")] if missing else []
    return pytest.param(f, xs, id=name, marks=marks)
