"""Functions of probability and of learning: distributions, entropies, losses, softmax."""

from chainrules.scipy.special.probability import (
    distributions as distributions,
    entropy as entropy,
    error as error,
    losses as losses,
    softmax as softmax,
)
