"""Which code runs while a call is recorded, however it is called."""

import collections
import contextlib
import functools
import gc
import itertools
import operator
import sys
import threading

import numpy as np
import pytest

from autodiff import compile, gradient
from autodiff.compiler.recording import executed_code
from autodiff.compiler.recording.executed_code import Watch, places_of
from chainrules_core import rrule

MECHANISMS = ["monitoring", "trace function"] if hasattr(sys, "monitoring") else ["trace function"]


@pytest.fixture(params=MECHANISMS)
def mechanism(request, monkeypatch):
    if request.param == "trace function":
        monkeypatch.setattr(executed_code, "_monitoring", None)
    return request.param


@pytest.fixture
def traced(monkeypatch):
    monkeypatch.setattr(executed_code, "_monitoring", None)


def hidden(*_):
    return 1


def generated():
    with contextlib.suppress(KeyError):
        yield 1
    yield 2


class Hidden:
    """Runs code that nobody names."""

    def __del__(self):
        pass

    @property
    def hidden(self):
        return 1

    def __lt__(self, other):
        return True

    def __getattr__(self, name):
        return 1


class Entered:
    """A context manager."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


async def awaited():
    return 1


WAYS = {
    "hidden": [
        lambda given: given(),
        lambda given: functools.partial(given, 1)(),
        lambda given: sorted([1, 2], key=given),
        lambda given: list(map(given, [1])),
        lambda given: functools.reduce(given, [1, 2]),
        lambda given: collections.defaultdict(given)[0],
        lambda given: np.frompyfunc(given, 1, 1)(np.ones(1)),
        lambda given: np.apply_along_axis(given, 0, np.ones(2)),
        lambda given: eval("given()", {"given": given}),
        lambda given: max([1, 2], key=given),
    ],
    "generated": [
        lambda given: next(generated()),
        lambda given: list(generated()),
        lambda given: [*map(abs, generated())],
    ],
    "Hidden.__del__": [lambda given: Hidden() and None],
    "Hidden.hidden": [lambda given: operator.attrgetter("hidden")(given)],
    "Hidden.__lt__": [lambda given: sorted([given, given])],
    "Hidden.__getattr__": [lambda given: given.other],
    "Entered.__enter__": [lambda given: contextlib.ExitStack().enter_context(Entered())],
    "awaited": [lambda given: next(awaited().__await__(), None)],
    "made": [lambda given: exec("def made(): pass\nmade()", {"__name__": "__main__"})],
}
RESUMED = [
    next,
    list,
    operator.methodcaller("send", None),
    operator.methodcaller("throw", KeyError()),
    operator.methodcaller("close"),
]


def test_all_code_is_noted_however_it_is_called(mechanism):
    for expected, ways in WAYS.items():
        given = Hidden() if expected.startswith("Hidden.") else hidden
        for k, way in enumerate(ways):
            for _ in range(2):  # what one watch has seen, the next sees again
                watch = Watch(places_of([way]))
                with watch:
                    way(given)
                assert watch.unseen == expected, (expected, k)


def test_generators_that_have_begun_before(mechanism):
    for way in RESUMED:
        g = generated()
        next(g)
        watch = Watch(set())
        with watch:
            way(g)
        assert watch.unseen == "generated"


def test_code_that_was_looked_into(mechanism):
    def known():
        return [hidden() for _ in range(3)]

    watch = Watch(places_of([known, hidden]))
    with watch:
        known()
        np.linalg.norm(np.ones(3))  # code of libraries does not count
    next(generated())  # after the end
    assert watch.unseen == ""


def test_code_of_other_threads(mechanism):
    """It does not count, and does not hide what runs in this thread."""

    def elsewhere(f):
        thread = threading.Thread(target=f)
        thread.start()
        thread.join()

    watch = Watch(places_of([elsewhere]))
    with watch:
        elsewhere(hidden)
        before = watch.unseen
        hidden()
    assert (before, watch.unseen) == ("", "hidden")


def test_watches_in_several_threads(mechanism):
    """Each sees the code of its own thread, also where there are more of them than tools."""
    meeting = threading.Barrier(5)
    found = {}

    def run(name, f):
        watch = Watch(places_of([run]))
        with watch:
            meeting.wait()
            f()
            meeting.wait()
        found[name] = watch.unseen

    functions = {"a": hidden, "b": hidden, "c": lambda: next(generated()), "d": int, "e": int}
    threads = [threading.Thread(target=run, args=pair) for pair in functions.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    name = test_watches_in_several_threads.__name__
    expected = {"a": "hidden", "b": "hidden", "c": f"{name}.<locals>.<lambda>", "d": "", "e": ""}
    assert found == expected


def test_watches_in_watches(mechanism):
    """Five of them: there are two tools of monitoring, and one trace function."""
    watches = [Watch(set()) for _ in range(5)]
    with contextlib.ExitStack() as stack:
        for watch in watches:
            stack.enter_context(watch)
        hidden()
    assert [w.unseen for w in watches] == ["hidden"] * 5
    inner, outer = Watch(set()), Watch(set())
    with outer:
        with inner:
            pass
        hidden()
    assert (inner.unseen, outer.unseen) == ("", "hidden")
    assert sys.gettrace() is None or "coverage" in str(type(sys.gettrace()))


def test_a_proof_takes_the_place_of_a_trace_function(mechanism, monkeypatch):
    """It does not cover the user's rules, should one come meanwhile."""
    is_monitored = mechanism == "monitoring"
    for is_proved, at_start, at_end in itertools.product((False, True), repeat=3):
        rules = iter([at_start, at_end])
        monkeypatch.setattr(executed_code, "_has_rules_of_users", lambda rules=rules: next(rules))
        watch = Watch(set(), is_proved)
        with watch:
            is_traced = sys.gettrace() is not None
        is_left_out = is_proved and not at_start and not is_monitored
        assert is_traced == (not is_monitored and not is_left_out)
        assert watch.unseen == ("a rule" if is_left_out and at_end else "")


