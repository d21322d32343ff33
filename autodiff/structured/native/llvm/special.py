"""Functions of `scipy.special` in machine code: those that SciPy hands to compiled code.

They give the same bits as the ufuncs for float64. They neither warn nor raise as long as
`scipy.special.geterr` says that all errors are ignored (but for a lack of memory), as it does by
default: who calls machine code asks.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

from llvmlite import ir

from autodiff.structured.native.llvm.blas import addresses_of, name_of
from autodiff.structured.native.llvm.code import I32, TYPES, Code, exceptions

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
"""Ufuncs whose arguments and results are floats."""
_PREFIX = "special_"


@functools.cache
def _capsule(name: str, count: int) -> Any:
    """Return what SciPy hands over: a function of so many doubles; None if there is no such one."""
    table = importlib.import_module("scipy.special.cython_special").__pyx_capi__
    wanted = f"double ({'double, ' * count}int __pyx_skip_dispatch)"
    found = [
        capsule
        for key, capsule in table.items()
        if key.removeprefix("__pyx_fuse_").lstrip("0123456789_") == name.lstrip("0123456789_")
        and (key == name or key.startswith("__pyx_fuse_"))
        and name_of(capsule).decode() == wanted
    ]
    return found[0] if len(found) == 1 else None


def has(name: str, count: int) -> bool:
    """Whether there is a function of this name of so many doubles."""
    return name in NAMES and _capsule(name, count) is not None


def called(code: Code, name: str, values: list[Any]) -> Any:
    """Call a function of doubles; what it makes the processor note, SciPy does not tell NumPy."""
    b, mask = code.b, ir.Constant(I32, exceptions())
    before = code.call("fetestexcept", I32, [mask])
    symbol = f"{_PREFIX}{len(values)}_{name}"
    made = code.call(symbol, TYPES["d"], [*values, ir.Constant(I32, 0)])
    after = code.call("fetestexcept", I32, [mask])
    with code.branch(b.icmp_signed("!=", before, after)):
        code.call("feclearexcept", I32, [b.xor(before, after)])
    return made


def addresses(module: ir.Module) -> dict[str, int]:
    """Return where the functions are that a module calls."""
    wanted = [x for x in module.globals if x.startswith(_PREFIX)]
    parts = {x: x.removeprefix(_PREFIX).split("_", 1) for x in wanted}
    return addresses_of({x: _capsule(name, int(n)) for x, (n, name) in parts.items()})


def ignores_errors() -> bool:
    """Whether functions of `scipy.special` neither warn nor raise."""
    special = sys.modules["scipy.special"]
    return all(way == "ignore" or what == "memory" for what, way in special.geterr().items())
