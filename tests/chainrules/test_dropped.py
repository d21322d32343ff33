"""Elements that are left out since they are 0: without them, or an error."""

import numpy as np

from chainrules.dropped import without
from chainrules_core import NotImplementedTangent, frule, rrule
from chainrules_core.testing import check_rule

C = np.array([1.0, 2.0])


def test_nothing_that_moves_is_lost():
    check_rule(without, C, np.zeros(0), fkwargs={"why": ""}, on_missing="allow")
    _, moved = frule((np.zeros(0), C, np.zeros(1)), without, C, np.zeros(1), why="")
    np.testing.assert_array_equal(moved, C)


def test_what_is_lost_is_not_known():
    _, back = rrule(without, C, np.zeros(1), why="lost")
    assert isinstance(back(C)[2], NotImplementedTangent)
    _, moved = frule((np.zeros(0), C, np.ones(1)), without, C, np.zeros(1), why="lost")
    assert isinstance(moved, NotImplementedTangent)
