"""Parsing while something else parses: Python 3.11 raises a SystemError then."""

import ast
import contextlib
import gc
import inspect
import threading
import zlib

import pytest

from chainrules_core.calling.signatures import parameter_names
from chainrules_core.interpreter.collector import uncollected
from chainrules_core.interpreter.parsing import tree_of


@contextlib.contextmanager
def collections_that_parse():
    def parse(phase, info):
        ast.parse("y = 2")

    threshold = gc.get_threshold()
    gc.callbacks.append(parse)
    gc.set_threshold(5, 1000, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(parse)


def deep(n, function, *args):
    return function(*args) if n == 0 else deep(n - 1, function, *args)


def test_collections_in_which_something_is_parsed():
    text = "x = [" + "f(1, 2), " * 2000 + "]"
    with collections_that_parse():
        tree = deep(60, tree_of, text)
    assert len(tree.body[0].value.elts) == 2000


@pytest.mark.parametrize("f", [print, zlib.compressobj, int.to_bytes])
def test_signatures_of_functions_made_in_c(f):
    """Their signatures are texts."""
    expected = tuple(inspect.signature(f).parameters)
    for depth in range(40, 60):
        with collections_that_parse():
            names = deep(depth, parameter_names, f)
        assert names == expected


def test_the_collector_is_as_it_was():
    tree_of("x")
    assert gc.isenabled()
    gc.disable()
    try:
        tree_of("x")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_collector_is_as_it_was_after_parses_that_overlap():
    with uncollected:
        with uncollected:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_decorated_function_runs_without_the_collector():
    @uncollected
    def collects(x):
        """Whether garbage is collected now."""
        return x / gc.isenabled()

    with pytest.raises(ZeroDivisionError):
        collects(1.0)
    assert gc.isenabled()
    assert collects.__doc__ == "Whether garbage is collected now."


@pytest.mark.usefixtures("switching")
def test_threads_that_parse_leave_the_collector_on():
    threads = [
        threading.Thread(target=lambda: [tree_of("x = 1") for _ in range(300)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gc.isenabled()
