"""Everything for engines: rules as objects, calls bound to them, and helpers around pullbacks.

Rule authors do not need it: see :mod:`chainrules_core.authoring`. ``docs/engine_author`` shows how
an engine uses it, with two small engines.
"""

from chainrules_core.calling.frame import checked_pair, named_projection, sorted_bars
from chainrules_core.calling.signatures import Signature, signature_of
from chainrules_core.config import (
    Capability,
    HasForwardMode,
    HasReverseMode,
    NoForwardMode,
    NoReverseMode,
    RuleConfig,
    SupportsMutation,
)
from chainrules_core.define import (
    STEPS,
    STEPS_OF_ARRAYS,
    DecomposeRule,
    LinearRule,
    PairRule,
    ScalarRule,
    opt_out,
)
from chainrules_core.define.bits import where_true
from chainrules_core.define.output_precision import is_less_precise
from chainrules_core.define.partial import ARITHMETIC, Partial
from chainrules_core.define.scalar import (
    constant_product,
    has_nan,
    is_exact_zero,
    plain_product,
    strong_product,
)
from chainrules_core.define.symbolic import Symbol, parameter
from chainrules_core.errors import (
    BadInplaceError,
    ChainRulesError,
    CotangentError,
    NotImplementedTangentError,
    ProjectionError,
    TangentTypeError,
)
from chainrules_core.interpreter.noticed import forgive, here, mark, noticing, restore
from chainrules_core.interpreter.places import (
    MADE_HERE,
    add_engine,
    frames,
    is_library_file,
    say_where,
    user_line,
)
from chainrules_core.interpreter.quiet import is_mild, quiet, raising
from chainrules_core.operations.accumulation import add_inplace, is_inplaceable_destination
from chainrules_core.operations.arithmetic import add, inner
from chainrules_core.operations.broadcasting import spread_to, unbroadcast, unbroadcast_rows
from chainrules_core.operations.scattering import may_repeat, scatter
from chainrules_core.operations.zeros import zero_tangent
from chainrules_core.projection.project_to import (
    KNOWN_SPACES,
    ProjectTo,
    ProjectToArray,
    ProjectToNumber,
)
from chainrules_core.registry.entries import Entry, key_of
from chainrules_core.registry.facts import RuleFacts, abstract_value, rules
from chainrules_core.rule import HandRule, Rule, name_of
from chainrules_core.rules import RuleTable, frule, rrule
from chainrules_core.tangents import (
    AbstractThunk,
    AbstractZero,
    InplaceableThunk,
    NoTangent,
    NotImplementedTangent,
    Tangent,
    Thunk,
    ZeroTangent,
    unthunk,
)
from chainrules_core.values.abstract_array import AbstractArray
from chainrules_core.values.closures import Closure

__all__ = [
    # The tables, rules as objects, and calls bound to their signatures.
    "ARITHMETIC", "Capability", "Closure", "DecomposeRule", "Entry", "HandRule",
    "HasForwardMode", "HasReverseMode", "LinearRule", "NoForwardMode", "NoReverseMode",
    "PairRule", "Partial", "Rule", "RuleConfig", "RuleTable", "STEPS", "STEPS_OF_ARRAYS",
    "ScalarRule", "Signature", "SupportsMutation", "Symbol", "frule", "key_of", "name_of",
    "parameter", "rrule", "signature_of",
    # What there is to know about rules without using them; opting out.
    "AbstractArray", "RuleFacts", "abstract_value", "opt_out", "rules",
    # What surrounds a rule.
    "KNOWN_SPACES", "ProjectTo", "ProjectToArray", "ProjectToNumber", "checked_pair",
    "is_mild", "named_projection", "quiet", "raising", "sorted_bars",
    # Tangents, and adding them up.
    "AbstractThunk", "AbstractZero", "InplaceableThunk", "NoTangent", "NotImplementedTangent",
    "Tangent", "Thunk", "ZeroTangent", "add", "add_inplace", "inner",
    "is_inplaceable_destination", "may_repeat", "scatter", "spread_to", "unbroadcast",
    "unbroadcast_rows", "unthunk", "zero_tangent",
    # Products of an elementwise function's partial derivatives.
    "constant_product", "has_nan", "is_exact_zero", "is_less_precise", "plain_product",
    "strong_product",
    "where_true",
    # Where errors come from, and what becomes of them.
    "BadInplaceError", "ChainRulesError", "CotangentError", "MADE_HERE",
    "NotImplementedTangentError", "ProjectionError", "TangentTypeError", "add_engine", "forgive",
    "frames", "here", "is_library_file", "mark", "noticing", "restore", "say_where", "user_line",
]  # fmt: skip
