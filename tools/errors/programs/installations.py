"""Distributions that are installed side by side."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from chainrules_core.installed import DistributionWarning, warn_of_clashes
from tools.errors.entries import entry


@contextlib.contextmanager
def installed(*names: str) -> Iterator[list[str]]:
    """Yield where distributions of these names are installed, and no others."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            info = Path(folder) / f"{name.replace('-', '_')}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        yield [folder]


@entry("A distribution of other people has the engine's name", DistributionWarning, has_line=False)
def other_people() -> None:
    # pip install autodiff
    with installed("autodiff") as folders:
        warn_of_clashes(folders)  # as the first import does


@other_people.instead("Install the one that is meant")
def the_engine() -> None:
    # pip uninstall autodiff; pip install --force-reinstall --no-deps chainrules-autodiff
    with installed() as folders:
        warn_of_clashes(folders)


@entry("A checkout and its parts are installed together", DistributionWarning, has_line=False)
def both() -> None:
    # pip install chainrules-core; pip install path/to/checkout
    with installed("chainrules-core", "chainrules-python") as folders:
        warn_of_clashes(folders)


@both.instead("Keep one of them")
def one() -> None:
    # pip uninstall chainrules-core chainrules-python; pip install path/to/checkout
    with installed("chainrules-python") as folders:
        warn_of_clashes(folders)
