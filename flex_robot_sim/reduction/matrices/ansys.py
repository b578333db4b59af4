"""
Matrices of Ansys: `*EXPORT, NAME, MMF, FILE` writes them as Matrix Market files (.mmf, .txt).

The names of the degrees of freedom are in the mapping file that HBMAT writes (.mapping), with
lines `equation node direction`, such as `1 27 UX`. No files of the program have been tried.
"""

import re
from pathlib import Path

import numpy as np
from scipy import sparse

from flex_robot_sim.reduction.matrices.matrices import Matrices, number_lines, symmetric
from flex_robot_sim.reduction.supports import ReductionError
from flex_robot_sim.util.files import read_bytes

KINDS = ('.mmf', '.mmf', '.mapping')
DIRECTIONS = ('UX', 'UY', 'UZ', 'ROTX', 'ROTY', 'ROTZ')
_LINE = re.compile(rf'^\s*(\d+)\s+(\d+)\s+({"|".join(DIRECTIONS)})\s*$', re.MULTILINE)


def read_ansys(stiffness: Path, mass: Path, mapping: Path) -> Matrices:
    """Return the matrices of three files."""
    matrices = [_read_matrix_market(path) for path in (stiffness, mass)]
    lines = _LINE.findall(read_bytes(mapping).decode('ascii', 'replace'))
    size = matrices[0].shape[0]
    names = {int(row): (int(node), DIRECTIONS.index(word)) for row, node, word in lines}
    if sorted(names) != list(range(1, size + 1)) or matrices[1].shape != matrices[0].shape:
        raise ReductionError(
            f'{mapping}: it names {len(names)} degrees of freedom, and the matrices have '
            f'{size} and {matrices[1].shape[0]}. Take the files of one run'
        )
    node, direction = np.array([names[row] for row in range(1, size + 1)]).T
    return Matrices(matrices[0], matrices[1], node, direction)


def _read_matrix_market(path: Path) -> sparse.csr_matrix:
    """Return the matrix of a file; `scipy.io.mmread` crashes on some truncated files."""
    head, _, rest = read_bytes(path).partition(b'\n')
    if not re.fullmatch(
        rb'%%matrixmarket matrix coordinate real (symmetric|general)', head.strip().lower()
    ):
        raise ReductionError(
            f'{path}: it is no Matrix Market file of a sparse real matrix. Write it by *EXPORT '
            'with the format MMF'
        )
    lines = [line for line in rest.splitlines() if not line.lstrip().startswith(b'%')]
    table = number_lines(path, b'\n'.join(lines), 3)
    size, (rows, columns) = table[0], table[1:, :2].T
    places = table[1:, :2]
    if (
        not np.array_equal(size, [size[0], size[0], len(rows)])
        or not np.array_equal(places, np.floor(places))
        or not np.all((places >= 1.0) & (places <= size[0]))
    ):
        raise ReductionError(
            f'{path}: its size line does not fit to its {len(rows)} entries. Export it again'
        )
    return symmetric(rows.astype(int) - 1, columns.astype(int) - 1, table[1:, 2], int(size[0]))
