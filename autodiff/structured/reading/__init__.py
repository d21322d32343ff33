"""Lower a function from its source to the structured IR.

The reader is one class in layers, each a module with a base class of the next: `Builder` emits
operations and blocks; then come the containers and libraries, `Calls`, `Equality`, `Expressions`,
`SeveralIndices`, `Iterators`, `Loops`, `Comprehensions`, `Writes`, `Statements`, `Parameters`,
`Generators` and `Recursion`. What a layer needs from a later one is declared in it, and raises
NotImplementedError. Methods `on_…` read a node of the syntax tree of this class. `jumps` and
`matches` rewrite statements to simpler ones before they are read.
"""
