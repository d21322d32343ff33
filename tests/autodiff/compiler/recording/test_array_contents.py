"""Outer arrays of every form: programs compare what they hold, and recordings put it back."""

import numpy as np
import pytest

from autodiff import compile, gradient
from autodiff.compiler.recording.array_contents import ArrayContent
from tests.helpers import module_of

X = np.array([0.3, -0.7, 1.2])
FIELDS = [("p", float), ("q", int)]
ARRAYS = {
    "small": lambda: np.arange(6.0).reshape(2, 3),
    "large": lambda: np.arange(900.0).reshape(30, 30),
    "by columns": lambda: np.asfortranarray(np.arange(900.0).reshape(30, 30)),
    "with gaps": lambda: np.arange(3000.0)[::3],
    "backwards": lambda: np.arange(900.0)[::-1],
    "of records": lambda: np.zeros(300, FIELDS),
    "complex": lambda: np.zeros((20, 20), complex),
    "of times": lambda: np.zeros(600, "M8[s]"),
    "without axes": lambda: np.array(2.0),
    "empty": lambda: np.zeros((0, 3)),
    "of a subclass": lambda: np.ma.array(np.zeros(700)),
}


@pytest.mark.parametrize("form", ARRAYS)
@pytest.mark.parametrize("is_fixed", [False, True])
def test_contents_are_compared_and_put_back(form, is_fixed):
    owner = ARRAYS[form]()
    x = owner.view()
    x.flags.writeable = not is_fixed
    content, before = ArrayContent(x), owner.tobytes()
    assert content.is_same(x)
    if owner.size:
        owner[(-1,) * owner.ndim] = np.ones((), owner.dtype)[()]
        owner.flat[0] = np.ones((), owner.dtype)[()]
        assert not content.is_same(x)
    content.put_back(x)
    assert content.is_same(x)
    assert owner.tobytes() == before
    assert x.flags.writeable is not is_fixed


@pytest.mark.parametrize("make", [
    lambda: np.lib.stride_tricks.as_strided(np.zeros(12), (6,), (16,)),
    lambda: np.lib.stride_tricks.sliding_window_view(np.zeros(8), 3, writeable=True),
    lambda: np.frombuffer(bytearray(48)),
])  # fmt: skip
def test_memory_that_no_array_owns_is_put_back(make):
    """To mark such an array as writeable is an error, even if it is."""
    held = make()

    def loss(x):
        held[0] += 1.0
        return x**2 * np.sum(held)

    compiled = compile(lambda x: gradient(loss, x))
    for k in range(3):
        assert compiled(1.0) == 2.0 * np.sum(held)
        assert np.all(held[0] == k + 1.0)


def test_a_read_only_window_is_put_back():
    own = np.zeros(8)
    before = np.lib.stride_tricks.sliding_window_view(own, 3)  # it is put back before `own`

    def loss(x):
        s = np.sum(before[0])
        own[0] += 1.0
        return x**2 * (s + np.sum(before))

    compiled = compile(lambda x: gradient(loss, x))
    for k in range(3):
        assert compiled(1.0) == 2.0 * (2 * k + 1)
        assert own[0] == k + 1.0
    assert not before.flags.writeable


@pytest.mark.parametrize("form", ["small", "large"])
def test_a_shape_that_is_set_in_place_is_put_back(form):
    x = ARRAYS[form]()
    content, shape = ArrayContent(x), x.shape
    x.shape = (-1,)
    assert not content.is_same(x)
    content.put_back(x)
    assert x.shape == shape


def test_zeros_and_nans_are_compared_by_their_bits():
    for size in (3, 900):
        x = np.zeros(size)
        x[1] = np.nan
        content = ArrayContent(x)
        assert content.is_same(x)
        x[0] = -0.0
        assert not content.is_same(x)


# -- programs -------------------------------------------------------------------------------------

HEAD = """
import collections, string, types
import numpy as np
class Held:
    def __init__(self): self.n, self.m, self.large = 1.0, 2.0, np.arange(700.0)
class Slots:
    __slots__ = ("late",)
A, B = np.arange(1.0, 5.0).reshape(2, 2), np.arange(700.0)
V, FIXED, SMALL_FIXED = B[2:9], B.view(), A.view()
FIXED.flags.writeable = SMALL_FIXED.flags.writeable = False
OBJECTS, MANY = np.array([1.0, [2.0], None], dtype=object), np.array([1.0] * 600, dtype=object)
HELD, SLOTS, MASKED = Held(), Slots(), np.ma.array(np.ones(700), mask=np.zeros(700))
ROWS = collections.defaultdict(list, {k: [float(k)] for k in range(150)})
N = [0]
"""
STATE = (
    "A", "A.shape", "B", "B.shape", "OBJECTS.tolist()", "OBJECTS.shape", "MANY.tolist()",
    "vars(HELD)", "HELD.large", "HELD.large.shape", "getattr(SLOTS, 'late', None)",
    "MASKED.data", "MASKED.mask", "list(ROWS.items())", "list(vars(HELD))",
)  # fmt: skip


