"""The other systems, where they are installed."""

import importlib
import os
from importlib.util import find_spec
from types import ModuleType

import pytest

ARE_ALL = os.environ.get("CHAINRULES_SYSTEMS") == "all"
# Files that need a system in each test: hundreds of tests, which are not made without it.
NEEDED = {
    "test_from_torch.py": "torch", "test_hips_autograd.py": "autograd",
    "test_jax_functions.py": "jax", "test_jax_primitives.py": "jax", "test_nutpie.py": "nutpie",
    "test_pytorch.py": "torch",
}  # fmt: skip
collect_ignore = [file for file, name in NEEDED.items() if not (ARE_ALL or find_spec(name))]


def system(name: str) -> ModuleType:
    """Import a system; where all must be there (`make systems`), a missing one is a failure."""
    if ARE_ALL:
        return importlib.import_module(name)
    return pytest.importorskip(name)


@pytest.fixture
def torch():
    """PyTorch."""
    return system("torch")


@pytest.fixture
def autograd():
    """HIPS autograd."""
    return system("autograd")


@pytest.fixture
def jax():
    """JAX in double precision."""
    jax = system("jax")
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", False)


@pytest.fixture
def jax_calls(jax):
    """What the adapter for JAX keeps of calls."""
    from autodiff.interop import jax_calls

    return jax_calls


@pytest.fixture
def jax32():
    """JAX as it is by default, in single precision."""
    return system("jax")


@pytest.fixture
def pytensor():
    """PyTensor, whose Ops are run one by one: nothing is compiled."""
    pytensor = system("pytensor")
    with pytensor.config.change_flags(mode="FAST_COMPILE", linker="py"):
        yield pytensor


@pytest.fixture
def pymc():
    """PyMC."""
    return system("pymc")


@pytest.fixture
def nutpie():
    """Nutpie."""
    return system("nutpie")
