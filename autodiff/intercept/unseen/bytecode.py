"""What a code object names and does, read from its instructions.

It is used for code without available source. What is not recognised counts as something that could
tell a tracer from its value, so that an unknown version of Python refuses more, and never less.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

# What a constant or a variable from outside is loaded by, and what takes an attribute.
_OUTSIDE = ("GLOBAL", "LOAD_NAME", "DEREF", "LOAD_FROM_DICT", "CLASSDEREF")
_NO_READ = ("STORE", "DELETE", "MAKE_CELL", "COPY_FREE", "LOAD_CLOSURE")


class CodeFacts(NamedTuple):
    """What the instructions of one code object say.

    Attributes
    ----------
    names : frozenset of str
        Names that are looked up outside: globals, builtins, variables of enclosing functions.
    attributes : frozenset of str
        Attributes that are read, methods among them.
    imports : frozenset of str
        Modules that are imported.
    texts : frozenset of str
        Constants that are text or bytes.
    syntax : str
        A statement or operator that could tell a tracer from its value; "" if there is none.
    makes_text : bool
        Whether an f-string is made.
    """

    names: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[str]
    texts: frozenset[str]
    syntax: str
    makes_text: bool


def facts_of(code: types.CodeType) -> CodeFacts:
    """Return what the instructions of some code say, without those of nested code."""
    names, attributes, imports = set(), set(), set()
    syntax, makes_text = "", False
    before: Any = None
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        if name == "IMPORT_NAME":
            imports.add(value)
        elif isinstance(value, str) and _is_attribute(name):
            attributes.add(value)
        elif isinstance(value, str) and _is_outside(name):
            names.add(value)
        if name == "IS_OP" and not _is_no_value(before):
            syntax = "`is`"
        elif "EXC" in name:  # it may swallow what a traced value raises
            syntax = "`try` or `with`"
        makes_text = makes_text or name.startswith(("FORMAT_", "BUILD_STRING"))
        before = instruction
    texts = frozenset(_texts_among(code.co_consts))
    return CodeFacts(
        frozenset(names), frozenset(attributes), frozenset(imports), texts, syntax, makes_text
    )


def _texts_among(constants: Iterable[Any]) -> Iterator[str]:
    for c in constants:
        if isinstance(c, (tuple, frozenset)):
            yield from _texts_among(c)
        elif isinstance(c, (str, bytes)):
            yield c if isinstance(c, str) else c.decode("latin-1")


def _is_attribute(opname: str) -> bool:
    return "ATTR" in opname or "METHOD" in opname or opname == "IMPORT_FROM"


def _is_outside(opname: str) -> bool:
    return any(part in opname for part in _OUTSIDE) and not opname.startswith(_NO_READ)


def _is_no_value(loaded: dis.Instruction) -> bool:
    """Whether an instruction loads None or a class, which no traced value stands for."""
    if "CONST" in loaded.opname:
        return loaded.argval is None
    return _is_attribute(loaded.opname) and loaded.argval == "__class__"
