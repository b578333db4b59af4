"""
Nodes of a model of another program: numbers, places and tetrahedra.

CSV files have lines `number, x, y, z`. Input files of CalculiX and Abaqus (.inp) have `*NODE` and
`*ELEMENT`; elements other than C3D10 are ignored.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from flex_robot_sim.reduction.supports import ReductionError
from flex_robot_sim.util.files import read_bytes

TETRAHEDRA = {'C3D10': 10, 'C3D10M': 10}  # nodes by type


class NodeTable(NamedTuple):
    """Nodes with ascending numbers, in the units of the program."""

    numbers: np.ndarray  # (N,)
    points: np.ndarray  # (N, 3)
    elements: np.ndarray  # (k, 10)  rows of points; quadratic tetrahedra


def read_nodes(path: Path) -> NodeTable:
    """Return the nodes of a file."""
    nodes: list[list[float]] = []
    elements: list[int] = []
    section, count = ('node', 4) if path.suffix.lower() != '.inp' else ('', 0)
    for number, line in enumerate(read_bytes(path).decode('utf-8', 'replace').splitlines(), 1):
        text = line.strip().upper()
        if not text or text.startswith(('**', '#')):
            continue
        if text.startswith('*'):
            section, count = _section(text)
            continue
        words = [word for word in text.replace(';', ',').split(',') if word.strip()]
        if section == 'node':
            try:
                nodes.append([float(word) for word in words[:4]])
                _expect_four(nodes[-1])
            except ValueError as error:
                if number == 1:  # names of the columns
                    nodes = []
                    continue
                raise ReductionError(
                    f'{path}:{number}: no node: "{line[:60]}". Write number, x, y, z'
                ) from error
        elif section == 'element':
            elements += _numbers(path, number, line, words)
    if not nodes:
        raise ReductionError(f'{path}: it has no nodes. Write lines of number, x, y, z')
    table = np.array(nodes)
    order = np.argsort(table[:, 0], kind='stable')
    numbers, points = table[order, 0].astype(int), table[order, 1:]
    if (np.diff(numbers) == 0).any():
        raise ReductionError(
            f'{path}: two nodes have the number {numbers[np.diff(numbers).argmin()]}'
        )
    rows = _element_rows(path, elements)
    if not np.isin(rows, numbers).all():
        raise ReductionError(f'{path}: elements have nodes that are not in *NODE. Export both')
    return NodeTable(numbers, points, np.searchsorted(numbers, rows))


def _numbers(path, number, line, words):
    try:
        return [int(word) for word in words]
    except ValueError as error:
        raise ReductionError(
            f'{path}:{number}: no element: "{line[:60]}". Write its number and ten nodes'
        ) from error


def _element_rows(path, numbers):
    """Return the nodes (k, 10) of elements; a line may end anywhere within one."""
    if len(numbers) % 11:
        raise ReductionError(
            f'{path}: its elements have {len(numbers)} numbers, which are not 11 for each. '
            'Export it again'
        )
    return np.array(numbers, int).reshape(-1, 11)[:, 1:]


def _expect_four(values):
    if len(values) != 4:
        raise ValueError('four numbers are due')


def _section(text):
    """Return the kind of a keyword line, 'node', 'element' or '', and its numbers per line."""
    words = [word.strip() for word in text.split(',')]
    options = dict(word.split('=', 1) for word in words[1:] if '=' in word)
    if words[0] == '*NODE':
        return 'node', 4
    kind = options.get('TYPE', '').strip()
    if words[0] == '*ELEMENT' and kind in TETRAHEDRA:
        return 'element', TETRAHEDRA[kind]
    return '', 0
