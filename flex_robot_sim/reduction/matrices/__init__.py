"""Stiffness and mass matrices of other finite element programs: one file per program."""
