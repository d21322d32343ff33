"""Kernels run as Python, so that they are tested quickly and without numba."""

import math
from operator import add, mul as multiply

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided


class Math:
    """The functions of ``math``, which give NaN and Inf as machine code does."""

    inf, nan = math.inf, math.nan

    def __getattr__(self, name):
        short = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}
        return getattr(np, short.get(name, name))


def typed(run, kinds):
    """Return a kernel that insists on what machine code takes: flat arrays and floats.

    Of arrays that are read by their strides it is given the memory.
    """

    def called(*args):
        given = []
        for a, kind in zip(args, kinds, strict=True):
            if kind.isdigit():
                assert a.ndim == int(kind)
                size = 1 + sum((n - 1) * s // 8 for n, s in zip(a.shape, a.strides, strict=True))
                a = as_strided(a, (size,), (8,), writeable=False)
            assert type(a) is float or (a.ndim == 1 and a.flags.c_contiguous)
            given.append(a)
        return run(*given)

    return called


def get(array, place):
    assert 0 <= place < len(array)
    return np.float64(array[place])


def put(array, place, value):
    assert 0 <= place < len(array)
    array[place] = value


@pytest.fixture
def interpreted(monkeypatch):
    """Have kernels made at once, for all programs, and run as Python; return the list of them."""
    from autodiff.compiler.numba_backend import array_kernels
    from autodiff.compiler.numba_backend.linalg import linalg_runtime

    made = []

    def compiled(self):
        scope = {
            "get": get, "put": put, "plus": add, "times": multiply, "larger": max, "smaller": min,
            "exp": np.exp, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "log": np.log,
            "log1p": np.log1p, "expm1": np.expm1,
            "math": Math(), "np": np, **self._tables,
            **linalg_runtime.routines(get, put, add, multiply, lambda f: f),
        }  # fmt: skip
        exec(self.source, scope)
        names = {
            "run": typed(scope["kernel"], self._kinds), "memory": [], "size": self._size,
            "empty": lambda shape: np.full(shape, np.nan),
            "array": np.array, "float64": np.float64,
        }  # fmt: skip
        exec(self._wrapper, names)
        self._run = names["call"]
        made.append(self)
        return self

    monkeypatch.setattr(array_kernels.Kernel, "compiled", compiled)
    monkeypatch.setattr(array_kernels, "is_installed", lambda: True)
    return made
