"""The runner of tests with other Pythons finds what is there and names what is not."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tools import pythons

ROOT = Path(__file__).parents[2]


def interpreter_that_says(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    return tmp_path


def test_on_the_path_and_of_pyenv(machine):
    on_path = interpreter_that_says(machine / "bin" / "python3.12", "3.12")
    of_pyenv = interpreter_that_says(machine / "pyenv/versions/3.13.9/bin/python", "3.13")
    assert pythons.interpreter("3.12") == on_path
    assert pythons.interpreter("3.13") == of_pyenv
    assert pythons.interpreter("3.14") is None


def test_what_does_not_run_is_not_found(machine):
    interpreter_that_says(machine / "bin" / "python3.12", "3.11")  # such as pyenv's shims
    interpreter_that_says(machine / "bin" / "python3.13", "without a lock")
    assert pythons.interpreter("3.12") is None
    assert pythons.interpreter("3.13") is None


@pytest.mark.parametrize("code", [0, 2])
def test_all_are_named(machine, monkeypatch, capsys, code):
    path = interpreter_that_says(machine / "bin" / "python3.99", "3.99")
    calls = []

    def run(command, **options):
        if command[0] != "make":
            return subprocess.CompletedProcess(command, 0, "3.99\n")
        calls.append(command)
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(pythons, "VERSIONS", ("3.98", "3.99"))
    monkeypatch.setattr(pythons.subprocess, "run", run)
    assert pythons.main([]) == (1 if code else 0)
    out = capsys.readouterr().out
    assert "Not found on this machine: Python 3.98." in out
    assert ("Passed with Python 3.99." in out) == (code == 0)
    assert ("FAILED with Python 3.99." in out) == (code != 0)
    assert calls == [["make", "test", f"PYTHON={path}", f"ARGS={pythons.TESTS}"]]


def test_each_python_has_an_environment_of_its_own():
    def made(*given):
        command = ["make", "-n", "test", *given]
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHON", "MAKEFLAGS")}
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True, env=environment
        )
        return done.stdout

    own = ".venv-{}.{}/".format(*sys.version_info[:2])
    assert own in made(f"PYTHON={sys.executable}")
    assert own not in made()
    assert ".venv/" in made()
