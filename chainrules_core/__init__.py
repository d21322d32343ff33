"""Tools to write derivative rules, and the interface for engines that use them.

This package has the tangent types, ``frule`` and ``rrule``, projection onto tangent spaces, and
forms to define rules (:func:`scalar_rule`, :func:`linear_rule`, :func:`pair_rule`,
:func:`non_differentiable`, …). ``chainrules_core.testing`` tests rules. Rule authors import
:mod:`chainrules_core.authoring`, which adds helpers for formulas. Engines import
:mod:`chainrules_core.engine`.
"""

from chainrules_core._version import __version__ as __version__
from chainrules_core.calling.debug import (
    debug_mode as debug_mode,
    is_debug as is_debug,
    set_debug as set_debug,
)
from chainrules_core.config import (
    Capability as Capability,
    HasForwardMode as HasForwardMode,
    HasReverseMode as HasReverseMode,
    NoForwardMode as NoForwardMode,
    NoReverseMode as NoReverseMode,
    RuleConfig as RuleConfig,
    SupportsMutation as SupportsMutation,
    frule_via_ad as frule_via_ad,
    rrule_via_ad as rrule_via_ad,
)
from chainrules_core.define import (
    decompose as decompose,
    derivatives_given_output as derivatives_given_output,
    linear_rule as linear_rule,
    natively as natively,
    needs_output as needs_output,
    non_differentiable as non_differentiable,
    opt_out as opt_out,
    pair_rule as pair_rule,
    primitive as primitive,
    scalar_rule as scalar_rule,
)
from chainrules_core.define.ignore import ignore_derivatives as ignore_derivatives
from chainrules_core.errors import (
    AmbiguousRuleError as AmbiguousRuleError,
    BadInplaceError as BadInplaceError,
    ChainRulesError as ChainRulesError,
    CotangentError as CotangentError,
    MissingCapabilityError as MissingCapabilityError,
    MutateThunkError as MutateThunkError,
    NoRuleError as NoRuleError,
    NotImplementedTangentError as NotImplementedTangentError,
    PrimalAdditionError as PrimalAdditionError,
    ProjectionError as ProjectionError,
    PullbackArityError as PullbackArityError,
    RuleDefinitionError as RuleDefinitionError,
    RuleResultError as RuleResultError,
    TangentTypeError as TangentTypeError,
)
from chainrules_core.installed import warn_of_clashes as _warn_of_clashes
from chainrules_core.operations.accumulation import (
    add_inplace as add_inplace,
    is_inplaceable_destination as is_inplaceable_destination,
)
from chainrules_core.operations.arithmetic import (
    add as add,
    conj as conj,
    inner as inner,
    is_tangent as is_tangent,
    is_zero as is_zero,
    norm as norm,
    scale as scale,
)
from chainrules_core.operations.broadcasting import unbroadcast as unbroadcast
from chainrules_core.operations.zeros import (
    add_tangent as add_tangent,
    zero_tangent as zero_tangent,
)
from chainrules_core.projection.project_to import ProjectTo as ProjectTo
from chainrules_core.registry.entries import instance_of as instance_of
from chainrules_core.registry.pending import (
    when_imported as when_imported,
    when_looked_up as when_looked_up,
)
from chainrules_core.rules import (
    frule as frule,
    require_frule as require_frule,
    require_rrule as require_rrule,
    rrule as rrule,
)
from chainrules_core.tangents import (
    AbstractTangent as AbstractTangent,
    AbstractThunk as AbstractThunk,
    AbstractZero as AbstractZero,
    InplaceableThunk as InplaceableThunk,
    MutableTangent as MutableTangent,
    NoTangent as NoTangent,
    NotImplementedTangent as NotImplementedTangent,
    Tangent as Tangent,
    Thunk as Thunk,
    ZeroTangent as ZeroTangent,
    backing as backing,
    canonicalize as canonicalize,
    construct as construct,
    not_implemented as not_implemented,
    structural_tangent as structural_tangent,
    thunk as thunk,
    unthunk as unthunk,
    unthunk_deep as unthunk_deep,
)
from chainrules_core.values.closures import Closure as Closure
from chainrules_core.values.names import (
    Array as Array,
    Index as Index,
    Number as Number,
    Numeric as Numeric,
    Real as Real,
    Scalar as Scalar,
)

_warn_of_clashes()
when_imported("scipy.sparse", "chainrules_core.projection.sparse")
