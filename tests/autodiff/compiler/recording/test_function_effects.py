"""Functions that read files, the environment or the time, or have a state of their own."""

import datetime
import decimal
import gc
import locale
import os
import random
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from autodiff import compile
from autodiff.compiler.compile_errors import CompileError


def opened(at):
    with open(at / "a.txt") as file:
        return float(file.read())


READERS = {
    "load": lambda x, at: x * np.load(at / "a.npy")[0],
    "loadtxt": lambda x, at: x * np.loadtxt(at / "a.txt"),
    "genfromtxt": lambda x, at: x * np.genfromtxt(at / "a.txt"),
    "fromregex": lambda x, at: x * np.fromregex(at / "a.txt", r"(.+)\n", [("a", float)])["a"][0],
    "fromfile": lambda x, at: x * np.fromfile(at / "a.bin")[0],
    "memmap": lambda x, at: x * float(np.memmap(at / "a.bin", float, "r")[0]),
    "open_memmap": lambda x, at: x * float(np.lib.format.open_memmap(at / "a.npy")[0]),
    "read_text": lambda x, at: x * float((at / "a.txt").read_text()),
    "read_bytes": lambda x, at: x * len((at / "a.bin").read_bytes()),
    "stat": lambda x, at: x * (at / "a.bin").stat().st_size,
    "exists": lambda x, at: x * (at / "new").exists(),
    "getsize": lambda x, at: x * os.path.getsize(at / "a.bin"),
    "os.path.exists": lambda x, at: x * os.path.exists(at / "new"),
    "listdir": lambda x, at: x * len(os.listdir(at)),
    "open": lambda x, at: x * opened(at),
    "environ": lambda x, at: x * float(os.environ["AUTODIFF_TEST"]),
    "environ.get": lambda x, at: x * float(os.environ.get("AUTODIFF_TEST")),
    "in environ": lambda x, at: x * ("AUTODIFF_NEW" in os.environ),
    "getenv": lambda x, at: x * float(os.getenv("AUTODIFF_TEST")),
    "now": lambda x, at: x * datetime.datetime.now().timestamp(),
    "time": lambda x, at: x * time.time(),
    "random": lambda x, at: x * random.random(),
}


def written(at, number):
    np.save(at / "a.npy", [number])
    np.savetxt(at / "a.txt", [number])
    np.array([number] * int(number)).tofile(at / "a.bin")
    os.environ["AUTODIFF_TEST"] = str(number)


WATCHED = {"environ", "environ.get", "in environ"}  # compiled: what they read is compared


@pytest.mark.parametrize("name", READERS)
def test_what_is_read_is_no_constant(name, tmp_path, monkeypatch):
    monkeypatch.setenv("AUTODIFF_TEST", "1.0")
    read = READERS[name]
    compiled = compile(lambda x: read(x, tmp_path))
    for number in (2.0, 3.0):
        written(tmp_path, number)
        if name in WATCHED:
            assert compiled(1.5) == read(1.5, tmp_path)
        else:
            with pytest.raises(CompileError, match="would give the same result each time"):
                compiled(1.5)
        (tmp_path / "new").touch()
        monkeypatch.setenv("AUTODIFF_NEW", "1")


@pytest.mark.parametrize("name", ["load", "fromfile", "memmap", "read_text", "getsize", "time"])
def test_the_error_says_what_to_do(name, tmp_path):
    read = READERS[name]
    with pytest.raises(CompileError, match="would give the same result each time"):
        compile(lambda x: read(x, tmp_path))(1.5)


PURE = {
    "join": lambda x: x * len(os.path.join("a", "b")),
    "splitext": lambda x: x * len(os.path.splitext("a.b")[0]),
    "name": lambda x: x * len(Path("a/b.c").name),
    "fspath": lambda x: x * len(os.fspath(Path("a"))),
    "date": lambda x: x * datetime.date(2020, 1, 2).toordinal(),
}


@pytest.mark.parametrize("name", PURE)
def test_what_is_made_of_texts_alone_is_compiled(name):
    compiled = compile(PURE[name])
    assert compiled(2.0) == PURE[name](2.0)
    assert compiled.variants == 1


def draws_with(method):
    def f(m):
        generator = np.random.default_rng(3)
        generator.normal()
        return np.sum(getattr(generator, method)(m) * np.arange(1.0, 4.0)) + generator.random()

    return f


@pytest.mark.parametrize("method", ["normal", "gumbel", "permutation", "choice", "exponential"])
def test_a_generator_that_a_function_makes_begins_anew(method):
    f = draws_with(method)
    compiled = compile(f)
    m = np.array([0.5, 1.5, 2.5])
    for given in (m, m, 2.0 * m, m):
        assert compiled(given) == f(given)


def test_settings_are_read_at_each_call():
    compiled = compile(lambda x: 2.0 * x if np.geterr()["over"] == "warn" else 3.0 * x)
    assert compiled(1.0) == 2.0
    with np.errstate(over="ignore"):
        assert compiled(1.0) == 3.0


# What reads a state of Python's library, and what changes it: no guard compares such a state.
STATES = {
    "threading": (
        lambda x: x * len(threading.current_thread().name),
        lambda name: setattr(threading.current_thread(), "name", name),
        ("one", "other"),
    ),
    "decimal": (
        lambda x: x * decimal.getcontext().prec,
        lambda n: setattr(decimal.getcontext(), "prec", n),
        (20, 28),
    ),
    "gc": (
        lambda x: x * gc.get_threshold()[1],
        lambda n: gc.set_threshold(gc.get_threshold()[0], n),
        (11, 10),
    ),
    "sys": (lambda x: x * sys.getswitchinterval(), sys.setswitchinterval, (0.004, 0.005)),
    "locale": (
        lambda x: x * len(locale.setlocale(locale.LC_CTYPE)),
        lambda name: locale.setlocale(locale.LC_CTYPE, name),
        ("C", locale.setlocale(locale.LC_CTYPE)),
    ),
    "numpy": (lambda x: x * np.getbufsize(), np.setbufsize, (16384, 8192)),
}


@pytest.mark.parametrize("module", STATES)
def test_a_state_of_a_library_is_read_at_each_call(module):
    f, put, values = STATES[module]
    compiled = compile(f, backend="python")
    for value in values:
        put(value)
        assert compiled(1.5) == f(1.5)
    assert compiled.variants == 0
