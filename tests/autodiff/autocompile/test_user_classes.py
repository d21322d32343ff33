"""Programs of functions that use the user's classes and objects."""

import functools
import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from autodiff import automatic_compile, gradient
from autodiff.autocompile import call_records, why_not
from tests.helpers import define

W = np.array([0.3, -0.7, 1.1])
LOG = []

pytestmark = pytest.mark.usefixtures("soon")


class Part:
    c = 5.0

    def f(self, w):
        return np.sum(w**3) * self.c


class Base:
    scale = 2.0

    def loss(self, w):
        return np.sum((self.scale * w - self.y) ** 2) * self.gain()

    def gain(self):
        return 1.0


class Model(Base):
    def __init__(self, y=None):
        self.y = np.arange(3.0) if y is None else y
        self.k = 3
        self.numbers = [1.0, 2.0]
        self.arrays = [np.ones(3), np.ones(3)]
        self.table = {"a": np.ones(3)}
        self.part = Part()
        self.unread = object()

    @property
    def double(self):
        return self.k * 2.0

    def more(self, w):
        parts = np.sum(w * self.arrays[0]) + self.part.f(w) * self.numbers[0] * self.double
        return parts + np.sum(self.table["a"] * w**2)


class Other(Model):
    def gain(self):
        return 10.0


def as_traced(f, *args):
    before = automatic_compile(False)
    try:
        return gradient(f, *args)
    finally:
        automatic_compile(before)


CHANGES = {
    "an array in place": lambda m: m.y.__setitem__(0, 9.0),
    "an array": lambda m: setattr(m, "y", np.full(3, 4.0)),
    "what hides an attribute of the class": lambda m: setattr(m, "scale", 3.0),
    "what hides a method": lambda m: setattr(m, "gain", lambda: 7.0),
    "an attribute of a base": lambda m: setattr(Base, "scale", 8.0),
    "a method of a base": lambda m: setattr(Base, "gain", lambda self: self.k * 1.0),
    "a method of the class": lambda m: setattr(Model, "gain", lambda self: 2.0),
    "the class": lambda m: setattr(m, "__class__", Other),
    "an array in a list in place": lambda m: m.arrays[0].__setitem__(1, 5.0),
    "a list": lambda m: m.arrays.insert(0, np.zeros(3)),
    "a number in a list": lambda m: m.numbers.__setitem__(0, 7.0),
    "an array in a dict": lambda m: m.table.__setitem__("a", np.zeros(3)),
    "an array in a dict in place": lambda m: m.table["a"].__setitem__(0, 2.5),
    "an object": lambda m: setattr(m, "part", Part()),
    "an attribute of an object": lambda m: setattr(m.part, "c", 1.5),
    "an attribute of its class": lambda m: setattr(Part, "c", 2.5),
    "what a property reads": lambda m: setattr(m, "k", 9),
    "how attributes are found": lambda m: setattr(
        Model,
        "__getattribute__",
        lambda self, n: 3.0 if n == "scale" else super(Base, self).__getattribute__(n),
    ),
    "a property": lambda m: setattr(Model, "double", property(lambda self: 1.5)),
}
USES = {
    "method": lambda m: m.loss,
    "another method": lambda m: m.more,
    "object": lambda m: lambda w: m.loss(w) + m.more(w),
    "list": lambda m: (lambda held: lambda w: held[0].loss(w) + held[1].more(w))([m, m]),
}


@pytest.fixture
def classes():
    """Put back what the classes have."""
    kept = [(kind, dict(vars(kind))) for kind in (Part, Base, Model)]
    yield
    for kind, had in kept:
        for name in [n for n in vars(kind) if n not in had]:
            delattr(kind, name)
        for name, value in had.items():
            if not name.startswith("__") and vars(kind)[name] is not value:
                setattr(kind, name, value)


