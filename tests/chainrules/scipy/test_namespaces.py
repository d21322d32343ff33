"""What SciPy's own code does to its arguments before it computes."""

import numpy as np
import pytest
from scipy._lib import _array_api

import autodiff

promote = getattr(_array_api, "xp_promote", None)
pytestmark = pytest.mark.skipif(promote is None, reason="SciPy before 1.16")
XP = _array_api.array_namespace(np.zeros(1))


def promoted(*args, **options):
    return promote(*args, xp=XP, **options)


CALLS = {
    "one": lambda x: promoted(x) * 2,
    "list": lambda x: promoted([x[0], 2.0]) * x[1],
    "integers": lambda x: promoted(x, np.arange(3), force_floating=True)[1] * x,
    "broadcast": lambda x: promoted(x, x[:1], x[1], None, broadcast=True)[1] * x,
    "complex": lambda x: np.abs(promoted(x, np.array([1j]))[0] * (1 + 2j)) ** 2,
    "columns": lambda x: np.prod(promoted(x, x[:, None] ** 2, broadcast=True)[1], axis=0),
}


@pytest.mark.parametrize("name", CALLS)
def test_promotion(name, check_modes):
    check_modes(CALLS[name], np.array([0.3, -0.7, 1.2]))


@pytest.mark.parametrize("other", [np.ones(2, np.float32), 1.0, np.arange(2), None, [1.0, 2.0]])
def test_promotion_gives_what_it_gives(other):
    for x in (np.ones(2, np.float32), np.ones((3, 1))):
        for broadcast in (False, True):
            plain = promoted(x, other, broadcast=broadcast)
            found = []

            def loss(x, other=other, broadcast=broadcast, found=found):
                found.append(promoted(x, other, broadcast=broadcast))
                return np.sum(found[0][0])

            autodiff.gradient(loss, x)
            for a, b in zip(plain, found[0], strict=True):
                assert np.shape(a) == np.shape(b)
                assert getattr(a, "dtype", None) == getattr(b, "dtype", None)


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="incompatible for broadcasting"):
        autodiff.gradient(lambda x: promoted(x, np.ones(2), broadcast=True)[0].sum(), np.ones(3))
