"""Rules for scipy.special; loaded once it has been imported."""

from chainrules.scipy.special import (
    bessel as bessel,
    elementary as elementary,
    entropy as entropy,
    error as error,
    gamma as gamma,
    softmax as softmax,
)
