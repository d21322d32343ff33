"""What is known about public functions by hand: the files of the folder ``facts``.

Each file is a table of modules and classes, and each of these a table of

    differentiable   the output depends differentiably on an argument
    higher_order     takes or makes functions: as differentiable as they are
    constant         integers, truth values, texts, steps, constants made from shapes, draws that
                     jump as their parameters change
    out_of_scope     exceptions, abstract types, configuration
    traced           no rule of its own: the engine differentiates the body, and a test shows it
                     (`*` stands for all that is differentiable or higher-order)
    errors           reason → functions whose use with traced values is a clear error

The first four hold every name once; the last two say more about some.

A class has what is stated of it and of the classes it derives from: what all distributions share is
stated of `scipy.stats.rv_continuous`, once. An object that a module exports, such as
`scipy.stats.norm`, has the methods of its class; what differs is stated under its own name.
"""

from __future__ import annotations

import functools
import itertools
import tomllib
from importlib import resources
from typing import NamedTuple

KINDS = ("differentiable", "higher_order", "constant", "out_of_scope")
WORDS = {
    "differentiable": "differentiable",
    "higher_order": "higher-order",
    "constant": "non-differentiable",
    "out_of_scope": "out of scope",
}


class Known(NamedTuple):
    """What is stated about the names of one module or class."""

    kinds: dict[str, str]
    traced: frozenset[str]
    errors: dict[str, str]


NOTHING = Known({}, frozenset(), {})


def _read(table: dict) -> Known:
    kinds: dict[str, str] = {}
    for kind in KINDS:
        for name in table.get(kind, "").split():
            if name in kinds:
                raise ValueError(f"{name} is stated to be {kinds[name]} and {kind}.")
            kinds[name] = kind
    errors = {
        name: reason for reason, names in table.get("errors", {}).items() for name in names.split()
    }
    traced = set(table.get("traced", "").split())
    if "*" in traced:
        traced = {name for name, kind in kinds.items() if kind in KINDS[:2]} - errors.keys()
    return Known(kinds, frozenset(traced), errors)


@functools.cache
def _all() -> dict[str, Known]:
    folder = resources.files("chainrules.coverage") / "facts"
    found = {}
    for name in FILES:
        text = (folder / f"{name}.toml").read_text(encoding="utf-8")
        found.update({module: _read(table) for module, table in tomllib.loads(text).items()})
    return found


def is_stated(name: str) -> bool:
    """Whether a file has a table of this very name."""
    return name in _all()


def known_of(module: str) -> Known:
    """Return what is stated about a module; nothing for one that no file knows."""
    return _all().get(module, NOTHING)


def known_of_methods(owner: str, cls: type) -> Known:
    """Return what is stated about the methods and properties of a class.

    Parameters
    ----------
    owner : str
        The public name of the class, or of an object of it.
    cls : type
        The class.

    Returns
    -------
    Known
        What the nearest class says of a name counts.
    """
    names = [owner, *[public_name(base) for base in cls.__mro__]]
    found = [_all()[name] for name in dict.fromkeys(names) if name in _all()]
    if not found:
        return NOTHING
    kinds: dict[str, str] = {}
    traced: set[str] = set()
    errors: dict[str, str] = {}
    for known in reversed(found):
        stated = known.kinds.keys() | known.errors.keys()
        kinds |= known.kinds
        traced = traced - stated | known.traced
        errors = {name: why for name, why in errors.items() if name not in stated} | known.errors
    return Known(kinds, frozenset(traced), errors)


def public_name(cls: type) -> str:
    """Return the name of a class without the private module in which it is defined.

    Examples
    --------
    >>> import scipy.stats
    >>> scipy.stats.rv_continuous.__module__
    'scipy.stats._distn_infrastructure'
    >>> public_name(scipy.stats.rv_continuous)
    'scipy.stats.rv_continuous'
    """
    parts = itertools.takewhile(lambda part: part[0] != "_", cls.__module__.split("."))
    return ".".join([*parts, cls.__name__])


FILES = (
    "python", "numpy", "polynomial", "scipy", "special", "signal", "stats",
    "distributions", "interpolants", "objects", "sparse",
)  # fmt: skip
PYTHON = ("builtins", "math", "cmath", "operator", "functools", "itertools", "statistics")
NUMPY = (
    "numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.lib.scimath",
    "numpy.lib.stride_tricks", "numpy.polynomial", "numpy.polynomial.polynomial",
    "numpy.polynomial.chebyshev", "numpy.polynomial.legendre", "numpy.polynomial.hermite",
    "numpy.polynomial.hermite_e", "numpy.polynomial.laguerre",
)  # fmt: skip
SCIPY = (
    "scipy.special", "scipy.linalg", "scipy.fft", "scipy.fftpack", "scipy.sparse",
    "scipy.sparse.linalg", "scipy.sparse.csgraph", "scipy.integrate", "scipy.interpolate",
    "scipy.optimize", "scipy.differentiate", "scipy.signal", "scipy.signal.windows",
    "scipy.ndimage", "scipy.stats", "scipy.stats.qmc", "scipy.stats.contingency", "scipy.spatial",
    "scipy.spatial.distance", "scipy.spatial.transform", "scipy.cluster.vq",
    "scipy.cluster.hierarchy",
)  # fmt: skip
MODULES = (*PYTHON, *NUMPY, *SCIPY)
