"""
Matrices of Abaqus: `*MATRIX GENERATE` and `*MATRIX OUTPUT, FORMAT=MATRIX INPUT` write them.

A file .mtx has lines `node, direction, node, direction, value` of one triangle, or of both. The
format is that of the documentation of `*MATRIX INPUT`; no file of the program has been tried.
"""

from pathlib import Path

import numpy as np

from flex_robot_sim.reduction.matrices.matrices import Matrices, number_lines, symmetric
from flex_robot_sim.util.files import read_bytes

KINDS = ('.mtx', '.mtx')


def read_abaqus(stiffness: Path, mass: Path) -> Matrices:
    """Return the matrices of two files."""
    tables = [number_lines(path, read_bytes(path), 5) for path in (stiffness, mass)]
    names = np.concatenate(
        [table[:, column : column + 2] for table in tables for column in (0, 2)]
    )
    names, place = np.unique(names.astype(int), axis=0, return_inverse=True)
    matrices, start = [], 0
    for table in tables:
        count = len(table)
        rows, columns = place.ravel()[start : start + 2 * count].reshape(2, count)
        start += 2 * count
        matrices.append(symmetric(rows, columns, table[:, 4], len(names)))
    return Matrices(matrices[0], matrices[1], names[:, 0], names[:, 1] - 1)
