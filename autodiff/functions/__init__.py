"""What is known of functions of NumPy and Python: one entry of facts for each.

`facts` says what an entry holds, `elementwise` and `arrays` are the entries. Everybody who needs to
know something of a function looks it up here: the recorder, the compiler, and the proof of purity.
"""

from autodiff.functions.arrays import (
    MATRIX_PRODUCTS as MATRIX_PRODUCTS,
    is_new_memory as is_new_memory,
)
from autodiff.functions.elementwise import (
    COMPARISONS as COMPARISONS,
    SIGNS as SIGNS,
    UFUNC_OF as UFUNC_OF,
    is_elementwise as is_elementwise,
    takes_floats as takes_floats,
)
from autodiff.functions.facts import (
    ELEMENTWISE as ELEMENTWISE,
    PRODUCT as PRODUCT,
    REDUCTION as REDUCTION,
    VIEW as VIEW,
    Facts as Facts,
    entries as entries,
    facts_of as facts_of,
    known as known,
    named as named,
    of_kind as of_kind,
)
