"""PyTensor, and so PyMC: functions of ours as Ops.

`to_pytensor` makes each call one Op of a flat call. Its pullback and its pushforward are Ops of the
same class, of the pullback and the pushforward of that call, so that PyTensor can differentiate
these again.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.tensor import TensorType, TensorVariable

from autodiff.errors import OutputError
from autodiff.interop.adapted import Adapted
from autodiff.interop.captures import check_captures
from autodiff.interop.declared_outputs import check_structure, declared, known_by_rule
from autodiff.interop.flat_call import FlatCall, Pull, check_function, flat_call
from chainrules_core.values.abstract_array import AbstractArray


def to_pytensor(f: Callable[..., Any], /, *, out: Any = None) -> Callable[..., Any]:
    """Turn a function into one of PyTensor variables, with derivatives by this engine.

    Parameters
    ----------
    f : callable
        Any function that :func:`autodiff.pullback` accepts: Python, NumPy and SciPy code.
    out : pytree or callable, optional
        The output of `f`, with a type (``pytensor.tensor.dvector``, a ``TensorType``, or anything
        else that has a shape and a dtype) in place of each array and float. Or a function that
        returns this. It gets the arguments of a call, with types in place of the variables. A
        length may be None, which means unknown. You may leave out `out` if the function is
        elementwise or linear itself, or has a rule that says so (``np.max``).

    Returns
    -------
    callable
        A function with the arguments of `f`. It accepts variables in place of arrays, also inside
        tuples, lists, dicts and objects, and returns variables in place of arrays and floats. Other
        arguments are passed on unchanged.

    Raises
    ------
    OutputError
        When the function is called, if the types of its results are unknown. When the graph is
        evaluated, if the results have other types, or if `f` returns something else besides arrays
        than before.

    Notes
    -----
    Gradients (``pytensor.grad``) and pushforwards (``pytensor.gradient.Rop``) of every order are
    computed by this engine. If a graph contains the value and the gradient, `f` runs once: the Op
    keeps the pullback and the arguments of its latest evaluation.

    Examples
    --------
    >>> import pytensor, pytensor.tensor as pt, scipy
    >>> gammainc = to_pytensor(scipy.special.gammainc)
    >>> a = pt.dscalar("a")
    >>> slope = pytensor.function([a], pytensor.grad(gammainc(a, 1.0), a))
    >>> float(slope(0.5).round(4))
    -0.3898
    """
    check_function(f, "to_pytensor")

    def f_of_variables(*args: Any, **kwargs: Any) -> Any:
        check_captures(f, _is_variable, "PyTensor")
        variables, call = flat_call(f, args, kwargs, _is_variable, are_values=True)
        types = _types_of(call, out, [v.type for v in variables])
        outputs = FlatOp(call, types)(*variables, return_list=True)
        return call.outputs.filled(outputs)

    return Adapted(f_of_variables, to_pytensor, f, out=out)


def _is_variable(x: Any) -> bool:
    return isinstance(x, TensorVariable)


def _types_of(call: FlatCall, out: Any, types: Sequence[TensorType]) -> list[TensorType]:
    """Return the types of the outputs, and set ``call.outputs``."""
    if out is not None:
        return declared(call, out, types, _type)
    if all(n is not None for t in types for n in t.shape):
        found = known_by_rule(call, _forms(types, 0), _type)
    else:
        found = _types_for_any_length(call, types)
    if found is None:
        raise OutputError(
            f"PyTensor needs the types of what {call.name} returns, which are not known before it "
            "runs. Give them: to_pytensor(f, out=pytensor.tensor.dvector), or a function of the "
            "arguments' types, to_pytensor(f, out=lambda x: x)."
        )
    return found


def _types_for_any_length(call: FlatCall, types: Sequence[TensorType]) -> list[TensorType] | None:
    """Return the types of the outputs where a rule knows them, whatever the unknown lengths are.

    Some lengths are tried, each for all that are unknown. Where one does not fit the function, that
    tells nothing; where the number of outputs, their axes or their dtypes differ, they are not
    known (``np.squeeze``).
    """
    longest = max([n for t in types for n in t.shape if n is not None and n > 1], default=2)
    found: list[list[TensorType]] = []
    for length in (1, longest + 1, longest):
        try:
            one = known_by_rule(call, _forms(types, length), _type_of_any_shape)
        except Exception:  # a guess is no error of the user's
            continue
        if one is None or (found and one != found[0]):
            return None
        found.append(one)
    return found[-1] if found else None


def _forms(types: Sequence[TensorType], length: int) -> list[AbstractArray]:
    """Return types as forms, with this length in place of those that are unknown."""
    return [
        AbstractArray(tuple([length if n is None else n for n in t.shape]), np.dtype(t.dtype))
        for t in types
    ]


def _type(x: Any) -> TensorType:
    return TensorType(str(np.dtype(x.dtype)), shape=tuple(x.shape))


def _type_of_any_shape(x: Any) -> TensorType:
    return TensorType(str(np.dtype(x.dtype)), shape=(None,) * len(x.shape))


_OPS: weakref.WeakValueDictionary[str, FlatOp] = weakref.WeakValueDictionary()


def _unpickled(key: str, kind: type[FlatOp], state: dict[str, Any]) -> FlatOp:
    """Return the Op with this key, or make one."""
    op = _OPS.get(key)
    if op is None:
        op = _OPS[key] = kind.__new__(kind)
        op.__dict__.update(state)
    return op


def _is_inexact(t: Any) -> bool:
    return np.dtype(t.dtype).kind in "fc"


class FlatOp(Op):
    """A flat call as an Op.

    Parameters
    ----------
    call : FlatCall
        The call.
    types : sequence of TensorType
        The types of its outputs.
    """

    def __init__(self, call: FlatCall, types: Sequence[TensorType]) -> None:
        self.call = call
        self.types = list(types)
        self.wanted: tuple[int, ...] | None = None
        """The inputs whose cotangents a graph has asked for."""
        self.kept: tuple[list[np.ndarray], Pull] | None = None
        """The inputs of the latest evaluation, and the pullback there."""
        self.ahead: tuple[list[np.ndarray], list[np.ndarray]] | None = None
        """Inputs and outputs, if the pullback has been evaluated before the outputs are."""
        self.key = uuid.uuid4().hex
        """Identifies the Op among its copies."""
        _OPS[self.key] = self

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.call.name}}}"

    def __reduce__(self) -> tuple:
        # Compiled graphs hold Ops in pickled form. In this process they get the Op itself, so that
        # an Op and its pullback share what is kept; in another one, one copy of each.
        return _unpickled, (self.key, type(self), {**vars(self), "kept": None, "ahead": None})

    def make_node(self, *inputs: Any) -> Apply:
        """Return the application to variables."""
        variables = [pytensor.tensor.as_tensor_variable(x) for x in inputs]
        return Apply(self, variables, [t() for t in self.types])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """Compute the outputs."""
        outputs = self.outputs([np.asarray(x) for x in inputs])
        for storage, y in zip(output_storage, _fitted(outputs, self.types, self.call), strict=True):
            storage[0] = y

    def outputs(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """Return the outputs; keep the pullback if a graph has asked for it."""
        if self.wanted is None:
            call = self.call.copy()  # another thread may run it, too
            found = call.value(*arrays)
            self._check_structure(call)
            return found
        ahead, self.ahead = self.ahead, None
        if ahead is not None and _are_same(ahead[0], arrays):
            return ahead[1]
        return self.recorded(arrays)[0]

    def recorded(self, arrays: list[np.ndarray]) -> tuple[list[np.ndarray], Pull]:
        """Return the outputs and the pullback, which is kept."""
        call = self.call.copy()
        arrays = [x.copy() for x in arrays]  # PyTensor may write into inputs and outputs later
        found, back = call.recorded(arrays, self.wanted or (), is_frozen=True)
        self._check_structure(call)
        self.kept = arrays, back
        return [y.copy() for y in found], back

    def _check_structure(self, call: FlatCall) -> None:
        if "outputs" in vars(self.call):
            check_structure(self.call, call.outputs)

    def pulled_at(self, arrays: list[np.ndarray]) -> Pull:
        """Return the pullback for these inputs: the one that is kept, or a new one."""
        kept = self.kept
        if kept is not None and _are_same(kept[0], arrays):
            return kept[1]
        outputs, back = self.recorded(arrays)
        self.ahead = [x.copy() for x in arrays], outputs
        return back

    # -- derivatives: PyTensor 2 has other names for them than PyTensor 3 -------------------------

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return which outputs depend differentiably on which inputs."""
        return [[_is_inexact(x) and _is_inexact(y) for y in self.types] for x in node.inputs]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Any], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        """Return the cotangents of the inputs for those of the outputs."""
        self._check_real(inputs)
        wanted = tuple(i for i, x in enumerate(inputs) if _is_inexact(x))
        given = tuple(
            k
            for k, bar in enumerate(cotangents)
            if _is_inexact(self.types[k]) and not isinstance(bar.type, DisconnectedType)
        )
        bars: list[Variable] = [DisconnectedType()() for _ in inputs]
        if wanted and given:
            self.wanted = wanted
            op = PullbackOp(self, given, [inputs[i].type for i in wanted])
            found = op(*inputs, *(cotangents[k] for k in given), return_list=True)
            for i, bar in zip(wanted, found, strict=True):
                bars[i] = bar
        return bars

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Any]
    ) -> list[Variable]:
        """Return the tangents of the outputs for those of the inputs."""
        self._check_real(inputs)
        moved = tuple(
            i
            for i, (x, dot) in enumerate(zip(inputs, tangents, strict=True))
            if _is_inexact(x) and dot is not None and not isinstance(dot.type, DisconnectedType)
        )
        dots: list[Variable] = [DisconnectedType()() for _ in self.types]
        if moved:
            inexact = [k for k, t in enumerate(self.types) if _is_inexact(t)]
            op = FlatOp(self.call.pushforward(moved), [self.types[k] for k in inexact])
            found = op(*inputs, *(tangents[i] for i in moved), return_list=True)
            for k, dot in zip(inexact, found, strict=True):
                dots[k] = dot
        return dots

    L_op = pullback

    def R_op(  # noqa: N802 # PyTensor's name
        self, inputs: Sequence[Variable], eval_points: Sequence[Any]
    ) -> list[Variable]:
        """Return the tangents of the outputs, as PyTensor 2 asks for them."""
        return self.pushforward(inputs, (), eval_points)

    def _check_real(self, inputs: Sequence[Variable]) -> None:
        if any(np.dtype(t.dtype).kind == "c" for t in (*inputs, *self.types)):
            raise OutputError(
                f"{self.call.name} has complex arguments or results, whose gradients PyTensor does "
                "not define. Give it real and imaginary parts, and let it return them."
            )


