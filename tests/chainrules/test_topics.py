"""Modules of rules load when they are needed, and no lookup misses one: each in a fresh process."""

import os
import subprocess
import sys

import pytest

from tests.helpers import one_in

HEAD = """
import math, os, operator, sys
import numpy as np
import chainrules
from chainrules_core import frule, non_differentiable, opt_out, rrule, scalar_rule
from chainrules_core.registry import pending
from chainrules_core.registry.entries import key_of
from chainrules_core.rules import RuleTable

def loaded():
    return {name for name in sys.modules if name.startswith("chainrules.")}

def rules_of(table, f):
    entry = table.entry(f)
    return [] if entry is None else [(r.kind, r.types, r.defined_at) for r in entry.rules]
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", HEAD + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_little_is_loaded_at_first():
    run("""
assert not any("reductions" in name or "linalg" in name for name in loaded()), loaded()
rrule.entry(np.sum)
assert "chainrules.reductions.sums" in loaded()
assert "chainrules.reductions.quantiles" not in loaded()
before = loaded()
def own(x): return x
assert rrule.entry(own) is None and rrule.entry(len) is None
rrule.register(own)(lambda x: (x, lambda y_bar: y_bar))
assert loaded() == before
""")


def test_modules_register_no_more_than_the_table_says():
    # The rules of a module's own helpers come with them.
    run("""
owners = {f: list(names) for f, names in pending._owners.items()}
add, unstated = RuleTable.add, []

def seen(table, rule):
    frame = sys._getframe()
    while frame.f_code.co_name != "<module>" or frame.f_globals["__name__"][:10] != "chainrules":
        frame = frame.f_back
    module = frame.f_globals["__name__"]
    own = str(getattr(rule.f, "__module__", "")).startswith("chainrules")
    if not own and module not in owners.get(rule.f, ()):
        unstated.append((module, rule))
    return add(table, rule)

RuleTable.add = seen
rrule.methods()
assert not unstated, unstated
assert not pending._waiting and not pending._owners
""")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a copy of the process for each lookup")
def test_the_first_lookup_of_any_function_finds_all_of_its_rules():
    step = one_in(10)
    out = run(
        f"STEP = {step}"
        + """
def in_a_copy(check):
    child = os.fork()
    if child == 0:
        os._exit(0 if check() else 1)
    return os.waitpid(child, 0)[1] == 0

functions = [f for f in pending._owners][::STEP]
names, pipe = os.pipe(), None
read, write = names
if os.fork() == 0:
    rrule.methods()
    for f in functions:
        text = repr((rules_of(rrule, f), rules_of(frule, f))).replace("\\n", " ")
        os.write(write, (text + "\\n").encode())
    os._exit(0)
os.close(write)
with os.fdopen(read) as lines:
    expected = [line.rstrip("\\n") for line in lines]
assert len(expected) == len(functions)
wrong, with_rules = [], 0
for f, text in zip(functions, expected):
    if text == "([], [])":
        continue
    with_rules += 1
    first, second = (rrule, frule) if with_rules % 2 else (frule, rrule)
    def check():
        rules_of(first, f)
        return repr((rules_of(rrule, f), rules_of(frule, f))).replace("\\n", " ") == text
    if not in_a_copy(check):
        wrong.append(f)
assert not wrong, wrong
print(with_rules)
"""
    )
    assert int(out) > 500 // step


def test_a_rule_of_the_user_stands_before_ours_whenever_it_comes():
    run("""
scalar_rule(np.tanh, lambda y, x: 7.0)  # before ours has loaded
assert rrule(np.tanh, 0.5)[1](1.0)[1] == 7.0
rrule.entry(np.sinh)
scalar_rule(np.sinh, lambda y, x: 7.0)
assert rrule(np.sinh, 0.5)[1](1.0)[1] == 7.0
""")


def test_rules_made_of_others_do_not_depend_on_when_these_change():
    # Those of np.logaddexp.outer are made of the partial derivatives of np.logaddexp.
    run("""
non_differentiable(np.logaddexp)
rrule.unregister(np.logaddexp)
assert [r.kind for r in rrule.methods(np.logaddexp.outer)] == ["rrule"]
""")


def test_a_rule_may_be_taken_away_before_it_has_loaded():
    run("""
