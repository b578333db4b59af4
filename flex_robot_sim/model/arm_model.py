"""The arm for simulation and analysis: its arrays, and the names and places of its parts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.model.arm_arrays import ArmArrays, motor_coordinates
from flex_robot_sim.model.slide_columns import LENGTH, MASS_PER_LENGTH
from flex_robot_sim.util.read_only import make_read_only
from flex_robot_sim.util.serialization import Serializable
from flex_robot_sim.util.summary import SummaryRows, counted, listed, numbers, summarized

if TYPE_CHECKING:
    from flex_robot_sim.description.constraint import Constraint
    from flex_robot_sim.description.robot import RobotDescription


class Frame(NamedTuple):
    """Placement of a link: the body it is fixed to (-1: the base), and its pose there."""

    body: int
    R: np.ndarray  # (3, 3)  rotation in the frame of the body
    p: np.ndarray  # (3,)    origin there                                      [m]


class ClosedLoop(NamedTuple):
    """A constraint of the description, or a mimic joint, and its frames on bodies of an arm."""

    constraint: Constraint
    rows: slice  # among all rows of constraints
    parent: Frame
    child: Frame


@dataclass(frozen=True, eq=False)
class Payload:
    """A rigid body attached to a link of one arm."""

    link: str
    mass: float  # [kg]
    centre: np.ndarray  # (3,)      in the link frame                               [m]
    inertia: np.ndarray  # (3, 3)    about the centre, in the axes of the link   [kg m2]
    body: int  # row of the body that the link is fixed to
    added: np.ndarray  # (6, 6)    added to the inertia of this body              [SI]


@summarized
@dataclass(frozen=True, eq=False)
class ArmModel(Serializable):
    """
    Model of an arm for simulation and analysis; it is immutable, and its arrays are read-only.

    `load`, `ArmBuilder.build`, `with_parameters` and `with_payload` return one. Indices such as
    `joint_q` select coordinates of `q`, (nq,) [rad, m], and of `v`, (nv,).

    Example::

        arm = frs.load('two_link')
        q = np.zeros(arm.nq)
        arm.set_joints(q, [0.0, 0.5, -0.8])         # on the motor and the link side
        assert np.allclose(q[arm.joint_q], q[arm.motor_q])
        assert arm.coordinate_names[arm.idx_q['elbow']] == 'elbow'
    """

    arrays: ArmArrays
    joint_names: tuple[str, ...]  # of the movable joints, base to tip
    motor_names: tuple[str, ...]  # of those with an elastic gear, base to tip
    coordinate_names: tuple[str, ...]  # of all coordinates: joints, motors, elastic
    frames: dict[str, Frame]  # of every link
    segments: dict[str, list[int]]  # flexible link -> rows of its bodies
    tips: dict[str, tuple[int, int]]  # flexible link -> (body, station) of its far end
    carried_bodies: dict[str, tuple[int, Frame]]  # joint -> body of its child link, and Frame
    #                                                 of the link there
    description: RobotDescription
    coupling: str = 'shortening'
    beams: dict[int, Any] = field(default_factory=dict)  # Beam or SpatialBeam, by body
    payloads: tuple[Payload, ...] = ()  # rigid bodies that `with_payload` added
    closed_loops: dict[str, ClosedLoop] = field(default_factory=dict)  # by constraint
    contacts: dict[str, slice] = field(default_factory=dict)  # contact -> its rows

    def __post_init__(self) -> None:
        # an arm is shared by simulations, processes and caches; compiled code reads it by pointer
        object.__setattr__(self, 'arrays', self.arrays.read_only())  # type: ignore

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self.__post_init__()
        make_read_only(
            (self.frames, self.carried_bodies, self.beams, self.payloads, self.closed_loops)
        )

    @property
    def tool(self) -> str:
        """Name of the tool link."""
        return self.description.tool.link

    @property
    def size(self) -> int:
        """Number of coordinates, and of their rates."""
        return len(self.coordinate_names)

    nq = nv = size  # as in Pinocchio

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all links; `pose` takes them."""
        return tuple(self.frames)

    def elastic_coordinates(self, body: int) -> slice:
        """Slice of the elastic coordinates of a body."""
        first = int(self.arrays.first[body])
        return slice(first, first + int(self.arrays.modes[body]))

    def beams_of(self, link: str) -> list[tuple[Any, slice]]:
        """Return the beam of each segment of a flexible link, root to tip, and its coordinates."""
        return [(self.beams[body], self.elastic_coordinates(body)) for body in self.segments[link]]

    def length(self, link: str) -> float:
        """Length of a flexible link with all its segments [m]."""
        return sum(self.beams[body].length for body in self.segments[link])

    @property
    def idx_q(self) -> dict[str, int]:
        """Index in q and v of each joint, on its link side, by name."""
        return {name: k for k, name in enumerate(self.joint_names)}

    idx_v = idx_q

    @property
    def joint_q(self) -> slice:
        """Slice of the joints in q and v, on their link side."""
        return slice(len(self.joint_names))

    @property
    def motor_q(self) -> np.ndarray:
        """Index in q and v of each motor, (joints,); without elastic gear, that of the joint."""
        return motor_coordinates(self.arrays)

    @property
    def actuated(self) -> np.ndarray:
        """Whether a motor drives each joint, (joints,); see `actuated_joint_names`."""
        actuated = {*self.description.actuated_joint_names}
        return np.array([name in actuated for name in self.joint_names], bool)

    @property
    def drive_q(self) -> np.ndarray:
        """Index in q and v of each motor, except for those of passive joints."""
        return self.motor_q[self.actuated]

    @property
    def passive_q(self) -> np.ndarray:
        """Indices in q and v that no motor moves: elastic, passive, or behind elastic gears."""
        is_passive = np.ones(self.size, bool)
        is_passive[self.drive_q] = False
        return np.flatnonzero(is_passive)

    @property
    def elastic_q(self) -> slice:
        """Slice of the elastic coordinates of links in q and v."""
        return slice(self.base_q.stop, self.size)

    @property
    def base_q(self) -> slice:
        """Slice of a free base in q and v: six if it floats, three if it is planar, or none."""
        first = len(self.joint_names) + len(self.motor_names)
        return slice(first, first + len(self.arrays.base))

    @property
    def has_free_base(self) -> bool:
        """Whether the joint at the root is floating or planar."""
        return len(self.arrays.base) > 0

    def set_joints(self, coordinates: np.ndarray, values: ArrayLike) -> None:
        """Write values (..., joints) to link and motor side of q or v, (..., nq), in place."""
        coordinates[..., self.joint_q] = coordinates[..., self.motor_q] = values

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each joint: 'rad' if revolute, 'm' if prismatic; velocities are per second."""
        return tuple(joint.type.unit for joint in self.description.joints if joint.moves)

    @property
    def effort_units(self) -> tuple[str, ...]:
        """Unit of the effort of each joint: 'N m' if revolute, 'N' if prismatic."""
        return tuple(joint.type.effort_unit for joint in self.description.joints if joint.moves)

    def _summary(self) -> tuple[str, SummaryRows]:
        arrays, flexible = self.arrays, []
        for link, bodies in self.segments.items():
            parts = f'{len(bodies)} segments, ' if len(bodies) > 1 else ''
            flexible.append(f'{link} ({parts}{counted(arrays.modes[bodies].sum(), "coordinate")})')
        mass = arrays.inertia[:, 3, 3].sum() + arrays.point_mass.sum()
        mass += (arrays.slide_data[:, LENGTH] * arrays.slide_data[:, MASS_PER_LENGTH]).sum()
        rows = [
            ('joints', self.joint_names),
            ('flexible joints', self.motor_names),
            ('flexible links', flexible),
            ('closed loops', self.closed_loops),
            ('links', self.frames),
        ]
        heading = (
            f'ArmModel of "{self.description.name}": {counted(len(self.joint_names), "joint")}, '
            f'{counted(self.size, "coordinate")}'
        )
        return heading, [
            *((label, listed(words)) for label, words in rows if words),
            ('mass', f'{mass:.4g} kg' + (' without the base' if not self.has_free_base else '')),
            ('gravity', f'{numbers(-arrays.base_acceleration[3:] + 0.0)} m/s2'),
            ('coupling', self.coupling),
            ('source', self.description.source),
        ]


def with_stiffness(arm: ArmModel, factor: float) -> ArmModel:
    """Return an ArmModel whose links and gears have `factor` times their stiffness."""
    if factor == 1.0:
        return arm
    return replace(
        arm,
        arrays=arm.arrays._replace(
            stiffness=factor * arm.arrays.stiffness,
            gear_stiffness=factor * arm.arrays.gear_stiffness,
            slide_G=factor * arm.arrays.slide_G,
            slide_Q=factor * arm.arrays.slide_Q,
        ),
    )
