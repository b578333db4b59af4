"""Assembly of an ArmModel from a description: its bodies, then one array for each quantity."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description import read_description, with_tool
from flex_robot_sim.description.elastic_link import MAX_ELASTIC_COORDINATES
from flex_robot_sim.description.joint_types import FREE_COMPONENTS
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.elastic import SETBACK_POINTS
from flex_robot_sim.model.arguments import array_or_nan, is_known
from flex_robot_sim.model.arm_arrays import ArmArrays
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.beam_rows import beam_rows, inertia_rows
from flex_robot_sim.model.body_kinds import SLIDING, body_kind
from flex_robot_sim.model.body_tree import BodyTree
from flex_robot_sim.model.composite_inertia import base_inertias, largest_inertias
from flex_robot_sim.model.constraint_rows import closed_loops, row_arrays
from flex_robot_sim.model.contact_rows import contact_arrays, contact_rows
from flex_robot_sim.model.damping import damping_matrices, elastic_inertia
from flex_robot_sim.model.joint_rows import joint_rows
from flex_robot_sim.model.sliding_rows import block_rows, ratio_damping, sliding_rows
from flex_robot_sim.model.station_rows import StationSize, station_rows
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.read_only import make_read_only

COUPLINGS = ('shortening', 'zero_order')
BASE_RATES = 'wx', 'wy', 'wz', 'vx', 'vy', 'vz'  # names of the coordinates of a free base


def load(
    source: str | Path | RobotDescription,
    *,
    coupling: str = 'shortening',
    gravity: ArrayLike | None = None,
    xacro_arguments: Mapping[str, str] | None = None,
    tool: str = '',
) -> ArmModel:
    """
    Return the ArmModel of a robot.

    :param source: path of a URDF or xacro file, its text, the name of a shipped robot, or a
        RobotDescription.
    :param coupling: 'shortening' of bending beams, or 'zero_order' to omit it.
    :param gravity: in the base frame, (3,) [m/s2]; None: that of the robot, which is
        (0, 0, -9.81) without `<gravity>`.
    :param xacro_arguments: {name: value} for a xacro file.
    :param tool: tool link; '': found by name and position, as `flexsim check` shows.

    Example::

        arm = frs.load('two_link', gravity=(0.0, 0.0, -1.62))       # on the moon
        assert arm.joint_names == ('waist', 'shoulder', 'elbow')
    """
    if not isinstance(source, RobotDescription):
        source = read_description(source, xacro_arguments=xacro_arguments, tool=tool)
    elif xacro_arguments:
        raise SettingError('xacro_arguments belong to a file: read_description takes them')
    return build_arm(with_tool(source, tool), coupling, gravity)


def build_arm(
    description: RobotDescription, coupling: str = 'shortening', gravity: ArrayLike | None = None
) -> ArmModel:
    """Return the ArmModel of a RobotDescription; the other arguments are those of `load`."""
    total = sum(
        link.beam.segments * link.beam.freedom
        for link in description.links
        if link.beam is not None
    )
    if total > MAX_ELASTIC_COORDINATES:
        raise SettingError(
            f'{description.source} has {total} elastic coordinates, and at most '
            f'{MAX_ELASTIC_COORDINATES} can be simulated: take fewer segments, modes or elements'
        )
    if not is_known(coupling, COUPLINGS):
        raise SettingError(f'coupling = {coupling!r} must be one of: {", ".join(COUPLINGS)}')
    gravity = array_or_nan(description.gravity if gravity is None else gravity)
    if gravity.shape != (3,) or not np.isfinite(gravity).all():
        raise SettingError('gravity must be three finite numbers [m/s2]')
    return _assembled(description, coupling, gravity)


def _assembled(description, coupling, gravity):
    """Return the ArmModel: first its bodies, then the arrays."""
    tree = BodyTree(description, coupling)
    inertias = largest_inertias(description)
    loops = closed_loops(tree)
    points, contacts = contact_rows(tree, inertias)
    beams, joints, slides = tree.row['beam'], tree.joints, tree.slides
    motors = [joint for joint in joints if np.isfinite(joint.stiffness)]
    size = _station_size(beams, slides, coupling)
    modes = np.array([0 if beam is None else beam.size for beam in beams], int)
    base = _base_rows(description, len(joints) + len(motors))
    _expect_mass(description, joints, inertias)
    first = len(joints) + len(motors) + len(base) + np.cumsum(modes) - modes
    sliding = sliding_rows(beams, slides, size.n, coupling)
    is_base = np.arange(modes.size) == (0 if len(base) else -1)  # a free one
    arrays = ArmArrays(
        **{name: np.array(tree.row[name], int) for name in ('parent', 'station', 'joint')},
        **{
            name: np.array(tree.row[name], float).reshape((-1, *shape))
            for name, shape in (('home_R', (3, 3)), ('home_p', (3,)), ('screw', (6,)))
        },
        inertia=inertia_rows(tree.row['inertia'], beams, coupling),
        kind=np.array(
            [SLIDING if i in slides else body_kind(beam) for i, beam in enumerate(beams)], int
        ),
        **sliding,
        **block_rows(modes, first, sliding['slide'], size.n),
        modes=modes,
        first=first,
        **beam_rows(beams, slides, size, coupling),
        **station_rows(beams, tree.stations, slides, size, coupling),
        **joint_rows(joints, inertias),
        # computed from the others below
        inertia_scale=np.zeros(0),
        damping=np.zeros((0, size.n, size.n)),
        shared=np.zeros((0, 0)),
        shared_T=np.zeros((0, 0)),
        base_acceleration=np.concatenate([np.zeros(3), -gravity]),
        base=base,
        **row_arrays(
            [*loops.values()],
            tree.row['parent'],
            (np.array(tree.row['joint']) >= 0) | (modes > 0) | is_base,
        ),
        **contact_arrays(points),
    )
    inertia = elastic_inertia(arrays)
    local, shared = _damping(tree, beams, arrays, inertia)
    inertia_scale = [
        inertias,
        arrays.rotor[arrays.motor >= 0],
        base_inertias(description, base[:, 1]),
        np.diag(inertia),
    ]
    arrays = arrays._replace(
        damping=local,
        shared=shared,
        inertia_scale=np.concatenate(inertia_scale),
        shared_T=np.ascontiguousarray(shared.T),
    )
    make_read_only((tree.frames, tree.carried_bodies, loops))
    return ArmModel(
        arrays=arrays,
        joint_names=tuple(joint.name for joint in joints),
        motor_names=tuple(joint.name for joint in motors),
        coordinate_names=_names(tree, beams, motors),
        frames=tree.frames,
        segments=tree.segments,
        tips=tree.tips,
        carried_bodies=tree.carried_bodies,
        description=description,
        coupling=coupling,
        beams={i: beam for i, beam in enumerate(beams) if beam is not None},
        closed_loops=loops,
        contacts=contacts,
    )


def _station_size(beams, slides, coupling):
    """Sizes that rows are padded to; the free length of a sliding link is a coordinate, too."""
    sizes = [b.size + (i in slides) for i, b in enumerate(beams) if b is not None]
    plain = [beam for beam in beams if beam is not None and not beam.is_spatial]
    is_cut = any(beam.is_segment for beam in plain)
    return StationSize(
        n=max(sizes, default=1),
        width=max([beam.width for beam in plain], default=1),
        setback=SETBACK_POINTS if is_cut and coupling == 'shortening' else 0,
        elastic=max([beam.size for beam in beams if beam and beam.is_spatial], default=0),
    )


def _base_rows(description, first):
    """Index and component of the twist of each coordinate of a free base, (b, 2)."""
    joint = description.free_joint
    if joint is not None and not any(link.beam or link.inertial for link in description.links):
        raise SettingError(
            f'the free base of {description.source} carries no mass, so that the robot '
            'can be drawn, but not simulated'
        )
    components = () if joint is None else FREE_COMPONENTS[joint.kind]
    return np.array(
        [(first + k, component) for k, component in enumerate(components)], int
    ).reshape(-1, 2)


def _expect_mass(description, joints, inertias):
    for joint, inertia in zip(joints, inertias):
        if not inertia > 0:
            raise SettingError(
                f'joint "{joint.name}" of {description.source} carries no '
                'mass, so that the robot can be drawn, but not simulated'
            )


def _damping(tree, beams, arrays, inertia):
    """Damping of the elastic coordinates: within bodies (i, n, n), and the shared part (e, r)."""
    pairs = np.array([tree.damping.get(i, (0.0, 0.0)) for i in range(len(beams))])
    local, shared = damping_matrices(arrays, inertia, *pairs.reshape(-1, 2).T)
    for link, bodies in tree.segments.items():
        beam = tree.description.beam(link)
        if beam.guide:
            m = beams[bodies[0]].size
            local[bodies[0], :m, :m] = ratio_damping(
                beams[bodies[0]], beam.damping_ratio, tree.load_at_tip(link, beam)
            )
    return local, shared


def _names(tree, beams, motors):
    """Names of all coordinates: joints, motors, free base, elastic ones."""
    names = [joint.name for joint in tree.joints]
    names += [f'{joint.name}/motor' for joint in motors]
    base = tree.description.free_joint
    if base is not None:
        names += [f'{base.name}/{BASE_RATES[k]}' for k in FREE_COMPONENTS[base.kind]]
    owner = {
        body: (link, number)
        for link, bodies in tree.segments.items()
        for number, body in enumerate(bodies)
    }
    for body, beam in enumerate(beams):
        if beam is not None:
            link, number = owner[body]
            part = f'/{number + 1}' if len(tree.segments[link]) > 1 else ''
            names += [f'{link}{part}/{name}' for name in beam.names]
    return tuple(names)
