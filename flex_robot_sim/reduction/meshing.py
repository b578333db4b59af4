"""Solids of STEP and STL files to tetrahedra, by netgen in a process of its own."""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from flex_robot_sim.reduction.elasticity import (
    EDGES,
    Mesh,
    fourteen_points,
    jacobians,
    with_edge_nodes,
)
from flex_robot_sim.reduction.stl import check_solid, outward, read_stl, write_stl
from flex_robot_sim.reduction.supports import ReductionError
from flex_robot_sim.start import run_text
from flex_robot_sim.util.exceptions import UsageError

REQUIREMENT = '"netgen-mesher>=6.2.2506" "meshio>=5.3"'  # as in setup.py
STEP = ('.step', '.stp')
STL = ('.stl',)
MILLIMETRE = 1e-3  # netgen converts the units of STEP files to millimetres
SIZES_PER_DIAGONAL = 25  # elements along the diagonal of a solid, by default
STL_SIZE = 100.0  # diagonal of the copy of an STL file that netgen reads
CHART_ANGLES = (15.0, 20.0, 30.0)  # of parts of an STL surface, in turn until a mesh results [deg]
ROUNDS = 5  # of straightened edges: each changes the neighbours
# netgen numbers the edges 01, 02, 03, 12, 13, 23
NODE_ORDER = [0, 1, 2, 3, 4, 7, 5, 6, 8, 9]

# netgen prints, may abort, and keeps its memory
_PROGRAM = """
import sys
import numpy as np
kind, source, target, size, share, angle = sys.argv[-6:]
if kind == 'step':
    from netgen.occ import OCCGeometry
    geometry, options = OCCGeometry(source), {}
    solids = len(geometry.shape.solids)
    if solids != 1:
        sys.exit(f'SOLIDS {solids}')
    corners = np.array([[*point] for point in geometry.shape.bounding_box])
    diagonal = np.linalg.norm(corners[1] - corners[0])
else:
    from netgen.stl import STLGeometry
    geometry, diagonal, options = STLGeometry(source), 1.0, {'chartangle': float(angle)}
mesh = geometry.GenerateMesh(maxh=float(size) or diagonal / float(share), **options)
if kind == 'step':
    mesh.SecondOrder()
nodes = 10 if kind == 'step' else 4
elements = mesh.Elements3D().NumPy()['nodes'][:, :nodes] - 1
np.savez(target, nodes=mesh.Coordinates(), elements=elements)
"""


def refuse_without_netgen() -> None:
    """Raise a UsageError with the installation command if netgen is missing."""
    if find_spec('netgen') is None:
        raise UsageError(
            'meshing needs netgen, which is not installed. Install it by '
            f'{sys.executable} -m pip install {REQUIREMENT}'
        )


def mesh_solid(path: Path, size: float = 0.0, scale: float | None = None) -> Mesh:
    """
    Return the tetrahedra of the solid in a file, in metres.

    :param size: largest size of an element [m]; 0: by the size of the solid.
    :param scale: metres over the units of the file; None: 1 for STL.
    """
    refuse_without_netgen()
    if path.suffix.lower() in STEP:
        nodes, elements = _run_netgen(path, 'step', path, size / MILLIMETRE)
        mesh = _used(nodes * MILLIMETRE, elements[:, NODE_ORDER])
        return _straightened(mesh)
    surface = read_stl(path)
    check_solid(path, surface)
    surface = outward(surface)
    diagonal = float(np.linalg.norm(np.ptp(surface.points, axis=0)))
    unit = 1.0 if scale is None else scale
    # netgen has tolerances for parts of about this size
    scaled = surface._replace(points=surface.points * (STL_SIZE / diagonal))
    largest = STL_SIZE * (size / (diagonal * unit) if size else 1 / SIZES_PER_DIAGONAL)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / 'scaled.stl'
        write_stl(copy, scaled)
        nodes, elements = _run_netgen(path, 'stl', copy, largest)
    # flat triangles have straight edges
    return _used(*with_edge_nodes(nodes * (unit * diagonal / STL_SIZE), elements))


def _used(nodes, elements):
    """Return the mesh without nodes that belong to no element."""
    used, place = np.unique(elements, return_inverse=True)
    return Mesh(nodes[used], place.reshape(elements.shape))


def _straightened(mesh):
    """Return the mesh with straight edges where curved ones turn an element inside out."""
    points, _ = fourteen_points()
    nodes = mesh.nodes.copy()
    for _ in range(ROUNDS):
        determinants = np.linalg.det(jacobians(Mesh(nodes, mesh.elements), mesh.elements, points))
        inverted = determinants.min(axis=1) * determinants.max(axis=1) <= 0.0
        if not inverted.any():
            break
        rows = mesh.elements[inverted]
        nodes[rows[:, 4:]] = nodes[rows[:, EDGES]].mean(axis=2)
    return Mesh(nodes, mesh.elements)


def _run_netgen(path, kind, source, size):
    """Return nodes and elements of netgen; ReductionError if it makes none."""
    for angle in CHART_ANGLES if kind == 'stl' else CHART_ANGLES[:1]:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / 'mesh.npz'
            words = kind, source, target, repr(size), SIZES_PER_DIAGONAL, angle
            result = subprocess.run(
                run_text(_PROGRAM, *map(str, words)),
                capture_output=True,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            if target.exists():
                with np.load(target) as arrays:
                    nodes, elements = arrays['nodes'], arrays['elements']
                if len(elements):
                    return nodes, elements
    raise ReductionError(f'{path}: {_reason(result)}')


def _reason(result):
    """Return why there is no mesh, and what to do."""
    lines = result.stderr.decode('utf-8', 'replace').strip().splitlines()
    last = lines[-1] if lines else f'it ended with code {result.returncode}'
    if last.startswith('SOLIDS '):
        count = int(last.split()[1])
        if count == 0:
            return 'it has surfaces and no solid. Export the part as a solid'
        return f'it has {count} solids. Unite them in the CAD program, or export one of them'
    if 'MemoryError' in last or result.returncode == -9:
        return 'the mesh is too large for the memory of this computer. Choose a larger --mesh'
    return f'netgen made no mesh of it ({last}). Choose another --mesh, or repair the solid'
