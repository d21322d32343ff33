"""Rules for scipy.fftpack; loaded once it has been imported."""

from chainrules.scipy.fftpack import differences as differences, transforms as transforms
