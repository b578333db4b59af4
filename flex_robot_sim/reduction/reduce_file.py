"""A file with a solid or a mesh to a reduced link: meshing, interfaces, reduction, cache."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flex_robot_sim.reduction import mesh_files, meshing, result_cache
from flex_robot_sim.reduction.elasticity import Material, Mesh, fourteen_points, jacobians
from flex_robot_sim.reduction.freedoms import Mass
from flex_robot_sim.reduction.interface_search import FoundInterface, JointFrame, find_interfaces
from flex_robot_sim.reduction.loaded_stiffness import LinkLoad
from flex_robot_sim.reduction.matrices.model import read_model
from flex_robot_sim.reduction.plausibility import UNITS, check_memory, check_size, density_factor
from flex_robot_sim.reduction.reduce_model import Source, model_of, no_stage, reduce_model
from flex_robot_sim.reduction.reduced_file import ReducedFileError, read_reduced, write_reduced
from flex_robot_sim.reduction.reduced_link import ReducedLink
from flex_robot_sim.reduction.supports import ReductionError
from flex_robot_sim.util.files import read_bytes

NO_POSE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


class LinkFrame(NamedTuple):
    """What the robot states about a link."""

    name: str
    joints: Sequence[JointFrame]  # to the parent, then to the children; in the frame of the link
    mass: float = 0.0  # of <inertial>; 0: unknown              [kg]
    gyration: float = 0.0  # radius of gyration of <inertial>       [m]


class Options(NamedTuple):
    """Options of a reduction; lengths in metres."""

    modes: int = 6  # in addition to the static shapes
    mesh: float = 0.0  # largest size of an element; 0: by the size of the solid
    interface: str = 'rigid'  # or 'mean'
    radius: float = 0.0  # of the nodes around a joint; 0: the nearest face
    depth: float = 0.0  # of these nodes along the axis; 0: the radius, or all
    unit: str = ''  # of the file, a key of UNITS; '': metres, STEP: as it states
    pose: tuple[float, ...] = NO_POSE  # rotation by rows, and place, of the file in the link
    is_density_scaled: bool = False  # to the mass of <inertial>


class Reduction(NamedTuple):
    """A reduced link, and how it came about."""

    link: ReducedLink
    points: np.ndarray  # (N, 3)  nodes in the frame of the link [m]
    elements: int
    interfaces: list[FoundInterface]
    notes: list[str]
    is_cached: bool


DEFAULTS = Options()
NO_ELEMENTS = np.empty((0, 10), int)


def reduce_file(
    path: Path,
    frame: LinkFrame,
    material: Material,
    options: Options = DEFAULTS,
    report: Callable[[str], None] = no_stage,
) -> Reduction:
    """
    Return the reduced link of a STEP, STL or mesh file, from the cache if it has been made before.

    ReductionError or UsageError, in one line, if that is impossible; OSError if the file is
    unreadable.

    :param report: is called with the name of each stage when it starts.
    """
    content = read_bytes(path)
    report('mesh')
    mesh = _place(_mesh(path, content, options), options.pose)

    def make(factor):
        return model_of(mesh, material._replace(density=material.density * factor))

    mass = _volume(mesh) * material.density
    return _reduce(path, [content], frame, material, options, report, mesh, mass, make)


def reduce_matrices(
    paths: Sequence[Path],
    nodes: Path,
    frame: LinkFrame,
    material: Material | None,
    options: Options = DEFAULTS,
    report: Callable[[str], None] = no_stage,
    loads: Sequence[tuple[Path, LinkLoad]] = (),
) -> Reduction:
    """
    Return the reduced link of matrices of another program; errors are those of `reduce_file`.

    :param nodes: file with the places of the nodes, and tetrahedra if it has any.
    :param material: of the tetrahedra, for terms of second order.
    :param loads: files with the stiffness under loads, from which these terms follow without it.
    """
    content = [read_bytes(path) for path in (*paths, nodes, *(path for path, _ in loads))]
    content.append(json.dumps([load for _, load in loads]).encode())
    report('matrices')
    rotation, place = np.reshape(options.pose[:9], (3, 3)), np.array(options.pose[9:])
    model = read_model(paths, nodes, options.unit or 'm', rotation, place, material, loads)

    def make(factor):
        mass = Mass(*(factor * part for part in model.mass if part is not None))
        return model._replace(mass=mass)

    mesh = model.mesh or Mesh(model.freedoms.points, NO_ELEMENTS)
    mass = float(model.mass.by_node.sum())
    reduction = _reduce(paths[0], content, frame, material, options, report, mesh, mass, make)
    if model.mesh is None and not loads:
        note = (
            'without tetrahedra (C3D10 in --nodes, and --material) or --loaded the link has no '
            'terms of second order: use it at small deflections and low speeds'
        )
        reduction.notes.append(note)
    return reduction


def _reduce(path, content, frame, material, options, report, mesh, mass, make):
    """Return the Reduction of a model that `make` makes with a factor of its density."""
    check_size(mesh.nodes, [joint.origin for joint in frame.joints], frame.gyration)
    found = find_interfaces(mesh, frame.joints, options.radius or None, options.depth or None)
    check_memory(len(mesh.nodes))
    factor, note = density_factor(mass, frame.mass, options.is_density_scaled)
    settings = json.dumps(
        {
            **options._asdict(),
            'material': None if material is None else material._asdict(),
            'density_factor': factor,
            'joints': {joint.name: joint.origin.tolist() for joint in frame.joints},
            'axes': [joint.axis.tolist() for joint in frame.joints],
            'nodes': len(mesh.nodes),
            'interfaces': [one.summary for one in found],
        }
    )
    key = result_cache.hash_of(content, frame.name + settings)
    link = _read_link(key, frame.name)
    is_cached = link is not None
    if link is None:
        report('stiffness and mass')
        source = Source(frame.name, path.name, key, settings)
        interfaces = [one.interface for one in found]
        model = make(factor)
        link = reduce_model(model, interfaces, options.modes, options.interface, source, report)
        _keep_link(key, link)
    link = replace(link, source=path.name)
    notes = [note] if note else []
    return Reduction(link, mesh.nodes, len(mesh.elements), found, notes, is_cached)


def _mesh(path, content, options):
    """Return the mesh of a file in metres, from the cache if there is one."""
    kind = path.suffix.lower()
    settings = json.dumps([kind, options.mesh, options.unit])
    key = result_cache.hash_of([content], settings)
    mesh = result_cache.read_mesh(key)
    if mesh is not None:
        return mesh
    unit = UNITS[options.unit or 'm']
    if kind in meshing.STEP:
        if options.unit:
            raise ReductionError(f'{path}: STEP files state their unit. Leave out --unit')
        mesh = meshing.mesh_solid(path, options.mesh)
    elif kind in meshing.STL:
        mesh = meshing.mesh_solid(path, options.mesh, unit)
    elif kind in mesh_files.KINDS:
        mesh = mesh_files.read_mesh_file(path, unit)
    else:
        known = ', '.join((*meshing.STEP, *meshing.STL, *mesh_files.KINDS))
        raise ReductionError(f'{path}: unknown kind of file. Known: {known}')
    result_cache.keep_mesh(key, mesh)
    return mesh


def _place(mesh, pose):
    """Return the mesh in the frame of the link."""
    rotation, place = np.reshape(pose[:9], (3, 3)), np.array(pose[9:])
    return mesh._replace(nodes=mesh.nodes @ rotation.T + place)


def _volume(mesh):
    """Volume of the elements [m3]; ReductionError if one is turned inside out or has none."""
    points, weights = fourteen_points()
    determinants = np.linalg.det(jacobians(mesh, mesh.elements, points))
    if (determinants.min(axis=1) * determinants.max(axis=1) <= 0.0).any():
        raise ReductionError(
            'the mesh has elements that are turned inside out or have no volume. Choose another '
            '--mesh'
        )
    return float(np.sum(np.abs(determinants) @ weights))


def _read_link(key, name):
    """Return a reduced link of an earlier run; None if there is none."""
    try:
        return read_reduced(result_cache.cached_path(key, 'link'), name)
    except (OSError, ReducedFileError):
        return None


def _keep_link(key, link):
    try:
        result_cache.make_room()
        write_reduced(result_cache.cached_path(key, 'link'), link)
    except OSError:  # no folder for a cache
        return
