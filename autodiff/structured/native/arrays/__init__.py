"""Arrays in machine code: loops over elements, indexing, reductions, linear algebra."""
