"""Kernels run as Python, which checks the places that they read and write."""

import inspect
import math
from operator import add, mul as multiply
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided


class Math:
    """The functions of ``math``, which give NaN and Inf as machine code does."""

    inf, nan = math.inf, math.nan

    def __getattr__(self, name):
        short = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}
        return getattr(np, short.get(name, name))


def typed(run, given):
    """Return a kernel that insists on what machine code takes: flat memory and floats."""

    def called(*args):
        flat = []
        for a, expected in zip(args, given, strict=True):
            if expected is None:
                assert type(a) is float
                flat.append(a)
                continue
            assert (a.shape, a.dtype) == (expected.shape, expected.dtype)
            if not a.flags.c_contiguous:
                return -1
            b = a.itemsize
            size = 1 + sum((n - 1) * s // b for n, s in zip(a.shape, a.strides, strict=True))
            flat.append(
                as_strided(a, (size if a.size else 0,), (b,), writeable=expected.is_written)
            )
        return run(*flat)

    return called


def get(array, place):
    assert 0 <= place < len(array)
    return np.float64(array[place])


def put(array, place, value):
    assert 0 <= place < len(array)
    array[place] = value


@pytest.fixture
def interpreted(monkeypatch):
    """Have kernels made at once, for all programs, and run as Python; return what they are."""
    from autodiff.compiler.kernels import array_kernels
    from autodiff.compiler.kernels.linalg import linalg_runtime

    made = []

    def machine_code(source, tables, given, is_long, is_brief, notices_errors):
        scope = {
            "get": get, "put": put, "plus": add, "times": multiply, "larger": max, "smaller": min,
            "exp": np.exp, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "log": np.log,
            "log1p": np.log1p, "expm1": np.expm1, "math": Math(), "np": np,
            "float32": lambda x: np.float64(np.float32(x)), **tables,
        }  # fmt: skip
        exec(inspect.getsource(linalg_runtime), scope)
        exec(source, scope)
        made.append(SimpleNamespace(source=source, given=given))
        return typed(scope["kernel"], given)

    monkeypatch.setattr(array_kernels, "machine_code", machine_code)
    monkeypatch.setattr(array_kernels, "is_installed", lambda: True)
    return made
