"""What is known about public functions by hand: the files of the folder ``facts``.

Each file is a table of modules (or classes, for their methods), and each of these a table of

    differentiable   the output depends differentiably on an argument
    higher_order     takes or makes functions: as differentiable as they are
    constant         integers, truth values, texts, steps, constants made from shapes, draws that
                     jump as their parameters change
    out_of_scope     exceptions, abstract types, configuration
    traced           no rule of its own: the engine differentiates the body, and a test shows it
    errors           reason → functions whose use with traced values is a clear error

The first four hold every name once; the last two say more about some.
"""

from __future__ import annotations

import functools
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
    return Known(kinds, frozenset(table.get("traced", "").split()), errors)


@functools.cache
def _all() -> dict[str, Known]:
    folder = resources.files("chainrules.coverage") / "facts"
    found = {}
    for name in FILES:
        text = (folder / f"{name}.toml").read_text(encoding="utf-8")
        found.update({module: _read(table) for module, table in tomllib.loads(text).items()})
    return found


def known_of(module: str) -> Known:
    """Return what is stated about a module; nothing for one that no file knows."""
    return _all().get(module, Known({}, frozenset(), {}))


FILES = ("python", "numpy", "polynomial", "scipy", "special", "signal", "stats")
PYTHON = ("builtins", "math", "cmath", "operator", "functools", "itertools", "statistics")
NUMPY = (
    "numpy", "numpy.ndarray", "numpy.linalg", "numpy.fft", "numpy.random",
    "numpy.random.Generator", "numpy.lib.scimath", "numpy.lib.stride_tricks", "numpy.polynomial",
    "numpy.polynomial.polynomial", "numpy.polynomial.chebyshev", "numpy.polynomial.legendre",
    "numpy.polynomial.hermite", "numpy.polynomial.hermite_e", "numpy.polynomial.laguerre",
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
