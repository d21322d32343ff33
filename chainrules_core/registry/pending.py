"""Modules of rules that are loaded when somebody needs them.

Packages name the modules of their rules by an entry point of the group ``chainrules.rules``, whose
name is the package: ``my_package = "my_package.rules"``. It means `when_imported`.

There are two reasons to wait. Rules for a large package must name its functions, and so import it:
they wait until somebody else has imported the package (`when_imported`). And no program needs the
rules of all of NumPy: a module waits until one of its functions is looked up (`when_looked_up`).

A lookup of a function is answered only when all modules that wait for it have been loaded to their
end, by this thread or another one. Nobody can remember anything about rules that still wait.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Callable, Iterable

ENTRY_POINTS = "chainrules.rules"
_pending: list[tuple[str, str]] = []  # packages, and the modules of their rules
_named_by: dict[tuple[str, str], str] = {}  # the distributions whose entry points they are
# Packages whose rules no entry point names: only others make it worth 50 ms to read them.
_WITHOUT = frozenset(sys.stdlib_module_names) | {
    "autodiff", "chainrules", "chainrules_core", "cython_runtime", "multipledispatch",
    "numpy", "scipy", "sitecustomize", "usercustomize",
}  # fmt: skip
_unread = [ENTRY_POINTS]  # until the entry points have been read
_looked_at = [0]  # how many modules there were when it was last looked: a look costs a microsecond
_waiting: list[str] = []  # modules that wait for a lookup, in the order in which they load
_owners: dict[Callable, list[str]] = {}  # the functions that they wait for
_families: set[str] = set()  # the packages that have such modules, which need each other


class _ThisThread(threading.local):
    """The modules that this thread is loading."""

    loads = 0  # modules because of a lookup, one inside the other
    loads_imported = False


_this_thread = _ThisThread()


def when_imported(package: str, rules: str) -> None:
    """Load the module `rules` once `package` has been imported.

    Parameters
    ----------
    package : str
        Dotted name of the package whose functions have rules, e.g. ``"scipy.special"``.
    rules : str
        Dotted name of the module that registers them.
    """
    _pending.append((package, rules))
    _looked_at[0] = 0


def when_looked_up(functions: Iterable[Callable], rules: str) -> None:
    """Load the module `rules` once one of `functions` is looked up.

    Parameters
    ----------
    functions : iterable of callable
        The keys (see `registry.key_of`) of all rules that it registers, those of functions that it
        defines itself left out. There may be others among them.
    rules : str
        Dotted name of the module. Where several have rules for a function, they load in the order
        in which they were named here.
    """
    _families.add(f"{rules.partition('.')[0]}.")
    if rules not in _waiting:
        _waiting.append(rules)
    for f in functions:
        owners = _owners.setdefault(f, [])
        if rules not in owners:
            owners.append(rules)


is_waited_for: Callable[[Callable], bool] = _owners.__contains__
"""Whether a lookup of a function has to load rules first. Asked at every lookup."""


def is_loading() -> bool:
    """Whether this thread is loading a module because of a lookup."""
    return _this_thread.loads > 0


def load_rules_of(key: Callable) -> None:
    """Load the modules that wait for a function."""
    if all(map(_load, _owners.get(key, ()))):
        _owners.pop(key, None)


def load_all() -> None:
    """Load everything that waits for a lookup, unless this thread is importing a part of it."""
    if _this_thread.loads_imported:  # it is importing a module of rules
        return
    if _nothing_half_imported() and all(map(_load, list(_waiting))):
        _waiting.clear()
        _owners.clear()


def read_entry_points() -> None:
    """Have the rules that installed distributions name wait for their packages."""
    from importlib.metadata import entry_points  # which takes 50 ms to import

    while _unread:
        group = _unread.pop()
        for point in entry_points(group=group):
            _named_by[point.name, point.module] = getattr(point.dist, "name", "?")
            when_imported(point.name, point.module)


def _somebody_may_have_rules() -> bool:
    """Whether a package is imported that may belong to a distribution with an entry point."""
    names = {name.partition(".")[0] for name in list(sys.modules)}
    return any(name not in _WITHOUT and name[0] != "_" for name in names)


def load_imported() -> None:
    """Load the pending rules of packages that are imported by now."""
    if len(sys.modules) == _looked_at[0]:
        return
    # The rules' own registrations come here again, and must not load what imports their module.
    if _this_thread.loads or _this_thread.loads_imported:
        return
    if not _nothing_half_imported():
        return
    if _unread and _somebody_may_have_rules():
        read_entry_points()
    _this_thread.loads_imported = True
    try:
        while True:
            imported = [entry for entry in _pending if entry[0] in sys.modules]
            # A package that is being imported may not have the functions yet that have rules.
            ready = [entry for entry in imported if not _is_being_imported(entry[0])]
            seen = len(sys.modules) if len(ready) == len(imported) else 0
            if not ready:
                break
            for entry in ready:  # whose modules may leave others pending in turn
                try:
                    importlib.import_module(entry[1])
                except Exception as error:
                    if entry in _named_by:
                        error.add_note(
                            f"{entry[1]} has the rules of {entry[0]}, says an entry point of the "
                            f"distribution {_named_by[entry]} (group {ENTRY_POINTS})."
                        )
                    raise
                with contextlib.suppress(ValueError):  # another thread may have been here
                    _pending.remove(entry)
    finally:
        _this_thread.loads_imported = False
    _looked_at[0] = seen


def _load(rules: str) -> bool:
    """Import a module for a lookup; whether it is whole now."""
    _this_thread.loads += 1
    try:
        return _imported_whole(rules)
    finally:
        _this_thread.loads -= 1


def _imported_whole(name: str) -> bool:
    """Import a module; whether it is whole now, and not one that this thread is importing."""
    importlib.import_module(name)  # waits for another thread that is importing it
    return not _is_being_imported(name)


def _nothing_half_imported() -> bool:
    """Whether this thread is importing no module of rules: others may need that one as a whole."""
    modules = [rules for _, rules in _pending]
    modules += [name for name in list(sys.modules) if name.startswith(tuple(_families))]
    return all(map(_imported_whole, filter(_is_being_imported, modules)))


def _is_being_imported(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return getattr(spec, "_initializing", False)
