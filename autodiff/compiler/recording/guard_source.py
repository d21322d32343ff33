"""Source that checks whether outside variables have changed."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from autodiff.compiler.recording.captured_guards import is_foreign
from autodiff.compiler.recording.dependency import Dependency
from autodiff.intercept.source.library_code import is_of_library


def checks_of(outside: list[Dependency], names: Any, given: Any = None) -> list[str]:
    """Return the statements that check whether outside variables have changed.

    `names` gives names to the objects in them. Of the function `given` the code is known.
    """
    checks = []
    for d in outside:
        if d.absent is None or d.absent:
            checks.append(_absence(d, names))
            continue
        is_its_name = d.name is not None and d.name == getattr(d.value, "__name__", None)
        value = names.of(d.value, d.name if is_its_name else "outer")
        if d.container is not None:
            kept = names.of(d.container, "cell" if d.name is None else "globals_")
            shown = f"{kept}.cell_contents" if d.name is None else f"{kept}.get({d.name!r})"
            checks.append(f"if {shown} is not {value}: return MISMATCH")
        if d.value is given is not None:
            continue
        if isinstance(d.value, types.FunctionType) and not is_foreign(d.value):
            # autoreload replaces its code
            parts = ("__code__", "__defaults__", "__kwdefaults__")
            pairs = [(f"{value}.{part}", names.of(getattr(d.value, part), "had")) for part in parts]
            changed = " or ".join(f"{now} is not {then}" for now, then in pairs)
            checks.append(f"if {changed}: return MISMATCH")
            for key, default in (d.value.__kwdefaults__ or {}).items():
                now = f"{value}.__kwdefaults__.get({key!r})"
                checks.append(f"if {now} is not {names.of(default, 'had')}: return MISMATCH")
        if d.bases is not None and not is_of_library(d.value):
            checks.append(
                f"if {value}.__mro__ is not {names.of(d.bases, 'bases')}: return MISMATCH"
            )
        if type(d.value) is np.ndarray:  # all of these can be set in place
            kind, shape = names.of(d.value.dtype, "dtype"), d.value.shape
            changed = f"{value}.shape != {shape!r} or {value}.dtype != {kind}"
            writeable = f"{value}.flags.writeable is not {d.value.flags.writeable}"
            checks.append(f"if {changed} or {writeable}: return MISMATCH")
        if d.inside is not None:
            changed = names.of(d.inside.has_changed, "has_changed")
            checks.append(f"if {changed}(): return MISMATCH")
        if d.content is not None:
            held = names.of(bytes(d.content.held), "content")
            checks.append(f"if {value}.tobytes() != {held}: return MISMATCH")
    return list(dict.fromkeys(checks))  # several functions may read one variable


def _absence(d: Dependency, names: Any) -> str:
    """Return the statement that checks that no names have been added."""
    if d.absent is None:
        kept = names.of(d.container, "attributes")
        return f"if len({kept}) != {len(d.container)}: return MISMATCH"
    keys, absent = names.of(d.container.keys(), "there"), names.of(d.absent, "absent")
    return f"if not {keys}.isdisjoint({absent}): return MISMATCH"
