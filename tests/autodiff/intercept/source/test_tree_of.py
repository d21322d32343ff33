"""Parsing while something else parses: Python 3.11 raises a SystemError then."""

import ast
import gc

from autodiff.intercept.source.source_texts import tree_of


def test_a_collection_in_which_something_is_parsed():
    text = "x = [" + "f(1, 2), " * 2000 + "]"
    calls = []

    def parse_once(phase, info):
        if not calls:
            calls.append(ast.parse("y = 2"))

    def deep(n):
        return tree_of(text) if n == 0 else deep(n - 1)

    threshold = gc.get_threshold()
    gc.callbacks.append(parse_once)
    gc.set_threshold(50)
    try:
        assert len(deep(60).body[0].value.elts) == 2000
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(parse_once)
