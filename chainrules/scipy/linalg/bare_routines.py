"""What is beneath scipy.linalg: the functions of BLAS and LAPACK, which are not differentiated."""

from __future__ import annotations

from typing import Any

from scipy.linalg import blas, lapack

from chainrules.refused import refuse

WRAPPED = (
    "it is a bare routine of BLAS or LAPACK. Use the function of NumPy or scipy.linalg that is "
    "made of it."
)


def routines(module: Any) -> dict[str, Any]:
    """The wrapped routines of a module, each once, by the first of its names."""
    found: dict[int, tuple[str, Any]] = {}
    for name in dir(module):
        f = getattr(module, name, None)
        if type(f).__name__ == "fortran":
            found.setdefault(id(f), (name, f))
    return dict(found.values())


for _module in (blas, lapack):
    for _name, _routine in routines(_module).items():
        refuse(_routine, WRAPPED, name=f"{_module.__name__}.{_name}")
