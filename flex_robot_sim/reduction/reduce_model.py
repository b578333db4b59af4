"""A finite element model with interfaces to a reduced link."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from flex_robot_sim.reduction.elasticity import Material, Mesh, assemble
from flex_robot_sim.reduction.freedoms import Freedoms, Mass, freedoms_of
from flex_robot_sim.reduction.integrals import mass_integrals
from flex_robot_sim.reduction.loaded_stiffness import LoadedStiffness, loaded_forces
from flex_robot_sim.reduction.mean_modes import mean_eigenvalues
from flex_robot_sim.reduction.ordering import elimination_parts
from flex_robot_sim.reduction.reduced_link import ReducedLink
from flex_robot_sim.reduction.second_order import (
    SecondOrder,
    second_order,
    second_order_of,
    softest,
)
from flex_robot_sim.reduction.shapes import hertz, make_shapes, mesh_modes
from flex_robot_sim.reduction.stations import group_joints, station_motion
from flex_robot_sim.reduction.supports import SUPPORTS, Interface, ReductionError, RigidSupport
from flex_robot_sim.reduction.surface import surface_of, surface_strains

COMPARED = 6  # frequencies with interfaces of both kinds


class Model(NamedTuple):
    """Matrices of a link without supports; terms of second order need a mesh or loads."""

    freedoms: Freedoms
    stiffness: sparse.csr_matrix  # (d, d)
    mass: Mass
    mesh: Mesh | None = None  # its nodes are those of `freedoms`
    material: Material | None = None
    loaded: Sequence[LoadedStiffness] = ()  # they replace mesh and material


class Source(NamedTuple):
    """Where a reduced link comes from, for its file."""

    link: str
    name: str = ''  # of the file
    hash: str = ''
    options: str = '{}'


NO_SOURCE = Source('link')


def no_stage(_: str) -> None:
    """Ignore the progress."""


def model_of(mesh: Mesh, material: Material) -> Model:
    """Return the matrices of a mesh in the frame of the link."""
    check_connected(mesh)
    stiffness, mass = assemble(mesh, material)
    return Model(freedoms_of(mesh.nodes), stiffness, Mass(mass), mesh, material)


def reduce_model(
    model: Model,
    interfaces: Sequence[Interface],
    modes: int = 6,
    kind: str = 'rigid',
    source: Source = NO_SOURCE,
    report: Callable[[str], None] = no_stage,
) -> ReducedLink:
    """
    Return the reduced link.

    :param interfaces: of the joint to the parent, then of those to the children.
    :param modes: natural modes in addition to six static shapes by station.
    :param kind: of the interfaces, 'rigid' (RBE2) or 'mean' (RBE3).
    :param report: is called with the name of each stage when it starts.
    """
    freedoms, stiffness, mass = model.freedoms, model.stiffness, model.mass
    report('factors')
    root, moving, stations = group_joints(interfaces)
    parts = None if model.mesh is None else elimination_parts(model.mesh)
    support = SUPPORTS[kind](freedoms, stiffness, root, moving, parts)
    report('shapes')
    shapes = make_shapes(support, mass, modes)
    report('terms of second order')
    n = shapes.values.shape[1]
    second = _second_order(model, support, stations, shapes)
    s = len(second.cubic)
    report('integrals and surface')
    fields = freedoms.displacements(shapes.values)
    integrals = mass_integrals(
        freedoms.points, mass.by_node, fields, freedoms.displacements(second.field)
    )
    integrals['E0'] = shapes.values.T @ mass.times(shapes.values)
    motions = [
        station_motion(support, station, shapes.values, second.field) for station in stations
    ]
    report('interfaces of the other kind')
    if isinstance(support, RigidSupport):
        values = mean_eigenvalues(support, mass, shapes.modes[:, :COMPARED])
    else:
        del support
        rigid = RigidSupport(freedoms, stiffness, root, moving, parts)
        values, _ = mesh_modes(rigid, mass, COMPARED)
    return ReducedLink(
        link=source.link,
        source=source.name,
        source_hash=source.hash,
        options=source.options,
        mass=float(mass.by_node.sum()),
        **integrals,
        K=np.diag(shapes.stiffness),
        C=second.cubic,
        frequencies=shapes.frequencies,
        mesh_frequencies=hertz(shapes.eigenvalues),
        other_frequencies=hertz(values),
        station_names=tuple(station.name for station in stations),
        station_points=np.array([station.origin for station in stations]).reshape(-1, 3),
        station_shapes=np.array([U for U, _ in motions]).reshape(len(stations), 6, n),
        station_second=np.array([Q for _, Q in motions]).reshape(len(stations), s, s, 6),
        **_surface(model, fields),
    )


def _second_order(model, support, stations, shapes):
    """Return the SecondOrder of loads, or of the mesh; empty without both."""
    if model.loaded:
        phi, pairs = softest(shapes)
        forces = loaded_forces(model.loaded, support, stations, phi, pairs)
        return second_order_of(forces, support, shapes, phi)
    if model.mesh is None or model.material is None:
        return SecondOrder(np.empty((support.size, 0, 0)), np.empty((0, 0, 0)))
    return second_order(model.mesh, model.material, support, shapes)


def _surface(model, fields):
    """Return the arrays of the surface; those of all nodes, without triangles, if no mesh."""
    points, n = model.freedoms.points, fields.shape[2]
    if model.mesh is None:
        nodes, triangles = np.arange(len(points)), np.empty((0, 3))
        strains = np.zeros((len(points), 6, n))
    else:
        surface = surface_of(model.mesh)
        nodes, triangles = surface.nodes, surface.triangles
        strains = surface_strains(model.mesh, surface, fields)
    return {
        'surface_points': points[nodes].astype(np.float32),
        'surface_triangles': triangles.astype(np.int32),
        'surface_shapes': fields[nodes].astype(np.float32),
        'surface_strains': strains.astype(np.float32),
    }


def check_connected(mesh: Mesh) -> None:
    """Refuse a mesh of several pieces, or with nodes without elements."""
    count = len(mesh.nodes)
    used = np.zeros(count, bool)
    used[mesh.elements] = True
    if not used.all():
        raise ReductionError(
            f'{count - used.sum()} nodes of the mesh belong to no tetrahedron. Remove them'
        )
    first = mesh.elements[:, :1].repeat(9, axis=1).ravel()
    ones = np.ones(first.size, np.int8)
    graph = sparse.coo_matrix((ones, (first, mesh.elements[:, 1:].ravel())), (count, count))
    pieces, _ = csgraph.connected_components(graph, directed=False)
    if pieces > 1:
        raise ReductionError(
            f'the mesh has {pieces} pieces that are not connected. Unite the solids in the CAD '
            'program, or export one of them'
        )
