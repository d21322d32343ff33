"""Short forms for rules: partials, adjoints, constants, opt-outs, bodies."""

from chainrules_core.define.derivatives import (
    derivatives_given_output as derivatives_given_output,
    needs_output as needs_output,
)
from chainrules_core.define.expression import expression as expression
from chainrules_core.define.linear import LinearRule as LinearRule, linear_rule as linear_rule
from chainrules_core.define.nondifferentiable import (
    DecomposeRule as DecomposeRule,
    decompose as decompose,
    non_differentiable as non_differentiable,
    opt_out as opt_out,
)
from chainrules_core.define.pair import PairRule as PairRule, pair_rule as pair_rule
from chainrules_core.define.primitive import (
    STEPS as STEPS,
    STEPS_OF_ARRAYS as STEPS_OF_ARRAYS,
    in_steps as in_steps,
    natively as natively,
    primitive as primitive,
)
from chainrules_core.define.scalar import ScalarRule as ScalarRule, scalar_rule as scalar_rule
