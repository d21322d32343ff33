"""Draws of univariate distributions: loc + scale z, with z of the standard form.

Each parameter goes its own way through SciPy's check of their shapes. Were what is traced mixed
with what is not, a shape would seem to be traced where only loc is, and z has often no derivative
by shapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.scipy.private import Private
from chainrules.scipy.stats.quadrature import as_found, plain
from chainrules_core import decompose, non_differentiable

base = Private("stats._distn_infrastructure")
check_random_state = Private("_lib._util").check_random_state

generic = Private("stats.rv_generic", base.rv_generic)
CHECK = generic._argcheck_rvs

non_differentiable(base._iter_chunked)


def checked(dist: Any, args: tuple, size: Any) -> tuple:
    """Return shapes, loc and scale as they broadcast, and the size of the draw."""
    shapes, loc, scale, size = as_found(CHECK, dist, *args, size=size)
    common = np.broadcast_shapes(*map(np.shape, args))
    fitted = [
        np.reshape(np.broadcast_to(a, common), np.shape(like))
        for a, like in zip(args, [*shapes, loc, scale], strict=True)
    ]
    return fitted[:-2], fitted[-2], fitted[-1], size


@decompose(base.rv_generic.rvs)
def rvs(self: Any, *args: Any, **kwds: Any) -> Any:
    discrete, rng = kwds.pop("discrete", None), kwds.pop("random_state", None)
    size = kwds.pop("size", None)
    if len(args) > self.numargs + 2:
        args, size = args[:-1], args[-1]
    shapes, loc, scale = self._parse_args(*args, **kwds)
    fitted, loc, scale, size = checked(self, (*shapes, loc, scale), size)
    if not np.all(plain(self._argcheck(*fitted)) & (plain(scale) >= 0)):
        raise ValueError(
            "Domain error in arguments. The `scale` parameter must be positive for all "
            "distributions, and many distributions have restrictions on shape parameters. Please "
            f"see the `scipy.stats.{self.name}` documentation for details."
        )
    rng = self._random_state if rng is None else check_random_state(rng)
    z = self._rvs(*fitted, size=size, random_state=rng)
    y = z * scale + loc
    if discrete and not isinstance(self, base.rv_sample):
        y = plain(y)
        return int(y) if size == () else y.astype(np.int64)
    return y
