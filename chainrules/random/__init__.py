"""Random numbers: draws as functions of their parameters, and selections."""

from chainrules.random import draws as draws, selections as selections
