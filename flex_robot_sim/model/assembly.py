"""Assembly of an ArmModel from a description: bodies, attachments and beams."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description import read_description, with_tool
from flex_robot_sim.description.contact import WORLD
from flex_robot_sim.description.elastic_link import MAX_ELASTIC_COORDINATES
from flex_robot_sim.description.joint_types import FREE_COMPONENTS
from flex_robot_sim.description.mimic import mimic_constraints
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.elastic import SETBACK_POINTS, Load, cut_beam, cut_spatial_beam
from flex_robot_sim.elastic.coupled_beam import coupled_beam
from flex_robot_sim.elastic.discretise import BEAM_CACHE_SIZE
from flex_robot_sim.model.arguments import array_or_nan, is_known
from flex_robot_sim.model.arm_arrays import ArmArrays
from flex_robot_sim.model.arm_model import ArmModel, ClosedLoop, Frame
from flex_robot_sim.model.body_kinds import SLIDING, body_kind
from flex_robot_sim.model.composite_inertia import (
    base_inertias,
    joint_pose,
    largest_inertias,
    moments_beyond,
)
from flex_robot_sim.model.constraint_rows import constraint_rows, row_arrays
from flex_robot_sim.model.contact_rows import WORLD_BODY, ContactRow, contact_arrays, moved_mass
from flex_robot_sim.model.damping import damping_matrices, elastic_inertia
from flex_robot_sim.model.drive_laws import drive_law_tables
from flex_robot_sim.model.elastic_rows import elastic_rows, integrals_of
from flex_robot_sim.model.free_base import base_axes
from flex_robot_sim.model.friction import friction_rows
from flex_robot_sim.model.mass_points import MAX_REDUCIBLE_POINTS, MassPoints, reduced_points
from flex_robot_sim.model.sliding_rows import block_rows, ratio_damping, sliding_rows
from flex_robot_sim.model.slip_elements import slip_tables
from flex_robot_sim.model.station_rows import StationSize, station_row
from flex_robot_sim.model.stops import STOP_DEPTH, STOP_FREQUENCY
from flex_robot_sim.spatial.screws import set_body_inertia
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.read_only import make_read_only

COUPLINGS = ('shortening', 'zero_order')
GRAVITY = (0.0, 0.0, -9.81)
BASE_RATES = 'wx', 'wy', 'wz', 'vx', 'vy', 'vz'  # names of the coordinates of a free base


def load(
    source: str | Path | RobotDescription,
    *,
    coupling: str = 'shortening',
    gravity: ArrayLike = GRAVITY,
    xacro_arguments: Mapping[str, str] | None = None,
    tool: str = '',
) -> ArmModel:
    """
    Return the ArmModel of a robot.

    :param source: path of a URDF or xacro file, its text, the name of a shipped robot, or a
        RobotDescription.
    :param coupling: 'shortening' of bending beams, or 'zero_order' to omit it.
    :param gravity: in the base frame, (3,) [m/s2].
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
    description: RobotDescription, coupling: str = 'shortening', gravity: ArrayLike = GRAVITY
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
    gravity = array_or_nan(gravity)
    if gravity.shape != (3,) or not np.isfinite(gravity).all():
        raise SettingError('gravity must be three finite numbers [m/s2]')
    return _Assembly(description, coupling, gravity).arm()


