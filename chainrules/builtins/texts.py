"""Texts that are made to be read again: writing a traced value into one is refused.

What is read back is another number, without a derivative. The texts of ``print`` and of formatting
show plain values all the same: they are for people.
"""

import json

from chainrules.refused import refuse

refuse(
    (json.dumps, json.dump),
    "a text holds no derivative, and what is read back from it would be a constant. Write "
    "autodiff.ignore_derivatives(value); to copy the data, use copy.deepcopy.",
    object,
)
