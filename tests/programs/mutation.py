"""Programs of mutation: arrays written in place, and who sees it."""

import math

import numpy as np

X = [0.7, -1.3, 2.1, 0.4]
P = [0.6, 1.7, 2.2, 0.9]


def buffer_in_a_loop(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = math.sin(x[i]) * x[i - 1]
    return np.sum(out**2)


def empty_buffer(x):
    out = np.empty_like(x)
    out[0] = x[0]
    for i in range(1, x.size):
        out[i] = out[i - 1] * 0.5 + x[i] ** 2
    return out[-1] * out[1]


def two_dimensional_buffer(x):
    K = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            K[i, j] = math.exp(-((x[i] - x[j]) ** 2)) * x[i]
    return np.sum(K @ K)


def rows_of_a_buffer(x):
    M = np.zeros((3, 4))
    for i in range(3):
        M[i] = x**i
    M[1] *= 2.0
    return np.sum(M * M[0])


def slices(x):
    y = np.ones(6)
    y[1:5] = x
    y[::2] = y[::2] * 3.0
    return np.sum(y**3)


def augmented_elements(x):
    y = x.copy()
    y[0] += x[1] * 2.0
    y[1] *= y[0]
    y[2] -= 1.0
    y[3] /= x[2]
    y[2] **= 2
    return np.sum(y * x)


def augmented_slices(x):
    y = np.zeros(4)
    y += x
    y[1:] += x[:-1]
    y[:2] *= x[2:]
    y -= y.mean()
    return np.sum(y**2)


def augmented_whole(x):
    y = x * 1.0
    y *= x
    y /= 2.0 + x**2
    y **= 2
    return y.sum()


def mask_write(x):
    y = x * 2.0
    y[y < 0] = 0.1
    y[x > 1] *= x[0]
    return np.sum(y**2)


def mask_write_of_values(x):
    y = np.zeros(4)
    y[x > 0] = x[x > 0] ** 2
    y[x < 0] = np.exp(x[x < 0])
    return np.sum(y * x)


def fancy_write(x):
    y = np.zeros(6)
    y[[5, 1, 3, 0]] = x * x
    y[np.array([2, 4])] += x[:2]
    return np.sum(y * np.arange(6.0))


def fancy_write_two_axes(x):
    M = np.zeros((3, 3))
    M[[0, 1, 2, 0], [2, 0, 1, 1]] = x
    M[np.diag_indices(3)] = x[0]
    return np.sum(M @ M)


def newaxis_and_ellipsis_write(x):
    M = np.zeros((2, 4, 2))
    M[..., 0] = x
    M[0, :, 1] = x**2
    M[1, ..., -1] = M[0, ..., 0] * 2.0
    return np.sum(M**2)


def out_of_a_ufunc(x):
    y = np.zeros(4)
    np.multiply(x, x, out=y)
    np.add(y, 1.0, out=y)
    np.sin(y, y)
    return y.sum()


def out_into_a_slice(x):
    y = np.ones(6)
    np.exp(x, out=y[1:5])
    return np.sum(y * y)


def out_of_a_reduction(x):
    M = np.outer(x, x)
    y = np.zeros(4)
    np.sum(M, axis=0, out=y)
    return np.sum(y * x)


def out_of_cumsum(x):
    y = np.empty(4)
    np.cumsum(x, out=y)
    return np.sum(y**2)


def out_of_matmul(x):
    M = np.outer(x, x)
    y = np.empty(4)
    np.matmul(M, x, out=y)
    return y @ x


def add_at(x):
    y = np.zeros(3)
    np.add.at(y, [0, 1, 1, 2], x)
    np.add.at(y, [0, 0], x[:2] * 2.0)
    return np.sum(y**3)


def subtract_at(x):
    y = x.copy()
    np.subtract.at(y, [0, 0, 2], x[1:])
    return np.sum(y * y)


def put(x):
    y = np.zeros((2, 3))
    np.put(y, [0, 2, 4, 5], x)
    return np.sum(np.sin(y) * y)


def put_along_axis(x):
    M = np.outer(x, np.ones(3))
    np.put_along_axis(M, np.array([[0], [2], [1], [0]]), x[:, None] ** 2, axis=1)
    return np.sum(M**2)


def putmask(x):
    y = x * x
    np.putmask(y, x < 0, x)
    return np.sum(y * x)


def place(x):
    y = x * 1.0
    np.place(y, y > 0, [0.5])
    return np.sum(y**2)


def copyto(x):
    y = np.zeros(4)
    np.copyto(y, x)
    np.copyto(y, x**2, where=x > 0)
    return np.sum(np.cos(y))


def fill_diagonal(x):
    M = np.outer(x, x)
    np.fill_diagonal(M, 1.0 + x[0])
    return np.linalg.slogdet(M)[1] + M[0, 1]


def fill_diagonal_of_values(x):
    M = np.zeros((4, 4))
    np.fill_diagonal(M, x)
    return np.sum(M @ M) + M[2, 2]


def sort_in_place(x):
    y = x * x
    y.sort()
    return np.sum(y * np.arange(4.0))


def sort_rows_in_place(x):
    M = np.stack([x, x[::-1] * 2.0])
    M.sort(axis=1)
    return np.sum(M[0] * M[1]) + M[0, 0]


def fill(x):
    y = np.empty(3)
    y.fill(x[0])
    y[1] = x[1]
    return np.prod(y)


def view_written(x):
    y = x * 2.0
    v = y[1:3]
    v[0] = x[0] ** 2
    y[2] = x[3]
    return np.sum(v) * y[1] + v[1]


def view_of_view(x):
    M = np.zeros((4, 4))
    row = M[2]
    part = row[1:]
    part[:] = x[1:]
    M.T[0] = x
    return np.sum(M**2) + row[0] * part[0]


def reshaped_view(x):
    y = x.copy()
    M = y.reshape(2, 2)
    M[0, 1] *= 3.0
    M[1] += M[0]
    return np.sum(y**2)


def raveled_view(x):
    M = np.zeros((2, 2))
    flat = M.ravel()
    flat[:] = x * x
    flat[0] += x[1]
    return M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]


