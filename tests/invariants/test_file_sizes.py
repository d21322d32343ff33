"""A file is one topic, and a topic fits in 500 lines."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "chainrules_core", "chainrules", "autodiff", "tests", "benchmarks", "examples", "tools",
)  # fmt: skip
MOST = 500


def test_no_file_is_too_long():
    lengths = {
        str(path.relative_to(ROOT)): path.read_bytes().count(b"\n")
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {name: length for name, length in lengths.items() if length > MOST} == {}
