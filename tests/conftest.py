"""What all tests share: rules that were checked are noted, for the check that none is left out."""

import functools
import gc
import json
import os
import signal
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest

from chainrules_core.testing import exercised_rules

# Results must not depend on how long a test takes: tests/autodiff/autocompile turns this on.
os.environ.setdefault("AUTODIFF_COMPILE", "0")
FOLDER = os.environ.get("CHAINRULES_EXERCISED")

# The testing kit's own tests make it forget, so what it has noted is collected after each test.
_checked: set[str] = set()


def pytest_configure(config: pytest.Config) -> None:
    """Take interrupts, which a job in the background ignores: tests send them to themselves."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.pluginmanager.hasplugin("hypothesispytest"):
        from hypothesis import HealthCheck, settings

        # How long an example takes depends on what else the machine does.
        slow = [HealthCheck.too_slow]
        settings.register_profile("any speed", deadline=None, suppress_health_check=slow)
        settings.load_profile("any speed")


# Of files and folders that take long, `make test` runs one row in so many of each table: it is to
# end within ten minutes. `make nightly` runs all. The longest name that fits counts.
THINNED = {
    "tests/autodiff/autocompile": 3,
    "tests/autodiff/compiler": 8,
    "tests/autodiff/distributed": 4,  # `make cluster` runs all of them
    "tests/autodiff/end_to_end": 3,
    "tests/autodiff/end_to_end/test_tiers.py": 16,
    "tests/autodiff/fastpath/codegen": 2,
    "tests/autodiff/intercept/runtime/test_library_functions.py": 4,
    "tests/autodiff/interop/test_functions.py": 4,  # `make systems` runs all of these two
    "tests/autodiff/interop/test_hips_autograd.py": 4,
    "tests/autodiff/mutation/test_identity_of_arguments.py": 6,
    "tests/autodiff/mutation/test_layout_after_writes.py": 2,
    "tests/autodiff/mutation/test_memory_layout.py": 4,
    "tests/autodiff/mutation/test_shared_arguments.py": 2,
    "tests/autodiff/mutation/test_written_arguments.py": 3,
    "tests/autodiff/numpy_api/test_iterators.py": 2,
    "tests/autodiff/numpy_api/test_methods.py": 2,
    "tests/autodiff/numpy_api/test_numpy_source.py": 2,
    "tests/autodiff/numpy_api/test_protocols.py": 4,
    "tests/autodiff/numpy_api/test_pyfunc_loops.py": 2,
    "tests/autodiff/optimize": 4,
    "tests/autodiff/structured": 8,
    "tests/autodiff/test_caches.py": 3,
    "tests/autodiff/test_functions.py": 6,
    "tests/autodiff/trace": 3,
    "tests/benchmarks/gradbench": 3,
    "tests/chainrules/calculus/test_polynomial_families.py": 4,
    "tests/chainrules/coverage": 4,
    "tests/chainrules/coverage/test_methods.py": 6,
    # Only files that check no rule by itself, or whose rules others check: a rule that no test has
    # checked is an error (tools/check_registry.py).
    "tests/chainrules/scipy/integrate/test_adaptive.py": 3,
    "tests/chainrules/scipy/integrate/test_elementwise.py": 4,
    "tests/chainrules/scipy/integrate/test_initial_value.py": 3,
    "tests/chainrules/scipy/integrate/test_series.py": 3,
    "tests/chainrules/scipy/integrate/test_stepping.py": 3,
    "tests/chainrules/scipy/linalg/test_calls.py": 4,
    "tests/chainrules/scipy/ndimage/test_calls.py": 4,
    "tests/chainrules/scipy/optimize/test_fitting.py": 2,
    "tests/chainrules/scipy/optimize/test_minima.py": 2,
    "tests/chainrules/scipy/optimize/test_other_fields.py": 2,
    "tests/chainrules/scipy/optimize/test_programs.py": 2,
    "tests/chainrules/scipy/optimize/test_roots.py": 2,
    "tests/chainrules/scipy/signal/test_calls.py": 4,
    "tests/chainrules/scipy/sparse/test_calls.py": 4,
    "tests/chainrules/scipy/sparse/test_elementwise.py": 2,
    "tests/chainrules/scipy/sparse/test_shared_memory.py": 8,
    "tests/chainrules/scipy/sparse/test_storage.py": 8,
    "tests/chainrules/scipy/sparse/test_structure.py": 4,
    "tests/chainrules/scipy/spatial/test_calls.py": 4,
    "tests/chainrules/scipy/special/test_removable.py": 2,
    "tests/chainrules/scipy/stats/distributions/test_centres.py": 2,
    "tests/chainrules/scipy/stats/distributions/test_continuous.py": 3,
    "tests/chainrules/scipy/stats/distributions/test_expectations.py": 3,
    "tests/chainrules/scipy/stats/distributions/test_fits.py": 2,
    "tests/chainrules/scipy/stats/distributions/test_infrastructure.py": 3,
    "tests/chainrules/scipy/stats/distributions/test_stable.py": 2,
    "tests/chainrules/scipy/stats/distributions/test_urns.py": 2,
    "tests/chainrules/scipy/stats/samples/test_comparisons.py": 3,
    "tests/chainrules/scipy/stats/samples/test_transformations.py": 3,
    "tests/chainrules/test_constant_dtypes.py": 4,
    "tests/edge_values": 2,
    "tests/examples/test_gallery.py": 3,
    "tests/programs": 2,  # `make pythons` runs all of them
    "tests/tools/calls": 3,
    "tests/tools/errors": 2,
    "tests/tools/fuzz/test_fuzz.py": 3,
}
SINGLE = 2  # of tests that are no row of a table, at least one in so many
ONE_IN = int(os.environ.get("CHAINRULES_ONE_IN", "1"))  # of all tests; 0: leave nothing out


def pytest_collection(session: pytest.Session) -> None:
    """Collect no garbage until all tests are there: they are many objects, and all stay."""
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make no tests of rows that are left out; one row stays, for its test to be left out."""
    test = metafunc.definition
    if (n := _one_in(test, is_row=True)) > 1:
        rows = [r for r in metafunc._calls if _is_run(f"{test.nodeid}[{r.id}]", n)]
        metafunc._calls = rows or metafunc._calls[:1]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out some tests of large tables, unless files or tests are named."""
    run = [i for i in items if _is_run(i.nodeid, _one_in(i, is_row=hasattr(i, "callspec")))]
    if len(run) < len(items):
        kept = set(map(id, run))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = run


def _is_run(nodeid: str, n: int) -> bool:
    """Whether a test is the one in `n` that is run."""
    return n == 1 or zlib.crc32(nodeid.encode()) % n == 0


def _one_in(test: Any, is_row: bool) -> int:
    """Return of how many tests like this one, in its file, one is run."""
    if not ONE_IN:
        return 1
    if _are_named(test.config):
        return ONE_IN
    n = _of_table(test.nodeid.partition("::")[0])
    return (n if is_row else min(n, SINGLE)) * ONE_IN


@functools.cache
def _are_named(config: pytest.Config) -> bool:
    """Whether somebody has named files or tests: nothing is left out of these."""
    root = config.rootpath
    named = {(root / path.partition("::")[0]).resolve() for path in config.args}
    tests = {root / path for path in config.getini("testpaths")}
    return named != tests or bool(config.option.keyword)


@functools.cache
def _of_table(file: str) -> int:
    names = [file, *map(str, PurePosixPath(file).parents)]
    return next((THINNED[name] for name in names if name in THINNED), 1)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Take what is loaded by now from the collector."""
    _freeze()
    gc.enable()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Collect the rules that a test has checked, and freeze what a file of tests has left."""
    if FOLDER:
        _checked.update(exercised_rules())
    if nextitem is not None and nextitem.path != item.path:
        _freeze()


def _freeze() -> None:
    """Leave out what is there from now on when garbage is collected: it stays, and is much."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write down which rules this process has checked, if somebody asks for it."""
    if FOLDER:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        Path(FOLDER).mkdir(parents=True, exist_ok=True)
        (Path(FOLDER) / f"{worker}.json").write_text(json.dumps(sorted(_checked)))