def test_rules_of_users():
    try:
        rrule.register(hidden)(lambda *args: (1, lambda bar: bar))
        assert executed_code._has_rules_of_users()
    finally:
        rrule.unregister(hidden)


def test_a_debugger_keeps_its_trace_function(mechanism):
    seen = []

    def debugger(frame, event, arg):
        seen.append(frame.f_code.co_name)

    before = sys.gettrace()
    watch = Watch(set())
    sys.settrace(debugger)
    try:
        with watch:
            hidden()
        hidden()
        after = sys.gettrace()
    finally:
        sys.settrace(before)
    assert after is debugger
    assert seen.count("hidden") == 2
    assert watch.unseen == ("hidden" if mechanism == "monitoring" else "")


def test_a_debugger_that_begins_meanwhile(mechanism):
    before, seen = sys.gettrace(), []
    watch = Watch(set())
    try:
        with watch:
            sys.settrace(lambda frame, event, arg: seen.append(event))
            hidden()
        hidden()
        after = sys.gettrace()
    finally:
        sys.settrace(before)
    assert after is not before
    assert seen == ["call"] * len(seen)
    assert watch.unseen == ("hidden" if mechanism == "monitoring" else "a debugger")


RATE = 1.0


def read_by_name(x):
    return x * RATE


def test_code_that_is_not_named_is_not_recorded(mechanism):
    global RATE
    table = {"read_by": read_by_name}

    def f(x):
        return np.sum(table["read" + "_by"](x) * globals()["read_" + "by_name"](x))

    compiled = compile(lambda x: gradient(f, x), backend="python")
    for rate in (1.0, 2.0, 3.0):
        RATE = rate
        np.testing.assert_allclose(compiled(np.ones(2)), 2.0 * rate**2 * np.ones(2))
    RATE = 1.0


def test_no_tool_is_kept(mechanism):
    compiled = compile(lambda x: gradient(lambda y: np.sum(y * y), x), backend="python")
    np.testing.assert_allclose(compiled(np.ones(2)), [2.0, 2.0])
    gc.collect()
    if mechanism == "monitoring":
        assert [sys.monitoring.get_tool(i) for i in (3, 4)] == [None, None]
