"""
Finite element models of links, reduced to a few elastic coordinates.

`reduced_file` has the format of the result. Other modules make it from a mesh of tetrahedra, or
from mass and stiffness matrices of another program.
"""
