"""What the tests of scipy.linalg share."""

import pytest

import autodiff
from chainrules_core.testing.checks.check import check_rule


@pytest.fixture
def check_case():
    """Check both rules of a call, and the gradient of the gradient."""

    def check(f, args, kwargs, second_order=True):
        check_rule(f, *args, fkwargs=kwargs, second_order=second_order, gradient=autodiff.gradient)

    return check
