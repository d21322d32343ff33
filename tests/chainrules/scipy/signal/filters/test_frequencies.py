"""Frequency responses of filters, and the bilinear transform."""

import numpy as np
import pytest
from scipy import signal

import autodiff
from chainrules_core.testing import check_rule

B, A = np.array([0.3, 0.5, -0.2, 0.1]), np.array([1.0, -0.4, 0.25])
W = np.array([0.1, 0.7, 1.5, 2.0])
Z = B * (1 + 0.5j)


@pytest.mark.parametrize(
    "b, a", [(B, A), (A, B), (Z, A), (np.float32(B), np.float32(A)), (B, A[:1])]
)
@pytest.mark.parametrize("options", [{}, {"worN": 7}, {"worN": 6, "whole": True, "fs": 3.0}])
def test_freqz(b, a, options):
    check_rule(signal.freqz, b, a, fkwargs=options)


@pytest.mark.parametrize("b, a", [(B, A), (A, B), (Z, A), (B[:1], A)])
@pytest.mark.parametrize("worN", [W, 0.7])
def test_freqs(b, a, worN):
    check_rule(signal.freqs, b, a, worN)


def test_freqs_of_its_own_choice():
    check_rule(signal.freqs, B, A, 6)


@pytest.mark.parametrize(
    "f",
    [
        lambda b, a: np.abs(signal.freqz(b, a, 6)[1]) ** 2,
        lambda b, a: np.abs(signal.freqz(b, a, W)[1]) ** 2,
        lambda b, a: np.abs(signal.freqz(b, a, 5, fs=2 + b[0])[1]) ** 2 + b[1],
        lambda b, a: signal.freqz(b, a, 5, fs=2 + b[0])[0],
        lambda b, a: np.abs(signal.freqz(np.stack([b, b**2], 1)[..., None], a, 5)[1]) ** 2,
        lambda b, a: np.abs(signal.freqs(b, a, W * b[0])[1]) ** 2,
        lambda b, a: np.abs(signal.freqs(b.tolist(), a, 5)[1]) ** 2,
        lambda b, a: np.concatenate(signal.bilinear(b, a)),
        lambda b, a: np.concatenate(signal.bilinear(b, a, 2 + a[1])),
        lambda b, a: np.concatenate(signal.bilinear(a, b, 3.0)),
        lambda b, a: np.concatenate(signal.bilinear(np.concatenate([np.zeros(2), b]), a)),
    ],
)
def test_traced(f, check_traced):
    check_traced(f, B, A, step=1e-5, rtol=1e-5)


def test_second_derivatives(check_engine):
    check_engine(lambda b: np.abs(signal.freqz(b, A, 5)[1]) ** 2, B)
    check_engine(lambda a: np.abs(signal.freqs(B, a, W)[1]) ** 2, A)


@pytest.mark.parametrize("fs", [1.0, 0.3])
@pytest.mark.parametrize("b, a", [(B, A), (A, B), (A, A), (B, np.array([1.0, -3.0]))])
def test_values_of_bilinear(b, a, fs):
    found = autodiff.pushforward(lambda b: signal.bilinear(b, a, fs), b)[0]
    for y, expected in zip(found, signal.bilinear(b, a, fs), strict=True):
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)
