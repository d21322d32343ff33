"""How well a fit determines its parameters: covariances, bands, profile likelihoods."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.trace.tracer import bare


def inverse_of_squares(jacobian: Any) -> Any:
    """Return (JᵀJ)⁻¹; infinite where J has not full rank."""
    plain = bare(jacobian)
    n = plain.shape[1]
    lengths = np.sqrt(np.sum(plain**2, axis=0))
    scaled = plain / np.where(lengths > 0, lengths, 1.0)  # units of parameters do not matter
    if np.linalg.matrix_rank(scaled) < n:
        return np.full((n, n), np.inf)
    return np.linalg.inv(np.matmul(np.transpose(jacobian), jacobian))
