"""The source of a function is found wherever Python or a notebook keeps it, and is verified."""

from __future__ import annotations

import ast
import code
import dataclasses
import doctest
import importlib
import linecache
import math
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autodiff import gradient, value_and_gradient
from autodiff.intercept.source.find_source import definition_of
from tests.helpers import define, run_python


def run(*arguments: str, given: str | None = None) -> str:
    """Return what a Python process prints."""
    return run_python(*arguments, given=given).stdout


PROGRAM = """
import math
from autodiff import gradient
def f(x):
    try:
        return math.sqrt(x)
    except Exception:
        return 0.0
print(gradient(f, 0.25))
"""


@pytest.mark.parametrize("options", [["-c"], ["-B", "-W", "ignore", "-c"], ["-Bc"]])
def test_the_command_line(options: list[str]) -> None:
    assert run(*options, PROGRAM, "an", "argument", "-c") == "1.0\n"


def test_the_command_line_in_one_option() -> None:
    text = "import math; from autodiff import gradient; print(gradient(lambda x: math.sin(x), 0))"
    assert run(f"-c{text}") == "1.0\n"


# -- cells, which are compiled statement by statement ----------------------------------------------


def cell(text: str, name: str = "<cell of sources>", **scope: Any) -> dict[str, Any]:
    """Run a cell as IPython does."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    for statement in ast.parse(text, name).body:
        exec(compile(ast.Module([statement], []), name, "exec"), scope)
    return scope


def test_a_cell_with_its_imports() -> None:
    scope = cell("import math\n\ndef f(x):\n    return math.sqrt(x)\n")
    assert gradient(scope["f"], 0.25) == 1.0


def test_a_cell_with_imports_in_the_same_statement() -> None:
    scope = cell(
        "import math\nif True:\n    import math as m\n    def f(x):\n"
        "        return m.sqrt(x) + math.sin(x)\n    class K:\n        def __call__(self, x):\n"
        "            return m.sqrt(x)\n"
    )
    assert gradient(scope["f"], 0.25) == pytest.approx(1.0 + math.cos(0.25))
    assert gradient(scope["K"](), 0.25) == 1.0


def test_a_whole_module_with_its_imports() -> None:
    text = "import math\n\ndef f(x):\n    return math.sqrt(x)\n"
    name = "<module of sources>"
    assert gradient(define(text, name)["f"], 0.25) == 1.0


def test_a_magic_of_a_cell() -> None:
    """``%%time`` compiles its text under a name by which nobody knows it."""
    text = "import math\ndef f(x):\n    return math.sqrt(x)\n"
    cells = ["x = 1\n", f"get_ipython().run_cell_magic('time', '', {text!r})\n"]
    scope: dict[str, Any] = {"_ih": cells}
    exec(compile(text, "<timed exec>", "exec"), scope)
    assert gradient(scope["f"], 0.25) == 1.0


def test_code_that_was_compiled_by_itself() -> None:
    """Autoreload compiles a function of a file from line 1."""
    text = "import math\n\n\ndef other(x):\n    return x\n\n\ndef f(x):\n    return math.sqrt(x)\n"
    name = "<reloaded module of sources>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"math": math}
    definition = ast.parse(text).body[-1]
    alone = ast.parse(ast.unparse(definition))
    exec(compile(alone, name, "exec"), scope)
    assert scope["f"].__code__.co_firstlineno == 1
    assert gradient(scope["f"], 0.25) == 1.0


def test_another_function_of_the_name_is_not_taken() -> None:
    text = "import math\n\n\ndef f(x):\n    return math.sqrt(x) * 2.0\n"
    name = "<another module of sources>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"math": math}
    exec(compile("def f(x):\n    return math.sqrt(x) * 3.0\n", name, "exec"), scope)
    assert definition_of(scope["f"]) is None


def test_doctest() -> None:
    text = """
    >>> import math
    >>> from autodiff import gradient
    >>> def f(x):
    ...     return math.sqrt(x)
    >>> gradient(f, 0.25)
    1.0
    """
    test = doctest.DocTestParser().get_doctest(text, {}, "of sources", None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_a_prompt_that_keeps_what_was_typed(capsys: pytest.CaptureFixture) -> None:
    """From 3.13 on; before, the error says where it comes from."""
    console = code.InteractiveConsole({"gradient": gradient})
    for line in ("import math", "def f(x):", "    return math.sqrt(x)", "", "gradient(f, 0.25)"):
        console.push(line)
    out, error = capsys.readouterr()
    assert "1.0" in out or "typed at a prompt" in error


# -- files that change -----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", "").startswith(str(tmp_path)):
            del sys.modules[name]


TWO = "import math\n\ndef a(x):\n    return math.sqrt(x)\n\ndef b(x):\n    return math.exp(x)\n"


def edited(folder: Path, name: str) -> types.ModuleType:
    importlib.invalidate_caches()
    return importlib.import_module(name)


def test_what_was_read_before_the_file_changed(folder: Path) -> None:
    path = folder / "sources_edited.py"
    path.write_text(TWO)
    module = edited(folder, "sources_edited")
    assert gradient(module.a, 0.25) == 1.0
    path.write_text(TWO.replace("sqrt(x)", "sqrt(x) * 7").replace("exp(x)", "exp(x) * 5"))
    linecache.checkcache(str(path))
    assert gradient(module.b, 0.0) == 1.0
    assert gradient(module.a, 0.25) == 1.0


def test_a_file_that_changed_unread_is_named(folder: Path) -> None:
    path = folder / "sources_unread.py"
    path.write_text(TWO)
    module = edited(folder, "sources_unread")
    path.write_text(TWO.replace("sqrt(x)", "sqrt(x) * 7"))
    linecache.checkcache(str(path))
    with pytest.raises(TypeError, match=r"sources_unread\.py does not hold what is running"):
        gradient(module.a, 0.25)
    importlib.reload(module)
    assert gradient(module.a, 0.25) == 7.0


def test_lines_that_moved(folder: Path) -> None:
    path = folder / "sources_moved.py"
    path.write_text(TWO)
    module = edited(folder, "sources_moved")
    path.write_text("# a line\n\n" + TWO)
    linecache.checkcache(str(path))
    assert gradient(module.a, 0.25) == 1.0


def test_a_compiled_file_alone(folder: Path) -> None:
    import py_compile

    path = folder / "sources_alone.py"
    path.write_text(TWO)
    py_compile.compile(str(path), str(folder / "sources_alone.pyc"))
    path.unlink()
    module = edited(folder, "sources_alone")
    with pytest.raises(TypeError, match="compiled file alone"):
        gradient(module.a, 0.25)


@dataclasses.dataclass(order=True, frozen=True)
class Timed:
    time: float
    name: str = dataclasses.field(default="", compare=False)
    size: float = 1.0


@pytest.mark.parametrize("name", ["__eq__", "__ge__", "__gt__", "__hash__", "__le__", "__lt__"])
def test_comparisons_that_dataclasses_make(name):
    assert definition_of(getattr(Timed, name)) is not None


def test_gradients_of_what_dataclasses_compare():
    def f(x, y):
        ordered = sorted([Timed(x, "x"), Timed(y), Timed(x, size=y)])
        same = Timed(x) == Timed(y)
        return sum(k * t.time * t.size for k, t in enumerate(ordered)) + same

    h = 1e-6
    for x, y in ((2.0, 0.5), (0.5, 2.0)):
        slopes = gradient(f, x, y)
        assert slopes[0] == pytest.approx((f(x + h, y) - f(x - h, y)) / (2 * h))
        assert slopes[1] == pytest.approx((f(x, y + h) - f(x, y - h)) / (2 * h))


def test_what_is_defined_in_a_lambda_keeps_its_qualified_name():
    f = lambda x: (x * 2, (lambda: 0).__qualname__)  # noqa: E731 - a lambda is the point
    plain = f(1.0)[1]
    assert value_and_gradient(f, 1.0, has_aux=True) == ((2.0, plain), 2.0)