@pytest.mark.usefixtures("classes")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_an_object_holds_may_change(use, change):
    m = Model()
    f = use(m)
    for _ in range(8):
        np.testing.assert_allclose(gradient(f, W), as_traced(f, W))
    assert why_not(f) == ""
    assert any(record.hits for record in call_records.records.values())
    change(m)
    for _ in range(8):
        np.testing.assert_allclose(gradient(f, W), as_traced(f, W))


def test_objects_have_programs_of_their_own():
    models = [Model(np.full(3, float(k))) for k in range(3)]
    for _ in range(8):
        for m in models:
            np.testing.assert_allclose(gradient(m.loss, W), as_traced(m.loss, W))


def test_an_object_that_holds_very_much_is_not_compared():
    class Large:
        def __init__(self):
            self.rows = [[np.ones(2)] for _ in range(40)]

        def loss(self, w):
            return np.sum(w * self.rows[39][0][1])

    m = Large()
    assert [gradient(m.loss, np.ones(2))[0] for _ in range(8)] == [1.0] * 8
    m.rows[39][0][1] = 3.0
    assert gradient(m.loss, np.ones(2))[0] == 3.0


@dataclass
class Pair:
    a: np.ndarray
    b: float = 2.0
    items: list = field(default_factory=list)

    def total(self):
        return np.sum(self.a**2) * self.b


@dataclass(frozen=True)
class Frozen:
    a: np.ndarray
    b: float = 2.0

    def total(self):
        return np.sum(self.a**2) * self.b


class Filter:
    def __init__(self, q):
        self.x = np.zeros(3)
        self.q = q
        self.n = 0.0
        self.seen = []

    def predict(self, z):
        self.x = self.x + self.q * z
        self.n += 1.0
        self.seen.append(self.x)

    def update(self):
        self.x[0] = self.n
        return np.sum(self.seen[-1] ** 2)


def filters(w):
    f = Filter(w)
    for z in (1.0, 2.0):
        f.predict(z)
    return f.update() + np.sum(f.x)


class Sub(Filter):
    def __init__(self, q):
        super().__init__(q * 2.0)

    def update(self):
        return super().update() * self.n


def inherits(w):
    s = Sub(w)
    s.predict(1.0)
    return s.update()


@pytest.mark.parametrize(
    "f",
    [filters, inherits, lambda w: Pair(w).total(), lambda w: Frozen(w, b=3.0).total()],
    ids=["filters", "inherits", "dataclass", "frozen"],
)
def test_objects_made_by_the_function(f):
    assert why_not(f) == ""
    for k in range(8):
        np.testing.assert_allclose(gradient(f, W + k), as_traced(f, W + k))
    assert any(record.hits for record in call_records.records.values())


class PartOperators:
    def __init__(self, w):
        self.w = w

    __add__ = functools.partial(lambda other: LOG)


class Computed:
    def __getattr__(self, name):
        return 2.0


@pytest.mark.parametrize(
    "f",
    [
        lambda w: np.sum(w) * Computed().rate,
        lambda w: np.sum(w) * len(PartOperators(w) + 1.0),
        lambda w: np.sum(w) * (2.0 if type(Part()) is Part else 3.0),
        lambda w: np.sum(w) * (2.0 if hasattr(Part(), "c") else 3.0),
    ],
)
def test_classes_that_are_not_plain_are_doubts(f):
    assert why_not(f)


def test_isinstance_may_name_the_users_classes():
    def f(w):
        p = Part()
        return p.f(w) if isinstance(p, (Part, Model)) else np.sum(w)

    assert why_not(f) == ""


