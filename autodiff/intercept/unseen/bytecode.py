"""What a code object names, compares and catches, read from its instructions.

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
_ENDS = ("POP_EXCEPT", "RETURN", "JUMP", "FOR_ITER")


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
    compared : tuple
        For each ``is`` the names and constants next to it, as (kind, value).
    caught : tuple
        For each ``except`` the names of the classes; None for one that catches all.
    types_asked : bool
        Whether ``type`` is called on more than the object that a method belongs to.
    makes_text : bool
        Whether an f-string is made.
    """

    names: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[str]
    texts: frozenset[str]
    compared: tuple
    caught: tuple
    types_asked: bool
    makes_text: bool


def facts_of(code: types.CodeType, is_method: bool) -> CodeFacts:
    """Return what the instructions of some code say, without those of nested code."""
    instructions = list(dis.get_instructions(code))
    names, attributes, imports, compared = set(), set(), set(), []
    caught: list[tuple[str, ...] | None] = []
    types_asked = makes_text = False
    for i, instruction in enumerate(instructions):
        name, value = instruction.opname, instruction.argval
        if isinstance(value, str):
            if name == "IMPORT_NAME":
                imports.add(value)
            elif _is_attribute(name):
                attributes.add(value)
            elif _is_outside(name):
                names.add(value)
                types_asked = types_asked or (
                    value == "type" and not (is_method and _asks_its_own(instructions, i, code))
                )
        if name == "IS_OP":
            own = code.co_varnames[0] if is_method and code.co_varnames else None
            compared.append(tuple(_sides(instructions[max(0, i - 2) : i], own)))
        elif name == "PUSH_EXC_INFO":
            if _catches_all(instructions, i):
                caught.append(None)
        elif name in ("CHECK_EXC_MATCH", "CHECK_EG_MATCH"):
            caught.append(tuple(_named_before(instructions, i)))
        makes_text = makes_text or name.startswith(("FORMAT_", "BUILD_STRING"))
    texts = frozenset(_texts_among(code.co_consts))
    return CodeFacts(
        frozenset(names), frozenset(attributes), frozenset(imports), texts, tuple(compared),
        tuple(caught), types_asked, makes_text,
    )  # fmt: skip


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


def _asks_its_own(instructions: list[dis.Instruction], i: int, code: types.CodeType) -> bool:
    """Whether ``type(self)`` is asked of the object that a method belongs to."""
    skipped = ("PUSH_NULL", "CACHE", "NOP", "EXTENDED_ARG", "PRECALL")
    after = [x for x in instructions[i + 1 : i + 8] if x.opname not in skipped][:2]
    if len(after) < 2 or not code.co_varnames:
        return False
    given, called = after
    is_own = given.opname.startswith("LOAD_FAST") and given.argval == code.co_varnames[0]
    return is_own and called.opname.startswith("CALL")


def _sides(before: list[dis.Instruction], own: str | None) -> Iterator[tuple[str, Any]]:
    """Yield what the instructions before an ``is`` load: the last, and if that is all, another."""
    yield _side(before[-1], own)
    if _loads(before[-1].opname) and not _is_attribute(before[-1].opname):
        yield _side(before[0], own)


def _side(instruction: dis.Instruction, own: str | None) -> tuple[str, Any]:
    """Return what an instruction loads; `own` is the object that a method belongs to."""
    if own is not None and instruction.opname.startswith("LOAD_FAST"):
        loaded = instruction.argval
        if own == loaded or (isinstance(loaded, tuple) and own in loaded):
            return "own", None
    if instruction.opname in ("LOAD_CONST", "LOAD_COMMON_CONSTANT"):
        return "constant", instruction.argval
    if isinstance(instruction.argval, str):
        if _is_attribute(instruction.opname):
            return "attribute", instruction.argval
        if _is_outside(instruction.opname):
            return "name", instruction.argval
    return "other", None


def _catches_all(instructions: list[dis.Instruction], i: int) -> bool:
    """Whether what begins here is an ``except`` without a class, or a ``finally`` that returns."""
    for j, after in enumerate(instructions[i + 1 :], start=i + 1):
        name = after.opname
        if name in ("WITH_EXCEPT_START", "RERAISE"):
            return False
        if name in ("CHECK_EXC_MATCH", "CHECK_EG_MATCH"):
            # A class is loaded at once; what came before it would be a `finally`.
            return any(not _loads(b.opname) for b in instructions[i + 1 : j])
        if name.startswith(_ENDS) or "JUMP" in name:
            return True
    return True


def _loads(opname: str) -> bool:
    return opname.startswith(("LOAD_", "BUILD_TUPLE", "CACHE", "NOP", "EXTENDED_ARG", "PUSH_NULL"))


def _named_before(instructions: list[dis.Instruction], i: int) -> Iterator[str]:
    """Yield the names of the classes that an ``except`` looks for; "" for what is no name."""
    for before in reversed(instructions[:i]):
        if not _loads(before.opname):
            return
        if isinstance(before.argval, str) and (
            _is_attribute(before.opname) or _is_outside(before.opname)
        ):
            yield before.argval
        elif before.opname.startswith("LOAD_"):
            yield ""


def returns_nothing(code: types.CodeType) -> bool:
    """Whether all that some code returns is None or False."""
    before = None
    for instruction in dis.get_instructions(code):
        returned = instruction if instruction.opname == "RETURN_CONST" else before
        if instruction.opname.startswith("RETURN_") and not (
            returned is not None and returned.argval in (None, False) and "CONST" in returned.opname
        ):
            return False
        before = instruction
    return True
