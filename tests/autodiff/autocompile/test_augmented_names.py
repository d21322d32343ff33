"""``t += h`` of a variable that may be another's: no program where this changes it."""

import itertools
import sys

import numpy as np
import pytest

from autodiff import autocompile, gradient
from autodiff.autocompile import call_records
from tests.helpers import module_of

WAYS = {
    "global": """
    t = G
{change}
    return np.sum(t * x)
""",
    "argument": """
    t = c
{change}
    return np.sum(t * x)
""",
    "parameter": """
    return inner(x, G)
def inner(x, t):
{change}
    return np.sum(t * x)
""",
    "default": """
    return inner(x)
def inner(x, t=G):
{change}
    return np.sum(t * x)
""",
    "unpacked": """
    t, u = G, 2.0
{change}
    return np.sum(t * x) * u
""",
    "of_a_dict": """
    t = BOX['t']
{change}
    return np.sum(t * x)
""",
    "of_a_tuple": """
    t = (1.0, G)[1]
{change}
    return np.sum(t * x)
""",
    "of_a_list": """
    held = [G]
    t = held[0]
{change}
    return np.sum(t * x)
""",
    "of_an_object": """
    t = OBJECT.t
{change}
    return np.sum(t * x)
""",
    "in_a_loop": """
    s = 0.0
    for t in (0.5, G):
    {change}
        s = s + np.sum(t * x)
    return s
""",
    "in_a_branch": """
    t = 0.5
    if x[0] > 1.0:
        t = G
{change}
    return np.sum(t * x)
""",
    "by_an_inner_function": """
    def inner(t):
    {change}
        return np.sum(t * x)
    return inner(G)
""",
    "by_a_lambda": """
    return inner(x, lambda: G)
def inner(x, g):
    t = g()
{change}
    return np.sum(t * x)
""",
    "captured": """
    t = G
{change}
    return (lambda: np.sum(t * x))()
""",
    "one_line": """
    t = 0.5; t = G; t += 1.0; return np.sum(t * x)
""",
    "two_lines": """
    t = G
    t += (1.0 +
        x[0])
    return np.sum(t * x)
""",
    "after_another": """
    t = 1.0
    t += (x[0] +
        1.0); t = G; t += 1.0
    return np.sum(t * x)
""",
    "view": """
    t = c[1:]
{change}
    return np.sum(t * x[1:])
""",
    "one_of_two": """
    t = c if x[0] > 1.0 else c * 2.0
{change}
    return np.sum(t * x)
""",
    "rows": """
    for t in c:
    {change}
        pass
    return np.sum(x * x)
""",
    "of_x": """
    t = x[1]
{change}
    return np.sum(t * x)
""",
    "part_of_x": """
    t = x[1:]
{change}
    return np.sum(t * x[1:])
""",
}
CHANGES = ("t += 1.0", "t -= x[0]", "t *= 1.5", "t /= 2", "t **= 2", "t //= 2")
NUMBERS = {"float": 0.5, "integer": 3, "numpy": np.float64(0.5), "single": np.float32(0.5)}
ARRAYS = {
    "array": np.array([0.5, 1.5, 2.5]),
    "one": np.array([0.5]),
    "no_axis": np.array(0.5),
    "large": np.full((300, 3), 0.5),
    "list": [0.5, 1.5, 2.5],
}
HEAD = """import copy
import numpy as np
class Box: pass
def again(value):
    global G, OBJECT
    G = value
    BOX['t'] = G
    OBJECT.t = G
BOX, OBJECT, G = {}, Box(), None
again(START)
def f(x, c):
"""


def loaded(way, change, value):
    start = f"np.array({value.tolist()})" if isinstance(value, np.ndarray) else repr(value)
    head = HEAD.replace("START", start.removeprefix("np.float64"))
    return module_of(head + WAYS[way].lstrip("\n").replace("{change}", f"    {change}"))


def calls(way, change, value):
    """Gradients and what is written into, call by call; the name of an error ends them."""
    module = loaded(way, change, value)
    found = []
    for k in range(12):
        x = np.array([1.5, 0.25, 2.0]) * (1 + 0.1 * k)
        c = np.array(value) if isinstance(value, np.ndarray) else value
        try:
            slope = gradient(module.f, x, c, argnums=0)
        except Exception as error:
            found.append(type(error).__name__)
            break
        found.append([np.array(part).tolist() for part in (slope, module.G, module.BOX["t"], c, x)])
    made = [record for record in call_records.records.values() if record.variants]
    call_records.records.clear()
    sys.modules.pop(module.__name__)
    return found, bool(made)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [*NUMBERS, *ARRAYS])
def test_what_is_written_and_returned_is_that_of_tracing(way, kind, soon, monkeypatch):
    value = {**NUMBERS, **ARRAYS}[kind]
    first = (list(WAYS).index(way) + list({**NUMBERS, **ARRAYS}).index(kind)) % 3
    for change in CHANGES[first::3] if "{change}" in WAYS[way] else CHANGES[:1]:
        monkeypatch.setattr(autocompile.Settings, "enabled", False)
        expected, _ = calls(way, change, value)
        monkeypatch.setattr(autocompile.Settings, "enabled", True)
        found, is_program = calls(way, change, value)
        assert len(found) == len(expected)
        for a, b in itertools.zip_longest(found, expected):
            assert type(a) is type(b)
            for one, other in zip(a, b, strict=True):
                if isinstance(a, str):
                    assert one == other
                else:
                    np.testing.assert_allclose(one, other, rtol=1e-12)
        if is_program:  # at the end nothing changed: `t //= 2` ends with zeros
            assert found[-1][1:3] == found[-2][1:3]
            assert found[-1][3] == np.array(value).tolist()


@pytest.mark.parametrize("way", ["parameter", "global", "of_x", "in_a_branch", "two_lines"])
def test_numbers_are_compiled(way, soon):
    assert calls(way, "t += 1.0", 0.5)[1]


def test_a_call_with_an_array_after_programs_for_numbers(soon):
    module = module_of("import numpy as np\ndef f(x, t):\n    t += 1.0\n    return np.sum(x * t)\n")
    x, t = np.array([1.0, 2.0]), np.array([0.5, 1.5])
    for _ in range(9):
        np.testing.assert_allclose(gradient(module.f, x, 0.5, argnums=0), [1.5, 1.5])
    assert [r for r in call_records.records.values() if r.variants]
    for k in range(9):
        np.testing.assert_allclose(gradient(module.f, x, t, argnums=0), [1.5 + k, 2.5 + k])
    sys.modules.pop(module.__name__)


def test_numbers_of_classes_that_write(soon):
    class Counting(np.float64):
        def __iadd__(self, other):
            counted.append(other)
            return self

    def f(x, t):
        t += 1.0
        return np.sum(x * t)

    counted = []
    for _ in range(9):
        gradient(lambda x: f(x, Counting(2.0)), np.ones(2))
        gradient(f, np.ones(2), Counting(2.0), argnums=0)
    assert counted == [1.0] * 18
    assert not [r for r in call_records.records.values() if r.variants]


def test_numbers_under_a_debugger(soon):
    module = module_of(
        "import numpy as np\nG = [1.0]\ndef f(x, t):\n    t += G[0]\n    return np.sum(x * t)\n"
    )
    sys.settrace(lambda *_: None)
    try:
        for _ in range(9):
            gradient(module.f, np.ones(2), 0.5, argnums=0)
    finally:
        sys.settrace(None)
    assert any(r.variants for r in call_records.records.values())
    sys.modules.pop(module.__name__)
