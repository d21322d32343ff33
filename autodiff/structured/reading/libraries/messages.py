"""Reading messages: ``print``, ``warnings.warn`` and the methods of loggers.

A message becomes a function of the numbers and arrays in it, which is called when the program has
ended. Python itself makes the text.
"""

from __future__ import annotations

import ast
import functools
import logging
import re
import warnings
from collections.abc import Callable
from typing import Any, TypeGuard

from autodiff.structured.form.function_ir import Op, Value, known
from autodiff.structured.form.kinds import UNKNOWN, UnsupportedError
from autodiff.structured.message_queue import log, warn
from autodiff.structured.reading.builder import ProgramBuilder

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}
_FUNCTIONS = {getattr(logging, name): level for name, level in _LEVELS.items()}
_KEYWORDS = frozenset({"sep", "end", "flush"})
_SHOW = "show"
_REPRESENTS = re.compile(r"![ra]|%(\(.*?\))?[-#0 +*.\d]*[lLh]?[ra]")


def shown_by(reader: ProgramBuilder, f: Any, owner: Any, node: ast.Call) -> Any:
    """Return what shows the message of a call later; None for calls that show none.

    `owner` is the object whose method is called, if any.
    """
    if f is print:
        return print
    function = reader.scope.function
    place = function.__code__.co_filename, node.lineno, function.__name__
    if f is warnings.warn:
        return functools.partial(warn, function.__globals__, place)
    if f in _FUNCTIONS:
        return functools.partial(log, logging.root, _FUNCTIONS[f], place)
    name = getattr(node.func, "attr", "")
    logger: Any = known(owner) if type(owner) is Value else None
    if type(logger) in (logging.Logger, logging.RootLogger) and name in _LEVELS:
        return functools.partial(log, logger, _LEVELS[name], place)
    return None


def read_message(
    reader: ProgramBuilder, value_of: Callable[[ast.expr], Value], show: Any, node: ast.Call
) -> Value:  # fmt: skip
    """Read a call that shows a message; ``value_of(node)`` reads an expression."""
    taking = _TakingOut(value_of)
    args = [taking.argument(a) for a in node.args]
    keywords = [ast.keyword(k.arg, taking.argument(k.value)) for k in node.keywords]
    if show is print:
        if not {k.arg for k in keywords} <= _KEYWORDS:
            raise UnsupportedError("print with these arguments")
    elif keywords:
        raise UnsupportedError("a message with keyword arguments")
    elif show.func is warn:
        reader.program.has_warnings = True
        if len(args) > 2:
            raise UnsupportedError("a warning with a stack level")
    elif len(args) > 1:  # a logger formats its first argument
        _check_format(taking.known_text(args[0]))
    call = ast.Call(ast.Name(_SHOW, ast.Load()), args, keywords)
    parameters = [ast.arg(_SHOW), *[ast.arg(f"v{i}") for i in range(len(taking.values))]]
    made = ast.Lambda(ast.arguments([], parameters, None, [], [], None, []), call)
    expression = ast.fix_missing_locations(ast.copy_location(ast.Expression(made), node))
    text: Any = eval(compile(expression, "<message>", "eval"), taking.known)
    reader.program.has_messages = True
    reader.emit_effect(Op("show", taking.values, data=functools.partial(text, show)))
    return reader.const(None)


class _TakingOut:
    """Takes the values out of the arguments of a message; the texts around them stay.

    Attributes
    ----------
    values : list of Value
        The values that are not known, in the order of evaluation.
    known : dict
        The known ones, by the names that stand for them.
    """

    def __init__(self, value_of: Callable[[ast.expr], Value]) -> None:
        self.value_of = value_of
        self.values: list[Value] = []
        self.known: dict[str, Any] = {}

    def argument(self, node: ast.expr) -> ast.expr:
        """Return an expression for use in the message."""
        if isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.JoinedStr):
            return ast.JoinedStr(list(map(self.argument, node.values)))
        if isinstance(node, ast.FormattedValue):
            value = self.argument(node.value)
            spec = None if node.format_spec is None else self.argument(node.format_spec)
            if node.conversion not in (-1, ord("s")):
                raise UnsupportedError("the representation of a value in a message")
            return ast.FormattedValue(value, node.conversion, spec)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left):
            right = node.right
            if isinstance(right, ast.Tuple):
                right = ast.Tuple(list(map(self.argument, right.elts)), ast.Load())
            else:
                right = self.argument(right)
            _check_format(node.left.value)
            return ast.BinOp(node.left, node.op, right)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            f = node.func
            if _is_text(f.value) and f.attr == "format":
                _check_format(f.value.value)
                keywords = [ast.keyword(k.arg, self.argument(k.value)) for k in node.keywords]
                return ast.Call(f, list(map(self.argument, node.args)), keywords)
        return self._taken(node)

    def known_text(self, argument: ast.expr) -> Any:
        """Return what an argument of the message stands for; None if that is not known."""
        if isinstance(argument, ast.Name):
            return self.known.get(argument.id)
        return argument.value if isinstance(argument, ast.Constant) else None

    def _taken(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Starred):
            raise UnsupportedError("* in a message")
        x = self.value_of(node)
        if known(x) is not UNKNOWN:
            name = f"k{len(self.known)}"
            self.known[name] = known(x)
            return ast.Name(name, ast.Load())
        if not (x.kind.is_array or x.kind.is_scalar or x.kind.is_text):
            raise UnsupportedError("a list or object in a message")
        self.values.append(x)
        return ast.Name(f"v{len(self.values) - 1}", ast.Load())


def _is_text(node: ast.expr) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _check_format(text: Any) -> None:
    """Raise unless this is a text that represents no values: numbers may have other classes."""
    if not isinstance(text, str) or _REPRESENTS.search(text):
        raise UnsupportedError("the representation of a value in a message")
