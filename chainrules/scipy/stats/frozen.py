"""Frozen distributions: norm(loc, scale).logpdf(x) with traced parameters.

A frozen distribution keeps its parameters in itself, so a call of its methods has no argument that
an engine could see. Freezing traced parameters makes an object of the class below, whose methods
hand them to a function that engines do see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy.stats import distributions

from chainrules_core import decompose, primitive

METHODS = """
    cdf isf logcdf logpdf logpmf logsf pdf pmf ppf sf
    mean var std median entropy moment stats support
"""


@primitive
def call_method(*values: Any, dist: Any = None, name: str = "", keys: tuple = ()) -> Any:
    """Call a method of a distribution; the last of the values are its parameters by name."""
    count = len(values) - len(keys)
    named = dict(zip(keys, values[count:], strict=True))
    return getattr(dist, name)(*values[:count], **named)


@decompose(call_method)
def call_method_body(*values: Any, dist: Any, name: str, keys: tuple) -> Any:
    count = len(values) - len(keys)
    named = dict(zip(keys, values[count:], strict=True))
    return getattr(dist, name)(*values[:count], **named)


def frozen_method(name: str) -> Callable:
    def method(self: Any, *args: Any) -> Any:
        keys = tuple(self.kwds)
        values = (*args, *self.args, *self.kwds.values())
        return call_method(*values, dist=self.dist, name=name, keys=keys)

    method.__name__ = method.__qualname__ = name
    return method


class TracedFrozen(distributions.rv_frozen):
    """A distribution with traced parameters."""

    def __init__(self, dist: Any, args: tuple, kwds: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = dist, args, kwds


for method_name in METHODS.split():
    setattr(TracedFrozen, method_name, frozen_method(method_name))


def freeze(self: Any, *args: Any, **kwds: Any) -> TracedFrozen:
    return TracedFrozen(self, args, kwds)


for f in (distributions.rv_continuous.__call__, distributions.rv_continuous.freeze):
    decompose(f)(freeze)
if distributions.rv_discrete.freeze is not distributions.rv_continuous.freeze:
    decompose(distributions.rv_discrete.freeze)(freeze)
