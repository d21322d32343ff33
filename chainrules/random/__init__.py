"""Random numbers: draws as functions of their parameters, and selections; loaded with numpy.random.
"""

from chainrules.random import draws as draws, selections as selections
