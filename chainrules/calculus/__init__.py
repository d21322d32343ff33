"""Interpolation, histograms, polynomials."""
