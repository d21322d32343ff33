"""The public names: what they load, and what they say where a system is missing."""

import subprocess
import sys

import pytest

from autodiff import interop

SYSTEMS = {
    "to_torch": "torch",
    "from_torch": "torch",
    "to_jax": "jax",
    "from_jax": "jax",
    "to_autograd": "autograd",
    "register_all": "autograd",
    "to_pytensor": "pytensor",
    "to_nutpie": "nutpie",
}


def test_the_names_are_listed():
    assert sorted(SYSTEMS) == interop.__all__ == dir(interop)


@pytest.mark.parametrize("name, system", SYSTEMS.items())
def test_a_missing_system_is_named_with_its_extra(name, system, monkeypatch):
    monkeypatch.setitem(sys.modules, system, None)
    monkeypatch.delitem(vars(interop), name, raising=False)
    with pytest.raises(ImportError, match=rf"{name} needs .*chainrules-autodiff\[{system}\]"):
        getattr(interop, name)


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="to_fortran"):
        interop.to_fortran  # noqa: B018


def test_nothing_is_loaded_before_it_is_used():
    program = (
        f"import sys, autodiff.interop\nprint(sorted(set(sys.modules) & {set(SYSTEMS.values())}))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr
