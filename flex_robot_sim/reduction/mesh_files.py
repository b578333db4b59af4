"""Meshes of tetrahedra from files of mesh generators, read by meshio."""

import contextlib
import io
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from flex_robot_sim.reduction.elasticity import Mesh, with_edge_nodes
from flex_robot_sim.reduction.meshing import REQUIREMENT
from flex_robot_sim.reduction.supports import ReductionError
from flex_robot_sim.util.exceptions import UsageError, shortened

KINDS = ('.msh', '.vtk', '.vtu', '.inp', '.bdf', '.nas', '.med', '.xdmf', '.mesh')


def read_mesh_file(path: Path, unit: float) -> Mesh:
    """Return the tetrahedra of a file, linear ones with nodes on their edges; `unit` in metres."""
    if find_spec('meshio') is None:
        raise UsageError(
            'this file needs meshio, which is not installed. Install it by '
            f'{sys.executable} -m pip install {REQUIREMENT}'
        )
    import meshio

    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints warnings
            loaded = meshio.read(path)
        cells = loaded.cells_dict
    # its readers raise exceptions of many kinds, and SystemExit
    except (Exception, SystemExit) as error:
        raise ReductionError(
            f'{path}: meshio cannot read it: {shortened(error, 200) or type(error).__name__}. '
            'Export it again'
        ) from error
    points = np.asarray(loaded.points, float)[:, :3] * unit
    if 'tetra10' in cells:
        elements = np.asarray(cells['tetra10'], int)
    elif 'tetra' in cells:
        points, elements = with_edge_nodes(points, np.asarray(cells['tetra'], int))
    else:
        raise ReductionError(
            f'{path}: it has no tetrahedra, but {", ".join(cells) or "nothing"}. Mesh the solid '
            'with tetrahedra, of second order if possible'
        )
    used, place = np.unique(elements, return_inverse=True)
    return Mesh(points[used], place.reshape(elements.shape))
