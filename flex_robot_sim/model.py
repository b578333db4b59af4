"""
The arm as the dynamics sees it: flat arrays, one row per body, base to tip.

Rigid links that are fixed together are one body; an elastic link is one body per segment. Whatever
hangs on an elastic body is a body of its own, because it rides on a station that moves.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class ArmArrays(NamedTuple):
    """What the compiled functions read. Bodies: i, joints: j, stations: s, points: g."""

    parent: np.ndarray          # (i,)       row of the parent body, -1 for the fixed base
    station: np.ndarray         # (i,)       station that carries body i, -1 on a rigid parent
    joint: np.ndarray           # (i,)       joint that moves body i, -1 if it is fixed
    home_R: np.ndarray          # (i, 3, 3)  rotation of body i in its parent or station at zero
    home_p: np.ndarray          # (i, 3)     its origin there                               [m]
    screw: np.ndarray           # (i, 6)     axis (omega, v) of its joint, in body i        [-, m]
    inertia: np.ndarray         # (i, 6, 6)  of what is rigid in body i, about its frame    [SI]
    modes: np.ndarray           # (i,)       number of elastic coordinates, 0: rigid
    first: np.ndarray           # (i,)       the first of them among all coordinates
    count: np.ndarray           # (i, 4)     of bending_y, bending_z, torsion, stretch, in order
    stiffness: np.ndarray       # (i, n, n)  of the elastic coordinates                     [SI]
    damping: np.ndarray         # (i, n, n)  likewise                                       [SI]
    modal_mass: np.ndarray      # (i, n, n)  part of E (T22) that is constant               [SI]
    rotary: np.ndarray          # (i, 3, n)  rotary inertia of the sections by coordinate   [SI]
    point_start: np.ndarray     # (i + 1,)   mass points of body i: [start[i], start[i + 1])
    point_mass: np.ndarray      # (g,)       [kg]
    point_x: np.ndarray         # (g,)       along the beam                                 [m]
    point_shape: np.ndarray     # (g, n)     displacement by coordinate
    point_H: np.ndarray         # (g, n, n)  shortening, s = -1/2 e^T H e (T10)
    station_x: np.ndarray       # (s,)       along the beam                                 [m]
    station_shape: np.ndarray   # (s, n)     displacement, or turn in torsion, by coordinate
    station_slope: np.ndarray   # (s, n)     v' and w' by coordinate
    station_H: np.ndarray       # (s, n, n)  shortening up to the station
    motor: np.ndarray           # (j,)       coordinate of the motor side, -1: rigid drive
    rotor: np.ndarray           # (j,)       inertia of the rotor behind the gear       [kg m2, kg]
    gear_stiffness: np.ndarray  # (j,)       [N m/rad, N/m]
    gear_damping: np.ndarray    # (j,)       [N m s/rad, N s/m]
    viscous: np.ndarray         # (j,)       friction in the drive                      [N m s/rad]
    coulomb: np.ndarray         # (j,)       likewise                                      [N m, N]
    coulomb_rate: np.ndarray    # (j,)       rate at which it is smoothed                   [rad/s]
    lower: np.ndarray           # (j,)       stops                                         [rad, m]
    upper: np.ndarray           # (j,)       likewise                                      [rad, m]
    stop_stiffness: np.ndarray  # (j,)       [N m/rad, N/m]
    stop_damping: np.ndarray    # (j,)       [N m s/rad, N s/m]
    stop_depth: np.ndarray      # (j,)       where the damping is in full force            [rad, m]
    rising: np.ndarray          # (6,)       acceleration of the base that stands for gravity


class Workspace(NamedTuple):
    """Scratch of one thread; shapes as in ArmArrays."""

    R: np.ndarray               # (i, 3, 3)  pose of body i in the frame of its parent
    origin: np.ndarray          # (i, 3)
    base_R: np.ndarray          # (i, 3, 3)  pose of body i in the base frame, where asked for
    base_p: np.ndarray          # (i, 3)
    V: np.ndarray               # (i, 6)     twist
    c: np.ndarray               # (i, 6)     acceleration left when no coordinate accelerates
    dV: np.ndarray              # (i, 6)     rate of the twist
    I: np.ndarray               # (i, 6, 6)  inertia, articulated after `eliminate`
    p: np.ndarray               # (i, 6)     bias wrench
    B: np.ndarray               # (i, 6, n)  coupling with the modes
    E: np.ndarray               # (i, n, n)  inertia of the modes
    b: np.ndarray               # (i, n)     bias force on the modes
    Z: np.ndarray               # (i, n, 6)
    z: np.ndarray               # (i, n)
    UA: np.ndarray              # (i, 6)
    d: np.ndarray               # (i,)
    u: np.ndarray               # (i,)
    F: np.ndarray               # (i, 6)     wrench from the parent
    load: np.ndarray            # (i, 6)     wrench from outside, in the frame of body i
    implicit: np.ndarray        # (i, n, n)
    station_R: np.ndarray       # (s, 3, 3)  pose of the station in the frame of its body
    station_p: np.ndarray       # (s, 3)
    K: np.ndarray               # (s, 6, n)  Jacobian (T11)
    U: np.ndarray               # (s, 6)     twist against the root
    beta: np.ndarray            # (s, 6)     bias acceleration (T12)
    force: np.ndarray           # (n,)       on every coordinate
    added: np.ndarray           # (n,)       to the inertia of joints and motors
    coupling: np.ndarray        # (j,)       implicit, between joint and motor
    applied: np.ndarray         # (j,)       by the motors, servo included                 [N m, N]
    effort_limit: np.ndarray    # (j,)       of the motors                                 [N m, N]
    target: np.ndarray          # (j,)       of the servo                                  [rad, m]
    touching: np.ndarray        # (j,)       damping of a stop touched in this step, < 0: lower one
    servo_stiffness: np.ndarray  # (j,)      0: the servo is off                          [N m/rad]
    servo_damping: np.ndarray   # (j,)                                                  [N m s/rad]
    child_R: np.ndarray         # (3, 3) and so on: inside one function
    child_p: np.ndarray
    carrier: np.ndarray
    theta: np.ndarray
    dtheta: np.ndarray
    dr: np.ndarray
    turning: np.ndarray
    alpha: np.ndarray
    J: np.ndarray
    dJ: np.ndarray
    G: np.ndarray
    h: np.ndarray
    Y: np.ndarray
    y: np.ndarray
    YK: np.ndarray


class Frame(NamedTuple):
    """Where a link is: fixed to a body (-1: the base)."""

    body: int
    R: np.ndarray               # (3, 3)  rotation in the frame of the body
    p: np.ndarray               # (3,)    origin there                                      [m]


@dataclass(frozen=True, eq=False)
class ArmModel:
    """An arm ready to be simulated."""

    arrays: ArmArrays
    joint_names: tuple          # of the joints that move, base to tip
    motor_names: tuple          # of those whose drive gives, base to tip
    coordinate_names: tuple     # of all coordinates: joints, motors, elastic
    frames: dict                # link -> Frame
    segments: dict              # flexible link -> rows of its bodies
    tips: dict                  # flexible link -> (body, station) of its far end
    carried_bodies: dict        # joint -> (body that it moves or holds, Frame of its link)
    description: object         # RobotDescription
    coupling: str = 'shortening'
    beams: dict = field(default_factory=dict)   # body -> Beam

    @property
    def size(self):
        """Number of coordinates."""
        return len(self.coordinate_names)


def make_workspace(arm):
    """Return a Workspace for ArmArrays `arm`."""
    i, n = arm.modes.size, arm.stiffness.shape[1]
    s, j = arm.station_x.size, arm.motor.size
    total = int(j + (arm.motor >= 0).sum() + arm.modes.sum())
    shapes = {
        'R': (i, 3, 3), 'origin': (i, 3), 'base_R': (i, 3, 3), 'base_p': (i, 3),
        'I': (i, 6, 6), 'B': (i, 6, n), 'E': (i, n, n),
        'b': (i, n), 'Z': (i, n, 6), 'z': (i, n), 'd': (i,), 'u': (i,), 'implicit': (i, n, n),
        'station_R': (s, 3, 3), 'station_p': (s, 3), 'K': (s, 6, n), 'U': (s, 6), 'beta': (s, 6),
        'force': (total,), 'added': (total,), 'coupling': (j,), 'applied': (j,),
        'effort_limit': (j,), 'target': (j,), 'touching': (j,), 'servo_stiffness': (j,),
        'servo_damping': (j,), 'child_R': (3, 3), 'child_p': (3,),
        'carrier': (6,), 'theta': (3,), 'dtheta': (3,), 'dr': (3,), 'turning': (3,), 'alpha': (3,),
        'J': (3, 3), 'dJ': (3, 3), 'G': (3, 3), 'h': (n,), 'Y': (6, 6), 'y': (6,), 'YK': (6, n)}
    work = Workspace(*(np.zeros(shapes.get(name, (i, 6))) for name in Workspace._fields))
    work.effort_limit[:] = np.inf
    return work


def station_row(beam, x, size, coupling):
    """
    Row of every station array of ArmArrays, for the section at x [m] of a Beam.

    :param size: number of elastic coordinates to which the row is padded.
    """
    shape, slope, H = np.zeros(size), np.zeros(size), np.zeros((size, size))
    n, turn = beam.size, beam.turn(x)
    shape[:n] = beam.shape(x).sum(axis=0) + turn[0]     # each coordinate moves one axis only
    slope[:n] = turn[2] - turn[1]
    if coupling == 'shortening':
        H[:n, :n] = beam.shortening(x)
    return {'station_x': float(x), 'station_shape': shape, 'station_slope': slope, 'station_H': H}
