"""The routines that kernels call.

`machine_code` compiles their source; Python never runs it. The name of a parameter gives its type:
`a` and `b` are arrays that are read, `s` is the memory, `is_...` is a boolean, and all others are
integers: offsets, strides and lengths. `machine_code` defines ``get``, ``put``, ``plus`` and
``times``.
"""

# ruff: noqa: F821 # names that only machine code has
# mypy: ignore-errors

from __future__ import annotations

import math


def multiplied(a, at, row, along, b, first, down, column, n, k, m, s, x):
    for i in range(n):
        here = x + m * i
        if m == 1 or column != 1:
            for c in range(m):
                total = 0.0
                for j in range(k):
                    left = get(a, at + row * i + along * j)
                    total = plus(total, times(left, get(b, first + column * c + down * j)))
                put(s, here + c, total)
        else:
            for c in range(m):
                put(s, here + c, 0.0)
            for j in range(k):
                factor = get(a, at + row * i + along * j)
                begin = first + down * j
                for c in range(m):
                    known = times(factor, get(b, begin + c))
                    put(s, here + c, plus(get(s, here + c), known))


def moved(a, first, n, s, x):
    for i in range(n):
        put(s, x + i, get(a, first + i))


def are_finite(a, first, row, column, n, m):
    for i in range(n):
        for j in range(m):
            if not abs(get(a, first + row * i + column * j)) < math.inf:
                return False
    return True


def copied(a, first, row, column, n, m, s, x):
    for i in range(n):
        for c in range(m):
            put(s, x + m * i + c, get(a, first + row * i + column * c))


def eliminated(a, first, row, column, n, is_unit, s, x, stride, m):
    # Forward substitution. With negative strides from the last element on, it is backward.
    for i in range(n):
        here = x + stride * i
        for j in range(i):
            factor = get(a, first + row * i + column * j)
            there = x + stride * j
            for c in range(m):
                put(s, here + c, get(s, here + c) - factor * get(s, there + c))
        if not is_unit:
            pivot = get(a, first + (row + column) * i)
            for c in range(m):
                put(s, here + c, get(s, here + c) / pivot)


def factored(a, first, row, column, n, s, lu):
    order = lu + n * n
    for i in range(n):
        put(s, order + i, float(i))
    copied(a, first, row, column, n, n, s, lu)
    sign = 1.0
    for k in range(n):
        largest, best = abs(get(s, lu + n * k + k)), k
        for i in range(k + 1, n):
            size = abs(get(s, lu + n * i + k))
            if size > largest:
                largest, best = size, i
        if not 0.0 < largest < math.inf:
            return False
        if best != k:
            sign = -sign
            for j in range(n):
                held = get(s, lu + n * k + j)
                put(s, lu + n * k + j, get(s, lu + n * best + j))
                put(s, lu + n * best + j, held)
            held = get(s, order + k)
            put(s, order + k, get(s, order + best))
            put(s, order + best, held)
        pivot = get(s, lu + n * k + k)
        for i in range(k + 1, n):
            factor = get(s, lu + n * i + k) / pivot
            if not abs(factor) <= 1.0:
                return False  # there is a NaN
            put(s, lu + n * i + k, factor)
            here, there = lu + n * i, lu + n * k
            for j in range(k + 1, n):
                put(s, here + j, get(s, here + j) - factor * get(s, there + j))
    put(s, order + n, sign)
    return True


def solved(a, lu, n, is_transposed, b, first, row, column, m, s, x):
    if is_transposed:
        copied(b, first, row, column, n, m, s, x)
    else:
        for i in range(n):
            begin = first + row * int(get(a, lu + n * n + i))
            for c in range(m):
                put(s, x + m * i + c, get(b, begin + column * c))
    down = 1 if is_transposed else n
    along = n if is_transposed else 1
    eliminated(a, lu, down, along, n, not is_transposed, s, x, m, m)
    last = n - 1
    eliminated(a, lu + n * n - 1, -down, -along, n, is_transposed, s, x + m * last, -m, m)


def triangle_solved(
    a, at, down, along, n, is_lower, is_unit, is_checked, b, first, row, column, m, s, x
):
    if is_checked and not (
        are_finite(a, at, down, along, n, n) and are_finite(b, first, row, column, n, m)
    ):
        return False
    if not is_unit:
        for i in range(n):
            if get(a, at + (down + along) * i) == 0.0:
                return False
    copied(b, first, row, column, n, m, s, x)
    last = n - 1
    if is_lower:
        eliminated(a, at, down, along, n, is_unit, s, x, m, m)
    else:
        end = at + (down + along) * last
        eliminated(a, end, -down, -along, n, is_unit, s, x + m * last, -m, m)
    return True


def cholesky(a, first, row, column, n, is_checked, s, y, down, along):
    if is_checked and not are_finite(a, first, row, column, n, n):
        return False
    for j in range(n):
        square = get(a, first + (row + column) * j)
        for k in range(j):
            left = get(s, y + down * j + along * k)
            square -= left * left
        if not 0.0 < square < math.inf:
            return False
        pivot = math.sqrt(square)
        put(s, y + (down + along) * j, pivot)
        for i in range(j + 1, n):
            rest = get(a, first + row * i + column * j)
            for k in range(j):
                left = get(s, y + down * i + along * k)
                rest -= left * get(s, y + down * j + along * k)
            put(s, y + down * i + along * j, rest / pivot)
            put(s, y + down * j + along * i, 0.0)
    return True


def put_back(a, lu, n, b, rows, m, s, x):
    for i in range(n):
        begin = x + m * int(get(a, lu + n * n + i))
        for c in range(m):
            put(s, begin + c, get(b, rows + m * i + c))


def pivots_sign(s, lu, n):
    sign = get(s, lu + n * n + n)
    for i in range(n):
        if get(s, lu + n * i + i) < 0.0:
            sign = -sign
    return sign


def pivots_log(s, lu, n):
    total = 0.0
    for i in range(n):
        total += math.log(abs(get(s, lu + n * i + i)))
    return total
