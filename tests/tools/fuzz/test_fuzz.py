"""The fuzzer finds what is wrong, and finds nothing wrong in a short run."""

from __future__ import annotations

import ast
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from autodiff.compiler.recording import executed_code
from autodiff.trace.tracer import FloatTracer, Tracer
from tests.helpers import one_in, run_python
from tools.fuzz import __main__ as fuzz, generators
from tools.fuzz.__main__ import run
from tools.fuzz.judge import MODES, Outcome, judge
from tools.fuzz.report import Report
from tools.fuzz.shrink import smallest
from tools.fuzz.writer import PHRASES, kinds_of, write

ROOT = Path(__file__).parents[3]


def judged(body: str, argument: str = "np.array([0.7, -1.3])") -> list[tuple[str, str]]:
    """The kind of outcome in each mode of a program with this body."""
    source = (
        "import math\nimport numpy as np\n\n\n"
        f"def program(x):\n    {body}\n\n\nARGUMENTS = ({argument},)\n"
    )
    return [(o.mode, o.kind) for o in judge(source, 0, ("reverse", "forward", "second"))]


def test_a_short_run_finds_nothing():
    n = 200 // one_in(5)
    report = run(range(n))
    failed = [(seed, o.mode, o.detail) for seed, o, _ in report.failures]
    assert failed == []
    assert report.counts["plain", "discarded"] < 0.05 * n
    assert report.counts["reverse", "right"] > 0.85 * n


