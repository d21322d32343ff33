"""Rules that load when the package they are for has been imported by someone else.

Rules for a large package must name its functions, and so import it. Instead of importing it for
everybody, a module of rules is left pending, and loaded at the first question that finds the
package in ``sys.modules``.
"""

from __future__ import annotations

import importlib
import sys

_pending: list[tuple[str, str]] = []
_looked_at = [0]  # how many modules there were when it was last looked: a look costs a microsecond
_loading = [False]


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


def _is_being_imported(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return getattr(spec, "_initializing", False)


def load_imported() -> bool:
    """Load the pending rules of packages that are imported by now; say whether there were any."""
    if not _pending or _loading[0] or len(sys.modules) == _looked_at[0]:
        return False
    if any(_is_being_imported(rules) for _, rules in _pending):
        return False  # one that was imported by name: others may need it as a whole
    loaded = False
    # The rules' own registrations come here again, and must not load what imports their module.
    _loading[0] = True
    try:
        while ready := [entry for entry in _pending if entry[0] in sys.modules]:
            for entry in ready:  # whose modules may leave others pending in turn
                _pending.remove(entry)
                importlib.import_module(entry[1])
                loaded = True
    finally:
        _loading[0] = False
    _looked_at[0] = len(sys.modules)
    return loaded
