"""The only interface to Numba: compiled functions, tables of arrays, the cache of machine code."""
