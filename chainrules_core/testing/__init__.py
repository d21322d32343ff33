"""Test rules against finite differences, in every form in which engines call them.

One line tests a rule:

>>> import numpy as np
>>> from chainrules_core import frule, rrule, scalar_rule
>>> from chainrules_core.testing import check_rule
>>> def square(x):
...     return x * x
>>> scalar_rule(square, lambda y, x: 2 * x)
>>> result = check_rule(square, np.array([1.0, 2.0, 3.0]))
>>> rrule.unregister(square), frule.unregister(square)
(None, None)
"""

from chainrules_core.testing.checks.case import CheckResult as CheckResult
from chainrules_core.testing.checks.check import (
    check_frule as check_frule,
    check_rrule as check_rrule,
    check_rule as check_rule,
    check_scalar as check_scalar,
)
from chainrules_core.testing.comparison.compare import (
    assert_tangents_close as assert_tangents_close,
)
from chainrules_core.testing.difference_engine import TestConfig as TestConfig
from chainrules_core.testing.failures import (
    MissingDerivativeWarning as MissingDerivativeWarning,
    RuleCheckError as RuleCheckError,
    TangentMismatchError as TangentMismatchError,
)
from chainrules_core.testing.inputs.domains import (
    ABOVE_ONE as ABOVE_ONE,
    COMPLEX as COMPLEX,
    LARGE as LARGE,
    NEGATIVE as NEGATIVE,
    NONZERO as NONZERO,
    POSITIVE as POSITIVE,
    REAL as REAL,
    SYMMETRIC_UNIT as SYMMETRIC_UNIT,
    UNIT as UNIT,
    UNIT_DISK as UNIT_DISK,
    Domain as Domain,
    hermitian_matrix as hermitian_matrix,
    orthogonal_matrix as orthogonal_matrix,
    separated_singular_values as separated_singular_values,
    spd_matrix as spd_matrix,
    well_conditioned_matrix as well_conditioned_matrix,
)
from chainrules_core.testing.inputs.draw import rand_tangent as rand_tangent
from chainrules_core.testing.inputs.opaque import OpaqueIterable as OpaqueIterable
from chainrules_core.testing.inputs.seeds import (
    AUTO as AUTO,
    const as const,
    with_tangent as with_tangent,
)
from chainrules_core.testing.numeric.differences import (
    FiniteDifferences as FiniteDifferences,
    backward_fdm as backward_fdm,
    central_fdm as central_fdm,
    forward_fdm as forward_fdm,
    jvp_fd as jvp_fd,
    vjp_fd as vjp_fd,
)
from chainrules_core.testing.numeric.vectors import to_vector as to_vector
from chainrules_core.testing.record import (
    exercised_rules as exercised_rules,
    forget_exercised as forget_exercised,
    load_exercised as load_exercised,
    rule_id as rule_id,
    save_exercised as save_exercised,
)
from chainrules_core.testing.registry import (
    check_registry as check_registry,
    registry_problems as registry_problems,
)
