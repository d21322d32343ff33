"""The addresses of BLAS are found without importing SciPy's linear algebra, which works later."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("llvmlite")

PROGRAM = """
import sys
from autodiff.structured.native.llvm import blas
from autodiff.structured.native.llvm.function_builder import FunctionBuilder
from autodiff.structured.native.llvm.modules import LLVMModule
module = LLVMModule("test")
for name in ("dgemm", "dgesv"):
    FunctionBuilder(module, name, [])
found = blas.addresses(module)
assert "scipy.linalg" not in sys.modules
import scipy.linalg.cython_blas, scipy.linalg.cython_lapack
import numpy as np
assert scipy.linalg.cython_blas.__pyx_capi__ and scipy.linalg.cython_lapack.__pyx_capi__
blas._exported.cache_clear()
assert blas.addresses(module) == found
assert np.all(scipy.linalg.solve(2 * np.eye(2), np.ones(2)) == 0.5)
"""


def test_addresses() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=100)
