"""Compiling a module with LLVM, just in time."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from autodiff.structured.native.llvm import (
    blas,
    builtin_functions,
    calls_of_python,
    memory,
    special,
)
from autodiff.structured.native.llvm.modules import LLVMModule

_lock = threading.Lock()
_ready: list[Any] = []  # the target machine, once LLVM is initialized


class CompiledModule:
    """Machine code of a module; it lives as long as this object.

    Parameters
    ----------
    module : LLVMModule
        The functions.
    unrolls : bool, optional
        Whether LLVM unrolls and interleaves loops; this pays for sums of long arrays.
    is_brief : bool, optional
        Whether most loops run a few iterations only, or functions are long: LLVM optimizes less, in
        half the time.

    Attributes
    ----------
    calls_special : bool
        Whether a function calls one of `scipy.special`.
    """

    def __init__(self, module: LLVMModule, unrolls: bool = False, is_brief: bool = False) -> None:
        with _lock:
            machine = _machine()
            found = special.addresses(module)
            self.calls_special = bool(found)
            self._kept = module.kept
            for name, address in (blas.addresses(module) | found).items():
                llvm.add_symbol(name, address)
            made = llvm.parse_assembly(text_of(module))
            made.verify()
            made.triple = machine.triple
            made.data_layout = str(machine.target_data)
            options = llvm.create_pipeline_tuning_options(speed_level=1)
            options.loop_vectorization = not is_brief
            options.slp_vectorization = False
            options.loop_unrolling = unrolls and not is_brief
            options.loop_interleaving = unrolls and not is_brief
            builder = llvm.create_pass_builder(machine, options)
            builder.getModulePassManager().run(made, builder)
            self.engine = llvm.create_mcjit_compiler(made, _new_machine(0 if is_brief else 1))
            self.engine.finalize_object()

    def function(self, name: str, types: list[Any]) -> Any:
        """Return a function, to be called by way of ctypes with arguments of these types.

        It is called with the interpreter lock, and raises what it has set as an exception.
        """
        address = self.engine.get_function_address(name)
        return ctypes.PYFUNCTYPE(ctypes.c_int32, *types)(address)

    def builtin(self, name: str, read: Any) -> Callable:
        """Return a function that `builtin_functions` has emitted, as a builtin function of Python.

        It keeps `read` alive: the objects that the code reads by address.
        """
        return builtin_functions.builtin(name, self.engine.get_function_address(name), (self, read))


def _new_machine(opt: int = 1) -> Any:
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=opt,
        jit=True,
    )


def _machine() -> Any:
    if not _ready:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        for part in (memory, builtin_functions, calls_of_python):
            for name, f in part.FUNCTIONS.items():
                llvm.add_symbol(name, ctypes.cast(f, ctypes.c_void_p).value)
        _ready.append(_new_machine())
    return _ready[0]


def text_of(module: LLVMModule) -> str:
    """Return the text of a module, with the marks of loops replaced by LLVM's metadata."""
    text = str(module)
    found = re.search(r'(!\d+) = !{ !"accesses" }', text)
    if found is None:
        return text
    group = found.group(1)
    text = text.replace(found.group(0), f"{group} = distinct !{{}}")
    count = len(module.metadata)
    parallel = f'!{{!"llvm.loop.parallel_accesses", {group}}}'
    for mark, more in (("loop", ""), ("loop of single elements", f", !{count + 1}")):
        loops = re.compile(rf'(!\d+) = !{{ !"{mark} \d+" }}')
        text = loops.sub(rf"\1 = distinct !{{\1, !{count}{more}}}", text)
    single = '!{!"llvm.loop.vectorize.enable", i1 false}'
    return f"{text}\n!{count} = {parallel}\n!{count + 1} = {single}\n"