def outcomes(source, change, compiled):
    """Return what six calls give and leave behind, with a change from outside after three."""
    module, found = module_of(HEAD + source), []
    module.__file__ = __file__  # its classes are the user's
    f = compiled(lambda x: gradient(module.f, x))
    for k in range(6):
        if k == 3:
            exec(change, vars(module))
        module.N[0] = k
        try:
            y = f(X + k)
        except Exception as error:
            y = type(error).__name__
        found.append((y, [repr(eval(e, vars(module))) for e in STATE]))
    return found


TIERS = {
    "auto": compile,
    "python": lambda f: compile(f, backend="python"),
}


def check(tier, body, read, change="pass"):
    source = f"def f(x):\n    {body}\n    return np.sum(x**2) * ({read})\n"
    expected = outcomes(source, change, lambda f: f)
    np.testing.assert_equal(outcomes(source, change, TIERS[tier]), expected)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    "body, read",
    [
        ("A[0, 0] += 1.0", "SMALL_FIXED[0, 0]"),
        ("B[5] += 1.0", "FIXED[5]"),
        ("V.base[600] += 1.0", "V[0]"),
        ("np.lib.stride_tricks.as_strided(V, (20,), (8,))[15] += 1.0", "V[0]"),
        ("A.shape = (4,) if A.ndim == 2 else (2, 2)", "A.sum()"),
        ("B.shape = (70, 10) if B.ndim == 1 else (700,)", "B.shape[0]"),
        ("HELD.large.shape = (70, 10)", "HELD.large.sum()"),
        ("OBJECTS[0] += 1.0", "OBJECTS[0]"),
        ("MANY[599] += 1.0", "MANY[0]"),
        ("MASKED[3] = 5.0", "MASKED.sum()"),
        ("MASKED.mask[3] = True", "float(MASKED.sum())"),
        ("if not hasattr(SLOTS, 'late'): SLOTS.late = 1.0", "SLOTS.late"),
        ("SLOTS.late = 2.0", "1.0"),
        ("t = HELD.n; del HELD.n; HELD.n = t", "HELD.m"),
        ("object.__setattr__(HELD, 'fresh', 2.0 + N[0])", "HELD.m"),
        ("ROWS[140].append(1.0)", "len(ROWS[140])"),
    ],
)
def test_writes_happen_once_at_each_call(tier, body, read):
    check(tier, body, read)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    "read, change",
    [
        ("HELD.__getstate__()['n']", "HELD.n = 4.0"),
        ("HELD.__reduce_ex__(2)[2]['n']", "HELD.n = 4.0"),
        ("float(string.Formatter().vformat('{0.n}', (HELD,), {}))", "HELD.n = 4.0"),
        ("list(vars(HELD).values())[0]", "HELD.__dict__['n'] = HELD.__dict__.pop('n')"),
        ("MANY[599]", "MANY[599] = 4.0"),
        ("V.base[600]", "B[600] = 4.0"),
        ("HELD.large.shape[0]", "HELD.large.shape = (70, 10)"),
        ("ROWS[140][0]", "ROWS[140][0] = 3.0"),
        ("FIXED[5]", "B[5] = 9.0"),
        ("MASKED.sum()", "MASKED.mask[3] = True"),
    ],
)
def test_changes_are_noticed(tier, read, change):
    check(tier, "pass", read, change)


HELD = (np.array([1.0, 2.0, 3.0]),), 2.0


@pytest.mark.parametrize("backend", ["native", "python"])
def test_the_only_array_in_a_tuple(backend):
    compiled = compile(lambda x: gradient(lambda x: np.sum(x * x * HELD[0][0]), x), backend=backend)
    for k in range(4):
        HELD[0][0][0] = k // 2
        np.testing.assert_allclose(compiled(X), 2.0 * X * HELD[0][0])
    assert compiled.variants == 2
    assert compiled.eager_because is None