def transposed_view(x):
    M = np.outer(x, x[:2])
    M.T[0] *= x[3]
    return np.sum(np.tanh(M))


def alias_written(x):
    y = x * 1.0
    z = y
    z[0] = x[1] * x[2]
    y += z
    return np.sum(y * z)


def alias_through_a_list(x):
    row = x * 2.0
    rows = [row, row]
    rows[0][1] = x[0]
    return np.sum(rows[1] ** 2)


def diagonal_view_by_step(x):
    M = np.outer(x, x)
    M.reshape(-1)[:: len(x) + 1] += 1.0
    return np.linalg.slogdet(M)[1] * x[0]


def input_written(x):
    x[0] = x[1] * x[2]
    x[1:] *= 2.0
    return np.sum(x**2)


def input_scaled_in_place(x):
    x *= x
    x -= x.mean()
    return np.sum(x * x)


def input_rebound(x):
    y = x
    x = x * 2.0
    y = y + x
    x[0] = y[1]
    return np.sum(x * y)


def function_that_writes(x):
    def normalise(v):
        v /= np.sqrt(np.sum(v * v))

    y = x + 1.0
    normalise(y)
    return y[0] * y[2] + y[1]


def swapped_elements(x):
    y = x * x
    y[0], y[2] = y[2], y[0]
    y[[1, 3]] = y[[3, 1]]
    return np.sum(y * np.arange(1.0, 5.0))


def iterated_rows(x):
    M = np.outer(x, x)
    for i, row in enumerate(M):
        row[i] = x[i] * 3.0
    return np.sum(M**2) * 0.1


PROGRAMS = [(f, X) for f in [
    buffer_in_a_loop, empty_buffer, two_dimensional_buffer, rows_of_a_buffer, slices,
    augmented_elements, augmented_slices, augmented_whole, mask_write, mask_write_of_values,
    fancy_write, fancy_write_two_axes, newaxis_and_ellipsis_write, out_of_a_ufunc,
    out_into_a_slice, out_of_a_reduction, out_of_cumsum, out_of_matmul, subtract_at, put,
    put_along_axis, putmask, place, copyto, fill_diagonal, fill_diagonal_of_values,
    sort_in_place, sort_rows_in_place, fill, view_written, view_of_view, reshaped_view,
    raveled_view, transposed_view, alias_written, alias_through_a_list, diagonal_view_by_step,
    input_written, input_scaled_in_place, input_rebound, function_that_writes, swapped_elements,
    iterated_rows, add_at,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