class _Assembly:
    """Builder of the rows of ArmArrays."""

    def __init__(self, description, coupling, gravity):
        self.description, self.coupling, self.gravity = description, coupling, gravity
        self.moments_beyond, self.moved = moments_beyond(description)
        self.joints = [joint for joint in description.joints if joint.moves]
        self.row: dict[str, list] = {
            name: []
            for name in (
                'parent',
                'station',
                'joint',
                'home_R',
                'home_p',
                'screw',
                'inertia',
                'beam',
            )
        }
        self.stations = []  # (body, x)
        self.damping = {}  # body -> ratio, time constant
        self.slides = {}  # body of a sliding link -> joint, free length at zero, time constant
        self.frames, self.segments, self.tips, self.carried_bodies = {}, {}, {}, {}
        parent_joints = dict(zip(description.links[1:], description.joints))
        for link in description.links:
            self._add_link(link, parent_joints.get(link))
        self.closed_loops = {}
        for constraint in description.constraints:
            self._add_constraint(constraint)
        for constraint in mimic_constraints(description.joints):
            self._add_mimic(description.joint(constraint.name), constraint)
        self.contacts, self.contact_rows = {}, []
        for contact in description.contacts:
            self._add_contact(contact)

    def _add_link(self, link, joint):
        if link.beam is not None and link.beam.guide:
            self._add_sliding_link(link, joint)
            return
        if joint is None:
            attachment, R, p, joint_row, screw = (-1, -1), np.eye(3), np.zeros(3), -1, np.zeros(6)
        else:
            attachment, R, p = self._attachment(joint.parent, joint.rotation, joint.position)
            joint_row = self.joints.index(joint) if joint.moves else -1
            screw = joint.screw if joint.moves else np.zeros(6)
            if joint.held_at is not None:
                rotation, translation = joint_pose(joint, joint.held_at)
                R, p = R @ rotation, p + R @ translation
        if joint is not None and joint.is_base:
            (body, _), R, p = self._add_base(joint, R, p)
            attachment = body, -1
        body, station = attachment
        if link.beam is None and joint_row < 0 and station < 0:
            self.frames[link.name] = Frame(body, R, p)
            if link.inertial is not None and body >= 0:
                self.row['inertia'][body] += _inertia(link.inertial, R, p)
            return
        rotation = np.eye(3) if link.beam is None else link.beam.axes
        screw = np.concatenate([rotation.T @ screw[:3], rotation.T @ screw[3:]])
        body = self._add_body(body, station, joint_row, R @ rotation, p, screw)
        if link.beam is not None:
            self._add_beam(link, body)
        elif link.inertial is not None:
            self.row['inertia'][body] += _inertia(link.inertial, np.eye(3), np.zeros(3))
        self.frames[link.name] = Frame(body, rotation.T, np.zeros(3))
        if joint is not None:
            self.carried_bodies[joint.name] = (body, self.frames[link.name])

    def _add_sliding_link(self, link, joint):
        """Add the body of a sliding link at the mouth of its guide, and one at its rear end."""
        beam = link.beam
        mouth = joint.position + joint.rotation @ (joint.axis * beam.mouth)
        (body, station), R, p = self._attachment(joint.parent, joint.rotation, mouth)
        body = self._add_body(body, station, -1, R @ beam.axes, p, np.zeros(6))
        offset = beam.length - beam.mouth
        self.slides[body] = self.joints.index(joint), offset, beam.damping_time
        self._add_beam(link, body)
        rear = self._add_station(body, 0.0)
        end = self._add_body(body, rear, -1, np.eye(3), np.zeros(3), np.zeros(6))
        self.frames[link.name] = Frame(end, beam.axes.T, np.zeros(3))
        self.carried_bodies[joint.name] = (body, Frame(body, beam.axes.T, np.zeros(3)))

    def _add_base(self, joint, R, p):
        """Add the body of a free base, with z along the normal of a plane; as `_attachment`."""
        axes = base_axes(joint)
        body = self._add_body(-1, -1, -1, R @ axes, p, np.zeros(6))
        return (body, -1), axes.T, np.zeros(3)

    def _attachment(self, name, rotation, position):
        """Body and station that a frame in a link is attached to, and the pose of the frame."""
        beam = self.description.link(name).beam
        if beam is None:
            frame = self.frames[name]
            return (frame.body, -1), frame.R @ rotation, frame.R @ position + frame.p
        if beam.reduced is not None:
            x = beam.station(position)
            station = self._add_station(self.segments[name][0], x)
            _, origin = beam.section_pose(x)
            return (self.segments[name][0], station), rotation, position - origin
        x = min(max(beam.station(position), 0.0), beam.length)
        bodies, segment_length = self.segments[name], beam.length / beam.segments
        segment = min(int(x / segment_length * (1 + 1e-12)), beam.segments - 1)
        station = self._add_station(bodies[segment], x - segment * segment_length)
        if beam.axis is not None:
            axes, origin = beam.section_pose(x)
            return (bodies[segment], station), axes.T @ rotation, axes.T @ (position - origin)
        offset = beam.axes.T @ position
        offset[0] -= x
        return (bodies[segment], station), beam.axes.T @ rotation, offset

    def _add_constraint(self, constraint):
        """Add a closed loop; a frame on a beam is fixed to a body at its station."""
        frames = [
            self._fixed_frame(
                constraint.parent, constraint.parent_rotation, constraint.parent_position
            ),
            self._fixed_frame(
                constraint.child, constraint.child_rotation, constraint.child_position
            ),
        ]
        self._add_rows(constraint, frames)

    def _add_contact(self, contact):
        """Add the points of a contact, each with each surface; both may be on beams."""
        start, names = len(self.contact_rows), [joint.name for joint in self.joints]
        inertias = dict(zip(names, largest_inertias(self.description)))

        def mass_at(link, position):
            return moved_mass(self.description, self.moments_beyond, inertias, link, position)

        for position, radius, surface in contact.pairs():
            point = self._fixed_frame(contact.link, np.eye(3), position)
            place = Frame(WORLD_BODY, surface.rotation, surface.position)
            mass = mass_at(contact.link, position)
            if contact.against != WORLD:
                place = self._fixed_frame(contact.against, surface.rotation, surface.position)
                mass = min(mass, mass_at(contact.against, surface.position))
            self.contact_rows.append(
                ContactRow(point.body, point.p, radius, place, surface, contact, mass)
            )
        self.contacts[contact.name] = slice(start, len(self.contact_rows))

    def _fixed_frame(self, link, rotation, position):
        """Frame with a pose in a link, fixed to a body; on a beam, to one at its station."""
        (body, station), R, p = self._attachment(link, rotation, position)
        return Frame(body, R, p) if station < 0 else self._frame_at(station, R, p)

    def _frame_at(self, station, R, p):
        """Return the Frame with the pose R, p at a station; without a body there, add one."""
        place, stations = self.stations[station], self.row['station']
        for i in range(len(stations)):
            is_fixed = stations[i] >= 0 and self.row['joint'][i] < 0
            if is_fixed and self.stations[stations[i]] == place:
                home_R, home_p = self.row['home_R'][i], self.row['home_p'][i]
                return Frame(i, home_R.T @ R, home_R.T @ (p - home_p))
        body = self._add_body(place[0], station, -1, R, p, np.zeros(6))
        return Frame(body, np.eye(3), np.zeros(3))

    def _add_mimic(self, joint, constraint):
        """Add a mimic joint; its frames are those of the links that it and its leader move."""
        names = joint.mimics, joint.name
        bodies = [self.carried_bodies[name][0] for name in names]
        self._add_rows(constraint, [Frame(body, np.eye(3), np.zeros(3)) for body in bodies])

    def _add_rows(self, constraint, frames):
        start = sum(len(constraint_rows(loop.constraint)) for loop in self.closed_loops.values())
        rows = slice(start, start + len(constraint_rows(constraint)))
        self.closed_loops[constraint.name] = ClosedLoop(constraint, rows, *frames)

    def _add_station(self, body, x):
        self.stations.append((body, x))
        return len(self.stations) - 1

    def _add_body(self, parent, station, joint, R, p, screw):
        for name, value in (
            ('parent', parent),
            ('station', station),
            ('joint', joint),
            ('home_R', R),
            ('home_p', p),
            ('screw', screw),
            ('inertia', np.zeros((6, 6))),
            ('beam', None),
        ):
            self.row[name].append(value)
        return len(self.row['parent']) - 1

    def _add_beam(self, link, body):
        """Give `body` the first segment of the beam, and add bodies for the others."""
        beam = link.beam
        bodies = [body]
        for _ in range(beam.segments - 1):
            station = self._add_station(bodies[-1], beam.length / beam.segments)
            bodies.append(
                self._add_body(bodies[-1], station, -1, np.eye(3), np.zeros(3), np.zeros(6))
            )
        for row, piece in zip(bodies, self._pieces(link.name, beam)):
            self.row['beam'][row] = piece
            self.damping[row] = beam.damping_ratio, beam.damping_time
            if beam.guide:  # does not couple with other links
                self.damping[row] = 0.0, 0.0
        self.segments[link.name] = bodies
        end = beam.length / beam.segments if beam.reduced is None else beam.station(beam.end)
        self.tips[link.name] = bodies[-1], self._add_station(bodies[-1], end)

    def _pieces(self, link, beam):
        """Beams or spatial beams of all segments of a link."""
        if beam.reduced is not None:
            _, tip = beam.section_pose(beam.station(beam.end))
            return [
                beam.reduced.with_load(_end_load(self.moments_beyond[link].moved(np.eye(3), -tip)))
            ]
        load = self._load_at_tip(link, beam)
        if beam.axis is not None:
            return cut_spatial_beam(
                beam.axis, beam.section_matrices, beam.freedom, beam.segments, load
            )
        beams = cut_beam(
            beam.length,
            beam.section,
            beam.coordinates,
            beam.segments,
            beam.elements,
            beam.boundary,
            load,
            beam.profile,
        )
        # the coupling is of second order, as shortening is
        is_coupled = beam.twist_coupling and self.coupling == 'shortening'
        return [coupled_beam(one) for one in beams] if is_coupled else beams

    def _load_at_tip(self, link, beam):
        """Return the Load of all bodies beyond a flexible link, in the frame of its tip."""
        axes, _ = beam.section_pose(beam.length)
        return _end_load(self.moments_beyond[link].moved(axes.T, -axes.T @ beam.end))

    def arm(self):
        """Return the ArmModel."""
        beams = self.row.pop('beam')
        joints, motors = self.joints, [j for j in self.joints if np.isfinite(j.stiffness)]
        sizes = [b.size + (i in self.slides) for i, b in enumerate(beams) if b is not None]
        n = max(sizes, default=1)
        width = max([beam.width for beam in _plain(beams)], default=1)
        self.elastic = max([beam.size for beam in beams if beam and beam.is_spatial], default=0)
        modes = np.array([0 if beam is None else beam.size for beam in beams], int)
        base = self._base_rows(len(joints) + len(motors))
        first = len(joints) + len(motors) + len(base) + np.cumsum(modes) - modes
        sliding = sliding_rows(beams, self.slides, n, self.coupling)
        is_base = np.arange(modes.size) == (0 if len(base) else -1)  # a free one
        arrays = ArmArrays(
            **{name: np.array(self.row[name], int) for name in ('parent', 'station', 'joint')},
            **{
                name: np.array(self.row[name], float).reshape((-1, *shape))
                for name, shape in (('home_R', (3, 3)), ('home_p', (3,)), ('screw', (6,)))
            },
            inertia=self._inertia_rows(beams),
            kind=np.array(
                [SLIDING if i in self.slides else body_kind(beam) for i, beam in enumerate(beams)],
                int,
            ),
            **sliding,
            **block_rows(modes, first, sliding['slide'], n),
            modes=modes,
            first=first,
            **self._beam_rows(beams, n, width),
            **self._station_rows(beams, n, width),
            **self._joint_rows(joints, motors),
            # computed from the others below
            inertia_scale=np.zeros(0),
            damping=np.zeros((0, n, n)),
            shared=np.zeros((0, 0)),
            shared_T=np.zeros((0, 0)),
            base_acceleration=np.concatenate([np.zeros(3), -self.gravity]),
            base=base,
            **row_arrays(
                [*self.closed_loops.values()],
                self.row['parent'],
                (np.array(self.row['joint']) >= 0) | (modes > 0) | is_base,
            ),
            **contact_arrays(self.contact_rows),
        )
        damping = np.array([self.damping.get(i, (0.0, 0.0)) for i in range(len(beams))])
        inertia = elastic_inertia(arrays)
        local, shared = damping_matrices(arrays, inertia, *damping.reshape(-1, 2).T)
        for link, bodies in self.segments.items():
            beam = self.description.beam(link)
            if beam.guide:
                m = beams[bodies[0]].size
                local[bodies[0], :m, :m] = ratio_damping(
                    beams[bodies[0]], beam.damping_ratio, self._load_at_tip(link, beam)
                )
        inertia_scale = [
            self.largest,
            arrays.rotor[arrays.motor >= 0],
            base_inertias(self.description, base[:, 1]),
            np.diag(inertia),
        ]
        arrays = arrays._replace(
            damping=local,
            shared=shared,
            inertia_scale=np.concatenate(inertia_scale),
            shared_T=np.ascontiguousarray(shared.T),
        )
        make_read_only((self.frames, self.carried_bodies, self.closed_loops))
        return ArmModel(
            arrays=arrays,
            joint_names=tuple(joint.name for joint in joints),
            motor_names=tuple(joint.name for joint in motors),
            coordinate_names=self._names(beams),
            frames=self.frames,
            segments=self.segments,
            tips=self.tips,
            carried_bodies=self.carried_bodies,
            description=self.description,
            coupling=self.coupling,
            beams={i: beam for i, beam in enumerate(beams) if beam is not None},
            closed_loops=self.closed_loops,
            contacts=self.contacts,
        )

    def _base_rows(self, first):
        """Index and component of the twist of each coordinate of a free base, (b, 2)."""
        joint = self.description.free_joint
        if joint is not None and not any(
            link.beam or link.inertial for link in self.description.links
        ):
            raise SettingError(
                f'the free base of {self.description.source} carries no mass, so that the robot '
                'can be drawn, but not simulated'
            )
        components = () if joint is None else FREE_COMPONENTS[joint.kind]
        return np.array(
            [(first + k, component) for k, component in enumerate(components)], int
        ).reshape(-1, 2)

    def _inertia_rows(self, beams):
        """Inertia (6, 6) of the rigid part of every body, and of the sections of its beam."""
        rows = [
            inertia if beam is None else inertia + self._beam_inertia(beam)
            for inertia, beam in zip(self.row['inertia'], beams)
        ]
        return np.array(rows).reshape(-1, 6, 6)

    def _beam_inertia(self, beam):
        """Inertia (6, 6) of an undeformed spatial beam, or of the sections of a beam."""
        return integrals_of(beam, self.coupling).inertia if beam.is_spatial else _rotary(beam)

    def _beam_rows(self, beams, n, width):
        """Rows of ArmArrays for elastic coordinates and mass points, padded to n coordinates."""
        bodies = len(beams)
        rows = {
            'count': np.zeros((bodies, 4), int),
            'reach': np.zeros(bodies, int),
            'stiffness': np.zeros((bodies, n, n)),
            'modal_mass': np.zeros((bodies, n, n)),
            'rotary': np.zeros((bodies, 3, n)),
            **elastic_rows(
                [beam if beam and beam.is_spatial else None for beam in beams],
                self.coupling,
                self.elastic,
            ),
        }
        start, points = [0], []
        for i, beam in enumerate(beams):
            if beam is not None and beam.is_spatial:
                m = beam.size
                rows['stiffness'][i, :m, :m] = beam.stiffness
                rows['modal_mass'][i, :m, :m] = integrals_of(beam, self.coupling).E0
            elif beam is not None:
                m = beam.size
                rows['count'][i], rows['reach'][i] = beam.count, beam.reach
                rows['stiffness'][i, :m, :m] = beam.stiffness
                rows['modal_mass'][i, :m, :m] = beam.modal_mass
                rows['rotary'][i, :, :m] = beam.rotary
                make = _cached_points if len(beam.stations) <= MAX_REDUCIBLE_POINTS else _points
                if i not in self.slides:
                    points.append(make(beam, n, width, self.coupling))
            start.append(sum(len(part.mass) for part in points))
        no_points = MassPoints(np.zeros(0), np.zeros(0), np.zeros((0, n)), np.zeros((0, n, width)))
        return {
            **rows,
            'point_start': np.array(start),
            **{
                f'point_{name}': np.concatenate(parts)
                for name, *parts in zip(MassPoints._fields, no_points, *points)
            },
        }

    def _station_rows(self, beams, n, width):
        cut = any(beam.is_segment for beam in _plain(beams))
        k = SETBACK_POINTS if cut and self.coupling == 'shortening' else 0
        size = StationSize(n, width, k, self.elastic)
        rows = [station_row(beams[body], x, size, self.coupling) for body, x in self.stations]
        for row, (body, _) in zip(rows, self.stations):
            if body in self.slides:  # of a unit beam
                row['station_slope'] = beams[body].length * row['station_slope']
        s = len(rows)
        shapes = {
            'station_x': (s,),
            'station_shape': (s, n),
            'station_slope': (s, n),
            'station_H': (s, n, width),
            'station_setback': (s, k, n),
            'station_home_R': (s, 3, 3),
            'station_home_p': (s, 3),
            'station_U': (s, self.elastic, 6),
            'station_Q': (s, self.elastic, self.elastic, 6),
        }
        return {
            name: np.array([row[name] for row in rows], float).reshape(shape)
            for name, shape in shapes.items()
        }

    def _joint_rows(self, joints, motors):
        motor = [len(joints) + motors.index(joint) if joint in motors else -1 for joint in joints]
        inertias = self.largest = largest_inertias(self.description)
        for joint, inertia in zip(joints, inertias):
            if not inertia > 0:
                raise SettingError(
                    f'joint "{joint.name}" of {self.description.source} carries no '
                    'mass, so that the robot can be drawn, but not simulated'
                )
        stop = inertias * (2 * np.pi * STOP_FREQUENCY) ** 2
        slip_stiffness, slip_limit = slip_tables(joints)
        has_gear = [joint in motors for joint in joints]
        values = {
            'rotor': [joint.reflected_inertia for joint in joints],
            'gear_stiffness': [j.stiffness if g else 0.0 for j, g in zip(joints, has_gear)],
            'gear_damping': [joint.damping for joint in joints],
            'friction': friction_rows(joint.friction for joint in joints),
            **drive_law_tables(joints),
            'slip_stiffness': slip_stiffness,
            'slip_limit': slip_limit,
            'spring': [joint.spring_stiffness for joint in joints],
            'spring_rest': [joint.spring_reference for joint in joints],
            'lower': [joint.lower for joint in joints],
            'upper': [j.upper for j in joints],
            'stop_stiffness': stop,
            'stop_damping': 2 * np.sqrt(stop * inertias),
            'stop_depth': [STOP_DEPTH] * len(joints),
        }
        return {
            'motor': np.array(motor, int),
            **{name: np.array(value, float) for name, value in values.items()},
        }

    def _names(self, beams):
        names = [joint.name for joint in self.joints]
        names += [f'{joint.name}/motor' for joint in self.joints if np.isfinite(joint.stiffness)]
        base = self.description.free_joint
        if base is not None:
            names += [f'{base.name}/{BASE_RATES[k]}' for k in FREE_COMPONENTS[base.kind]]
        owner = {
            body: (link, number)
            for link, bodies in self.segments.items()
            for number, body in enumerate(bodies)
        }
        for body, beam in enumerate(beams):
            if beam is not None:
                link, number = owner[body]
                part = f'/{number + 1}' if len(self.segments[link]) > 1 else ''
                names += [f'{link}{part}/{name}' for name in beam.names]
        return tuple(names)