@pytest.mark.parametrize("name", generators.names())
def test_a_short_run_of_every_generator_in_every_mode_finds_nothing(name):
    report = run(range(27 // one_in(9)), name, MODES)
    assert [(seed, o.mode, o.detail) for seed, o, _ in report.failures] == []
    judged = [report.counts[mode, "right"] + report.counts[mode, "error"] for mode in MODES]
    assert min(judged) > 0


@pytest.mark.parametrize("name", generators.names())
def test_a_generator_writes_the_same_program_for_the_same_seed(name):
    assert [generators.write(name, s) for s in range(3)] == [
        generators.write(name, s) for s in range(3)
    ]
    assert len({generators.write(name, s) for s in range(20)}) > 10


def test_a_program_that_ends_the_process_is_shown_as_it_was(monkeypatch):
    outcome = Outcome("wrong", "reverse", "value differs")
    monkeypatch.setattr(fuzz, "shrunk", lambda *args: os._exit(3))
    assert fuzz.shrunk_apart("x = 1", 0, outcome).endswith("has died.\nx = 1")
    monkeypatch.setattr(fuzz, "shrunk", lambda *args: "x")
    assert fuzz.shrunk_apart("x = 1", 0, outcome) == "x"


# -- what the modes can tell: each is given a gradient that is wrong there ------------------------


STUCK = """
import numpy as np

def program(x):
    return np.sum(x * x) if np.sum(x) > 0 else np.sum(3.0 * x)

ARGUMENTS = (np.array([0.7, 1.3]),)
"""


@pytest.mark.parametrize("mode", ["automatic", "compiled"])
def test_a_program_that_keeps_its_branch_is_wrong(mode, monkeypatch):
    def is_true(self):
        return bool(self._value)  # and nothing notes what was read

    monkeypatch.setattr(Tracer, "__bool__", is_true)
    # A recording looks at all code that runs in it, so at this function, too.
    monkeypatch.setattr(executed_code.Watch, "_note", lambda self, frame: False)
    [outcome] = judge(STUCK, 0, (mode,))
    assert outcome.kind == "wrong"


def test_a_value_that_is_lost_in_text_without_source_is_wrong(monkeypatch):
    source = "import math\n\ndef program(x):\n    return x * math.sin(x)\n\nARGUMENTS = (0.7,)\n"
    assert [o.kind for o in judge(source, 0, ("unverified",))] == ["error"]
    monkeypatch.setattr(FloatTracer, "__float__", lambda self: float(self._value), raising=False)
    assert [o.kind for o in judge(source, 0, ("unverified",))] == ["wrong"]


# -- programs ------------------------------------------------------------------------------------


def test_the_same_seed_writes_the_same_program():
    assert [write(seed).source for seed in range(5)] == [write(seed).source for seed in range(5)]
    assert len({write(seed).source for seed in range(50)}) == 50


def test_programs_are_broad():
    used = Counter(phrase for seed in range(400) for phrase in write(seed).used)
    shares = [np.mean([phrase in used for phrase in phrases]) for phrases in PHRASES.values()]
    assert min(shares) > 0.2
    assert np.mean(shares) > 0.5
    blocks = {name for name in used if name.isidentifier()}
    assert blocks >= {
        "branch",
        "counting",
        "local_function",
        "user_class",
        "generator",
        "recursion",
    }


def test_every_phrase_is_python_once_its_holes_are_filled():
    class Filled(dict):
        def __missing__(self, hole):
            return {"perm": "(0,)", "shape": "(1,)", "view": "1:", "index": "0"}.get(hole, "x")

    for phrases in PHRASES.values():
        assert len(set(phrases)) >= len(phrases) - 5  # a few stand twice, to be taken more often
        for phrase in phrases:
            ast.parse(phrase.format_map(Filled()))


@pytest.mark.parametrize(
    "value, kinds",
    [
        (0.5, {"real", "float"}),
        (np.float32(0.5), {"real", "float"}),
        (3, {"integer"}),
        (True, {"integer"}),
        (1j, {"complex"}),
        (np.zeros(3), {"real", "array", "vector"}),
        (np.zeros((2, 3)), {"real", "array", "matrix"}),
        (np.zeros((2, 2)), {"real", "array", "matrix", "square"}),
        (np.zeros(()), {"real"}),
        (np.zeros(2, complex), {"complex", "array", "vector"}),
        (np.zeros(2, int), {"integer", "array"}),
        (np.zeros(0), set()),
        ([1.0], {"list"}),
        ((), set()),
        ({"p": 1.0}, {"dict"}),
        ("text", set()),
        (None, set()),
    ],
)
def test_kinds(value, kinds):
    assert set(kinds_of(value)) == kinds


# -- the judge -----------------------------------------------------------------------------------

ALL_RIGHT = [("reverse", "right"), ("forward", "right"), ("second", "right")]


@pytest.mark.parametrize(
    "body, argument",
    [
        ("return np.sum(np.sin(x) * x)", "np.array([0.7, -1.3])"),
        ("return math.sin(x) * x", "0.7"),
        ("x[0] = x[1] ** 2; return np.sum(x)", "np.array([0.7, -1.3])"),
        ("return np.sum(np.abs(x) ** 2)", "(np.array([0.7, -1.3]) + 1j * np.array([0.2, 0.4]))"),
        ("return x['p'] * x['q'][0] ** 2", "{'p': 0.5, 'q': np.array([1.5, 2.0])}"),
        ("return np.float32(np.sum(x ** 2))", "np.array([0.5, 1.5], dtype=np.float32)"),
        ("return 2.0", "0.7"),
    ],
)
def test_right(body, argument):
    assert judged(body, argument) == ALL_RIGHT


@pytest.mark.parametrize(
    "body, argument",
    [
        ("return np.sum(x) / 0.0", "0.7"),
        ("return 'text'", "0.7"),
        ("return 1 / 0", "0.7"),
        ("return abs(x)", "0.0"),
        ("return max(x, 0.5)", "0.5"),
        ("return x if x > 0.5 else 3.0", "0.5"),
        ("return np.sum(np.floor(x))", "np.array([1.0])"),
        ("return np.random.uniform() * x", "0.5"),
        ("return math.sin(1e7 * x)", "0.5"),
    ],
)
def test_discarded(body, argument):
    assert judged(body, argument) == [("plain", "discarded")]


def test_clean_error():
    assert judged("return np.sum(x) + len(x.tobytes())")[0] == ("reverse", "error")


# -- what it must find ---------------------------------------------------------------------------


def found_by(plant: str, seeds: str, shown: int = 1) -> str:
    """What a run prints in a process of its own, in which something wrong was planted."""
    code = (
        "import operator\nimport numpy as np\nimport autodiff\n"
        "from chainrules_core import rrule, frule\nfrom chainrules_core.define import scalar_rule\n"
        f"{plant}\nfrom tools.fuzz.__main__ import main\n"
        f"print('status', main({seeds.split()} + ['--jobs', '1', '--show', '{shown}']))"
    )
    return run_python("-c", code).stdout


def test_finds_a_wrong_rule_and_makes_the_program_short():
    printed = found_by("scalar_rule(np.cos, lambda y, x: np.sin(x))", "--seed 0 --count 40", 2)
    assert "status True" in printed
    assert "wrong in" in printed
    programs = [text.partition("ARGUMENTS")[0] for text in printed.split("def program")[1:]]
    assert any("np.cos(" in program for program in programs)
    assert min(len(program.splitlines()) for program in programs) <= 8


def test_finds_a_view_that_is_forgotten():
    printed = found_by(
        "autodiff.dispatch.call.note_shared = lambda *args: None", "--seed 0 --count 40"
    )
    assert "status True" in printed


def test_finds_a_rule_that_fails():
    plant = "scalar_rule(np.exp, lambda y, x: {}['none'])"
    printed = found_by(plant, "--seed 0 --count 40")
    assert "crash in" in printed
    assert "KeyError: 'none'" in printed


# -- shrinking and counting ----------------------------------------------------------------------


def test_smallest_program():
    source = (
        "import math\nimport numpy as np\n\n\ndef program(x, y):\n    a = np.sin(x) + y\n"
        "    for i in range(3):\n        if a > 0:\n            b = [np.tanh(a * i), 1.0]\n"
        "    return a + sum(b)\n\n\nARGUMENTS = (0.5, 0.7)\n"
    )
    short = smallest(source, lambda text: "np.tanh" in text and "return" in text, float("inf"))
    assert short == ("def program(y):\n    b = np.tanh(a)\n    return a\nARGUMENTS = (0.7,)")


def test_report():
    one, two = Report(), Report()
    one.add(1, "", judge("def program(x):\n    return x\n\nARGUMENTS = (0.5,)\n", 1, ("reverse",)))
    two.add(2, "", judge("def program(x):\n    return 'x'\n\nARGUMENTS = (0.5,)\n", 2))
    one.merge(two)
    assert one.programs == 2
    assert one.counts == {("reverse", "right"): 1, ("plain", "discarded"): 1}
    assert "2 programs" in one.table()
