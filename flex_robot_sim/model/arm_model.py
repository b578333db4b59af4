"""
The arm as flat arrays for the dynamics: one row per body, base to tip.

Rigid links that are fixed together are one body; an elastic link is one body per segment. A link
on an elastic body is always a separate body, because its station moves relative to the root.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.jit.array_table import (
    Matrices3,
    Matrices6,
    Vectors3,
    Vectors6,
    pass_by_pointer,
    zeros,
)
from flex_robot_sim.model.dc_motor import COLUMNS, DcMotors
from flex_robot_sim.model.drive_laws import GearPieces, Harmonics
from flex_robot_sim.model.friction import FrictionRows
from flex_robot_sim.model.slide_columns import LENGTH, MASS_PER_LENGTH
from flex_robot_sim.model.slip_elements import SlipTable
from flex_robot_sim.spatial.turns import quaternion
from flex_robot_sim.util.read_only import make_read_only
from flex_robot_sim.util.serialization import Serializable
from flex_robot_sim.util.summary import SummaryRows, counted, listed, numbers, summarized

if TYPE_CHECKING:
    from flex_robot_sim.description.constraint import Constraint
    from flex_robot_sim.description.robot import RobotDescription


@pass_by_pointer
class ArmArrays(NamedTuple):
    """Model data of the compiled functions. Bodies: i, joints: j, stations: s, points: g."""

    parent: np.ndarray  # (i,)       row of the parent body, -1 for the fixed base
    station: np.ndarray  # (i,)       parent station of body i, -1 on a rigid parent
    joint: np.ndarray  # (i,)       joint that moves body i, -1 if it is fixed
    home_R: Matrices3  # (i, 3, 3)  rotation of body i in its parent or station at zero
    home_p: Vectors3  # (i, 3)     its origin there                               [m]
    screw: Vectors6  # (i, 6)     axis (omega, v) of its joint, in body i        [-, m]
    inertia: Matrices6  # (i, 6, 6)  rigid part of body i, about its frame          [SI]
    kind: np.ndarray  # (i,)       of the body, see body_kinds.py
    modes: np.ndarray  # (i,)       number of elastic coordinates, 0: rigid
    first: np.ndarray  # (i,)       the first of them among all coordinates
    # (i, 4)  of bending_y, bending_z, torsion, stretch, in order; tuples have a `count`, too
    count: np.ndarray  # type: ignore[assignment]
    reach: np.ndarray  # (i,)       row k of H starts at column k - reach of its direction
    stiffness: np.ndarray  # (i, n, n)  of the elastic coordinates                     [SI]
    damping: np.ndarray  # (i, n, n)  part of the damping within one body            [SI]
    shared: np.ndarray  # (e, r)     S of the coupled part, S S^T on all e (T5)     [SI]
    shared_T: np.ndarray  # (r, e)     its transpose
    modal_mass: np.ndarray  # (i, n, n)  constant part of E (T22)                       [SI]
    rotary: np.ndarray  # (i, 3, n)  rotary inertia of the sections by coordinate   [SI]
    point_start: np.ndarray  # (i + 1,)   mass points of body i: [start[i], start[i + 1])
    point_mass: np.ndarray  # (g,)       [kg]
    point_x: np.ndarray  # (g,)       along the beam                                 [m]
    point_shape: np.ndarray  # (g, n)     displacement by coordinate
    point_H: np.ndarray  # (g, n, b)  shortening s = -1/2 e^T H e (T10), see `reach`
    # coordinates of an elastic body, those of `first` and the free length of a sliding link
    block: np.ndarray  # (i,)       their number
    own: np.ndarray  # (i, n)     their indices
    slide: np.ndarray  # (i,)       joint of a sliding link, -1: of no such link
    slide_data: np.ndarray  # (i, c)     see dynamics/sliding_body.py; i: 0 without such links
    slide_xi: np.ndarray  # (g,)       Gauss points of the free length, as shares
    slide_weight: np.ndarray  # (g,)
    # phi, chi, zeta (T119), and phi' if it shortens, of a unit beam, by coordinate of bending
    slide_shape: np.ndarray  # (i, g, 4, n)
    slide_turn: np.ndarray  # (i, 3, n)  integrals of turns and two rates with their inertia
    slide_gram: np.ndarray  # (i, 6, n, n)  of their products, and of shapes with the mass  [SI]
    slide_H: np.ndarray  # (i, g, n, n)  its shortening up to a point, and
    slide_tip_H: np.ndarray  # (i, n, n)  up to the tip
    slide_root: np.ndarray  # (i, n)     curvature or twist at its root, by coordinate
    slide_G: np.ndarray  # (i, n, n)  of (T122): c with the rate by s, and
    slide_Q: np.ndarray  # (i, n, n)  the rate by s with itself                [SI]
    station_x: np.ndarray  # (s,)       along the beam                                 [m]
    station_shape: np.ndarray  # (s, n)     displacement, or turn in torsion, by coordinate
    station_slope: np.ndarray  # (s, n)     v' and w' by coordinate
    station_H: np.ndarray  # (s, n, b)  shortening up to the station
    station_setback: np.ndarray  # (s, k, n)  rows whose cubes give its lateral setback (T10)
    # elastic bodies with m coordinates at most, see dynamics/elastic_inertia.py
    elastic_gram: np.ndarray  # (i,)       rows G for the products of second fields
    elastic_constant: np.ndarray  # (i, 12 m)  S1, J1, h0 by coordinate                [SI]
    elastic_slope: np.ndarray  # (i, m, w)  slopes of these and of X, G by coordinate  [SI]
    elastic_C: np.ndarray  # (i, c, c, c)  of the cubic strain energy, c = m or 0   [SI]
    station_home_R: Matrices3  # (s, 3, 3)  pose of the station of an undeformed body
    station_home_p: Vectors3  # (s, 3)                                                 [m]
    station_U: Vectors6  # (s, m, 6)     its rotation and displacement by coordinate  [-, m]
    station_Q: Vectors6  # (s, m, m, 6)  their second derivatives                     [-, m]
    motor: np.ndarray  # (j,)       coordinate of the motor side, -1: rigid drive
    rotor: np.ndarray  # (j,)       inertia of the rotor behind the gear       [kg m2, kg]
    gear_stiffness: np.ndarray  # (j,)       [N m/rad, N/m]
    gear_damping: np.ndarray  # (j,)       [N m s/rad, N s/m]
    friction: FrictionRows  # (j, 6)     in the drive; friction.py names the columns
    has_gear_law: np.ndarray  # (j,)       hysteresis, backlash, several stiffnesses or error
    gear_corner: GearPieces  # (j, p)     twist where a piece of the spring begins   [rad, m]
    gear_share: GearPieces  # (j, p)     its stiffness over gear_stiffness
    kinematic_error: Harmonics  # (j, h, 3)  of the gear: amplitude, wave number, phase
    has_motor_law: np.ndarray  # (j,)       cogging, torque ripple, or a DC motor
    cogging: Harmonics  # (j, h, 3)  torque of the motor, as above
    torque_ripple: Harmonics  # (j, h, 3)  share of the motor effort, as above
    slip_stiffness: SlipTable  # (j, 2, e)  of Maxwell-slip elements, of gear and friction
    slip_limit: SlipTable  # (j, 2, e)  their largest deflections                [rad, m]
    spring: np.ndarray  # (j,)       parallel to the motor               [N m/rad, N/m]
    spring_rest: np.ndarray  # (j,)       its position without force                    [rad, m]
    lower: np.ndarray  # (j,)       lower stop                                    [rad, m]
    upper: np.ndarray  # (j,)       upper stop                                    [rad, m]
    stop_stiffness: np.ndarray  # (j,)       [N m/rad, N/m]
    stop_damping: np.ndarray  # (j,)       [N m s/rad, N s/m]
    stop_depth: np.ndarray  # (j,)       penetration with full damping                 [rad, m]
    inertia_scale: np.ndarray  # (n,)       typical inertia of each coordinate         [kg m2, kg]
    base_acceleration: Vectors6  # (6,)      acceleration of the base, equivalent to gravity
    base: np.ndarray  # (b, 2)    coordinates of a free base, body 0: index, component of twist
    # rows of closed loops, c, see constraint_rows.py
    constraint_kind: np.ndarray  # (c,)
    constraint_body: np.ndarray  # (c, 2)    bodies of parent and child, -1 for the fixed base
    constraint_point: Vectors3  # (c, 2, 3) origins of the frames in these bodies          [m]
    constraint_axis: Vectors3  # (c, 2, 3) unit vectors in these bodies
    constraint_length: np.ndarray  # (c,)     of a distance, offset of a mimic joint     [m, rad]
    constraint_ratio: np.ndarray  # (c,)      of a mimic joint
    constraint_stiffness: np.ndarray  # (c,)   0: rigid                         [N/m, N m/rad]
    constraint_damping: np.ndarray  # (c,)     of a row with stiffness      [N s/m, N m s/rad]
    constraint_rows: np.ndarray  # (k, 2)    first and end row of each constraint
    constraint_path: np.ndarray  # (i,)      whether body i moves a row
    has_coordinates: np.ndarray  # (i,)      whether body i, or one beyond it, has any
    # points of links, g, each with a surface that it may touch, see contact_rows.py
    contact_kind: np.ndarray  # (g,)      of the surface
    contact_body: np.ndarray  # (g, 2)    bodies of surface and point, -1 for the fixed base
    contact_point: Vectors3  # (g, 3)    centre of the point in its body                   [m]
    contact_radius: np.ndarray  # (g,)    around it                                        [m]
    contact_size: Vectors3  # (g, 3)     of the surface                                   [m]
    contact_R: Matrices3  # (g, 3, 3)    pose of the surface in its body
    contact_p: Vectors3  # (g, 3)                                                         [m]
    contact_friction: np.ndarray  # (g,)
    contact_stiffness: np.ndarray  # (g,)                                               [N/m]
    contact_damping: np.ndarray  # (g,)  full damping                                 [N s/m]


@pass_by_pointer
class Workspace(NamedTuple):
    """Work arrays of one thread; shapes as in ArmArrays."""

    R: Matrices3  # (i, 3, 3)  pose of body i in the frame of its parent
    origin: Vectors3  # (i, 3)
    root_R: Matrices3  # (3, 3)     pose of the base; the identity for a fixed one
    root_p: Vectors3  # (3,)
    base_moves: np.ndarray  # (1,)       whether the motion of the base is prescribed
    root_V: Vectors6  # (6,)       of such a base: its twist, in its axes
    root_rate: Vectors6  # (6,)       rate of this twist, the mean one within a step
    start_R: Matrices3  # (3, 3)     pose and twist at the start of a substep
    start_p: Vectors3  # (3,)
    start_V: Vectors6  # (6,)
    base_pose: np.ndarray  # (7,)       of a free base, where its coordinates are zero: position
    #                                    and quaternion (x, y, z, w)
    base_start: np.ndarray  # (7,)      the same at the start of a step
    base_factor: Matrices6  # (6, 6)    Cholesky factor of the inertia of a free base
    base_force: Vectors6  # (6,)       on its coordinates
    momentum: np.ndarray  # (9,)       about the centre of mass, linear, and this centre  [SI]
    composite: np.ndarray  # (16,)  the arm about body 0: mass, first moment, inertia, momentum
    impulse: Vectors6  # (6,)      of the loads in a step, about the origin of the world
    base_R: Matrices3  # (i, 3, 3)  pose of body i where the base has this pose
    base_p: Vectors3  # (i, 3)
    V: Vectors6  # (i, 6)     twist
    c: Vectors6  # (i, 6)     velocity-dependent acceleration
    dV: Vectors6  # (i, 6)     rate of the twist
    I: Matrices6  # (i, 6, 6)  inertia, articulated after `eliminate`
    F0: Vectors6  # (i, 6)     bias wrench
    B: np.ndarray  # (i, 6, n)  coupling with the modes
    E: np.ndarray  # (i, n, n)  inertia of the modes, rows up to the diagonal
    b: np.ndarray  # (i, n)     bias force on the modes
    Z: Vectors6  # (i, n, 6)
    z: np.ndarray  # (i, n)
    IA: Vectors6  # (i, 6)     result of `eliminate`, as are Z, z and d
    d: np.ndarray  # (i,)
    tau: np.ndarray  # (i,)       about the joint
    solved_R: Matrices3  # (i, 3, 3)  R, origin and K that belong to Z, IA and d
    solved_p: Vectors3  # (i, 3)
    solved_K: np.ndarray  # (s, 6, n)
    F: Vectors6  # (i, 6)     wrench from the parent
    load: Vectors6  # (i, 6)     external wrench, in the frame of body i
    implicit: np.ndarray  # (i, n, n)
    station_R: Matrices3  # (s, 3, 3)  pose of the station in the frame of its body
    station_p: Vectors3  # (s, 3)
    K: np.ndarray  # (s, 6, n)  Jacobian (T11)
    Ve: Vectors6  # (s, 6)     twist relative to the root
    beta: Vectors6  # (s, 6)     bias acceleration (T12)
    force: np.ndarray  # (n,)       on every coordinate
    added_inertia: np.ndarray  # (n,)       added to the inertia of joints and motors
    coupling: np.ndarray  # (j,)       implicit, between joint and motor
    own_inertia: np.ndarray  # (n,)       inertia of joints and motors, neighbours locked
    joint_force: np.ndarray  # (n,)       of friction, stops and servo, as last solved
    joint_force_at_rest: np.ndarray  # (n,)  its linearisation: at velocity zero
    joint_force_slope: np.ndarray  # (n,)    its linearisation: by velocity
    slip: np.ndarray  # (j, 2, e)  deflections of Maxwell-slip elements        [rad, m]
    slip_end: np.ndarray  # (j, 2, e)  the same at the end of the step
    transmission: np.ndarray  # (j,)       rate of the twist of a gear by that of its motor
    gear_law: np.ndarray  # (j, 3)     gear force with elements: as last solved, at rest, slope
    dc_motor: DcMotors  # (j, 5)     numbers of each, see model/dc_motor.py; 0: none
    motor_current: np.ndarray  # (j,)       of each at the end of the last step          [A]
    motor_energy: np.ndarray  # (j, 2)     electrical energy since the start, and heat   [J]
    motor_step: np.ndarray  # (j, 3)     results of a step: current, both energies
    is_nonsmooth: np.ndarray  # (n,)       whether a joint law left its first linear piece
    relaxation: np.ndarray  # (1,)       share of `own_inertia` in the solution of these forces
    last: np.ndarray  # (n,)       acceleration of the step before the last one
    step: np.ndarray  # (4,)       length of the last step [s]; energy after it, and its
    #            uncorrected excess [J]; its iterations
    energy: Vectors3  # (3,)       kinetic, strain, potential                     [J]
    shared: np.ndarray  # (r,)       rates of the dampers that couple bodies
    cg_vectors: np.ndarray  # (4, n)     vectors of the solution with these dampers
    applied: np.ndarray  # (j,)       effort of the motors, servo included          [N m, N]
    effort_limit: np.ndarray  # (j,)       of the motors                                 [N m, N]
    rate_limit: np.ndarray  # (j,)       above it they no longer accelerate      [rad/s, m/s]
    target: np.ndarray  # (j,)       of the servo                                  [rad, m]
    target_rate: np.ndarray  # (j,)       of the servo                            [rad/s, m/s]
    prescribed: np.ndarray  # (j,)       whether the motion of the drive is prescribed
    prescribed_acceleration: np.ndarray  # (j,)  of such a drive                    [rad/s2, m/s2]
    prescribed_effort: np.ndarray  # (j,)    for this motion, in addition to `effort`      [N m, N]
    servo_stiffness: np.ndarray  # (j,)      0: the servo is off                          [N m/rad]
    servo_damping: np.ndarray  # (j,)                                                  [N m s/rad]
    relative_screw: Vectors6  # (n, 6)     twist of a child by coordinate, relative to its parent
    constraint_jacobian: np.ndarray  # (c, n)     W: rates of the gaps by coordinate (T71)
    constraint_response: np.ndarray  # (c, n)     X = A^-1 W^T: accelerations by force (T72)
    constraint_factor: np.ndarray  # (c, c)     factors of D^-1, D = W X
    constraint_vanishes: np.ndarray  # (c,)    whether W of a row is rounding: a singular pose
    constraint_force: np.ndarray  # (c,)       of each row, as last solved           [N, N m]
    constraint_gap: np.ndarray  # (c,)       of each row                                [m, -]
    constraint_start: np.ndarray  # (c,)       gap of each row at the start of a step
    constraint_compliance: np.ndarray  # (c,)  added to the diagonal of D; 0: rigid row (T75)
    constraint_impulse: np.ndarray  # (c,)     of each row, as last solved
    constraint_change: np.ndarray  # (c,)      temporary of its solution
    constraint_end_jacobian: np.ndarray  # (c, n)  W at the end of a step
    rank_share: (
        Vectors3  # (3,)       distance to a singular pose at the last check, as a share; steps
    )
    #            since this check, and until the next one
    row_wrench: Vectors6  # (2, c, 6)  temporaries of the responses, by row
    row_modal_force: np.ndarray  # (2, c, n)
    row_acceleration: Vectors6  # (i, c, 6)
    contact_gap: np.ndarray  # (g,)       of each point at the poses of the last energies   [m]
    contact_gap_rate: np.ndarray  # (g,)                                                 [m/s]
    contact_start: np.ndarray  # (g,)     gap at the start of a step                       [m]
    contact_start_gap_rate: np.ndarray  # (g,)                                           [m/s]
    contact_is_near: np.ndarray  # (g,)   whether the step considers the point
    contact_force: Vectors3  # (g, 3)    mean of a step along the axes of the point        [N]
    contact_added_force: Vectors3  # (g, 3)  those that the accelerations contain           [N]
    contact_axes: Matrices3  # (g, 3, 3)  normal and two tangents as rows, in the base frame
    contact_at: Vectors3  # (g, 3)       where the point touches, in the base frame        [m]
    contact_jacobian: np.ndarray  # (3 g, n)  rates along the axes by coordinate
    contact_response: np.ndarray  # (3 g, n)  accelerations by force
    contact_matrix: np.ndarray  # (3 g, 3 g)  their product, times half the step
    contact_rate: np.ndarray  # (3 g,)    mean rates in a step                           [m/s]
    contact_last_rate: np.ndarray  # (3 g,)  mean rates before a round                     [m/s]
    contact_start_rate: np.ndarray  # (3 g,)  rates at its start                         [m/s]
    slide_B: np.ndarray  # (6, n)     as B, E and b of a body, for the inverse dynamics
    slide_E: np.ndarray  # (n, n)
    slide_b: np.ndarray  # (n,)
    slide_held: np.ndarray  # (i, n + 6)  row of a prescribed free length: B, E and bias
    child_R: Matrices3  # (3, 3) and so on: temporaries of single functions
    child_p: Vectors3
    parent_motion: Vectors6
    theta: Vectors3
    dtheta: Vectors3
    dr: Vectors3
    angular_rate: Vectors3
    alpha: Vectors3
    G: Matrices3
    h: np.ndarray
    setback_gradient: np.ndarray
    elastic_value: np.ndarray  # (w,)       of the columns of elastic_slope, and
    elastic_rate: np.ndarray  # (w,)       their rates
    elastic_product: np.ndarray  # (w,)  by row G
    station_turn: Matrices3
    Y: Matrices6
    y: Vectors6
    YK: np.ndarray


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


def motor_coordinates(arm: ArmArrays) -> np.ndarray:
    """Coordinate of the motor of each joint, (joints,); without elastic gear, the joint's."""
    return np.where(arm.motor < 0, np.arange(arm.motor.size), arm.motor)