def pytest_make_parametrize_id(config: pytest.Config, val: Any, argname: str) -> str | None:
    """Name functions and other objects without their addresses: those differ among processes."""
    name = getattr(val, "__qualname__", None) or getattr(val, "__name__", None)
    if isinstance(name, str):
        return name.rpartition("<locals>.")[2]
    return argname if type(val).__repr__ is object.__repr__ else None


@pytest.fixture
def switching() -> Iterator[None]:
    """Let threads give way to each other as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


STENCIL = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
STEP = 1e-3


def number_of(y: Any, start: float = 1.0) -> Any:
    """A number that depends on every element of an output, on each in another way."""
    if isinstance(y, (tuple, list)):
        return sum(number_of(part, start + i) for i, part in enumerate(y))
    weights = start + np.arange(np.size(y)).reshape(np.shape(y)) / 10
    return np.sum(weights * np.real(y * np.conj(y)))


def slope(f: Callable, x: Any, v: Any) -> Any:
    """The derivative of `f` at `x` along `v`, by differences of sixth order."""
    return sum(c * (f(x + k * STEP * v) - f(x - k * STEP * v)) for k, c in STENCIL.items()) / STEP


def directions(x: np.ndarray, each: bool) -> list[np.ndarray]:
    """One direction without symmetry, for complex arrays a complex one; or one for each element."""
    if each:
        units = list(np.eye(x.size, dtype=x.dtype).reshape(x.size, *x.shape))
        return units + [1j * e for e in units] if np.iscomplexobj(x) else units
    places = 1.0 + 2.0 * np.arange(x.size).reshape(x.shape)
    v = np.cos(places) + 1j * np.sin(1.3 * places) if np.iscomplexobj(x) else np.cos(places)
    return [v.astype(x.dtype)]


def inner(a: Any, b: Any) -> Any:
    """The real inner product of two arrays."""
    return np.sum(np.real(np.conj(a) * b))


@pytest.fixture
def check_modes() -> Callable:
    """Check what the engine makes of ``f(*xs)`` in every mode.

    The modes are reverse and forward, for each argument alone, and reverse over reverse, for all
    of them together. Each is compared with differences along one direction: an error in any element
    changes what is compared, except by coincidence. At kinks differences are right along each
    element only: ``each=True``.
    """

    import autodiff  # the core's tests run without it

    def check(f: Callable, *xs: Any, twice: bool = True, each: bool = False) -> None:
        def loss(*zs: Any) -> Any:
            return number_of(f(*zs))

        arrays = [np.array(x) for x in xs]
        for i, x in enumerate(arrays):

            def alone(z: Any, i: int = i) -> Any:
                return loss(*xs[:i], z, *xs[i + 1 :])

            found = autodiff.gradient(alone, x.copy())
            assert np.shape(found) == x.shape
            push = autodiff.pushforward(alone, x.copy())[1]
            for v in directions(x, each):
                expected = slope(alone, x, v)
                close(inner(found, v), expected)
                close(push(v), expected)
        if not twice:
            return
        ws = [np.flip(directions(x, each=False)[0]) for x in arrays]

        def gradients(g: Callable, zs: list) -> tuple:
            found = autodiff.gradient(g, *zs)
            return found if len(zs) > 1 else (found,)

        def along(*zs: Any) -> Any:
            return sum(inner(w, bar) for w, bar in zip(ws, gradients(loss, zs), strict=True))

        second = gradients(along, [x.copy() for x in arrays])
        for vs in joint_directions(arrays, each):
            found = sum(inner(bar, v) for bar, v in zip(second, vs, strict=True))

            def at(t: Any, vs: list = vs) -> Any:
                return along(*[x + t * v for x, v in zip(arrays, vs, strict=True)])

            close(found, slope(at, 0.0, 1.0))

    return check


def joint_directions(xs: list[np.ndarray], each: bool) -> list[list[np.ndarray]]:
    """One direction in which all arrays go; or one for each element of each."""
    if not each:
        return [[v for x in xs for v in directions(x, each=False)]]
    zeros = [np.zeros_like(x) for x in xs]
    return [[*zeros[:i], v, *zeros[i + 1 :]] for i, x in enumerate(xs) for v in directions(x, each)]


def close(found: Any, expected: Any) -> None:
    """Compare with what differences can tell."""
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * scale)
