"""The source of kernels as machine code, compared with the same source run as Python."""

import math

import numpy as np
import pytest

llvmlite = pytest.importorskip("llvmlite")

from autodiff.compiler.kernels.machine_code import KernelModule  # noqa: E402 # it needs llvmlite
from autodiff.structured.native.llvm.array_parameters import ArrayParameter  # noqa: E402

FLOAT = np.dtype(np.float64)
SOURCES = {
    "a variable, then a loop of its name": """
def kernel(x, n, y):
    total = 0.0
    for k in range(3):
        row = 2 * k
        total += get(x, row)
    for row in range(5):
        total += get(x, row) * float(row)
    put(y, 0, total)
    return 1
""",
    "integers": """
def kernel(x, n, y):
    total = 0.0
    for i in range(1, int(n)):
        place = 2 * i - (i & 1) - -1
        total += get(x, place - i) * float(place)
    put(y, 0, total)
    return 1
""",
    "tests": """
def kernel(x, n, y):
    found = 0
    for i in range(5):
        if 0.0 < get(x, i) < n and not (i == 2 or get(x, i) > 1e3):
            found = found + 1
        else:
            found = found - (1 if i != 3 else 2)
    put(y, 0, found)
    return 1
""",
    "choices": """
def kernel(x, n, y):
    largest, best = abs(get(x, 0)), 0
    for i in range(1, 5):
        size = abs(get(x, i))
        if size > largest:
            largest, best = size, i
    put(y, 0, largest if best else -largest)
    put(y, 1, table[best] + steps[best])
    return 1
""",
    "functions": """
def kernel(x, n, y):
    z = n
    for i in range(5):
        z = math.sqrt(abs(z)) + math.atan2(get(x, i), 2.0) ** 2 + min(z, max(0.5, n)) / 3.0
    put(y, 0, z * math.exp(-z) + math.copysign(n, -0.0) + np.floor(z))
    put(y, 1, -z if z != z else math.log1p(z))
    return 1
""",
    "ways out": """
def kernel(x, n, y):
    for i in range(5):
        if get(x, i) > n: return 0
    if not n < math.inf: return 2
    return 1
""",
}
X = np.array([0.3, -1.7, 2.0, 0.0, 0.9])
TABLES = {"table": np.arange(5) * 3, "steps": np.linspace(0.0, 1.0, 5)}


def made(source):
    given = [ArrayParameter((5,), FLOAT), None, ArrayParameter((2,), FLOAT, is_written=True)]
    return KernelModule(TABLES).kernel(source.strip(), given, False)


@pytest.mark.parametrize("n", [3.0, 5.0, math.inf, 1.5])
@pytest.mark.parametrize("name", SOURCES)
def test_it_does_what_python_does(name, n):
    if name == "integers" and not n < 5:
        n = 2.0

    def put(array, place, value):
        array[place] = value

    scope = {"get": lambda array, place: array[place], "put": put, "math": math, "np": np, **TABLES}
    exec(SOURCES[name].strip(), scope)
    expected, found = np.zeros(2), np.zeros(2)
    with np.errstate(all="ignore"):
        status = scope["kernel"](X, n, expected)
    assert made(SOURCES[name])(X, n, found) == status
    np.testing.assert_allclose(found, expected, rtol=1e-15)


class Subclass(np.ndarray):
    pass


READ_ONLY = np.zeros(2)
READ_ONLY.setflags(write=False)


@pytest.mark.parametrize(
    "x, n, y",
    [
        (X.astype(np.float32), 1.0, np.zeros(2)),
        (X.astype(">f8"), 1.0, np.zeros(2)),
        (np.arange(5), 1.0, np.zeros(2)),
        (X[:4], 1.0, np.zeros(2)),
        (X[None], 1.0, np.zeros(2)),
        (np.repeat(X, 2)[::2], 1.0, np.zeros(2)),
        (np.frombuffer(b" " + X.tobytes(), np.uint8)[1:].view(FLOAT), 1.0, np.zeros(2)),
        (X.view(Subclass), 1.0, np.zeros(2)),
        (list(X), 1.0, np.zeros(2)),
        (None, 1.0, np.zeros(2)),
        (X, 1, np.zeros(2)),
        (X, np.float32(1.0), np.zeros(2)),
        (X, X, np.zeros(2)),
        (X, 1.0, READ_ONLY),
    ],
    ids=range(14),
)
def test_what_lies_in_memory_in_another_way_is_not_read(x, n, y):
    assert made(SOURCES["choices"])(x, n, y) == -1
    assert not y.any()


def test_numbers_of_numpy_are_floats():
    y = np.zeros(2)
    assert made(SOURCES["ways out"])(X, np.float64(1.0), y) == 0
