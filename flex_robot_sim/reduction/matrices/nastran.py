"""
Matrices of Nastran: OUTPUT4 files (.op4) in ASCII, with KGG and MGG of the g-set.

A matrix has the header `columns rows form type name format`. A column has the header
`column row words`, and its values from that row on, or, if this row is 0, strings of values with
headers: `length row`, or one number, 65536 (length + 1) + row, if the matrix has fewer than 65536
rows. Six degrees of freedom of each grid point follow each other, by the numbers of the points.
"""

import re
from pathlib import Path

import numpy as np
from scipy import sparse

from flex_robot_sim.reduction.matrices.matrices import Matrices
from flex_robot_sim.reduction.supports import ReductionError
from flex_robot_sim.util.files import read_bytes

KINDS = ('.op4',)
REAL = (1, 2)  # types: single and double precision
_FORMAT = re.compile(r'(\d+)[ED](\d+)\.\d+')


def read_nastran(path: Path, nodes: np.ndarray) -> Matrices:
    """
    Return the matrices KGG and MGG of a file.

    :param nodes: numbers of the grid points, ascending.
    """
    matrices = read_op4(path)
    missing = [name for name in ('KGG', 'MGG') if name not in matrices]
    if missing:
        raise ReductionError(
            f'{path}: it has no matrix {missing[0]}, but {", ".join(matrices) or "none"}. Write '
            'KGG and MGG by OUTPUT4'
        )
    stiffness, mass = matrices['KGG'], matrices['MGG']
    count = stiffness.shape[0]
    if count != 6 * len(nodes) or mass.shape != stiffness.shape:
        raise ReductionError(
            f'{path}: KGG has {count} rows, and {len(nodes)} grid points have {6 * len(nodes)} '
            'degrees of freedom. List all grid points in --nodes'
        )
    # solid elements leave rotations without stiffness
    used = np.flatnonzero(stiffness.diagonal() != 0.0)
    return Matrices(
        stiffness[used][:, used],
        mass[used][:, used],
        nodes.repeat(6)[used],
        np.tile(np.arange(6), len(nodes))[used],
    )


def read_op4(path: Path) -> dict[str, sparse.csr_matrix]:
    """Return the real matrices of an ASCII file by name."""
    content = read_bytes(path)
    if b'\0' in content[:64]:
        raise ReductionError(f'{path}: it is binary. Write OUTPUT4 as formatted text (UNIT ... 0)')
    lines = content.decode('ascii', 'replace').splitlines()
    matrices, row = {}, 0
    try:
        while row < len(lines):
            if not lines[row].strip():
                row += 1
                continue
            name, matrix, row = _read_matrix(lines, row)
            if matrix is not None:
                matrices[name] = matrix
    except (ValueError, IndexError) as error:
        raise ReductionError(
            f'{path}: line {row + 1} begins no matrix of OUTPUT4, or its matrix is damaged. Write '
            'it again'
        ) from error
    return matrices


def _read_matrix(lines, row):
    """Return name and matrix (None if complex) at a line, and the line after it."""
    header = lines[row]
    columns, rows, _, kind = (int(header[8 * i : 8 * i + 8]) for i in range(4))
    layout = _FORMAT.search(header[40:])
    if layout is None:
        raise ValueError('a header has no format')
    width = int(layout[2])
    entries = []
    row += 1
    while True:
        column, first, _ = map(int, lines[row].split())
        row += 1
        if column > columns:  # the last one has no meaning
            _, row = _read_values(lines, row, width)
            break
        while row < len(lines) and (first == 0 or _has_values(lines[row], width)):
            place = first
            if first == 0:
                words = [int(word) for word in lines[row].split()]
                if len(words) == 3:  # the next column
                    break
                place = words[1] if rows < 0 else words[0] % 65536
                row += 1
            values, row = _read_values(lines, row, width)
            entries += [(place - 1 + k, column - 1, value) for k, value in enumerate(values)]
    if kind not in REAL:
        return header[32:40].strip(), None, row
    i, j, values = np.array(entries).reshape(-1, 3).T
    matrix = sparse.csr_matrix((values, (i.astype(int), j.astype(int))), (abs(rows), columns))
    return header[32:40].strip(), matrix, row


def _has_values(line, width):
    return '.' in line[:width]


def _read_values(lines, row, width):
    """Return the numbers of lines with values from a row on, and the row after them."""
    values = []
    while row < len(lines) and _has_values(lines[row], width):
        line = lines[row].rstrip().replace('D', 'E')
        values += [float(line[i : i + width]) for i in range(0, len(line), width)]
        row += 1
    return values, row
