"""Calls of `scipy.special` from machine code, through the functions that SciPy exports for Cython.

The results have the same bits as those of the ufuncs for float64. The functions neither warn nor
raise while `scipy.special.geterr` ignores all errors except for a lack of memory, as it does by
default. Callers of machine code check that (`ignores_errors`).
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

from llvmlite import ir

from autodiff.structured.native.llvm.blas import addresses_of, name_of
from autodiff.structured.native.llvm.function_builder import (
    I32,
    TYPES,
    FunctionBuilder,
    exceptions,
)
from autodiff.structured.native.llvm.modules import LLVMModule

NAMES = frozenset({
    "gamma", "gammaln", "loggamma", "psi", "rgamma", "beta", "betaln", "binom", "poch", "erfinv",
    "erfcinv", "erfcx", "erfi", "dawsn", "ndtri", "log_ndtr", "j0", "j1", "y0", "y1", "i0", "i0e",
    "i1", "i1e", "k0", "k0e", "k1", "k1e", "jv", "yv", "iv", "kv", "ive", "kve", "ellipk", "ellipe",
    "ellipkm1", "exp1", "expi", "spence", "gammainc", "gammaincc", "betainc", "exp2", "exp10",
    "cosm1", "exprel", "huber", "pseudo_huber", "boxcox", "boxcox1p", "inv_boxcox", "rel_entr",
    "kl_div", "zetac", "sindg", "cosdg", "log_expit", "owens_t", "voigt_profile", "hyp2f1",
    "betaincc", "betaincinv", "betainccinv", "chdtr", "chdtrc", "chdtri", "cotdg", "tandg",
    "ellipeinc", "ellipkinc", "elliprc", "elliprd", "elliprf", "elliprg", "elliprj", "fdtr",
    "fdtrc", "fdtri", "gammaincinv", "gammainccinv", "gdtr", "gdtrc", "gdtria", "gdtrib", "gdtrix",
    "hyp0f1", "hyperu", "inv_boxcox1p", "jve", "yve", "wright_bessel",
    "log_wright_bessel", "struve", "modstruve", "ndtri_exp", "pdtr", "pdtrc", "powm1", "stdtr",
    "stdtrit", "kolmogorov", "agm", "ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip",
    "nctdtr", "chndtr", "ncfdtr", "wrightomega",
})  # fmt: skip
"""Ufuncs with floats as arguments and results."""
_PREFIX = "special_"


@functools.cache
def _capsule(name: str, count: int) -> Any:
    """Return the capsule of a function of `count` doubles; None if SciPy exports none."""
    table = importlib.import_module("scipy.special.cython_special").__pyx_capi__
    signature = f"double ({'double, ' * count}int __pyx_skip_dispatch)"
    found = [
        capsule
        for key, capsule in table.items()
        if key.removeprefix("__pyx_fuse_").lstrip("0123456789_") == name.lstrip("0123456789_")
        and (key == name or key.startswith("__pyx_fuse_"))
        and name_of(capsule).decode() == signature
    ]
    return found[0] if len(found) == 1 else None


def has(name: str, count: int) -> bool:
    """Whether SciPy exports a function of this name with `count` doubles as parameters."""
    return name in NAMES and _capsule(name, count) is not None


def called(code: FunctionBuilder, name: str, values: list[Any]) -> Any:
    """Call a function of doubles, and clear the floating-point exceptions that it raises.

    SciPy's ufuncs do not report these to NumPy.
    """
    b, mask = code.b, ir.Constant(I32, exceptions())
    before = code.call("fetestexcept", I32, [mask])
    symbol = f"{_PREFIX}{len(values)}_{name}"
    made = code.call(symbol, TYPES["d"], [*values, ir.Constant(I32, 0)])
    after = code.call("fetestexcept", I32, [mask])
    with code.branch(b.icmp_signed("!=", before, after)):
        code.call("feclearexcept", I32, [b.xor(before, after)])
    return made


def addresses(module: LLVMModule) -> dict[str, int]:
    """Return the addresses of the functions that a module calls."""
    called = [x for x in module.globals if x.startswith(_PREFIX)]
    parts = {x: x.removeprefix(_PREFIX).split("_", 1) for x in called}
    return addresses_of({x: _capsule(name, int(n)) for x, (n, name) in parts.items()})


def ignores_errors() -> bool:
    """Whether functions of `scipy.special` neither warn nor raise, except for a lack of memory."""
    errors = sys.modules["scipy.special"].geterr()
    return all(action == "ignore" or error == "memory" for error, action in errors.items())
