"""Numbers of mpmath, which are not differentiated: they hold whole numbers.

Those of sympy are made of them. This module is loaded when somebody has imported mpmath; where that
is not installed, it refuses nothing.
"""

import importlib

from chainrules.refused import refuse

_NUMBERS = (
    "a number of mpmath holds whole numbers, which have no derivative; numbers of sympy are made "
    "of such. For mpmath compute with floats (mpmath.fp.sin, mpmath.fp.quad) or with SciPy, for "
    "sympy with a function that sympy.lambdify makes of the expression; or give the function that "
    "you call a rule (chainrules_core.rrule.register)."
)
_OPERATORS = "add sub mul truediv mod pow radd rsub rmul rtruediv rmod rpow lt le gt ge"


def _refuse() -> None:
    try:
        libmp, numbers = map(importlib.import_module, ("mpmath.libmp", "mpmath.ctx_mp_python"))
    except ImportError:
        return
    refuse(libmp.from_float, _NUMBERS, name="mpmath.mpf")
    for cls in (numbers._mpf, numbers._mpc):
        seen = set()  # one method may have two names
        for name in _OPERATORS.split():
            method = getattr(cls, f"__{name}__", None)
            if method not in seen and method is not getattr(object, f"__{name}__", None):
                seen.add(method)
                refuse(method, _NUMBERS, name=f"mpmath.{cls.__name__[1:]}.__{name}__")


_refuse()
