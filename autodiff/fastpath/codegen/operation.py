"""An elementwise operation for which code is written: its arguments, and how they are named there.

Arguments are called ``_0`` and ``_1``, the values of those that are traced ``x0`` and ``x1``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch.call import NO_RULE
from autodiff.fastpath.codegen import node_code
from autodiff.fastpath.elementwise import Plan
from autodiff.trace.tape import place_of
from autodiff.trace.tracer import FloatTracer, Tracer
from chainrules_core import ProjectTo
from chainrules_core.projection import KNOWN_SPACES

_ndarray = np.ndarray
_FLOAT64 = np.dtype(np.float64)
SYMBOLS = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.pow: "**",
}
"""Operators and what stands for them in written code."""

_KEPT = """\
    x{i} = _{i}.copy("K") if _{i}.nbytes <= tape.small else tape.kept(_{i})"""


class Operation:
    """A function of one or two arguments, some of them traced.

    Attributes
    ----------
    f : callable
        The function.
    kinds : list of type
        The types of the plain values: arrays and numbers.
    wanted : list of int
        Which arguments are traced.
    makes_array : bool
        Whether the result is an array; else it is a number.
    inputs : list of str
        The names of the plain values.
    scope, text : dict
        What all code of this operation reads, and what it is put together from.
    """

    def __init__(self, f: Callable, args: tuple) -> None:
        self.f = f
        traced = [type(a) in (Tracer, FloatTracer) for a in args]
        self.kinds = [type(a._value) if t else type(a) for a, t in zip(args, traced, strict=True)]
        self.wanted = [i for i, t in enumerate(traced) if t]
        self.makes_array = _ndarray in self.kinds
        self.inputs = [f"x{i}" if t else f"_{i}" for i, t in enumerate(traced)]
        symbol = SYMBOLS.get(f) if len(args) == 2 else None
        self.text = {
            "parameters": ", ".join(f"_{i}" for i in range(len(args))),
            "first": f"_{self.wanted[0]}",
            "inputs": ", ".join(self.inputs),
            "expression": f" {symbol} ".join(self.inputs)
            if symbol
            else f"f({', '.join(self.inputs)})",
            "same_tape": "".join(
                f"\n    if _{i}._tape is not tape:\n        return NO_RULE" for i in self.wanted[1:]
            ),
        }
        constants = [i for i, k in enumerate(self.kinds) if k is _ndarray and i not in self.wanted]
        self.text["no_objects"] = "".join(
            f"\n    if _{i}.dtype is OBJECTS:\n        return NO_RULE" for i in constants
        )
        self.scope: dict[str, Any] = {
            **{f"kind{i}": kind for i, kind in enumerate(self.kinds)},
            "FLOAT64": _FLOAT64,
            "FLOAT64_SPACES": KNOWN_SPACES[_FLOAT64],
            "NO_RULE": NO_RULE,
            "OBJECTS": np.dtype(object),
            "ProjectTo": ProjectTo,
            "Tracer": Tracer,
            "__name__": __name__,  # for filters of warnings
            "f": f,
            "ndarray": _ndarray,
            "new": object.__new__,
            "place_of": place_of,
        }

    def make_node(self, plan: Plan) -> None:
        """Say how the node is made, by a plan for reverse mode."""
        keep_y, *keeps = plan.keeps[sum(1 << i for i in self.wanted)]
        held, seen = [], ["y" if keep_y else "None"]
        for i, (name, keep) in enumerate(zip(self.inputs, keeps, strict=True)):
            if keep and i not in self.wanted and self.kinds[i] is _ndarray:
                held.append(_KEPT.format(i=i))
                name = f"x{i}"
            seen.append(name if keep else "None")
        names = node_code.PARENTS[len(self.wanted)]
        parents = [f"    node.{p} = _{i}._index" for p, i in zip(names, self.wanted, strict=True)]
        self.text |= {
            "kept": "\n".join(held),
            "parents": "\n".join(parents),
            "seen": ", ".join(seen),
        }
        self.scope["Node"] = node_code.node_class(plan.rule, self.kinds, self.wanted)