# What is written into `b`, `items` and `n` is the object's own, unless one of RISKY is among them.
PLAIN = (
    "self.a = self.a * w[0] + 1.0",
    "self.b = np.zeros(3)",
    "self.b[0] = 2.0",
    "self.b[1] += w[2]",
    "self.items.append(self.a)",
    "self.items = []",
    "self.items = [x for x in self.items]",
    "self.n += 1",
    "self.n = self.n * 2",
    "self.c = self.f(w)",
    "self.c = self.c + len(self.items)",
    "self.step = 2.0",
    "other = Thing(w); other.n += 2; self.c = other.n * 1.0",
    "if self.n > 1: self.c = self.c * w[1]",
    "for v in self.items: self.c = self.c + np.sum(v) * w[0]",
    "other = self; self.c = other.c + 1.0",
)
RISKY = (
    "self.a += w[1]",
    "self.b = self.a",
    "self.b = OUTSIDE",
    "self.b = w",
    "self.items = TABLE",
    "self.kind_count.append(1)",
    "OUTER.n = self.n",
    "OUTER.touch(w)",
    "other = self; other.n = 3",
    "b = self.b; b[2] = 1.0",
    "Thing.step = Thing.step + 1.0",
    "TABLE.append(2.0)",
    "self.hook = TABLE.append; self.hook(1.0)",
    "(lambda k: k.touch(w))(OUTER)",
)
PROGRAM = """
import numpy as np

class Other:
    n = 1

    def __init__(self, w):
        self.w = w

    def touch(self, w):
        {outer_touch}

class Thing:
    kind_count = {class_items}
    step = 0.5

    def __init__(self, w):
        self.a = w * 2.0
        self.b = np.ones(3)
        self.items = []
        self.n = 1
        self.c = 0.0

    def f(self, w):
        return np.sum(w) * self.step

    def touch(self, w):
        {touch}

    def run(self, w):
        {run}
        total = np.sum(self.a) + np.sum(self.b * w) + self.n * np.sum(w) + self.c
        return total * (1.0 + len(self.items)) * (1.0 + len(self.kind_count))

OUTSIDE = np.ones(3)
TABLE = [1.0]
OUTER = {outer}(np.ones(3))

def program(w):
    t = Thing(w)
    {body}
    return t.run(w) + OUTER.n * np.sum(w) + np.sum(OUTSIDE * w)
"""


def _made(seed):
    rng = random.Random(seed)
    risk = rng.choice([0.0, 0.0, 0.2])

    def some(most):
        picked = [rng.choice(RISKY if rng.random() < risk else PLAIN) for _ in range(most)]
        return "\n        ".join(picked)

    text = PROGRAM.format(
        class_items=rng.choice(["()", "[]"]),
        touch=some(rng.randint(1, 3)),
        run=some(rng.randint(2, 5)),
        body=rng.choice(["pass", "t.touch(w)", "t.n += 2", "t.b[0] = 3.0", "t.items.append(1.0)"]),
        outer="Thing" if rng.random() < risk else "Other",
        outer_touch=rng.choice(["pass", "self.n += 1"]) if rng.random() < risk else "pass",
    )
    path = f"<things {seed}>"
    return text, define(text, path, {"__name__": f"things_{seed}"})["program"]


def test_most_generated_classes_have_programs():
    assert sum(why_not(_made(seed)[1]) == "" for seed in range(40)) > 5


@pytest.mark.parametrize("seed", range(100))
def test_generated_classes(seed):
    """What a program of a class gives is what the same class gives without programs."""
    text, by_programs = _made(seed)
    _, as_written = _made(seed)
    for k in range(7):
        w = W + 0.1 * k
        try:
            expected = as_traced(as_written, w)
        except Exception as error:
            with pytest.raises(type(error)):
                gradient(by_programs, w)
            continue
        np.testing.assert_allclose(gradient(by_programs, w), expected, err_msg=text)


def test_few_programs_of_one_class_are_kept():
    """Objects share programs, but not if they have many shapes."""
    sizes = range(1, call_records.MOST_ALIKE + 5)
    models = [(Model(np.full(n, float(n))), np.ones(n)) for n in sizes]
    for m, w in models * 2:
        for _ in range(4):
            gradient(m.loss, w)
    kept = [r for r in call_records.records.values() if r.variants]
    assert len(kept) == call_records.MOST_ALIKE
