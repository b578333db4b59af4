"""Stiffness and mass of a model of another program, with the names of its degrees of freedom."""

import warnings
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from flex_robot_sim.reduction.supports import ReductionError

SAME = 1e-6  # difference of entries of a symmetric matrix, over the largest entry


class Matrices(NamedTuple):
    """Matrices in the units of the program."""

    stiffness: sparse.csr_matrix  # (d, d)
    mass: sparse.csr_matrix  # (d, d)
    node: np.ndarray  # (d,)  number of the node
    direction: np.ndarray  # (d,)  0 to 2: displacement along x, y, z; 3 to 5: rotation


def symmetric(
    rows: np.ndarray, columns: np.ndarray, values: np.ndarray, size: int
) -> sparse.csr_matrix:
    """Return the symmetric matrix of entries of one triangle, or of both."""
    matrix = sparse.csr_matrix((values, (rows, columns)), (size, size))
    if np.all(rows <= columns) or np.all(rows >= columns):
        return (matrix + matrix.T - sparse.diags(matrix.diagonal())).tocsr()
    return matrix


def check_symmetric(path: Path, matrix: sparse.csr_matrix) -> None:
    """Refuse a matrix that is not symmetric, or has numbers that are not finite."""
    largest = np.abs(matrix.data).max(initial=0.0)
    if not np.isfinite(largest) or largest == 0.0:
        raise ReductionError(f'{path}: the matrix is zero or not finite. Export it again')
    difference = matrix - matrix.T
    if np.abs(difference.data).max(initial=0.0) > SAME * largest:
        raise ReductionError(f'{path}: the matrix is not symmetric. Export it without contact')


def number_lines(path: Path, content: bytes, columns: int) -> np.ndarray:
    """Return lines of numbers, (k, columns); ReductionError with the first wrong one."""
    lines = [
        line
        for line in content.replace(b',', b' ').splitlines()
        if line.strip() and not line.lstrip().startswith(b'*')
    ]
    table = np.empty(0)
    # `float` of each word would take ten times the memory; old versions of NumPy warn where new
    # ones raise an error
    with warnings.catch_warnings(), suppress(ValueError):
        warnings.simplefilter('ignore')
        table = np.fromstring(b'\n'.join(lines).decode('ascii', 'replace'), sep=' ')
    if not lines or table.size != columns * len(lines):
        wrong = [line for line in lines if not _are_numbers(line, columns)] or [b'no number']
        text = wrong[0][:60].decode('ascii', 'replace')
        raise ReductionError(
            f'{path}: lines of {columns} numbers are due, not "{text}". Export it again'
        )
    return table.reshape(len(lines), columns)


def _are_numbers(line, columns):
    try:
        return len([float(word) for word in line.split()]) == columns
    except ValueError:
        return False
