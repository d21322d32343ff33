"""The Fourier transforms of ``scipy.fft``: those of NumPy, and over several axes for all kinds.

The cotangents are computed by NumPy's functions, so that ``workers`` is for the primal alone.
"""

from scipy import fft

from chainrules.transforms.fourier import fourier_rules
from chainrules_core import non_differentiable

fourier_rules(fft)

non_differentiable((fft.next_fast_len, fft.get_workers))
if hasattr(fft, "prev_fast_len"):
    non_differentiable(fft.prev_fast_len)
