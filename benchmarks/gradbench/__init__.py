"""GradBench's evals on autodiff: a tool that speaks its protocol, and one module for each eval.

The functions are ordinary NumPy; the derivatives are all taken by autodiff.
"""
