"""Run tests with each supported Python that is on this machine, and name those that are not.

    python tools/pythons.py [ARGS ...]

Interpreters are looked for on the PATH and among those of pyenv. Each gets an environment of its
own (`make test PYTHON=...`) with the newest NumPy and SciPy that pip takes there. The Python that
runs this script is left out: `make test` runs all tests with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
TESTS = (
    "tests/programs tests/seeds tests/chainrules_core "
    "tests/autodiff/closures/test_outer_assignments.py "
    "tests/autodiff/trace/test_sequence_patterns.py "
    "tests/autodiff/structured/reading/test_sums_of_floats.py "
    "tests/autodiff/structured/reading/test_matches.py "
    "tests/autodiff/structured/test_generated.py "
    "tests/autodiff/compiler/recording/test_executed_code.py"
)
_SHOWS_VERSION = (
    "import ensurepip, sys, venv; "
    "locked = getattr(sys, '_is_gil_enabled', lambda: True)(); "
    "print('%d.%d' % sys.version_info[:2] if locked else 'without a lock')"
)


def candidates(version: str) -> Iterator[str]:
    """Yield paths that may be interpreters of a version."""
    found = shutil.which(f"python{version}")
    if found:
        yield found
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for path in sorted(root.glob(f"versions/{version}*/bin/python"), reverse=True):
        yield str(path)


def interpreter(version: str) -> str | None:
    """Return an interpreter of a version that can make environments; None if there is none."""
    for path in candidates(version):
        command = [path, "-c", _SHOWS_VERSION]
        shown = subprocess.run(command, capture_output=True, text=True, check=False)
        if shown.stdout.strip() == version:
            return path
    return None


def main(args: list[str]) -> int:
    """Run the tests; return 1 if some fail."""
    own = "{}.{}".format(*sys.version_info[:2])
    found = {v: interpreter(v) for v in VERSIONS if v != own}
    tests = " ".join(args) or TESTS
    failed = []
    for version, path in found.items():
        if path is not None:
            print(f"----- Python {version}: {path}", flush=True)
            done = subprocess.run(["make", "test", f"PYTHON={path}", f"ARGS={tests}"], check=False)
            if done.returncode:
                failed.append(version)
    passed = [v for v, path in found.items() if path is not None and v not in failed]
    missing = [v for v, path in found.items() if path is None]
    print(f"Python {own} has run this: `make test` runs all tests with it.")
    print(f"Passed with Python {', '.join(passed) or '(none)'}.")
    print(f"Not found on this machine: Python {', '.join(missing) or '(none)'}.")
    if failed:
        print(f"FAILED with Python {', '.join(failed)}.")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