rrule.unregister(np.cumsum)
assert rrule.entry(np.cumsum) is None and frule.entry(np.cumsum) is not None
""")


def test_an_opt_out_before_the_rule_has_loaded():
    run("""
class Mine(np.ndarray): pass
opt_out(rrule, np.matmul, Mine)
assert rrule.is_opted_out(np.matmul, Mine, Mine)
assert not rrule.is_opted_out(np.matmul, np.ndarray, np.ndarray)
""")


def test_lists_of_rules_are_whole():
    run("""
assert not any("linalg" in name for name in loaded())
assert frule.lookup_ambiguities() == [] and "chainrules.linalg.norms" in loaded()
n = len(rrule.methods())
for f in (np.sum, np.dot, np.pad):
    rrule.entry(f)
assert len(rrule.methods()) == n > 500
""")


def test_an_engine_hears_of_changes_and_not_of_what_loads():
    # It cannot have remembered anything; hooks are called for every rule.
    run("""
told, seen = [], []
rrule.watch(told.append)
remove = rrule.on_new_rule(seen.append)
n = len(seen)
assert n > 500
scalar_rule(np.cosh, lambda y, x: 7.0)
assert [r.f for r in told] == [np.cosh] and len(seen) == n + 1
""")
    run("""
told = []
rrule.watch(told.append)
version = rrule.version
rrule.entry(np.linalg.solve)
assert "chainrules.linalg.solving" in loaded() and not told and rrule.version == version
""")


def test_threads_whose_first_lookups_are_at_the_same_time():
    run("""
import threading
from concurrent.futures import ThreadPoolExecutor
sys.setswitchinterval(1e-6)
functions = [np.dot, np.linalg.eigh, np.add.reduce, np.concatenate, math.sin, np.pad]
def ask(i):
    barrier.wait()
    order = functions[i % 6:] + functions[:i % 6]
    found = {f: (rules_of(rrule, f), rules_of(frule, f)) for f in order}
    return [found[f] for f in functions]
barrier = threading.Barrier(8)
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(ask, range(8)))
whole = [(rules_of(rrule, f), rules_of(frule, f)) for f in functions]
assert all(each == whole for each in found)
assert all(r and f for r, f in whole)
""")


def test_threads_that_meet_a_package_at_the_same_time():
    # None of them may see a part of its rules, or project without those of sparse arrays.
    pytest.importorskip("scipy")
    run("""
import scipy.sparse, scipy.special
import threading
from concurrent.futures import ThreadPoolExecutor
from chainrules_core import ProjectTo
sys.setswitchinterval(1e-6)
x = scipy.sparse.csr_array(np.eye(2))
def ask(i):
    barrier.wait()
    space = repr(ProjectTo(x)) if i % 2 else None
    return rules_of(rrule, scipy.special.expit), space or repr(ProjectTo(x))
barrier = threading.Barrier(8)
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(ask, range(8)))
assert all(rules and "csr_array" in space for rules, space in found), found
""")


def test_modules_may_be_imported_by_name():
    # Their registrations must not load others that need them as a whole.
    for module in ("linalg.spectral", "linalg.norms", "reductions.ufunc_methods", "shapes.padding"):
        run(f"""
import chainrules.{module}
found = rules_of(rrule, np.linalg.eigh)
assert len(rrule.methods()) > 500 and found == rules_of(rrule, np.linalg.eigh) != []
""")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a copy of the process for each module")
def test_any_module_may_be_imported_by_name_where_others_are_pending():
    pytest.importorskip("scipy")
    run("""
import importlib, pathlib
import scipy.linalg, scipy.sparse, scipy.special
root = pathlib.Path(chainrules.__file__).parent
failed = []
for path in sorted(root.glob("[a-z]*/[a-z]*.py")):
    if path.parent.name in ("scipy", "coverage"):
        continue
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(f"chainrules.{path.parent.name}.{path.stem}")
        except BaseException:
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(path)
assert not failed, failed
""")


def test_a_function_that_does_not_hash_has_no_rules():
    run("""
class Odd:
    __hash__ = None
    def __call__(self, x): return x
assert rrule.entry([]) is None
""")
