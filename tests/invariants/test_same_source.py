"""The same functions give the same source in each process, whatever the hashes of its strings."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = '''
import math

import numpy as np

import autodiff
from autodiff.structured.calls import Settings
from autodiff.structured.runtime import Structured

Settings.worth = Settings.least = -1.0
Settings.native = math.inf
made, emitted = [], Structured.__init__

def noting(self, *args, **kwargs):
    emitted(self, *args, **kwargs)
    made.append(self.source)

Structured.__init__ = noting


class Line:
    """Its names are read in guards."""

    unit, power = 2.0, 2

    def __init__(self, slope):
        self.slope, self.offset = slope, 0.5

    def at(self, x):
        return self.offset + self.scaled(x) * self.unit

    def scaled(self, x):
        return math.log1p(self.slope * x) ** self.power

    def __call__(self, x):
        return math.sqrt(self.at(x)) + math.acosh(2.0 + x)


def written(x, n):
    y, rows = x * 1.0, [x, 2.0 * x]
    for i in range(n):
        for k in range(1, len(y)):
            y[k] = y[k] * y[k - 1] + Line(y[k])(0.5)
        rows[i % 2] = rows[i % 2] * y
    while np.sum(y) > 3.0:
        y *= 0.5
    return np.sum(y) + np.sum(rows[0] * rows[1])


autodiff.gradient(written, np.array([0.3, 0.6, 0.9]), 5, argnums=0)
slope = autodiff.compile(lambda x: autodiff.gradient(lambda z: Line(z)(z), x))
slope(0.5)
assert made and slope.source
print(*made, slope.source, sep="\\n")
'''


def test_source_depends_on_no_hash() -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "4")
    ]
    first, second = [process.communicate()[0] for process in started]
    assert all(process.returncode == 0 for process in started)
    assert first == second
