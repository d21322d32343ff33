"""Functions as bytes, for workers in other processes.

Functions of a module that can be imported are packed by name. Others (lambdas, functions of a
notebook or a script) need cloudpickle, which packs them by value; their source goes with them,
since a function is differentiated from its source.
"""

from __future__ import annotations

import functools
import importlib
import io
import linecache
import pickle
import types
from collections.abc import Callable
from typing import Any

from autodiff.errors import ArgumentError


def pack(thing: Any, what: str) -> bytes:
    """Return something as bytes that `pickle` reads.

    Parameters
    ----------
    thing : Any
        What holds functions.
    what : str
        What it is, for the error.

    Raises
    ------
    ArgumentError
        If it cannot be packed.
    """
    try:
        cloudpickle = importlib.import_module("cloudpickle")
    except ModuleNotFoundError:
        cloudpickle = None
    try:
        if cloudpickle is None:
            return pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)
        return _packed_by_value(cloudpickle, thing)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        way = (
            "Make what it refers to without open files, locks and connections: open these on the "
            "worker."
            if cloudpickle is not None
            else "Define it at the top of a module, or install cloudpickle, which packs lambdas "
            "and functions of notebooks too: pip install 'chainrules-autodiff[cluster]'."
        )
        raise ArgumentError(
            f"{what} cannot be sent to workers in other processes: {error}. {way}"
        ) from error


def _packed_by_value(cloudpickle: Any, thing: Any) -> bytes:
    texts: dict[str, str] = {}

    class Pickler(cloudpickle.CloudPickler):
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, types.CodeType):  # from version 3.1.3 on cloudpickle drops the name
                make, parts = self.dispatch_table[types.CodeType](obj)
                return _code_in_file, (obj.co_filename, make, parts)
            reduced = super().reducer_override(obj)
            if reduced is not NotImplemented and isinstance(obj, types.FunctionType):
                name = obj.__code__.co_filename
                texts.setdefault(name, "".join(linecache.getlines(name, obj.__globals__)))
            return reduced

    file = io.BytesIO()
    Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(thing)
    return pickle.dumps(_WithSource(texts, file.getvalue()), protocol=pickle.HIGHEST_PROTOCOL)


def _code_in_file(filename: str, make: Callable, parts: tuple) -> types.CodeType:
    """Make code that names the text that it was compiled from."""
    return make(*parts).replace(co_filename=filename)


class _WithSource:
    """Packed functions with the texts that they were compiled from; unpacks as what was packed."""

    def __init__(self, texts: dict[str, str], packed: bytes) -> None:
        self._parts = texts, packed

    def __reduce__(self) -> tuple:
        return _unpacked_with_source, self._parts


def _unpacked_with_source(texts: dict[str, str], packed: bytes) -> Any:
    for name, text in texts.items():
        if text and not linecache.getlines(name):
            # Without a time of change: the entry stays.
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return pickle.loads(packed)


@functools.lru_cache(maxsize=8)
def unpacked(packed: bytes) -> Any:
    """Return what was packed: one object for the same bytes, of which the engine knows more."""
    return pickle.loads(packed)
