"""Parameters that the tests of scipy.linalg share."""

import numpy as np
import pytest


def single(*arrays):
    """Return the arrays in single precision."""
    return [a.astype(np.float32 if a.dtype.kind == "f" else np.complex64) for a in arrays]


def case(f, *args, **kwargs):
    """Return the parameters (f, args, kwargs) of a test, named after the function and shapes."""
    options = ",".join(map(str, kwargs.values()))
    return pytest.param(f, args, kwargs, id=f"{f.__name__}{[np.shape(a) for a in args]}{options}")


def takes_lists(f, *others):
    """Whether the function takes a matrix as a list: SciPy 1.18 asks many for its shape."""
    try:
        f([[1.0]], *others)
    except AttributeError:
        return False
    return True
