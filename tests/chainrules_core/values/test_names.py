"""The type groups, as signatures use them."""

import numpy as np
import pytest
from multipledispatch import Dispatcher

from chainrules_core.values.names import Array, Index, Number, Real, Scalar


@pytest.mark.parametrize(
    "value, groups",
    [
        (1, {"Real", "Number", "Scalar", "Index"}),
        (True, {"Real", "Number", "Scalar", "Index"}),
        (1.0, {"Real", "Number", "Scalar"}),
        (1j, {"Number", "Scalar"}),
        (np.float32(1), {"Real", "Number", "Scalar"}),
        (np.int8(1), {"Real", "Number", "Scalar", "Index"}),
        (np.complex64(1), {"Number", "Scalar"}),
        (np.bool_(True), {"Scalar"}),
        (np.ones(2), {"Array", "Index"}),
        (np.ones(()), {"Array", "Index"}),
        (slice(1), {"Index"}),
        (None, {"Index"}),
        (..., {"Index"}),
        ((1, ...), {"Index"}),
        ([0, 1], {"Index"}),
        ("text", set()),
    ],
)
def test_groups(value, groups):
    every = {"Real": Real, "Number": Number, "Scalar": Scalar, "Array": Array, "Index": Index}
    assert {name for name, group in every.items() if isinstance(value, group)} == groups


def test_groups_serve_dispatch():
    f = Dispatcher("f")
    f.add((Array, Array), lambda a, b: "arrays")
    f.add((Array, Number), lambda a, b: "array and number")
    assert f(np.ones(2), np.ones(2)) == "arrays"
    assert f(np.ones(2), np.float64(1)) == f(np.ones(2), 1j) == "array and number"
    with pytest.raises(NotImplementedError):
        f(np.ones(2), "text")
