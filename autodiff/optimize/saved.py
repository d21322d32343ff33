"""Checkpoints: the variables of a nest in a file of arrays, which runs nothing when it is read."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from autodiff.errors import ArgumentError
from autodiff.trace.pytree import is_perturbable, map_leaves, variables_at, variables_of

EVERY = 10.0
"""Seconds between two times at which a checkpoint is put on the disk."""


def check_place(path: Any) -> None:
    """Raise, before the work, if there is no place for a file."""
    target = Path(path)
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "a device"
        raise ArgumentError(f"the checkpoint {str(path)!r} is {kind}. Give the name of a file.")
    if not target.absolute().parent.is_dir():
        raise ArgumentError(
            f"the checkpoint {str(path)!r} is in a folder that does not exist. Make it first."
        )


def form_of(nest: Any) -> np.ndarray:
    """Return the names and shapes of the variables of a nest, as an array of text."""
    places = ["params" + "".join([f"[{key!r}]" for key in keys]) for keys in variables_at(nest)]
    shapes = map(np.shape, variables_of(nest))
    found = [f"{place} of shape {shape}" for place, shape in zip(places, shapes, strict=True)]
    return np.array(found, str)


def check_form(path: Any, arrays: dict[str, np.ndarray], nest: Any) -> None:
    """Raise if a file has the form of another nest than this; one without a form is of any."""
    own = form_of(nest)
    theirs = arrays.get("form", own)
    if not np.array_equal(theirs, own):
        raise ArgumentError(
            f"the checkpoint {Path(path).name} is of other parameters: {', '.join(theirs)}; "
            f"{', '.join(own)} are expected. Delete the file, or give another name."
        )


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[BinaryIO]:
    """Give a file that takes the place of another once it is whole: a crash leaves one of them."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def save(path: Any, nest: Any, **others: np.ndarray) -> None:
    """Write the variables of a nest, and other arrays."""
    leaves = {f"leaf_{i}": np.asarray(leaf) for i, leaf in enumerate(variables_of(nest))}
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, **leaves, **others)


def load(path: Any, like: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """Return a nest with the variables of a file, and the other arrays in it.

    The nest is None if the file does not exist.

    Parameters
    ----------
    path : path
        The file.
    like : Any
        A nest of the same structure.

    Raises
    ------
    ArgumentError
        If the file is that of another nest.
    """
    if not Path(path).exists():
        return None, {}
    try:
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = dict(file)
    except (ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ArgumentError(
            f"{Path(path).name} is no checkpoint, or only a part of one: {error}. Delete the file, "
            "or give another name."
        ) from error
    count = sum(name.startswith("leaf_") for name in arrays)
    found = [arrays.pop(f"leaf_{i}") for i in range(count)]
    forms = [(np.shape(leaf), np.result_type(leaf)) for leaf in variables_of(like)]
    if [(leaf.shape, leaf.dtype) for leaf in found] != forms:
        raise ArgumentError(
            f"the checkpoint {Path(path).name} is of other parameters, or of another method: its "
            f"arrays have the shapes {[a.shape for a in found]}; {[s for s, _ in forms]} are "
            "expected. Delete the file, or give another name."
        )
    leaves = iter(found)

    def read(leaf: Any) -> Any:
        if not is_perturbable(leaf):
            return leaf
        new = next(leaves)
        return new if isinstance(leaf, np.ndarray) else type(leaf)(new[()])

    return map_leaves(like, read, every=True), arrays
