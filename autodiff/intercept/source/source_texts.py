"""Texts that a function may have been compiled from: a file, a cell, a command line.

These are candidates: :mod:`autodiff.intercept.source.find_source` takes a definition from one only
if it compiles to exactly the code that is running. So a wrong text does no harm.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import sys
import textwrap
import types
from collections.abc import Iterable, Iterator
from typing import Any

from autodiff import caches
from chainrules_core.interpreter.parsing import tree_of

# File name → texts and their syntax trees, the latest first. A file may be edited after its import:
# the text that was read before is still the source of what was imported.
_trees: dict[str, list[tuple[str, ast.Module | None]]] = caches.register("syntax trees", {})
_MOST = 4
# id(globals of a module) → the names under which it was read
_files: dict[int, set[str]] = caches.register("texts of modules", {})
_MOST_FILES = 512  # texts that belong to no module


def _forget_module(key: int, name: str) -> None:
    for filename in _files.pop(key, ()):
        _trees.pop(filename, None)


caches.on_module_end(_forget_module)

_IN_A_CELL = ("<timed exec>", "<unknown>", "<magic-timeit>")  # IPython's names of a magic's text


def trees_of(
    code: types.CodeType, namespace: dict[str, Any], carried: Iterable[str] = ()
) -> Iterator[ast.Module]:
    """Yield the trees in which the definition of some code may be found, each once.

    Parameters
    ----------
    code : types.CodeType
        The code of a function.
    namespace : dict
        Its globals.
    carried : iterable of str
        Texts that the function itself carries.
    """
    filename = code.co_filename
    file = file_of(filename, namespace)
    seen: set[ast.Module] = set()
    for text in itertools.chain(_texts(code, file, namespace), carried):
        tree = _tree(text, filename, namespace)
        if tree is not None and tree not in seen:
            seen.add(tree)
            yield tree
    for _, tree in _trees.get(filename, ()):
        if tree is not None and tree not in seen:
            yield tree


def _texts(code: types.CodeType, file: str, namespace: dict[str, Any]) -> Iterator[str]:
    text = _read(file, namespace)
    if text:
        yield text
    linecache.checkcache(file)  # the module may have been reloaded
    again = _read(file, namespace)
    if again and again != text:
        yield again
    # Python from 3.13 on keeps what was typed in by its code.
    of_code = getattr(linecache, "_getlines_from_code", None)
    if of_code is not None:
        yield "".join(of_code(code) or ())
    if file == "<string>":
        yield from _of_dataclasses(code)
        if namespace.get("__name__") == "__main__":
            yield from _command_line()
    if file in _IN_A_CELL:
        yield from _magics(namespace)


def _read(file: str, namespace: dict[str, Any]) -> str:
    return "".join(linecache.getlines(file, namespace))


def _command_line() -> Iterator[str]:
    """Yield what ``python -c`` was given."""
    for i, option in enumerate(sys.orig_argv[1:], start=2):
        if option.startswith("-") and not option.startswith("--") and "c" in option:
            attached = option.partition("c")[2]
            for text in (attached, *sys.orig_argv[i : i + 1]):
                yield text
                yield textwrap.dedent(text)


_SIGNS = {"__eq__": "==", "__ge__": ">=", "__gt__": ">", "__le__": "<=", "__lt__": "<"}


def _of_dataclasses(code: types.CodeType) -> Iterator[str]:
    """Yield what `dataclasses` may have compiled a comparison or ``__hash__`` from."""
    fields = [n for n in code.co_names if n not in ("__class__", "NotImplemented", "hash")]
    own, other = (f"({''.join(f'{x}.{n},' for n in fields)})" for x in ("self", "other"))
    above = "\n" * (code.co_firstlineno - 1)
    if code.co_name == "__hash__":
        yield f"{above}def __hash__(self):\n return hash({own})"
    sign = _SIGNS.get(code.co_name)
    if sign is None:
        return
    one_by_one = " and ".join(f"self.{n}==other.{n}" for n in fields) or "True"  # from 3.13 on
    for first, compared in (
        ("", own + sign + other),
        (" if self is other:\n  return True\n", one_by_one),
    ):
        yield (
            f"{above}def {code.co_name}(self, other):\n{first} if other.__class__ is "
            f"self.__class__:\n  return {compared}\n return NotImplemented"
        )


def _magics(namespace: dict[str, Any]) -> Iterator[str]:
    """Yield the texts that IPython's cell magics (``%%time``) have run, the latest first."""
    for cell in reversed(namespace.get("_ih") or ()):
        if isinstance(cell, str) and "run_cell_magic" in cell:
            try:
                parsed = tree_of(cell)
            except (SyntaxError, ValueError, RecursionError):
                continue
            for node in ast.walk(parsed):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def _tree(text: str, filename: str, namespace: dict[str, Any]) -> ast.Module | None:
    if not text:
        return None
    known = _trees.setdefault(filename, [])
    if caches.is_of_module(namespace):
        _files.setdefault(id(namespace), set()).add(filename)
    elif len(_trees) > _MOST_FILES:
        _trees.pop(next(iter(_trees)), None)  # nothing tells when executed text is gone
    for before, tree in known:
        if before == text:
            return tree
    made: ast.Module | None
    try:
        made = tree_of(text, filename)
    except (SyntaxError, ValueError, RecursionError):
        made = None
    else:
        made = _as_tests_have_it(made, text, filename, namespace)
    known.insert(0, (text, made))
    del known[_MOST:]
    return made


def carried_texts(function: types.FunctionType) -> list[str]:
    """Return the definitions that a function carries as text, as decorators that write code do."""
    start = f"def {function.__code__.co_name}("
    return [v for v in vars(function).values() if type(v) is str and start in v]


def file_of(filename: str, namespace: dict[str, Any]) -> str:
    """Return the file of a module; those that are frozen into Python have one all the same."""
    return namespace.get("__file__") or filename if filename.startswith("<frozen ") else filename


def why_without(code: types.CodeType, namespace: dict[str, Any]) -> tuple[str, str]:
    """Return why there is no source for some code, and what to do about it."""
    file = file_of(code.co_filename, namespace)
    if file in _TYPED or file.startswith("<python-input"):
        return (
            "it was typed at a prompt that does not keep what was typed",
            "Put it into a file and import that, or type it into IPython or a notebook.",
        )
    if file.startswith("<"):
        return (
            f"it was made by exec or eval of a text that was not kept ({file})",
            "Put it into a file and import that, or keep the text, under a name of its own: "
            'linecache.cache["<mine>"] = (len(text), None, text.splitlines(True), "<mine>"), and '
            'exec(compile(text, "<mine>", "exec"), ...).',
        )
    if not _read(file, namespace):
        return (
            f"{file} is not there to be read (a compiled file alone does not hold it)",
            "Put the source file beside the compiled one.",
        )
    return (
        f"{file} does not hold what is running: it was changed after the import, or a tool "
        "changed the function",
        "Import it again (importlib.reload), or take the tool away.",
    )


_TYPED = ("<stdin>", "<console>")


def _as_tests_have_it(
    tree: ast.Module, text: str, filename: str, namespace: dict[str, Any]
) -> ast.Module:
    """Return the tree with asserts as pytest rewrites them, if it did in this module."""
    if "@pytest_ar" not in namespace:
        return tree
    rewrite = sys.modules.get("_pytest.assertion.rewrite")
    if rewrite is None:
        return tree
    rewrite.rewrite_asserts(tree, text.encode(), filename)
    return tree
