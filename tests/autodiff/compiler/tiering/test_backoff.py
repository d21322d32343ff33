"""Functions that take another branch in each call are not recorded for ever."""

import numpy as np

from autodiff import compile
from autodiff.compiler.tiering import backoff

X = np.array([0.3, -0.2, 0.9])


def with_a_shape(x, n):
    return x * np.ones((n, 1)).sum()


def test_shapes_that_grow_are_given_up():
    compiled = compile(with_a_shape, maxsize=10_000)
    for n in range(300):
        np.testing.assert_allclose(compiled(X, n), X * n)
    assert compiled.variants < 40
    assert "another way" in compiled.eager_because
    before = compiled.variants
    for _ in range(2000):  # now they stay the same
        compiled(X, 500)
    assert compiled.variants == before + 1


def test_programs_that_are_of_use_are_no_reason_to_give_up():
    compiled = compile(with_a_shape, maxsize=10_000)
    for n in range(100):
        for _ in range(2):
            np.testing.assert_allclose(compiled(X, n), X * n)
    assert compiled.variants == 100
    assert compiled.eager_because is None


def test_pauses_are_bounded():
    class Variant:
        def __init__(self):
            self.run = lambda: None

    waiting = backoff.Backoff()
    longest = 0
    for _ in range(60):
        waited = 0
        while waiting.must_wait():
            waited += 1
        waiting.note_recording(Variant())
        longest = max(longest, waited)
    assert longest == backoff.LONGEST - 1
