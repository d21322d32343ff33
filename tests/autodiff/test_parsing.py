"""Parsing while something else parses: Python 3.11 raises a SystemError then."""

import ast
import gc

from autodiff.parsing import tree_of


def test_collections_in_which_something_is_parsed():
    text = "x = [" + "f(1, 2), " * 2000 + "]"

    def parse(phase, info):
        ast.parse("y = 2")

    def deep(n):
        return tree_of(text) if n == 0 else deep(n - 1)

    threshold = gc.get_threshold()
    gc.callbacks.append(parse)
    gc.set_threshold(50)
    try:
        assert len(deep(60).body[0].value.elts) == 2000
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(parse)


def test_the_collector_is_as_it_was():
    tree_of("x")
    assert gc.isenabled()
    gc.disable()
    try:
        tree_of("x")
        assert not gc.isenabled()
    finally:
        gc.enable()
