"""Rules for Python's builtins and operators, NumPy and SciPy: importing it makes them available."""

from chainrules import nondifferentiable as nondifferentiable, topics as topics
