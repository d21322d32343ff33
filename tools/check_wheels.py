"""Build the wheels of the three distributions, and test each where nothing above it is installed.

One after the other they come into a fresh virtual environment: the core with its own tests where
there is no SciPy, the rules with the toy engines of the documentation where there is no engine, and
the engine with the README. The tests run from a copy in a temporary directory, so that an import
can find nothing but what was installed. No file is in two of the wheels.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Wheel(NamedTuple):
    """One distribution of ours."""

    folder: str
    package: str
    needs: set[str]
    absent: str
    """What must not be installed where it is tested."""
    rooms: list[str]
    """Its tests."""


WHEELS = [
    Wheel("core", "chainrules_core", {"numpy", "multipledispatch"}, "scipy",
          ["tests/chainrules_core"]),
    Wheel("rules", "chainrules", {"numpy", "scipy", "chainrules-core"}, "autodiff",
          ["tests/docs/test_toy_engines.py", "docs/engine_author"]),
    Wheel("autodiff", "autodiff", {"numpy", "scipy", "chainrules-core", "chainrules-rules"},
          "torch", ["tests/docs/test_examples.py", "README.md", "docs/engine_author",
                    "docs/rule_author"]),
]  # fmt: skip
TEST_TOOLS = ["hypothesis>=6.100", "pytest>=8.2", "pytest-xdist>=3.6"]
SHARED = ["pyproject.toml", "tests/conftest.py"]


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    print("$", *command, flush=True)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(command, cwd=cwd, env=environment, check=True)


def built(wheel: Wheel, work: Path) -> Path:
    """The wheel, built from a copy: what an earlier build left behind cannot get into it."""
    source, dist = work / wheel.folder, work / "dist" / wheel.folder
    ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "packaging" / wheel.folder, source, ignore=ignored)
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", dist, source)
    (path,) = dist.glob("*.whl")
    return path


def check_contents(wheel: Wheel, path: Path) -> set[str]:
    """All of the package, nothing else, and no dependency but the stated ones; return the files."""
    package = ROOT / wheel.package
    patterns = ("*.py", "py.typed", "facts/*.toml")
    expected = {p.relative_to(ROOT).as_posix() for each in patterns for p in package.rglob(each)}
    with zipfile.ZipFile(path) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        required = message_from_bytes(archive.read(metadata)).get_all("Requires-Dist", [])
    if names != expected:
        raise SystemExit(f"error: {path.name} and its package differ in {names ^ expected}")
    needed = {line.split("=")[0].split(">")[0] for line in required if "extra ==" not in line}
    if needed != wheel.needs:
        raise SystemExit(f"error: {path.name} requires {sorted(needed)}")
    print(f"{path.name}: {len(names)} files")
    return names


def copied(wheel: Wheel, work: Path) -> Path:
    """The tests of a wheel with the project's pytest options, in a directory of their own."""
    room = work / f"room-{wheel.folder}"
    for name in [*SHARED, *wheel.rooms]:
        (room / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, room / name)
    return room


def probe(wheel: Wheel) -> str:
    """A program that makes sure of what is installed."""
    return (
        f"import importlib.util as u, {wheel.package} as p; "
        f"assert not u.find_spec('{wheel.absent}'), '{wheel.absent} is installed'; "
        "assert 'site-packages' in p.__file__, p.__file__"
    )


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="wheels-") as temporary:
        work = Path(temporary)
        files: dict[str, str] = {}
        run(sys.executable, "-m", "venv", work / "venv")
        python = work / "venv" / "bin" / "python"
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        run(*pip, *TEST_TOOLS)
        for wheel in WHEELS:
            path = built(wheel, work)
            for name in check_contents(wheel, path):
                if name in files:
                    raise SystemExit(f"error: {name} is in {path.name} and in {files[name]}")
                files[name] = path.name
            run(*pip, path)
            room = copied(wheel, work)
            run(python, "-c", probe(wheel), cwd=room)
            run(python, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", cwd=room)
        sample = shutil.copytree(ROOT / "examples" / "package_with_rules", work / "sample")
        run(*pip, "--no-deps", sample)
        run(
            python, "-c",
            "import autodiff, growth; print(autodiff.gradient(growth.logistic, 2.0, 0.5))",
            cwd=work,
        )  # fmt: skip
    print("The three wheels pass their tests, each without those above it.")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failure:
        raise SystemExit(f"error: failed: {' '.join(map(str, failure.cmd))}") from None
