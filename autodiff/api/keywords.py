"""Keyword arguments of the user's function, and misspelt options of derivatives among them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from autodiff.errors import ArgumentError
from chainrules_core.calling.signatures import signature_of
from chainrules_core.rules import name_of

OPTIONS = ("argnums", "has_aux", "fallback", "mode")
"""The names of the options of derivatives."""


def check_keywords(f: Callable, kwargs: dict[str, Any]) -> None:
    """Raise if a keyword that `f` does not take looks like an option of a derivative.

    Parameters
    ----------
    f : callable
        The user's function, which gets the keywords.
    kwargs : dict
        The keywords.

    Raises
    ------
    ArgumentError
        For example for ``argnum=0``, if `f` has no such parameter.
    """
    for name in kwargs:
        meant = _option_like(name)
        if meant is not None and not _takes(f, name):
            raise ArgumentError(
                f"{name}= is no option of a derivative, and {name_of(f)} has no parameter of that "
                f"name. Did you mean {meant}=?"
            )


@functools.lru_cache(maxsize=256)
def _option_like(name: str) -> str | None:
    import difflib  # which only errors need

    near = difflib.get_close_matches(name, OPTIONS, 1, 0.75)
    return near[0] if near else None


def _takes(f: Callable, name: str) -> bool:
    signature = signature_of(f)
    if signature is None:
        return True  # a C function without a signature may take it
    kinds = {p.kind for p in signature.parameters.values()}
    return name in signature.parameters or inspect.Parameter.VAR_KEYWORD in kinds
