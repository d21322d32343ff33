"""compile: a function recorded once and run as straight-line code."""

from autodiff.compile.errors import CompileError as CompileError
from autodiff.compile.function import Compiled as Compiled, compile as compile
