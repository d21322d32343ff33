"""Generators of programs, one module for each class of holes.

A module has ``write(seed)``, which returns the source of a program in the form that
:func:`tools.fuzz.judge.load` reads: a function ``program`` and its ``ARGUMENTS``. The same seed
writes the same program. "mixed" stands for :mod:`tools.fuzz.writer`, which writes programs of all
that the engine follows.
"""

from __future__ import annotations

import importlib
import pkgutil

MIXED = "mixed"


def names() -> list[str]:
    """Return the names of all generators."""
    return [MIXED, *sorted(found.name for found in pkgutil.iter_modules(__path__))]


def write(name: str, seed: int) -> str:
    """Return the program that a generator writes for a seed."""
    if name == MIXED:
        from tools.fuzz import writer

        return writer.write(seed).source
    return importlib.import_module(f"{__name__}.{name}").write(seed)
