"""Gradients of sums over data that do not fit in memory, or on one machine."""

from autodiff.distributed.sharded_gradients import value_and_gradient as value_and_gradient
from autodiff.distributed.sweeps import sweep as sweep
from autodiff.distributed.workers import Workers as Workers

__all__ = ["sweep", "value_and_gradient", "Workers"]
