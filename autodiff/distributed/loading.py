"""What a shard is, on the client and on the worker that loads it."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from autodiff.distributed.dask_data import computed_there, is_lazy
from autodiff.distributed.packing import pack
from autodiff.errors import ArgumentError
from chainrules_core.rules import name_of


class Loader(NamedTuple):
    """A packed function that loads a shard."""

    packed: bytes

    def load(self) -> Any:
        """Return what the function returns."""
        return pickle.loads(self.packed)()


class File(NamedTuple):
    """A file that a worker reads."""

    path: str

    def load(self) -> Any:
        """Return an array, or the columns of a table."""
        return READERS[Path(self.path).suffix](self.path)


@dataclasses.dataclass(frozen=True)
class Setting:
    """What a function of a sweep is called with, of whatever class."""

    value: Any

    def load(self) -> tuple:
        """Return the arguments that it stands for."""
        return (self.value,)


def _read_npy(path: str) -> np.ndarray:
    # Mapped into memory: what is read of it comes from the disk, and goes again.
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _read_parquet(path: str) -> dict[str, np.ndarray]:
    table = _library("pyarrow.parquet", path).read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def _read_zarr(path: str) -> np.ndarray:
    return np.asarray(_library("zarr", path).open_array(path, mode="r")[...])


READERS: dict[str, Callable[[str], Any]] = {
    ".npy": _read_npy, ".parquet": _read_parquet, ".zarr": _read_zarr,
}  # fmt: skip


def _library(name: str, path: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ArgumentError(
            f"{Path(path).name} is read with {package}, which is not installed on the worker: "
            f"pip install {package}."
        ) from error


def prepared(shard: Any, packs: bool) -> Any:
    """Return a shard as it is sent to a worker.

    Parameters
    ----------
    shard : Any
        A tuple is one of parts, each of which is prepared.
    packs : bool
        Whether the worker is another process.
    """
    if isinstance(shard, tuple):
        return tuple(_prepared_part(part, packs) for part in shard)
    return _prepared_part(shard, packs)


def _prepared_part(part: Any, packs: bool) -> Any:
    if isinstance(part, Setting):
        return Loader(pack(part.load, "a setting")) if packs else part
    if isinstance(part, (str, Path)):
        path = Path(part).absolute()  # the worker may be in another directory
        if path.suffix not in READERS:
            raise ArgumentError(
                f"the shard {str(part)!r} is a file of a kind that is not known: {path.suffix!r} "
                f"is none of {', '.join(READERS)}. Give a function that loads it."
            )
        return File(str(path))
    if is_lazy(part):
        part = computed_there(part)
    if callable(part):
        return Loader(pack(part, "the function that loads a shard")) if packs else part
    return part


def loaded(shard: Any) -> tuple:
    """Return the arguments that a shard, as it was sent, gives to the loss."""
    parts = tuple(map(_loaded_part, shard)) if type(shard) is tuple else _loaded_part(shard)
    return parts if isinstance(parts, tuple) else (parts,)


def _loaded_part(part: Any) -> Any:
    if isinstance(part, (File, Loader, Setting)):
        return part.load()
    return part() if callable(part) else part


def described(number: int, shard: Any) -> str:
    """Return a few words on a shard, for errors."""
    if isinstance(shard, Setting):
        return f"setting {number} ({_shortened(repr(shard.value))})"
    return f"shard {number} ({_kind(shard)})"


def called_with(number: int, shard: Any) -> str:
    """Return which call of the user's function it is that a shard is for."""
    of = "the call with" if isinstance(shard, Setting) else "the loss of"
    return f"{of} {described(number, shard)}"


def _kind(shard: Any) -> str:
    if isinstance(shard, tuple):
        return ", ".join(map(_kind, shard))
    if isinstance(shard, (str, Path)):
        return Path(shard).name
    if isinstance(shard, np.ndarray):
        return f"array of shape {shard.shape}"
    if isinstance(shard, functools.partial):
        given = [*map(repr, shard.args), *(f"{k}={v!r}" for k, v in shard.keywords.items())]
        return f"{name_of(shard.func)}({_shortened(', '.join(given))})"
    return name_of(shard) if callable(shard) else type(shard).__name__


def _shortened(text: str) -> str:
    return text[:40] + "…" if len(text) > 40 else text
