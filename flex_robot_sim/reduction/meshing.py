"""Solids of STEP and STL files to tetrahedra, by netgen in a process of its own."""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from flex_robot_sim.reduction.elasticity import Mesh
from flex_robot_sim.reduction.stl import check_solid, read_stl
from flex_robot_sim.reduction.supports import ReductionError
from flex_robot_sim.start import run_text
from flex_robot_sim.util.exceptions import UsageError

REQUIREMENT = '"netgen-mesher>=6.2.2506" "meshio>=5.3"'  # as in setup.py
STEP = ('.step', '.stp')
STL = ('.stl',)
MILLIMETRE = 1e-3  # netgen converts the units of STEP files to millimetres
SIZES_PER_DIAGONAL = 40  # elements along the diagonal of a solid, by default
# netgen numbers the edges 01, 02, 03, 12, 13, 23
NODE_ORDER = [0, 1, 2, 3, 4, 7, 5, 6, 8, 9]

# netgen prints, may exit, and keeps its memory
_PROGRAM = """
import sys
import numpy as np
kind, source, target, size, share = sys.argv[-5:]
if kind == 'step':
    from netgen.occ import OCCGeometry
    geometry = OCCGeometry(source)
    solids = len(geometry.shape.solids)
    if solids != 1:
        sys.exit(f'SOLIDS {solids}')
    corners = np.array([[*point] for point in geometry.shape.bounding_box])
    diagonal = np.linalg.norm(corners[1] - corners[0])
else:
    from netgen.stl import STLGeometry
    geometry, diagonal = STLGeometry(source), float(share)
mesh = geometry.GenerateMesh(maxh=float(size) or diagonal / float(share))
mesh.SecondOrder()
elements = mesh.Elements3D().NumPy()['nodes'][:, :10] - 1
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
        kind, unit, share = 'step', MILLIMETRE, float(SIZES_PER_DIAGONAL)
    else:
        surface = read_stl(path)
        check_solid(path, surface)
        kind, unit = 'stl', 1.0 if scale is None else scale
        diagonal = float(np.linalg.norm(np.ptp(surface.points, axis=0)))
        size, share = size or diagonal * unit / SIZES_PER_DIAGONAL, 1.0
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / 'mesh.npz'
        result = subprocess.run(
            run_text(_PROGRAM, kind, str(path), str(target), f'{size / unit!r}', f'{share!r}'),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if not target.exists():
            raise ReductionError(f'{path}: {_reason(result)}')
        with np.load(target) as arrays:
            nodes, elements = arrays['nodes'] * unit, arrays['elements'][:, NODE_ORDER]
    used, place = np.unique(elements, return_inverse=True)
    return Mesh(nodes[used], place.reshape(elements.shape))


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
