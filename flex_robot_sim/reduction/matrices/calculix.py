"""
Matrices of CalculiX: `*FREQUENCY, SOLVER=MATRIXSTORAGE` writes them.

The files .sti and .mas have lines `row column value` of the upper triangle; .dof has a line
`node.direction` for each row.
"""

from pathlib import Path

import numpy as np

from flex_robot_sim.reduction.matrices.matrices import Matrices, number_lines, symmetric
from flex_robot_sim.reduction.supports import ReductionError
from flex_robot_sim.util.files import read_bytes

KINDS = ('.sti', '.mas', '.dof')


def read_calculix(stiffness: Path, mass: Path, freedoms: Path) -> Matrices:
    """Return the matrices of three files."""
    words = read_bytes(freedoms).decode('ascii', 'replace').split()
    try:
        names = np.array([[int(part) for part in word.split('.')] for word in words])
        node, direction = names.T
    except ValueError as error:
        raise ReductionError(
            f'{freedoms}: it has no lines of the form node.direction. Run CalculiX with '
            '*FREQUENCY, SOLVER=MATRIXSTORAGE'
        ) from error
    return Matrices(_read(stiffness, len(words)), _read(mass, len(words)), node, direction - 1)


def _read(path, size):
    rows, columns, values = number_lines(path, read_bytes(path), 3).T
    rows, columns = rows.astype(int) - 1, columns.astype(int) - 1
    if len(rows) and max(rows.max(), columns.max()) >= size:
        raise ReductionError(
            f'{path}: it has {int(max(rows.max(), columns.max())) + 1} rows, and the .dof file '
            f'{size}. Take the files of one run'
        )
    return symmetric(rows, columns, values, size)
