"""What a small function computes, found by calling it with symbols in the place of all it knows.

Partial derivatives are given as functions. An engine wants to know more of one than its value:
which of its parameters it reads, whether it returns one of them as it is, whether it only adds and
multiplies. Python's bytecode would tell, but each version of Python has its own. So the function is
called with symbols: its parameters, the globals and builtins that it names, the variables that it
has captured and its defaults are all symbols, and what is done with a symbol is another symbol. No
code but the function's own runs.

Where this cannot tell (the function branches on a value, catches exceptions, hands on a function,
asks what an argument *is*), `traced` returns None, and callers assume the worst.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

_PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis))


# By these a function reaches its parameters without naming them.
_LOOKING_ROUND = frozenset(
    {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack"}
)


class UnclearError(AttributeError):
    """A function does something with a symbol that cannot be followed."""


class _Run:
    """One call with symbols: which of them were read, and whether all of it could be followed."""

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.is_clear = True
        self.is_over = False  # then a symbol is an object like others

    def unclear(self) -> UnclearError:
        self.is_clear = False  # whatever becomes of the exception
        return UnclearError()

    def made(self, operation: str, *operands: Any) -> Symbol:
        self.note(operands)
        return Symbol(self, operation, operands)

    def note(self, x: Any) -> None:
        """Note the symbols in operands, or in a result."""
        kind = type(x)
        if kind is Symbol:
            if not x.operands:
                self.read.add(x.operation)
        elif kind is tuple or kind is list:
            for part in x:
                self.note(part)
        elif kind is slice:
            self.note((x.start, x.stop, x.step))
        elif kind not in _PLAIN:
            raise self.unclear()


class Symbol:
    """An operation and its operands; without operands a parameter, or another name."""

    __slots__ = ("operands", "operation", "run")
    __array_ufunc__ = None  # arrays leave operations to the symbol

    def __init__(self, run: _Run, operation: str, operands: tuple = ()) -> None:
        self.run = run
        self.operation = operation
        self.operands = operands

    def __getattr__(self, name: str) -> Symbol:
        """Read an attribute of what the symbol stands for."""
        # Names like __len__ are protocols, by which Python decides what to do.
        if name.startswith("__") or self.run.is_over:
            raise self.run.unclear()
        return self.run.made("attribute", self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Symbol:
        """Call what the symbol stands for."""
        return self.run.made("call", self, args, tuple(kwargs.items()))


def _define_operators() -> None:
    def binary(name: str) -> Callable:
        return lambda self, other: self.run.made(name, self, other)

    def reflected(name: str) -> Callable:
        return lambda self, other: self.run.made(name, other, self)

    def unary(name: str) -> Callable:
        return lambda self: self.run.made(name, self)

    def unclear(self: Symbol, *args: Any) -> Any:
        raise self.run.unclear()

    arithmetic = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]
    arithmetic += ["and", "or", "xor", "lshift", "rshift"]
    for name in arithmetic:
        setattr(Symbol, f"__{name}__", binary(name))
        setattr(Symbol, f"__r{name}__", reflected(name))
    for name in ("lt", "le", "gt", "ge", "eq", "ne", "getitem"):
        setattr(Symbol, f"__{name}__", binary(name))
    for name in ("neg", "pos", "abs", "invert"):
        setattr(Symbol, f"__{name}__", unary(name))
    asked = "bool int float complex index hash iter len contains str repr format"
    for name in [*asked.split(), "setitem", "delitem", "enter", "exit"]:
        setattr(Symbol, f"__{name}__", unclear)


_define_operators()


class Traced(NamedTuple):
    """What a function does with its parameters.

    Attributes
    ----------
    reads : frozenset of int
        Those that it reads.
    result : object
        What it returns: a `Symbol`, or a plain value.
    """

    reads: frozenset[int]
    result: Any


def parameter(i: int) -> str:
    """Return the operation of the symbol that stands for a parameter."""
    return f"parameter {i}"


def traced(function: Any, n: int) -> Traced | None:
    """Find out what a function does by calling it with symbols.

    Parameters
    ----------
    function : callable
        The function.
    n : int
        How many values it is called with.

    Returns
    -------
    Traced or None
        None where it is not clear.
    """
    if type(function) is not types.FunctionType:
        return None
    # What happens in an exception no symbol shows: none is raised here.
    if getattr(function.__code__, "co_exceptiontable", b"unknown") != b"":
        return None
    if not _LOOKING_ROUND.isdisjoint(function.__code__.co_names):
        return None
    named = [parameter(i) for i in range(n)]
    run, result = _called(function, named, range(n))
    read = frozenset([i for i in range(n) if named[i] in run.read])
    # Neither shows what depends on identity, `x is None` or `x is y`. What is not read may be None
    # in later calls, and two arguments may be one object: that must make no difference.
    alike = ["a parameter"] * n
    same = _called(function, named, read)[1], result
    equal = _called(function, alike, range(n))[1], _called(function, alike, range(n), one=True)[1]
    for one, other in (same, equal):
        if one is UnclearError or other is UnclearError or _text(one) != _text(other):
            return None
    return Traced(read, result)


def _called(
    function: types.FunctionType, names: list[str], given: Sequence[int] | frozenset[int],
    one: bool = False,
) -> tuple[_Run, Any]:  # fmt: skip
    """Call a function with symbols for the parameters that are `given`, None for the others.

    The result is `UnclearError` where it is not clear. `one` symbol may stand for all parameters.
    """
    run = _Run()
    symbols = [Symbol(run, name) for name in names]
    args = [symbols[0 if one else i] if i in given else None for i in range(len(names))]
    code = function.__code__
    scope: dict[str, Any] = {name: Symbol(run, f"name {name}") for name in code.co_names}
    cells = [types.CellType(Symbol(run, f"captured {name}")) for name in code.co_freevars]
    defaults = [Symbol(run, f"default {i}") for i in range(len(function.__defaults__ or ()))]
    before = [*scope.values(), *[c.cell_contents for c in cells]]
    known = {**scope, "__builtins__": {}}
    try:
        copy = types.FunctionType(code, known, "", tuple(defaults), tuple(cells))
        result = copy(*args)
        run.note(result)
        after = [*[known[name] for name in scope], *[c.cell_contents for c in cells]]
        is_same = len(known) == len(scope) + 1 and all(map(_is, before, after))
    except Exception:  # any code may fail on symbols: what it does is not clear then
        return run, UnclearError
    finally:
        run.is_over = True
    return run, result if run.is_clear and is_same else UnclearError


def _is(a: Any, b: Any) -> bool:
    return a is b


def _text(x: Any) -> str:
    """Describe what a function returns."""
    if type(x) is Symbol:
        return f"{x.operation}({', '.join(map(_text, x.operands))})"
    if type(x) in (tuple, list):
        return f"{type(x).__name__}({', '.join(map(_text, x))})"
    if type(x) is slice:
        return f"slice({_text((x.start, x.stop, x.step))})"
    return repr(x)
