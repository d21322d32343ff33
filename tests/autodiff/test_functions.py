"""What is known of functions is true, and says nothing that contradicts itself."""

import inspect
import math
import operator

import numpy as np
import pytest

from autodiff import vector_functions
from autodiff.autocompile import pure_functions
from autodiff.compiler.kernels import lowering_table
from autodiff.compiler.passes import algebraic_rules
from autodiff.compiler.python_backend import array_calls
from autodiff.compiler.recording import domain_guards, ir
from autodiff.functions import (
    ELEMENTWISE,
    NOTHING,
    PRODUCT,
    VIEW,
    entries,
    facts_of,
    is_elementwise,
    known,
    note,
    of_kind,
)

LOWERED = {*lowering_table._LOWERINGS, *array_calls._FORMS, *algebraic_rules._RULES}
OURS = ("autodiff", "chainrules_core")
NUMBERS = (-1.5, -0.0, 0.0, 0.25, 1.0, 2.5, math.inf, -math.inf, math.nan)
MATRIX = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0], [2.0, 0.0, 1.5]])


def name(f):
    return f"{getattr(f, '__module__', '')}.{getattr(f, '__name__', f)}"


def test_a_second_entry_is_an_error():
    with pytest.raises(AssertionError, match="two entries"):
        note([np.sum])


@pytest.mark.parametrize("f", sorted(LOWERED, key=name), ids=name)
def test_what_the_compiler_writes_has_an_entry_and_is_pure(f):
    if (getattr(f, "__module__", None) or "").partition(".")[0] in OURS:
        return  # a step of programs
    assert facts_of(f) is not NOTHING
    assert facts_of(f).is_pure
    assert pure_functions.is_pure(f) or f is operator.getitem


@pytest.mark.parametrize("f", sorted(entries(), key=name), ids=name)
def test_no_entry_contradicts_itself(f):
    facts = facts_of(f)
    assert not facts.is_own or facts.is_new  # an array of one's own is new memory
    assert not (facts.is_own and facts.may_copy)
    assert facts.kind != VIEW or not facts.is_new  # a view is none
    assert not facts.reads_memory or (facts.reads_form and not facts.is_pure)
    assert not (facts.has_fixed_form and (facts.reads_form or facts.makes_form))
    assert not (facts.never_raises and facts.raises_by_value)
    assert not facts.order or facts.may_copy
    assert not facts.takes_numbers or facts.kind == VIEW
    is_written = facts.python or facts.loops or facts.math or facts.undefined or facts.simd
    assert not is_written or (facts.kind == ELEMENTWISE and facts.loops and facts.has_fixed_form)
    assert not (facts.sign or facts.is_logical) or facts.python
    assert (
        facts.kind != ELEMENTWISE
        or (f in (np.clip, np.where, np.copy) or facts.is_logical)
        or (is_elementwise(f))
    )
    assert facts.ufunc is None or facts_of(facts.ufunc).kind == ELEMENTWISE
    assert pure_functions.is_pure(f) == facts.is_pure or f in (np.require, np.asfortranarray)


def operands(f, n):
    if facts_of(f).is_logical or f is np.where:
        first = [(False,), (True,)]
    else:
        first = [(x,) for x in NUMBERS]
    rest = (False, True) if facts_of(f).is_logical else NUMBERS
    for _ in range(n - 1):
        first = [(*xs, y) for xs in first for y in rest]
    return first


def arity(f):
    return (
        {np.where: 3, np.clip: 3, np.copy: 1}.get(f)
        or getattr(f, "nin", 0)
        or (1 if f is operator.invert else 2)
    )


SCOPE = {"math": math, "np": np, "exp": np.exp, "tanh": np.tanh}


def value_of(text, xs):
    names = [f"x{k}" for k in range(len(xs))]
    try:
        return eval(text.format(*names), {**SCOPE, **dict(zip(names, xs, strict=True))})
    except (ArithmeticError, ValueError):
        return None  # there Python raises, and the call is made again


@pytest.mark.parametrize(
    "f, text",
    [(f, text) for which in ("python", "loops") for f, text in known(which).items()],
    ids=lambda x: x if type(x) is str else name(x),
)
def test_what_is_written_for_a_function_computes_it(f, text):
    with np.errstate(all="ignore"):
        for xs in operands(f, arity(f)):
            if f is np.clip and not xs[1] <= xs[2]:
                continue
            if f is operator.invert:
                assert value_of(text, xs) == (not xs[0])
                continue
            made, wanted = value_of(text, xs), f(*xs)
            if isinstance(made, complex) or made is None:
                continue
            assert made == pytest.approx(wanted, rel=1e-14, nan_ok=True), xs


