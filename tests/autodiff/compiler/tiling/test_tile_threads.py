"""How many threads share large arrays."""

import os

import pytest

from autodiff.compiler.tiling.tile_threads import set_threads, threads

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.mark.parametrize(
    "asked, expected", [("", CORES), ("1", 1), ("3", 3), ("4,2", 4), ("0", CORES), ("many", CORES)]
)
def test_the_environment_limits_them(monkeypatch, asked, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert threads() == expected


def test_what_is_said_here_wins(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    set_threads(2)
    try:
        assert threads() == 2
    finally:
        set_threads(None)
