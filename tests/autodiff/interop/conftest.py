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
