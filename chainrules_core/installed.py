"""Distributions that cannot be installed side by side, and a warning where they are.

Those of this project share no file: ``chainrules-core``, ``chainrules-rules``,
``chainrules-autodiff``. A checkout that is installed as a whole, ``chainrules-python``, has the
files of all three; and a distribution of other people, ``autodiff``, has the engine's.
"""

from __future__ import annotations

import warnings

_WHOLE = "chainrules-python"
_PARTS = ("chainrules-core", "chainrules-rules", "chainrules-autodiff")
_OF_OTHERS = "autodiff"


class DistributionWarning(UserWarning):
    """Two installed distributions have the same files."""


def warn_of_clashes() -> None:
    """Warn if distributions are installed that overwrite each other's files."""
    parts = [name for name in _PARTS if _is_installed(name)]
    if parts and _is_installed(_WHOLE):
        _warn(
            f"{_WHOLE} (a whole checkout) and {', '.join(parts)} are installed side by side, and "
            "have files in common: whichever came last has overwritten the other. Uninstall all "
            f"of them, then install {_WHOLE} from the checkout, or {parts[-1]}, but not both."
        )
    if _is_installed(_OF_OTHERS):
        _warn(
            f"The distribution {_OF_OTHERS} is installed, which is not part of this project, but "
            f"has a package of the same name. Run `pip uninstall {_OF_OTHERS}`, then install "
            "chainrules-autodiff again."
        )


def _warn(message: str) -> None:
    warnings.warn(message, DistributionWarning, stacklevel=2)


def _is_installed(name: str) -> bool:
    from importlib import metadata  # which takes 50 ms to import

    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True
