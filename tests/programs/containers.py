"""Programs of containers: lists, dicts, queues and attributes that are changed."""

import bisect
import collections
import heapq
import math

import numpy as np

X = [0.7, -1.3, 2.1, 0.4]
P = [0.6, 1.7, 2.2, 0.9]


def list_append_and_pop(x):
    values = []
    for a in x:
        values.append(math.sin(a))
    last = values.pop()
    values.insert(0, last * x[0])
    values.extend([x[1], 2.0])
    del values[1]
    return sum(v * v for v in values)


def list_sorted_in_place(x):
    values = list(x)
    values.sort(key=lambda a: -a)
    values.reverse()
    values[0] = values[0] * 2.0
    return values[0] * values[1] + values[-1]


def list_slices_set(x):
    values = [0.0] * 6
    values[1:5] = x
    values[::5] = [x[0] * x[1], x[2]]
    values += [x[3]]
    return sum(v * (i + 1) for i, v in enumerate(values))


def nested_lists(x):
    M = [[0.0] * 2 for _ in range(2)]
    for i in range(2):
        for j in range(2):
            M[i][j] += x[i] * x[2 + j]
    M[0][0] *= 2.0
    return M[0][0] * M[1][1] - M[0][1] + M[1][0]


def dictionary(x):
    memo = {"a": x[0]}
    memo["b"] = memo["a"] * x[1]
    memo.update(c=math.sin(memo["b"]))
    memo.setdefault("d", x[3])
    memo["a"] += memo.pop("c")
    return sum(memo.values()) * memo["a"]


def memoised_recursion(x):
    memo = {}

    def fib(n):
        if n not in memo:
            memo[n] = x[n] if n < 2 else fib(n - 1) * 0.5 + fib(n - 2) * x[2]
        return memo[n]

    return fib(7)


def arrays_in_a_dict(x):
    params = {"w": x[:2] * 1.0, "b": x[2:] * 1.0}
    for name in params:
        params[name] *= 2.0
    params["w"][0] = x[3]
    return params["w"] @ params["b"]


def attributes_set(x):
    class State:
        pass

    s = State()
    s.u = x[0]
    s.v = x[1:] * 2.0
    s.v[1] += s.u
    s.u *= s.v[0]
    return s.u * np.sum(s.v)


def closure_rebinds(x):
    count, total = 0, 0.0

    def visit(a):
        nonlocal count, total
        count += 1
        total += a * math.exp(-total)

    for a in x:
        visit(a)
    return total / count


def counters(x):
    totals = collections.defaultdict(float)
    for name, a in zip("abab", x, strict=True):
        totals[name] += a * a
    return totals["a"] * totals["b"]


def heap(x):
    queue = []
    for a in x:
        heapq.heappush(queue, a * 2.0)
    return heapq.heappop(queue) * heapq.heappop(queue) + heapq.nlargest(1, queue)[0]


def bisected(x):
    values = [-1.0, 0.5, 1.5]
    for a in x:
        bisect.insort(values, a)
    return sum(v * i for i, v in enumerate(values)) + bisect.bisect(values, x[0]) * x[1]


def queue_of_values(x):
    q = collections.deque(x)
    total = 0.0
    while len(q) > 1:
        a, b = q.popleft(), q.popleft()
        total += a * b
        q.append(math.sin(a + b))
    return total + q[0]


def two_level_buffer(x):
    def inner(v):
        out = np.zeros(3)
        for i in range(3):
            out[i] = v * i + x[i]
        return out

    M = np.zeros((4, 3))
    for i in range(4):
        M[i, :] = inner(x[i])
    return np.sum(M**2)


def roll_and_swap(x):
    u, new = x.copy(), np.zeros(4)
    for _ in range(3):
        new[1:-1] = 0.5 * (u[2:] + u[:-2])
        new[0], new[-1] = u[0], u[-1]
        u, new = new, u
    return np.sum(u**2)


def flat_and_item_assignment(x):
    M = np.zeros((2, 2))
    M.flat[3] = x[0]
    return M[1, 1] * x[1]


def integers_then_values(x):
    y = np.arange(4.0)
    y[np.arange(4) % 2 == 0] = x[::2]
    y[-1] = y[0]
    return np.sum(y**2)


PROGRAMS = [(f, X) for f in [
    list_append_and_pop, list_sorted_in_place, list_slices_set, nested_lists, dictionary,
    memoised_recursion, arrays_in_a_dict, attributes_set, closure_rebinds, counters, heap,
    bisected, queue_of_values, two_level_buffer, roll_and_swap, integers_then_values,
    flat_and_item_assignment,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
