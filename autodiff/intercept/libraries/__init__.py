"""Functions and callable objects of certain packages: pandas, pydantic, numba, wrapt and others."""
