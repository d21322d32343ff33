"""Rules for scipy.fft; loaded once it has been imported."""

from chainrules.scipy.fft import cosine as cosine, fourier as fourier, hankel as hankel