def _plain(beams):
    """Straight beams without twist or coupled sections."""
    return [beam for beam in beams if beam is not None and not beam.is_spatial]


def _points(beam, n, width, coupling):
    """Fewest MassPoints of a beam, padded to n coordinates."""
    H = np.zeros((beam.stations.size, n, width))
    if coupling == 'shortening':
        band = beam.shortening_band(beam.stations)
        H[:, : band.shape[1], : band.shape[2]] = band
    # every coordinate displaces a point along one axis only
    return reduced_points(
        MassPoints(beam.station_mass, beam.stations, _padded(beam.Phi.sum(axis=1), n), H),
        always=beam.profile is not None,
    )


_cached_points = lru_cache(maxsize=BEAM_CACHE_SIZE)(_points)  # the beams are cached, too


def _padded(values, n):
    """Rows (k, m) or one row (m,) with zeros up to n columns."""
    rows = np.atleast_2d(values)
    return np.pad(rows, [(0, 0), (0, n - rows.shape[1])])


def _inertia(inertial, R, p):
    """Inertia (6, 6) of a link about the frame of its body, in which it has the pose R, p."""
    matrix = np.empty((6, 6))
    set_body_inertia(inertial.mass, R @ inertial.centre + p, R @ inertial.inertia @ R.T, matrix)
    return matrix


def _rotary(beam):
    """Inertia (6, 6) of the sections of a beam about their own axes."""
    matrix = np.zeros((6, 6))
    matrix[range(3), range(3)] = beam.section_moments
    return matrix


def _end_load(moments):
    """Load at the tip of a beam, from mass moments in the frame of the tip."""
    mass, first, second = moments.mass, moments.first, moments.second
    centre = first / mass if mass > 0 else first
    return Load(mass, centre, np.trace(second) * np.eye(3) - second)
