"""Matrices of another program to a model in the frame of the link, in SI units."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from flex_robot_sim.reduction.elasticity import Material, Mesh
from flex_robot_sim.reduction.freedoms import Freedoms, Mass, mass_by_node
from flex_robot_sim.reduction.loaded_stiffness import LinkLoad, LoadedStiffness
from flex_robot_sim.reduction.matrices import abaqus, ansys, calculix, nastran
from flex_robot_sim.reduction.matrices.matrices import Matrices, check_symmetric
from flex_robot_sim.reduction.matrices.node_table import NodeTable, read_nodes
from flex_robot_sim.reduction.reduce_model import Model
from flex_robot_sim.reduction.supports import ReductionError

# stiffness and mass per displacement, and per rotation, over those in SI units; for 'mm' the units
# of stiffness are N and mm, and that of mass is t
SCALES = {'m': (1.0, 1.0), 'mm': (1e3, 1e-3)}
LENGTHS = {'m': 1.0, 'mm': 1e-3}


def read_model(
    paths: Sequence[Path],
    nodes: Path,
    unit: str,
    rotation: np.ndarray,
    place: np.ndarray,
    material: Material | None,
    loads: Sequence[tuple[Path, LinkLoad]] = (),
) -> Model:
    """
    Return the model of matrix files.

    :param unit: 'm' (SI) or 'mm' (mm, N, t); rotation: of the model in the frame of the link.
    :param material: of the tetrahedra in the file of nodes, for terms of second order.
    :param loads: files with the stiffness under loads, which replace the material.
    """
    if unit not in SCALES:
        raise ReductionError(f'--unit {unit}: matrices have the unit {" or ".join(SCALES)}')
    table = read_nodes(nodes)
    matrices = _read(paths, table)
    for path, matrix in zip((paths[0], paths[-1]), (matrices.stiffness, matrices.mass)):
        check_symmetric(path, matrix)
    order = np.lexsort((matrices.direction, matrices.node))
    number, direction = matrices.node[order], matrices.direction[order]
    used = np.unique(number)
    if not np.isin(used, table.numbers).all():
        lost = used[~np.isin(used, table.numbers)]
        raise ReductionError(f'{nodes}: it has no node {lost[0]}, which the matrices have. Add it')
    points = table.points[np.searchsorted(table.numbers, used)] * LENGTHS[unit]
    freedoms = Freedoms(points @ rotation.T + place, np.searchsorted(used, number), direction)
    shift, turn = SCALES[unit]
    factors = sparse.diags(np.sqrt(np.where(direction < 3, shift, turn)))
    change = _turned(freedoms, rotation) @ factors

    def in_link(matrix):
        return (change @ matrix[order][:, order] @ change.T).tocsr()

    stiffness, full = in_link(matrices.stiffness), in_link(matrices.mass)
    loaded = []
    for path, load in loads:
        other = _read((path, *paths[1:]), table)
        check_symmetric(path, other.stiffness)
        if not (
            np.array_equal(other.node, matrices.node)
            and np.array_equal(other.direction, matrices.direction)
        ):
            raise ReductionError(
                f'{path}: its degrees of freedom are not those of {paths[0]}. Export both from '
                'one model'
            )
        loaded.append(LoadedStiffness(str(path), load, in_link(other.stiffness)))
    mesh = None
    if material is not None and len(table.elements) and freedoms.size == 3 * len(points):
        rows = table.numbers[table.elements]
        if np.isin(rows, used).all():
            mesh = Mesh(freedoms.points, np.searchsorted(used, rows))
    mass = Mass(mass_by_node(freedoms, full), full)
    return Model(freedoms, stiffness, mass, mesh, material, loaded)


def _read(paths: Sequence[Path], table: NodeTable) -> Matrices:
    """Return the matrices of files, whose kinds name the program."""
    kinds = tuple(path.suffix.lower() for path in paths)
    if kinds == calculix.KINDS:
        return calculix.read_calculix(*paths)
    if kinds == abaqus.KINDS:
        return abaqus.read_abaqus(*paths)
    if kinds == ansys.KINDS:
        return ansys.read_ansys(*paths)
    if kinds == nastran.KINDS:
        return nastran.read_nastran(paths[0], table.numbers)
    raise ReductionError(
        'matrix files are run.sti,run.mas,run.dof (CalculiX), stif.mtx,mass.mtx (Abaqus), '
        'k.mmf,m.mmf,file.mapping (Ansys) or run.op4 (Nastran)'
    )


def _turned(freedoms, rotation):
    """Sparse matrix that turns the values of degrees of freedom into the frame of the link."""
    if np.array_equal(rotation, np.eye(3)):
        return sparse.identity(freedoms.size, format='csr')
    # three displacements, or three rotations, follow each other
    triples = freedoms.direction.reshape(-1, 3) if freedoms.size % 3 == 0 else np.empty((0, 3))
    nodes = freedoms.node.reshape(-1, 3) if freedoms.size % 3 == 0 else triples
    is_whole = len(triples) and np.all(triples % 3 == [0, 1, 2]) and np.all(nodes.T == nodes[:, 0])
    if not is_whole:
        raise ReductionError(
            'some nodes have no displacement along x, y or z: the matrices cannot be turned. '
            'Align the model with the link, and leave out --pose'
        )
    return sparse.block_diag([rotation] * len(triples), format='csr')
