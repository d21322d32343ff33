"""What a fresh process needs: for import and a first gradient, and for memory."""

from __future__ import annotations

import os
import subprocess
import sys

FIRST = {
    "numpy": "import numpy",
    "autodiff": """
import numpy as np, autodiff
autodiff.gradient(lambda x: np.sum(np.tanh(x) ** 2), np.ones(3))
""",
    "autodiff, floats": """
import math, autodiff
autodiff.gradient(lambda x: math.sin(x) * x**2, 1.5)
""",
    "autograd": """
import autograd.numpy as np, autograd
autograd.grad(lambda x: np.sum(np.tanh(x) ** 2))(np.ones(3))
""",
    "torch": """
import torch
x = torch.ones(3, requires_grad=True)
torch.autograd.grad(torch.sum(torch.tanh(x) ** 2), x)
""",
    "jax": """
import jax, jax.numpy as np
jax.block_until_ready(jax.grad(lambda x: np.sum(np.tanh(x) ** 2))(np.ones(3)))
""",
}

# The peak of a process minus what it held before the gradient, in MB.
_MEMORY = """
import numpy as np
def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024
{setup}
rng = np.random.default_rng(0)
def rnn(w, u, inputs):
    h = inputs[0] @ u
    for x in inputs:
        h = xp.tanh(h @ w + x @ u)
    return (h * h).sum()
def mlp(w1, w2, w3, inputs):
    h = xp.tanh(inputs @ w1)
    h = xp.tanh(h @ w2)
    return ((h @ w3) ** 2).sum()
if {which!r} == "rnn":
    f = rnn
    args = (rng.standard_normal((128, 128)) / 12, rng.standard_normal((16, 128)) / 4,
            rng.standard_normal((1000, 32, 16)))
else:
    f = mlp
    args = (rng.standard_normal((784, 512)) / 28, rng.standard_normal((512, 512)) / 23,
            rng.standard_normal((512, 10)) / 23, rng.standard_normal((4096, 784)))
{convert}
n = len(args) - 1
{warm}
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")  # the peak so far, that of the imports, is forgotten
before = status("VmRSS")
{run}
print(status("VmHWM") - before)
"""
_WARM = "small = tuple([a[:2] if k == n else a for k, a in enumerate(args)]); g(*small)"
MEMORY = {
    "eager": {
        "setup": "import autodiff; xp = np",
        "convert": "",
        "warm": "g = lambda *a: autodiff.gradient(f, *a, argnums=tuple(range(n)))\n" + _WARM,
        "run": "g(*args)",
    },
    "compiled": {
        "setup": "import autodiff; xp = np",
        "convert": "",
        "warm": "g = autodiff.compile(lambda *a: autodiff.gradient(f, *a, "
        "argnums=tuple(range(n))))\n" + _WARM,
        "run": "g(*args); g(*args)",
    },
    "autograd": {
        "setup": "import autograd, autograd.numpy as xp",
        "convert": "",
        "warm": "g = autograd.grad(f, tuple(range(n)))\n" + _WARM,
        "run": "g(*args)",
    },
    "torch": {
        "setup": "import torch; xp = torch",
        "convert": "args = tuple([torch.tensor(a) for a in args])",
        "warm": "for a in args[:-1]: a.requires_grad_()\n"
        "g = lambda *a: torch.autograd.grad(f(*a), a[:n])\n" + _WARM,
        "run": "g(*args)",
    },
}


def _output(code: str) -> float:
    # As an installed package has it: with the bytecode written by an import before.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return float(run.stdout.split()[-1])


def first_gradients(rounds: int) -> dict[str, float]:
    """Return the seconds that import and a first gradient take, the process itself left out."""
    head, tail = "import time; start = time.perf_counter()", "print(time.perf_counter() - start)"
    return {
        name: min(_output(f"{head}\n{code}\n{tail}") for _ in range(rounds))
        for name, code in FIRST.items()
    }


def peaks() -> dict[str, dict[str, float]]:
    """Return the memory in MB that a gradient takes at its peak (as Linux counts it)."""
    return {
        which: {name: _output(_MEMORY.format(which=which, **way)) for name, way in MEMORY.items()}
        for which in ("rnn", "mlp")
    }