class PullbackOp(FlatOp):
    """The pullback of an Op.

    Parameters
    ----------
    source : FlatOp
        The Op, which may have kept the pullback.
    given : tuple of int
        Its outputs whose cotangents follow the inputs.
    types : sequence of TensorType
        The types of the cotangents that it returns.
    """

    def __init__(self, source: FlatOp, given: tuple[int, ...], types: Sequence[TensorType]) -> None:
        self.source = source
        self.given = given
        self.point = source.wanted or ()
        super().__init__(source.call.pullback(self.point, given), types)

    def outputs(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """Return the cotangents."""
        if self.wanted is not None:  # its own pullback is asked for
            return super().outputs(arrays)
        back = self.source.pulled_at(arrays[: len(arrays) - len(self.given)])
        bars = self.source.call.pullback(self.point, self.given, back).value(*arrays)
        return [bar.copy() for bar in bars]


def _are_same(before: list[np.ndarray], arrays: list[np.ndarray]) -> bool:
    """Whether inputs are those of an earlier evaluation, bit for bit."""
    return all(
        x.shape == y.shape and x.tobytes() == y.tobytes()
        for x, y in zip(before, arrays, strict=True)
    )


def _fitted(
    outputs: Sequence[np.ndarray], types: Sequence[TensorType], call: FlatCall
) -> list[np.ndarray]:
    """Return the outputs in the dtypes of the types."""
    if len(outputs) != len(types) or not all(map(_fits, outputs, types)):
        raise OutputError(
            f"{call.name} has returned {[(str(y.dtype), y.shape) for y in outputs]} where the "
            f"graph has {[(t.dtype, t.shape) for t in types]}, which is what out= of to_pytensor "
            "says, or a rule of the function."
        )
    return [np.asarray(y, t.dtype) for y, t in zip(outputs, types, strict=True)]


def _fits(y: np.ndarray, t: TensorType) -> bool:
    return (
        np.can_cast(y.dtype, np.dtype(t.dtype), "same_kind")
        and y.ndim == t.ndim
        and all(n is None or n == m for n, m in zip(t.shape, y.shape, strict=True))
    )