@pytest.mark.parametrize("f, same", known("ufunc").items(), ids=name)
def test_functions_that_compute_the_same(f, same):
    for xs in operands(f, same.nin):
        try:
            made = f(*xs)
        except (ArithmeticError, ValueError):
            continue
        with np.errstate(all="ignore"):
            if not isinstance(made, complex):
                assert made == pytest.approx(same(*xs), rel=1e-14, nan_ok=True), xs


@pytest.mark.parametrize("f, ask", domain_guards.DOMAINS.items(), ids=name)
def test_a_function_of_math_raises_where_its_domain_says_so(f, ask):
    for x in (*NUMBERS, 1e-320, -3.0, 170.0, 172.0, 709.0, 710.0, 711.0, -711.0, 3e305):
        if x != x:
            continue
        try:
            f(x)
            raises = False
        except (ArithmeticError, ValueError):
            raises = True
        assert not (raises and ask(x)), x


ARGUMENTS = {
    np.moveaxis: (0, 1), np.swapaxes: (0, 1), np.rollaxis: (1,), np.broadcast_to: ((2, 3, 3),),
    np.expand_dims: (0,), np.reshape: ((9,),), operator.getitem: (slice(1, None),),
}  # fmt: skip


@pytest.mark.parametrize("f", sorted(of_kind(VIEW), key=name), ids=name)
def test_views_have_the_memory_of_the_argument(f):
    x = MATRIX.copy()
    assert np.may_share_memory(f(x, *ARGUMENTS.get(f, ())), x)


NEW = {
    np.tile: (1,), np.roll: (0,), np.repeat: (1,), np.pad: (0,), np.take: ([0, 1, 2],),
    np.clip: (-9.0, 9.0), np.full_like: (1.0,), np.where: None, np.diff: (), np.stack: None,
    np.hstack: None, np.vstack: None, np.dstack: None, np.concatenate: None, np.vander: None,
    np.percentile: (50.0,), np.quantile: (0.5,), np.take_along_axis: (np.zeros((3, 3), int), 0),
    np.column_stack: None, np.block: None, np.delete: (0,), np.insert: (0, 1.0),
    np.ediff1d: (), np.linalg.eig: (), np.linalg.tensorinv: (1,),
}  # fmt: skip
VECTORS = {  # how many of them a function takes
    np.convolve: 2, np.correlate: 2, np.polyval: 2, np.interp: 3, np.searchsorted: 2,
    np.isclose: 2, np.append: 2,
}  # fmt: skip


@pytest.mark.parametrize("f", sorted(known("is_new"), key=name), ids=name)
def test_what_is_new_is_new(f):
    x = MATRIX.copy()
    if f is np.einsum:
        made = f("ij,jk->ik", x, x)
    elif f is np.where:
        made = f(x > -9.0, x, x)
    elif f is np.vander:
        made = f(x[0])
    elif f in VECTORS:
        made = f(*[x[0]] * VECTORS[f])
    elif f is np.select:
        made = f([x > 0.0], [x])
    elif f in NEW and NEW[f] is None:
        made = f([x])
    elif facts_of(f).kind == PRODUCT or f in (
        np.outer, np.kron, np.cross, np.tensordot, np.linalg.solve, np.linalg.lstsq,
    ):  # fmt: skip
        made = f(x, x)
    elif f is np.linalg.multi_dot:
        made = f([x, x])
    elif f is np.linalg.cholesky:
        made = f(np.eye(3))
    elif (
        (facts_of(f).has_fixed_form and f is not np.logspace)
        or f in NEW
        or f.__name__.endswith("_like")
    ):
        made = f(x, *(NEW.get(f) or ()))
    else:
        return  # it takes no array
    for part in made if isinstance(made, tuple) else (made,):
        assert not np.may_share_memory(part, x)


def test_the_loops_that_are_widened_have_functions():
    assert {f.__name__ for f in known("simd")} <= vars(vector_functions).keys()


@pytest.mark.parametrize("f", sorted(known("parameters"), key=name), ids=name)
def test_functions_that_move_elements_have_these_parameters(f):
    names = list(inspect.signature(f).parameters) if f is not np.concatenate else ["arrays", "axis"]
    synonyms = {"array": "a", "pad_width": "widths", "arrays": "a", "m": "a", "v": "a"}
    found = [synonyms.get(n, n) for n in names][: len(facts_of(f).parameters)]
    assert tuple(found) == facts_of(f).parameters


def test_our_own_steps_are_known():
    assert {ir.set_item, ir.add_item, ir.sub_item, ir.set_flat} <= set(lowering_table._LOWERINGS)
