import numpy as np

from chainrules_core.testing import REAL, check_rule


def test_i0():
    for shape in [(), (3,), (2, 2), (0,)]:
        check_rule(np.i0, REAL.draw(shape))
    check_rule(np.i0, np.array([-12.0, 0.0, 9.0]))
    check_rule(np.i0, REAL.draw(3, np.float32))


def test_engine(check_engine):
    check_engine(np.i0, np.array([0.3, -1.2, 0.0]))
