"""
The arm as flat arrays for the dynamics: one row per body, base to tip.

Rigid links that are fixed together are one body; an elastic link is one body per segment. A link
on an elastic body is always a separate body, because its station moves relative to the root.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.jit.array_table import (
    Matrices3,
    Matrices6,
    Vectors3,
    Vectors6,
    pass_by_pointer,
)
from flex_robot_sim.model.drive_laws import GearPieces, Harmonics
from flex_robot_sim.model.friction import FrictionRows
from flex_robot_sim.model.slip_elements import SlipTable
from flex_robot_sim.spatial.turns import quaternion


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
    contact_body: np.ndarray  # (g, 2)    bodies of surface and point; -1: the base, WORLD_BODY
    contact_point: Vectors3  # (g, 3)    centre of the point in its body                   [m]
    contact_radius: np.ndarray  # (g,)    around it                                        [m]
    contact_size: Vectors3  # (g, 3)     of the surface                                   [m]
    contact_R: Matrices3  # (g, 3, 3)    pose of the surface in its body
    contact_p: Vectors3  # (g, 3)                                                         [m]
    contact_friction: np.ndarray  # (g,)
    contact_stiffness: np.ndarray  # (g,)                                               [N/m]
    contact_damping: np.ndarray  # (g,)  full damping                                 [N s/m]


def motor_coordinates(arm: ArmArrays) -> np.ndarray:
    """Coordinate of the motor of each joint, (joints,); without elastic gear, the joint's."""
    return np.where(arm.motor < 0, np.arange(arm.motor.size), arm.motor)


def home_pose(arm: ArmArrays) -> np.ndarray:
    """Pose of the base at the start, (7,): position [m] and quaternion (x, y, z, w)."""
    if not len(arm.base):
        return _IDENTITY
    return np.concatenate([arm.home_p[0], quaternion(arm.home_R[0])])


_IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
