"""A file is one topic. More than 500 lines are a sign that it may be two: such files are listed."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "chainrules_core", "chainrules", "autodiff", "tests", "benchmarks", "examples", "tools",
)  # fmt: skip
MOST = 500
# File → why it is longer.
LONGER = {
    "autodiff/compiler/passes/batching.py": "one walk over a program: products, sums and stacks",
    "autodiff/compiler/recording/recorder.py": "one class: what each kind of call writes down",
    "autodiff/intercept/runtime/replacements.py": "one table of what is called in place of what",
    "autodiff/intercept/syntax/syntax_ops.py": "one function for each piece of syntax",
    "autodiff/interop/flat_call.py": "a call and its derivatives, each a call of the same kind",
    "autodiff/numpy_api/methods.py": "one function for each method and attribute of arrays",
    "autodiff/numpy_api/pandas_columns.py": "a column, and what pandas' functions do with it",
    "autodiff/structured/reading/builder.py": "one class: values, operations and blocks",
    "autodiff/structured/reading/call_expressions.py": "one class: how each kind of call is read",
    "autodiff/trace/pytree.py": "every walk over nests, which share what the classes are",
    "chainrules_core/tangents/structural.py": "with the sums of their parts, of any kind",
    "tests/autodiff/autocompile/test_generated_control_flow.py": "the statements of one generator",
    "tests/autodiff/interop/test_pytorch.py": "every transformation of one adapter",
    "tests/autodiff/structured/test_levels.py": "every kernel by every transformation",
    "tools/errors/programs/mutation.py": "a program for each error of writes, and one without it",
}


def test_no_file_is_too_long():
    lengths = {
        str(path.relative_to(ROOT)): path.read_bytes().count(b"\n")
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {name for name, length in lengths.items() if length > MOST} == set(LONGER)
