"""Lower a function from its source to the structured IR.

The reader is one class, split into layers: a module here or in `containers` has a layer, which is
a base class of the next. The lowest, `builder.Builder`, emits operations and blocks; the highest
is `lowering.FunctionReader`. A layer declares the methods that it needs from higher ones. A method
`on_…` reads one class of syntax nodes. `jumps` and `matches` rewrite statements to simpler ones
before they are read.
"""
