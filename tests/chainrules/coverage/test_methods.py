"""Every differentiable method and property of SciPy's objects, in both modes, on a sample call.

The modules in the folder `methods` are tables: public name of a class or object → rows, each
``(names, body, *args)`` for each of the names, separated by blanks. A body gets the class or object
and a function that calls the method, or reads the property, of what it is given first. All floats
among the arguments vary.
"""

import inspect
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import autodiff
from chainrules.coverage import MODULES, coverage
from chainrules.coverage.known import SCIPY
from chainrules.coverage.rows import ERROR, owner_of
from tests.chainrules.coverage.directions import flat, rebuilt, slope, total, varies
from tests.helpers import module_from

FOLDER = Path(__file__).with_name("methods")
# Differences of what a search or solver finds are as good as the search.
TOLERANCES = {"fit": 2e-3, "mode": 2e-3, "step": 1e-3, "dense_output": 1e-3}
KINDS = ("differentiable", "higher-order")


def tables():
    """All tables: owner → rows."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        found.update(module_from(path, f"methods_{path.stem}").SAMPLES)
    return found


TABLES = tables()


def caller(name):
    """A function that calls a method or reads a property."""

    def call(instance, *args, **kwargs):
        member = getattr(instance, name)
        if isinstance(inspect.getattr_static(instance, name, None), property):
            return member
        return member(*args, **kwargs) if callable(member) else member

    return call


def compared(body, owner, name, args):
    """What is wrong in each mode, as text."""
    call = caller(name)

    def loss(*args):
        return total(body(owner, call, *args))

    try:
        expected, v = slope(loss, args)
        plain = loss(*args)
    except Exception as error:  # all of an owner's are reported
        return [f"{name}: {type(error).__name__}: {error}"]
    rough = TOLERANCES.get(name, 0.0)
    places = tuple(i for i, a in enumerate(args) if varies(a))
    found = []
    if not np.isfinite(expected):
        found.append(f"{name}: differences {expected}")
    for mode in ("reverse", "forward"):
        try:
            if mode == "reverse":
                value, bars = autodiff.value_and_gradient(loss, *args, argnums=places)
                got = flat([np.asarray(g) for g in bars]) @ v
            else:
                value, push = autodiff.pushforward(loss, *args, argnums=places)
                dots = rebuilt(args, v)
                got = push(*[dots[i] for i in places])
        except Exception as error:  # likewise
            found.append(f"{name}, {mode}: {type(error).__name__}: {error}")
            continue
        if not np.isclose(value, plain, rtol=1e-7, atol=1e-10):
            found.append(f"{name}, {mode}: value {value}, not {plain}")
        if not np.isclose(got, expected, rtol=rough or 2e-5, atol=rough / 20 or 2e-6):
            found.append(f"{name}, {mode}: {got}, differences {expected}")
    return found


# All distributions have the same methods, and those with integrals take minutes: the others are
# compared by `make test-methods`, which is part of `make nightly`.
USUAL = frozenset(
    ["norm", "gamma", "beta", "expon", "t", "lognorm", "poisson", "binom", "multivariate_normal"]
)
OWNERS = [
    owner
    for owner in TABLES
    if not owner.startswith("scipy.stats.")
    or owner.rpartition(".")[2] in USUAL
    or os.environ.get("CHAINRULES_METHODS") == "all"
]


@pytest.mark.parametrize("owner", OWNERS)
def test_owner(owner):
    wrong = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        member = owner_of(owner)
        for names, body, *args in TABLES[owner]:
            for name in names.split():
                wrong += compared(body, member, name, tuple(args))
    assert not wrong, "\n".join(wrong)


def test_every_differentiable_method_has_a_sample():
    sampled = {
        f"{owner}.{name}"
        for owner, rows in TABLES.items()
        for names, *_ in rows
        for name in names.split()
    }
    asked = [
        f"{row.module}.{row.name}"
        for row in coverage(SCIPY)
        if row.module not in MODULES and row.kind in KINDS and row.state != ERROR
    ]
    assert len(asked) > 3500
    assert [name for name in asked if name not in sampled] == []