def home_pose(arm: ArmArrays) -> np.ndarray:
    """Pose of the base at the start, (7,): position [m] and quaternion (x, y, z, w)."""
    if not len(arm.base):
        return _IDENTITY
    return np.concatenate([arm.home_p[0], quaternion(arm.home_R[0])])


_IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def make_workspace(arm: ArmArrays, *, elements: int = 0) -> Workspace:
    """
    Return a Workspace for ArmArrays `arm`.

    :param elements: number of Maxwell-slip elements whose deflections each joint remembers for
        gear and friction, see `slip_elements.remembered`; without them, they have no force.
    """
    work = zeros(
        Workspace,
        _shapes(
            arm.modes.size,
            arm.stiffness.shape[1],
            arm.station_x.size,
            arm.motor.size,
            arm.inertia_scale.size,
            arm.shared.shape[1],
            elements,
            arm.constraint_kind.size,
            arm.elastic_slope.shape[2],
            arm.contact_kind.size,
        ),
    )
    work.effort_limit[:] = work.rate_limit[:] = np.inf
    work.root_R[:] = np.eye(3)
    work.base_pose[:] = home_pose(arm)
    return work


@lru_cache(maxsize=64)
def _shapes(i, n, s, j, total, shared, elements, c, w, g):
    """Shapes of a Workspace; n modes per body of i, `shared` dampers, c rows, g contact points."""
    shapes = {
        'shared': (shared,),
        'cg_vectors': (4, total),
        'R': (i, 3, 3),
        'origin': (i, 3),
        'root_R': (3, 3),
        'root_p': (3,),
        'base_moves': (1,),
        'root_V': (6,),
        'root_rate': (6,),
        'start_R': (3, 3),
        'start_p': (3,),
        'start_V': (6,),
        'base_pose': (7,),
        'base_start': (7,),
        'base_factor': (6, 6),
        'base_force': (6,),
        'momentum': (9,),
        'composite': (16,),
        'impulse': (6,),
        'base_R': (i, 3, 3),
        'base_p': (i, 3),
        'I': (i, 6, 6),
        'B': (i, 6, n),
        'E': (i, n, n),
        'b': (i, n),
        'Z': (i, n, 6),
        'z': (i, n),
        'd': (i,),
        'tau': (i,),
        'implicit': (i, n, n),
        'station_R': (s, 3, 3),
        'station_p': (s, 3),
        'K': (s, 6, n),
        'solved_R': (i, 3, 3),
        'solved_p': (i, 3),
        'solved_K': (s, 6, n),
        'Ve': (s, 6),
        'beta': (s, 6),
        'force': (total,),
        'added_inertia': (total,),
        'coupling': (j,),
        'own_inertia': (total,),
        'joint_force': (total,),
        'joint_force_at_rest': (total,),
        'joint_force_slope': (total,),
        'slip': (j, 2, elements),
        'slip_end': (j, 2, elements),
        'transmission': (j,),
        'gear_law': (j, 3),
        'dc_motor': (j, COLUMNS),
        'motor_current': (j,),
        'motor_energy': (j, 2),
        'motor_step': (j, 3),
        'is_nonsmooth': (total,),
        'relaxation': (1,),
        'last': (total,),
        'step': (4,),
        'energy': (3,),
        'applied': (j,),
        'effort_limit': (j,),
        'rate_limit': (j,),
        'prescribed': (j,),
        'prescribed_acceleration': (j,),
        'prescribed_effort': (j,),
        'target': (j,),
        'target_rate': (j,),
        'servo_stiffness': (j,),
        'servo_damping': (j,),
        'relative_screw': (total, 6),
        'constraint_jacobian': (c, total),
        'constraint_response': (c, total),
        'constraint_factor': (c, c),
        'constraint_vanishes': (c,),
        'constraint_force': (c,),
        'constraint_gap': (c,),
        'constraint_start': (c,),
        'constraint_compliance': (c,),
        'constraint_impulse': (c,),
        'constraint_change': (c,),
        'constraint_end_jacobian': (c, total),
        'rank_share': (3,),
        'row_wrench': (2, c, 6),
        'row_modal_force': (2, c, n),
        'row_acceleration': (i, c, 6),
        'contact_gap': (g,),
        'contact_gap_rate': (g,),
        'contact_start': (g,),
        'contact_start_gap_rate': (g,),
        'contact_is_near': (g,),
        'contact_force': (g, 3),
        'contact_added_force': (g, 3),
        'contact_axes': (g, 3, 3),
        'contact_at': (g, 3),
        'contact_jacobian': (3 * g, total),
        'contact_response': (3 * g, total),
        'contact_matrix': (3 * g, 3 * g),
        'contact_rate': (3 * g,),
        'contact_last_rate': (3 * g,),
        'contact_start_rate': (3 * g,),
        'slide_B': (6, n),
        'slide_E': (n, n),
        'slide_b': (n,),
        'slide_held': (i, n + 6),
        'child_R': (3, 3),
        'child_p': (3,),
        'parent_motion': (6,),
        'theta': (3,),
        'dtheta': (3,),
        'dr': (3,),
        'angular_rate': (3,),
        'alpha': (3,),
        'G': (3, 3),
        'h': (n,),
        'setback_gradient': (2, n),
        'elastic_value': (w,),
        'elastic_rate': (w,),
        'elastic_product': (w,),
        'station_turn': (3, 3),
        'Y': (6, 6),
        'y': (6,),
        'YK': (6, n),
    }
    return tuple(shapes.get(name, (i, 6)) for name in Workspace._fields)


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
