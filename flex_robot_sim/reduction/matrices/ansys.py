"""
Matrices of Ansys: `*EXPORT, NAME, MMF, FILE` writes them as Matrix Market files (.mmf, .txt).

The names of the degrees of freedom are in the mapping file that HBMAT writes (.mapping), with
lines `equation node direction`, such as `1 27 UX`. No files of the program have been tried.
"""

import re
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.io import mmread

from flex_robot_sim.reduction.matrices.matrices import Matrices
from flex_robot_sim.reduction.supports import ReductionError
from flex_robot_sim.util.files import read_bytes

KINDS = ('.mmf', '.mmf', '.mapping')
DIRECTIONS = ('UX', 'UY', 'UZ', 'ROTX', 'ROTY', 'ROTZ')
_LINE = re.compile(rf'^\s*(\d+)\s+(\d+)\s+({"|".join(DIRECTIONS)})\s*$', re.MULTILINE)


def read_ansys(stiffness: Path, mass: Path, mapping: Path) -> Matrices:
    """Return the matrices of three files."""
    matrices = []
    for path in (stiffness, mass):
        try:
            matrices.append(sparse.csr_matrix(mmread(path)))
        except (ValueError, OverflowError) as error:
            raise ReductionError(
                f'{path}: it is no Matrix Market file. Write it by *EXPORT with the format MMF'
            ) from error
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
