"""Work arrays of the compiled functions, which allocate nothing themselves."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from flex_robot_sim.jit.array_table import (
    Matrices3,
    Matrices6,
    Vectors3,
    Vectors6,
    pass_by_pointer,
    zeros,
)
from flex_robot_sim.model.arm_arrays import ArmArrays, home_pose
from flex_robot_sim.model.dc_motor import COLUMNS, DcMotors


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
    cogging: np.ndarray  # (j,)       force of the cogging in `joint_force`           [N m, N]
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
    contact_impulse: Vectors3  # (g, 3)  sum over the substeps of a step                  [N s]
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
        'cogging': (j,),
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
        'contact_impulse': (g, 3),
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
