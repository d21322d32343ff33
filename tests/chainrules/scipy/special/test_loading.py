from tests.helpers import run_python

LATER = """
import sys
import chainrules
from chainrules_core import rrule

assert not any(name.startswith("scipy") for name in sys.modules)
import scipy.special

assert "chainrules.scipy.special" not in sys.modules
y, pullback = rrule(scipy.special.expit, 0.0)
print(y, pullback(1.0)[1])
"""


def test_a_later_import_of_scipy_special_makes_the_rules_available():
    result = run_python("-c", LATER)
    assert result.stderr == ""
    assert result.stdout == "0.5 0.25\n"
