"""compile: a function recorded once and run as straight-line code."""

from autodiff.compile.function import Compiled as Compiled, CompileError as CompileError
from autodiff.compile.function import compile as compile
