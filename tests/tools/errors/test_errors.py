"""The catalogue of errors holds: each program raises, each way out works, no site is left out."""

import functools
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chainrules_core import frule, rrule
from tools.errors.entries import Entry, entries, run, without_new_rules
from tools.errors.sites import ROOT, Site, sites

# Statements that no program of a user's reaches, and why.
UNREACHED: dict[str, str] = {
    "autodiff/closures/captured_state.py:assigned:0": "only where Python's bytecode is not read: "
    "not in 3.11 to 3.13; tests/autodiff/closures/test_outer_assignments.py",
    "autodiff/compiler/compiled_function.py:Compiled.__init__:3": "only where llvmlite is missing",
    "autodiff/distributed/sums.py:ShardedSum.evaluate:0": "only where a cluster loses again and "
    "again the sums that it had made",
    "autodiff/interop/captures.py:check_captures:0": "only with another system; "
    "tests/autodiff/interop/test_captures.py raises it",
    "autodiff/mutation/assignment.py:_put:1": "no array is known whose copy, laid out as it is, "
    "lacks a view",
    "autodiff/mutation/assignment.py:_write:0": "a recording ends with it: the function then "
    "runs as it is written, and another statement raises the same",
    "autodiff/numpy_api/out_arguments.py:at:0": "as the one before",
    "chainrules/reductions/folds.py:check_fold:0": "NumPy 2.4 reduces power and arctan2 wrongly, "
    "but on processors with AVX-512 alone",
    "chainrules/scipy/private.py:StandIn.__init__:0": "only with a version of SciPy that lacks a "
    "private name; tests/chainrules/scipy/test_private.py raises it",
}


@functools.cache
def raised_by(entry: Entry) -> tuple[type, str, Site | None] | None:
    """Run an entry, once for all tests: return class and text of the error, and its site."""
    raised = run(entry)
    return raised and (type(raised.error), raised.text, raised.site)


def named(entry):
    return entry.program.__name__


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("entry", entries(), ids=named)
def test_a_program_raises_what_the_catalogue_says(entry):
    raised = raised_by(entry)
    assert raised is not None
    kind, text, site = raised
    assert kind is entry.kind
    assert site is not None
    if entry.has_line:
        lines, first = inspect.getsourcelines(entry.program)
        found = re.findall(re.escape(inspect.getfile(entry.program)) + r", line (\d+)", text)
        assert any(first <= int(line) < first + len(lines) for line in found), text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "program", [pytest.param(p, id=p.__name__) for e in entries() for _, p in e.remedies]
)
def test_a_way_out_works(program):
    with without_new_rules():
        program()


def test_every_entry_names_a_way_out():
    assert [named(entry) for entry in entries() if not entry.remedies] == []


@pytest.mark.filterwarnings("default")
def test_every_statement_that_raises_is_reached():
    reached = {r[2].name for e in entries() if (r := raised_by(e)) and r[2]}
    missing = [site.name for site in sites() if site.name not in reached]
    assert sorted(missing) == sorted(UNREACHED)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="others word Python's errors anew")
def test_the_page_is_what_the_programs_say(tmp_path):
    # In a process of its own: nothing that other tests have left may change a message.
    subprocess.run(
        [sys.executable, "-m", "tools.errors", tmp_path / "new.md"], cwd=ROOT, check=True
    )
    written = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert written == (tmp_path / "new.md").read_text(encoding="utf-8")


def test_programs_are_named_once():
    names = [named(entry) for entry in entries()]
    assert len(set(names)) == len(names)
    assert all(Path(inspect.getfile(e.program)).parent.name == "programs" for e in entries())


def test_programs_leave_no_rules_behind():
    for entry in entries():
        if Path(inspect.getfile(entry.program)).stem == "rule_results":
            run(entry)
    left = [rule for table in (rrule, frule) for rule in table.methods()]
    assert [rule for rule in left if "tools/errors/programs" in rule.defined_at] == []
