"""Numbers that are read from texts of traced values, and bytes of constants."""

import csv
import datetime
import struct
from typing import Any

import numpy as np
import pytest

from autodiff import (
    DifferentiationError,
    LostValueError,
    MissingRuleError,
    SeedError,
    gradient,
    pullback,
    pushforward,
)

READ = {
    "tuple": lambda x: np.array((str(x), "1")).astype(float)[0],
    "array without axes": lambda x: np.array(str(x)).astype(float)[()],
    "nested lists": lambda x: np.array([[str(x)]]).astype(float)[0, 0],
    "vectorize": lambda x: np.vectorize(float)([str(x)])[0],
    "vectorize of one": lambda x: float(np.vectorize(float)(str(x))),
    "csv": lambda x: next(csv.reader([f"{x},1"], quoting=csv.QUOTE_NONNUMERIC))[0],
    "csv as dicts": lambda x: float(next(csv.DictReader(["a,b", f"{x},1"]))["a"]),
    "complex128": lambda x: np.complex128(str(x)).real,
    "longdouble": lambda x: float(np.longdouble(str(x))),
}


@pytest.mark.parametrize("name", READ)
def test_no_number_is_read_from_a_text(name: str) -> None:
    with pytest.raises(LostValueError, match="reads a number from the text"):
        gradient(READ[name], 2.0)


def test_rows_of_texts_are_read() -> None:
    def f(x: Any) -> Any:
        rows = csv.DictReader(["a,b", f"{x},1"])
        return x * len(next(rows)["a"]) * rows.line_num

    assert gradient(f, 2.0) == 6.0


def test_bytes_are_no_constants_of_the_numeric_fallback() -> None:
    with pytest.raises(DifferentiationError, match="returned a bytes"):
        gradient(lambda x: struct.unpack("d", struct.pack("d", x))[0], 2.0, fallback="numeric")


def test_a_constant_has_bytes() -> None:
    assert gradient(lambda x: x * len(np.ones(3).tobytes()), 2.0) == 24.0


@pytest.mark.parametrize("f", [lambda t, x: t * x, lambda t, x: x * t], ids=["right", "left"])
def test_an_operator_of_an_object_made_in_c(f: Any) -> None:
    hour = datetime.timedelta(hours=1)
    with pytest.raises(MissingRuleError, match=r"no rule for \((timedelta, float|float, time)"):
        gradient(lambda x: f(hour, x).total_seconds(), 2.0)


def test_cotangents_and_tangents_are_numbers() -> None:
    objects = np.array([1.0, None])
    with pytest.raises(SeedError, match="an array of object"):
        pullback(lambda x: x * 2, np.ones(2))[1](objects)
    with pytest.raises(SeedError, match="an array of object"):
        pushforward(lambda x: x * 2, np.ones(2))[1](objects)
