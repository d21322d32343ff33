"""What code mentions: the names of variables and attributes, and its constants.

The instructions of a code object, and of those inside it, are read once. Code that the engine has
rewritten counts as naming each attribute that it may read or write.
"""

from __future__ import annotations

import collections
import dis
import types
from typing import Any, NamedTuple

from autodiff import caches
from chainrules_core.interpreter.places import codes_in

_READING = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


class CodeMentions(NamedTuple):
    """What a code object and those inside it mention.

    Attributes
    ----------
    names : frozenset of str
        The names of global variables, attributes and modules.
    constants : tuple
        The constants, other code objects too.
    texts : dict
        The name of an instruction → the texts that it is used with, most of which are names.
    has_handlers : bool
        Whether there are handlers of errors.
    """

    names: frozenset[str]
    constants: tuple[Any, ...]
    texts: dict[str, set[str]]
    has_handlers: bool

    def of(self, *instructions: str) -> set[str]:
        """Return the texts that some instructions are used with."""
        return set().union(*[self.texts.get(name, ()) for name in instructions])


_known: dict[types.CodeType, CodeMentions] = caches.register("what code mentions", {})


def mentions_of(code: types.CodeType) -> CodeMentions:
    """Return what code mentions."""
    found = _known.get(code)
    return caches.put(_known, code, _read(code), 1024) if found is None else found


def _read(code: types.CodeType) -> CodeMentions:
    codes = list(codes_in(code))
    texts: dict[str, set[str]] = collections.defaultdict(set)
    for inner in codes:
        for i in dis.get_instructions(inner):
            texts[i.opname].update([i.argval] if isinstance(i.argval, str) else [])
    attributes = {name for inner in codes if calls_engine(inner) for name in _names_among(inner)}
    texts["STORE_ATTR"] |= attributes
    return CodeMentions(
        frozenset(attributes).union(*[inner.co_names for inner in codes]),
        tuple([x for inner in codes for x in inner.co_consts]),
        dict(texts),
        any(getattr(inner, "co_exceptiontable", True) for inner in codes),
    )


def calls_engine(code: types.CodeType) -> bool:
    """Whether code was rewritten, so that it calls the engine for operators and attributes."""
    return any(name.startswith("__autodiff_") for name in code.co_freevars)


def _names_among(code: types.CodeType) -> list[str]:
    """Return the texts among constants that may be names of attributes.

    Rewritten code reads and writes attributes by them: ``p.rate`` has become ``read(p, "rate")``.
    """
    return [x for x in code.co_consts if isinstance(x, str) and x.isidentifier()]


def read_globally(code: types.CodeType) -> set[str]:
    """Return the names that code, and what is nested in it, looks up among the globals."""
    return mentions_of(code).of(*_READING)
