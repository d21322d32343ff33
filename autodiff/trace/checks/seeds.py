"""Checks of the cotangents and tangents that users give to pullbacks and pushforwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autodiff.errors import SeedError
from autodiff.trace import pytree
from autodiff.trace.labelled_data import TABLES
from autodiff.trace.tracer import is_tracer, untraced
from chainrules_core import AbstractZero, ProjectTo, Tangent, unthunk
from chainrules_core.rules import name_of


class Seeded(NamedTuple):
    """What is given seeds, in the words of its errors.

    Attributes
    ----------
    map : str
        ``"pullback"`` or ``"pushforward"``.
    seed : str
        What it takes.
    value : str
        What a seed belongs to.
    """

    map: str
    seed: str
    value: str

    def checked(self, f: Callable, x: Any, seed: Any) -> Any:
        """Return a seed in the space of `x`, the number or array that it belongs to."""
        plain = untraced(seed)
        if not _is_number_or_array(plain):
            raise SeedError(
                f"the {self.map} of {name_of(f)} was given {_kind_of(plain)} for an {self.value} "
                f"that is {_kind_of(untraced(x))}; it takes a number or array of numbers like the "
                f"{self.value}."
            )
        if np.shape(plain) != np.shape(untraced(x)):
            raise SeedError(
                f"the {self.map} of {name_of(f)} was given a {self.seed} of shape "
                f"{np.shape(plain)} for an {self.value} of shape {np.shape(untraced(x))}; the two "
                "must agree."
            )
        return ProjectTo(x)(seed)

    def part(self, f: Callable, x: Any, seed: Any, key: Any) -> Any:
        """Return the part of a seed that belongs to part `key` of the pytree `x`."""
        if pytree.is_sparse(type(x)) and not isinstance(seed, Tangent):
            return pytree.entries_at(x, seed)
        if isinstance(seed, (Tangent, dict)):
            try:
                return seed[key]
            except LookupError:
                raise SeedError(
                    f"the {self.map} of {name_of(f)} was given a {type(seed).__name__} without "
                    f"{key!r}, which the {self.value} has; give the same structure."
                ) from None
        if isinstance(x, (tuple, list)) and isinstance(seed, (tuple, list)):
            if len(seed) != len(x):
                raise SeedError(
                    f"the {self.map} of {name_of(f)} takes {len(x)} {self.seed}s, one for each "
                    f"part of the {self.value}; it was given {len(seed)}."
                )
            return seed[key if type(key) is int else type(x)._fields.index(key)]  # type: ignore[union-attr] # a namedtuple
        if type(x) in TABLES and type(seed) is type(x):
            return TABLES[type(x)].seed(x, seed, key)
        if type(seed) is type(x) and hasattr(seed, str(key)):
            return getattr(seed, key)
        raise SeedError(
            f"the {self.map} of {name_of(f)} was given {_kind_of(seed)} for an {self.value} that "
            f"is {_kind_of(x)}; give the same structure."
        )

    def check_alike(self, f: Callable, x: Any, a: Any, b: Any) -> None:
        """Raise if the seeds of an object that is in two places are not the same.

        No seed, or zero, for the second place says nothing about the object.
        """
        a, b = unthunk(a), unthunk(b)
        if a is b or b is None or isinstance(b, AbstractZero):
            return
        parts = pytree.parts_of(x)
        if parts is not None and a is not None and not isinstance(a, AbstractZero):
            for key, part in parts:
                self.check_alike(f, part, self.part(f, x, a, key), self.part(f, x, b, key))
        elif parts is not None or (
            pytree.is_perturbable(x) and (is_tracer(a) or is_tracer(b) or not np.array_equal(a, b))
        ):
            raise SeedError(
                f"the {self.map} of {name_of(f)} was given two {self.seed}s for a part of the "
                f"{self.value} that is one object in two places. Give the same one twice, or "
                "copies of the object (copy.deepcopy)."
            )


PULLBACK = Seeded("pullback", "cotangent", "output")
PUSHFORWARD = Seeded("pushforward", "tangent", "argument")
HESSIAN = Seeded("product with the Hessian", "vector", "argument")


def _is_number_or_array(x: Any) -> bool:
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "fciub"
    return isinstance(x, (int, float, complex))


def _kind_of(x: Any) -> str:
    """Return the class of a value; for an array also its dtype."""
    if type(x) is np.ndarray:
        return f"an array of {x.dtype}"
    name = type(x).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"
