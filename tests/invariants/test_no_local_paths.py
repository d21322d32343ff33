"""No file speaks of the machine on which it was written."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCAL = re.compile(rb"/work[/]|shared[/]reference|(?<!\w)[.]library\b")


def test_no_local_paths():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files are the project's is not known")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in names.split("\0") if name]
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in paths
        if path.is_file() and not path.is_symlink()
        for number, line in enumerate(path.read_bytes().splitlines(), start=1)
        if LOCAL.search(line)
    ]
    assert found == []
