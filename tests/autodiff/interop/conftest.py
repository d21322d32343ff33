"""The other systems, where they are installed."""

import pytest


@pytest.fixture
def torch():
    """PyTorch."""
    return pytest.importorskip("torch")


@pytest.fixture
def autograd():
    """HIPS autograd."""
    return pytest.importorskip("autograd")


@pytest.fixture
def jax():
    """JAX in double precision."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", False)


@pytest.fixture
def jax32():
    """JAX as it is by default, in single precision."""
    return pytest.importorskip("jax")


@pytest.fixture
def pytensor():
    """PyTensor, whose Ops are run one by one: nothing is compiled."""
    pytensor = pytest.importorskip("pytensor")
    with pytensor.config.change_flags(mode="FAST_COMPILE", linker="py"):
        yield pytensor
