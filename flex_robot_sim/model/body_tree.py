"""Bodies of an arm, base to tip: where each is attached, and the frames of the links on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from flex_robot_sim.description.bodies import Moments
from flex_robot_sim.description.links import ElasticBeam
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.elastic import Load, cut_beam, cut_spatial_beam
from flex_robot_sim.elastic.coupled_beam import coupled_beam
from flex_robot_sim.model.arm_model import Frame
from flex_robot_sim.model.composite_inertia import joint_pose, moments_beyond
from flex_robot_sim.model.free_base import base_axes
from flex_robot_sim.spatial.screws import set_body_inertia


class BodyTree:
    """
    Bodies, stations and frames of a description; `fixed_frame` may add a body.

    Rigid links that are fixed together are one body, and each segment of a flexible link is one.
    """

    def __init__(self, description: RobotDescription, coupling: str) -> None:
        self.description, self.coupling = description, coupling
        self.moments_beyond, _ = moments_beyond(description)
        self.joints = [joint for joint in description.joints if joint.moves]
        self.row: dict[str, list[Any]] = {  # columns of ArmArrays by body, and its beam
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
        self.stations: list[tuple[int, float]] = []  # body, x [m]
        self.damping: dict[int, tuple[float, float]] = {}  # body -> ratio, time constant [s]
        # body of a sliding link -> joint, free length at zero [m], time constant [s]
        self.slides: dict[int, tuple[int, float, float]] = {}
        self.frames: dict[str, Frame] = {}  # and so on, as in ArmModel
        self.segments: dict[str, list[int]] = {}
        self.tips: dict[str, tuple[int, int]] = {}
        self.carried_bodies: dict[str, tuple[int, Frame]] = {}
        parent_joints = dict(zip(description.links[1:], description.joints))
        for link in description.links:
            self._add_link(link, parent_joints.get(link))

    def fixed_frame(self, link: str, rotation: np.ndarray, position: np.ndarray) -> Frame:
        """Return the Frame with a pose in a link; on a beam, that of a body at its station."""
        (body, station), R, p = self._attachment(link, rotation, position)
        return Frame(body, R, p) if station < 0 else self._frame_at(station, R, p)

    def load_at_tip(self, link: str, beam: ElasticBeam) -> Load:
        """Return the Load of all bodies beyond a flexible link, in the frame of its tip."""
        axes, _ = beam.section_pose(beam.length)
        return _end_load(self.moments_beyond[link].moved(axes.T, -axes.T @ beam.end))

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
        load = self.load_at_tip(link, beam)
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


def _inertia(inertial, R, p):
    """Inertia (6, 6) of a link about the frame of its body, in which it has the pose R, p."""
    matrix = np.empty((6, 6))
    set_body_inertia(inertial.mass, R @ inertial.centre + p, R @ inertial.inertia @ R.T, matrix)
    return matrix


def _end_load(moments: Moments) -> Load:
    """Load at the tip of a beam, from mass moments in the frame of the tip."""
    mass, first, second = moments.mass, moments.first, moments.second
    centre = first / mass if mass > 0 else first
    return Load(mass, centre, np.trace(second) * np.eye(3) - second)
