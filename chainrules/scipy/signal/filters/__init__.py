"""Rules for filters: what they return, their initial states, their responses, their design."""

from chainrules.scipy.signal.filters import (
    cascades as cascades,
    equiripple as equiripple,
    filtering as filtering,
    frequencies as frequencies,
    smoothing as smoothing,
    states as states,
)
