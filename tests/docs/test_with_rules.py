"""The functions of the page on which functions need rules: the rule and the engine agree."""

import numpy as np
import pytest

import autodiff
from chainrules_core.testing import check_rrule
from tests.helpers import ROOT, module_from

PAIRS = module_from(ROOT / "docs/rule_author/with_rules.py", "with_rules").POINTS


@pytest.mark.parametrize("f", PAIRS)
def test_rule(f):
    with_rule, arguments = PAIRS[f]
    check_rrule(with_rule, *arguments, rtol=1e-6)


@pytest.mark.parametrize("f", PAIRS)
def test_engine_finds_what_the_rule_says(f):
    with_rule, arguments = PAIRS[f]
    found, expected = autodiff.gradient(f, *arguments), autodiff.gradient(with_rule, *arguments)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
