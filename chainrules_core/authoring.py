"""Everything for rule authors: ``from chainrules_core.authoring import pair_rule, part, Array``.

These names are stable. They are the names of :mod:`chainrules_core` that rule authors need, and the
helpers that the rules of `chainrules` are written with. The page about writing rules says how to
use them. The interface for engines is :mod:`chainrules_core.engine`.
"""

from chainrules_core.calling.frame import part, parts
from chainrules_core.calling.lists import array_of, natural
from chainrules_core.config import (
    HasForwardMode,
    HasReverseMode,
    RuleConfig,
    frule_via_ad,
    rrule_via_ad,
)
from chainrules_core.define import (
    decompose,
    derivatives_given_output,
    expression,
    in_steps,
    linear_rule,
    natively,
    needs_output,
    non_differentiable,
    opt_out,
    pair_rule,
    primitive,
    scalar_rule,
)
from chainrules_core.define.bits import remainder, turned_by_sign, where_true
from chainrules_core.define.ignore import ignore_derivatives
from chainrules_core.define.output_precision import precise
from chainrules_core.define.scalar import conjugate, fit, has_nan, strong_product
from chainrules_core.errors import ChainRulesError, RuleDefinitionError
from chainrules_core.interpreter.no_value import NO_VALUE
from chainrules_core.operations.arithmetic import add, conj, scale
from chainrules_core.operations.broadcasting import spread_to, unbroadcast
from chainrules_core.operations.contraction import contraction
from chainrules_core.operations.scattering import scatter, scatter_along_into, scatter_into
from chainrules_core.operations.zeros import zero_tangent
from chainrules_core.projection.project_to import ProjectTo, is_foreign
from chainrules_core.registry.entries import instance_of
from chainrules_core.registry.pending import when_imported
from chainrules_core.rule import EVERY
from chainrules_core.rules import frule, require_rrule, rrule
from chainrules_core.tangents import (
    AbstractTangent,
    AbstractThunk,
    AbstractZero,
    InplaceableThunk,
    MutableTangent,
    NoTangent,
    NotImplementedTangent,
    Tangent,
    Thunk,
    ZeroTangent,
    not_implemented,
    structural_tangent,
    thunk,
    unthunk,
    unthunk_deep,
)
from chainrules_core.values.closures import Closure
from chainrules_core.values.names import Array, Index, Number, Numeric, Real, Scalar
from chainrules_core.values.sparse_arrays import coords_of, entries_of, with_entries

__all__ = [
    # The tables of rules, and short forms to define them.
    "decompose", "derivatives_given_output", "expression", "frule", "in_steps",
    "instance_of", "linear_rule", "natively", "needs_output", "non_differentiable", "opt_out",
    "pair_rule", "primitive", "require_rrule", "rrule", "scalar_rule", "when_imported",
    # Types and positions of arguments.
    "Array", "EVERY", "Index", "Number", "Numeric", "Real", "Scalar",
    # Tangents and cotangents.
    "AbstractTangent", "AbstractThunk", "AbstractZero", "InplaceableThunk", "MutableTangent",
    "NoTangent", "NotImplementedTangent", "ProjectTo", "Tangent", "Thunk", "ZeroTangent",
    "add", "conj", "not_implemented", "scale", "structural_tangent", "thunk", "unthunk",
    "unthunk_deep", "zero_tangent",
    # Helpers of formulas: shapes, parts of outputs, lists, scattering, products with truth values.
    "NO_VALUE", "array_of", "conjugate", "contraction", "coords_of", "entries_of", "fit", "has_nan",
    "is_foreign", "natural", "part", "parts", "precise", "remainder", "scatter",
    "scatter_along_into", "scatter_into", "spread_to", "strong_product", "turned_by_sign",
    "unbroadcast", "where_true", "with_entries",
    # Rules that call back into the engine.
    "Closure", "HasForwardMode", "HasReverseMode", "RuleConfig", "frule_via_ad",
    "ignore_derivatives", "rrule_via_ad",
    # Errors.
    "ChainRulesError", "RuleDefinitionError",
]  # fmt: skip
