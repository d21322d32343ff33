"""Growth that is limited, computed by a library in C, into which no engine can look."""

import ctypes
import ctypes.util

_exp = ctypes.CDLL(ctypes.util.find_library("m")).exp
_exp.restype, _exp.argtypes = ctypes.c_double, [ctypes.c_double]


def logistic(t: float, rate: float) -> float:
    """The share that is reached at time `t`."""
    return 1 / (1 + _exp(-rate * t))
