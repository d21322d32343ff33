"""The walk of a gradient in the page on architecture: its functions exist and run in this order."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "design" / "architecture.md"
WALK = PAGE.read_text().partition("## The way of a value")[2].partition("\n## ")[0]
NAMES = re.findall(r"`((?!tests/)(?:[a-z_]+/)+[a-z_]+)((?:\.[A-Za-z_]+)*)`", WALK)

# A fresh process, where nothing is cached. `f` has an elementwise function and one with a pullback.
RUN = """
import sys
import numpy as np
import autodiff

def f(x):
    return np.sum(np.cumsum(np.sin(x)))

called = {}
def note(frame, event, arg):
    if event == "call":
        code = frame.f_code
        called[code.co_filename, code.co_qualname.removesuffix(".__init__")] = None

sys.setprofile(note)
autodiff.gradient(f, np.ones(3))
sys.setprofile(None)
for file, name in called:
    print(file.rpartition("/autodiff/")[2].removesuffix(".py") + "." + name)
"""
# Which of the ways of step 5 are taken depends on the function and on what was called before.
WAYS = {
    "numpy_api/protocols.ufunc",
    "dispatch/dispatch_cache.find",
    "fastpath/elementwise.apply",
    "fastpath/elementwise_nodes.Elementwise",
    "intercept/runtime/rule_wrappers.asking_for",
    "dispatch/call.by_rule",
    "trace/nodes.Node",
    "structured/calls.calling",
}


def test_each_name_of_the_walk_exists():
    assert len(NAMES) > 25
    for module, attributes in NAMES:
        found = importlib.import_module("autodiff." + module.replace("/", "."))
        for name in attributes.split(".")[1:]:
            found = getattr(found, name)


def test_functions_are_called_in_the_order_of_the_walk(tmp_path):
    script = tmp_path / "walk.py"
    script.write_text(RUN)
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, cwd=PAGE.parents[2]
    )
    called = run.stdout.splitlines()
    walk = [module + attributes for module, attributes in NAMES if attributes]
    walk = [name for name in dict.fromkeys(walk) if name not in WAYS]
    assert [name for name in called if name in walk] == walk
