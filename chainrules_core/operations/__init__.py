"""Operations on tangents: sums, products with numbers, zeros, and adjoints of broadcasting."""
