"""The engine in other systems, and other systems in the engine.

==================================== ===========================================================
`to_torch`, `from_torch`             PyTorch: functions of tensors, and torch functions in a
                                     `gradient`
`to_jax`, `from_jax`                 JAX: functions under its transformations, and JAX functions
                                     in a `gradient`
`to_autograd`, `register_all`        HIPS autograd: a function, and all rules that it lacks
`to_pytensor`                        PyTensor, and so PyMC: a function as an Op
`to_nutpie`                          nutpie: a log-density as a model for its sampler
==================================== ===========================================================

Each function loads its system when you first use it. If the system is missing, an error says which
extra to install. All of them use flat calls (:mod:`autodiff.interop.flat_call`), so this engine
computes derivatives of every order.
"""

import importlib
from typing import Any

_MODULES = {
    "to_torch": "pytorch",
    "from_torch": "torch_functions",
    "to_jax": "jax_primitives",
    "from_jax": "jax_functions",
    "to_autograd": "hips_autograd",
    "register_all": "hips_autograd",
    "to_pytensor": "pytensor_ops",
    "to_nutpie": "nutpie_models",
}
"""The module of each public name."""
_SYSTEMS = {
    "pytorch": ("torch", "PyTorch"),
    "torch_functions": ("torch", "PyTorch"),
    "jax_primitives": ("jax", "JAX"),
    "jax_functions": ("jax", "JAX"),
    "hips_autograd": ("autograd", "HIPS autograd"),
    "pytensor_ops": ("pytensor", "PyTensor"),
    "nutpie_models": ("nutpie", "nutpie"),
}
"""The package that each module imports, which is also the name of the extra, and its title."""

__all__ = [
    "from_jax",
    "from_torch",
    "register_all",
    "to_autograd",
    "to_jax",
    "to_nutpie",
    "to_pytensor",
    "to_torch",
]


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    package, title = _SYSTEMS[module]
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ImportError(
            f"{name} needs {title}, which is not installed: "
            f"pip install 'chainrules-autodiff[{package}]', or '.[{package}]' in a checkout",
            name=package,
        ) from error
    found = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
