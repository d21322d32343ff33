"""Tangents: the types of derivative values."""

from chainrules_core.tangents.fields import (
    construct as construct,
    declared_fields as declared_fields,
    fields_of as fields_of,
)
from chainrules_core.tangents.missing import (
    NotImplementedTangent as NotImplementedTangent,
    not_implemented as not_implemented,
)
from chainrules_core.tangents.mutable import (
    MutableTangent as MutableTangent,
    structural_tangent as structural_tangent,
)
from chainrules_core.tangents.structural import (
    Tangent as Tangent,
    backing as backing,
    canonicalize as canonicalize,
)
from chainrules_core.tangents.thunk import (
    AbstractThunk as AbstractThunk,
    InplaceableThunk as InplaceableThunk,
    Thunk as Thunk,
    thunk as thunk,
    unthunk as unthunk,
    unthunk_deep as unthunk_deep,
)
from chainrules_core.tangents.zero import (
    AbstractTangent as AbstractTangent,
    AbstractZero as AbstractZero,
    NoTangent as NoTangent,
    ZeroTangent as ZeroTangent,
)
