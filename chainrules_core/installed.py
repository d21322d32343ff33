"""Distributions that cannot be installed side by side, and a warning where they are.

Those of this project share no file: ``chainrules-core``, ``chainrules-rules``,
``chainrules-autodiff``. A checkout that is installed as a whole, ``chainrules-python``, has the
files of all three; and a distribution of other people, ``autodiff``, has the engine's.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator

_WHOLE = "chainrules-python"
_PARTS = ("chainrules-core", "chainrules-rules", "chainrules-autodiff")
_OF_OTHERS = "autodiff"


class DistributionWarning(UserWarning):
    """Two installed distributions have the same files."""


def warn_of_clashes(folders: Iterable[str] | None = None) -> None:
    """Warn if distributions are installed that overwrite each other's files.

    Parameters
    ----------
    folders : iterable of str, optional
        Where to look; as Python does, if not given.
    """
    installed = set(_installed(sys.path if folders is None else folders))
    parts = [name for name in _PARTS if name in installed]
    if parts and _WHOLE in installed:
        _warn(
            f"{_WHOLE} (a whole checkout) and {', '.join(parts)} are installed side by side, and "
            "have files in common: whichever came last has overwritten the other. Uninstall all "
            f"of them, then install {_WHOLE} from the checkout, or {parts[-1]}, but not both."
        )
    if _OF_OTHERS in installed:
        ours = _WHOLE if _WHOLE in installed else _PARTS[-1]
        _warn(
            f"The distribution {_OF_OTHERS} is installed, which is not part of this project, but "
            f"has a package of the same name. Run `pip uninstall {_OF_OTHERS}`, then install "
            f"{ours} again, with --force-reinstall."
        )


def _warn(message: str) -> None:
    warnings.warn(message, DistributionWarning, stacklevel=2)


def _installed(folders: Iterable[str]) -> Iterator[str]:
    """Yield the names of distributions: `importlib.metadata` would take 50 ms to import."""
    for folder in folders:
        try:
            entries = os.listdir(folder or ".")
        except OSError:  # an archive, or nothing
            continue
        for entry in entries:
            if entry.endswith((".dist-info", ".egg-info")):
                yield entry.rpartition(".")[0].partition("-")[0].replace("_", "-").lower()
