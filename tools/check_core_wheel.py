"""Build the wheel of chainrules-core, and run its tests where there is no SciPy.

The wheel is installed in a fresh virtual environment and the tests run from a copy in a temporary
directory, so that `import chainrules_core` can find nothing but what was installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "chainrules_core"

PROBE = (
    f"import importlib.util as u, {PACKAGE} as p; "
    "assert not u.find_spec('scipy'), 'scipy is installed'; "
    "assert 'site-packages' in p.__file__, p.__file__"
)


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    print("$", *command, flush=True)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(command, cwd=cwd, env=environment, check=True)


def build_wheel(work: Path) -> Path:
    """The wheel, built from a copy: what an earlier build left behind cannot get into it."""
    source = work / "source"
    ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "packaging" / "core", source, ignore=ignored)
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", work / "dist", source)
    (wheel,) = (work / "dist").glob("*.whl")
    return wheel


def check_contents(wheel: Path) -> None:
    """All of the package, nothing else, and no dependency but NumPy and multipledispatch."""
    package = ROOT / PACKAGE
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in [*package.rglob("*.py"), *package.rglob("py.typed")]
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        required = message_from_bytes(archive.read(metadata)).get_all("Requires-Dist", [])
    if names != expected:
        raise SystemExit(f"error: wheel and {PACKAGE}/ differ in {sorted(names ^ expected)}")
    needed = {line.split(">")[0] for line in required if "extra ==" not in line}
    if needed != {"numpy", "multipledispatch"}:
        raise SystemExit(f"error: the wheel requires {sorted(needed)}")
    print(f"{wheel.name}: {len(names)} files")


def copy_tests(work: Path) -> Path:
    """The core's tests with the project's pytest options, in a directory of their own."""
    room = work / "room"
    shutil.copytree(ROOT / "tests" / PACKAGE, room / "tests" / PACKAGE)
    for name in ["pyproject.toml", "tests/conftest.py"]:
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, room / name)
    return room


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="core-wheel-") as temporary:
        work = Path(temporary)
        wheel = build_wheel(work)
        check_contents(wheel)
        run(sys.executable, "-m", "venv", work / "venv")
        python = work / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", f"{wheel}[test]")
        room = copy_tests(work)
        run(python, "-c", PROBE, cwd=room)
        run(python, "-m", "pytest", "-n", "auto", "--dist", "worksteal", cwd=room)
    print("The wheel passes its own tests without SciPy.")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failure:
        raise SystemExit(f"error: failed: {' '.join(map(str, failure.cmd))}") from None
