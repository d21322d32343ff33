"""Generated functions that write into their arguments, and sometimes into something else."""

import copy
import random

import pytest

from autodiff import gradient
from tests.autodiff.autocompile.generated import check_generated
from tests.autodiff.autocompile.test_objects_as_arguments import plain
from tests.helpers import define, one_in

pytestmark = pytest.mark.usefixtures("soon")

PLAIN = (
    "s = s + p['a'] * 2.0",
    "p['a'] *= 1.5",
    "p['xs'].append(s)",
    "p['xs'][0] += s",
    "for x in p['xs']: s += x * x",
    "p['t'].x += p['a']",
    "p['t'].grow(p['a'])",
    "for t in p['ts']: t.x = t.x * s; s += t.x * t.n",
    "p['ts'].append(Thing(s, [s]))",
    "p['ts'][0].ys.append(s)",
    "s += sum(p['ts'][-1].ys)",
    "p['v'] += 1.0",
    "p['v'][1:] *= s",
    "s += np.sum(p['v'] ** 2)",
    "p['new'] = s",
    "s += p.get('new', 0.5)",
    "del p['xs'][0]",
    "t = p['ts'][0]; t.x, p['t'].x = p['t'].x, t.x",
    "p['t'] = p['ts'][0]",
    "p['xs'] = sorted(p['xs'])",
    "d = {'k': s}; d['k'] += p['a']; s = d['k']",
    "d = {'k': p['v']}; d['k'] += 1.0; s += d['k'][0]",
    "d = {'k': s}\n    d['k'] += p['a']\n    s = d['k']",
    "k, d = 1, {1: s, (1, 2): 0.5}\n    d[k] *= p['a']\n    d[1, 2] -= s\n    s = d[k] + d[1, 2]",
    "ds = [s, p['v']]\n    for i in range(2):\n        ds[i] += 1.0\n    s = ds[0] + np.sum(ds[1])",
    "xs = list(p['xs']); xs[0] -= s; s += xs[0]",
    "if s > 20.0: p['a'] = 20.0 / s",
    "s += q[0].x * p['a']",
    "r = Row(s, p['a']); s += r.a * r.size()",
    "s += sum(row.a * row.b for row in p['rows'])",
    "p['rows'][0] = p['rows'][0]._replace(a=s)",
    "heapq.heappush(p['xs'], s)",
    "s = s * 0.5 + helper(p['ts'], s)",
)
RISKY = (
    "q[0].x += 1.0",
    "q[0].ys.append(1.0)",
    "q.append(q[0])",
    "p['xs'] = OUTER; p['xs'].append(1.0)",
    "OUTER.append(1.0)",
    "p['ts'].append(BOX); p['ts'][-1].x += 1.0",
    "p['v'] = TABLE; p['v'] += 1.0",
    "for t in (p['t'], BOX): t.grow(1.0)",
    "s += len(OUTER) + BOX.x + TABLE[0]",
    "for g in (helper,): g.count = 1",
    "p['t'].ys = OUTER",
    "d = {'k': OUTER}; d['k'] += [1.0]",
    "p['t'] = q[0]",
    "d = {'k': TABLE}\n    d['k'] += 1.0\n    s += d['k'][0]",
    "d = {1: s, 2: OUTER}\n    for k in d:\n        d[k] *= 2\n    s += d[2][0]",
    "heapq.heappush(OUTER, 1.0)",
)
PROGRAM = """
import heapq
import numpy as np
from typing import NamedTuple

class Row(NamedTuple):
    a: float
    b: float

    def size(self):
        return self.a * self.a + self.b

class Thing:
    n = 2.0

    def __init__(self, x, ys):
        self.x = x
        self.ys = ys

    def grow(self, by):
        self.x = self.x + by
        {grow}

OUTER, TABLE, BOX = [1.0], np.ones(3), Thing(1.0, [])

def helper(things, s):
    for thing in things:
        {helper}
    return sum(thing.x for thing in things)

def program(p, q):
    s = p['a']
    {body}
    return s + p['t'].x + sum(p['xs']) + np.sum(p['v']) + sum(t.x for t in p['ts']) {outer}

def arguments(k):
    p = dict(a=0.5 + k, xs=[1.0 + k, 0.25, 2.0], t=Thing(0.5 * k, [1.0]),
             ts=[Thing(1.0, [k + 0.5]), Thing(2.0, [])], v=np.array([0.5, 1.0 + k, 2.0]),
             rows=[Row(1.0 + k, 2.0), Row(0.5, k + 0.25)])
    q = [Thing(3.0 + k, [])]
    {alias}
    return p, q

def state():
    return OUTER, TABLE, BOX, getattr(helper, "count", None)
"""


def made(seed):
    rng = random.Random(seed)
    risk = rng.choice([0.0, 0.0, 0.0, 0.15])

    def some(pool, least, most, indent):
        picked = [
            rng.choice(RISKY if rng.random() < risk else pool)
            for _ in range(rng.randint(least, most))
        ]
        return f"\n{indent}".join(picked)

    text = PROGRAM.format(
        grow=rng.choice(["pass", "self.ys.append(by)", "self.x *= 2.0", "self.ys = [by]"]),
        helper=rng.choice(["pass", "thing.x *= s", "thing.ys.append(s)", "thing.grow(s)"]),
        body=some(PLAIN, 3, 9, "    "),
        outer=rng.choice(["", "", "", "+ len(OUTER) * p['a']", "+ BOX.x + np.sum(TABLE)"]),
        alias=rng.choice(["pass"] * 4 + ["p['ts'][1] = p['t']", "q[0] = p['t']", "q = p['ts']"]),
    )
    return text, define(text, f"<arguments {seed}>", {"__name__": f"arguments_{seed}"})


def outcome(scope, k, argnums):
    """The gradient, the arguments and what is outside after a call; or an error."""
    args = scope["arguments"](0.125 * k)
    try:
        found = plain(gradient(scope["program"], *args, argnums=argnums))
    except Exception as error:
        found = type(error).__name__
    return found, plain(args), plain(copy.deepcopy(scope["state"]()))


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_generated_functions(first):
    check_generated(range(first, first + 40, one_in(4)), range(7), made, outcome)
