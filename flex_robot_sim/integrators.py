"""
Steps through time. Every scheme also adds up the work that the motors do and what friction takes.

    implicit_midpoint       v' = M^-1 f at the middle of the step, implicit in springs and dampers;
                            second order, stable at any step, keeps the energy (T41)
    rk4                     the classical one; fourth order
    semi_implicit_euler     v += h a(q, v), q += h v; first order, keeps energy on average
    forward_euler           q += h v, v += h a(q, v); first order, for comparison with papers

The scheme `reference`, which chooses its own steps, is in adaptive.py.
Orders and stability: Hairer, Lubich & Wanner, Geometric Numerical Integration (2006).
"""

from math import isfinite

from flex_robot_sim.compiled import compiled, inlined
from flex_robot_sim.dynamics import implicit_dynamics
from flex_robot_sim.forces import add_powers
from flex_robot_sim.loads import set_loads
from flex_robot_sim.screws import set_copy
from flex_robot_sim.validity import note_validity

IMPLICIT_MIDPOINT, RK4, SEMI_IMPLICIT_EULER, FORWARD_EULER = range(4)
SCHEMES = {'implicit_midpoint': IMPLICIT_MIDPOINT, 'rk4': RK4,
           'semi_implicit_euler': SEMI_IMPLICIT_EULER, 'forward_euler': FORWARD_EULER}


@compiled
def advance(arm, loads, scheme, iterations, q, qd, qdd, effort, h, steps, flow, watch,
            stage, work):
    """
    Take `steps` steps of length h [s]; stop before a state that is not finite.

    :param loads: LoadArrays of what pushes at the arm.
    :param iterations: of the implicit midpoint; one makes it linearly implicit.
    :param q: coordinates, (n,), changed in place; so are qd, and qdd, the latest accelerations.
    :param effort: of the motors, (joints,) [N m, N].
    :param flow: (2,) work done by the motors and by loads, and energy dissipated [J]; added to.
    :param watch: Watch of where the model holds.
    :param stage: scratch, (8, n).
    :returns: number of steps taken.
    """
    for step in range(steps):
        old_q, old_qd = stage[0], stage[1]
        set_copy(q, old_q)
        set_copy(qd, old_qd)
        done, taken = flow[0], flow[1]
        if scheme == IMPLICIT_MIDPOINT:
            midpoint_step(arm, loads, iterations, q, qd, qdd, effort, h, flow, stage, work)
        elif scheme == RK4:
            rk4_step(arm, loads, q, qd, qdd, effort, h, flow, stage, work)
        else:
            set_loads(arm, loads, q, qd, work)
            implicit_dynamics(arm, q, qd, effort, 0.0, qdd, work, qdd)
            add_powers(arm, q, qd, h, work, flow)
            for k in range(q.size):
                before = qd[k]
                qd[k] += h * qdd[k]
                q[k] += h * (qd[k] if scheme == SEMI_IMPLICIT_EULER else before)
        total = 0.0
        for k in range(q.size):
            total += abs(q[k]) + abs(qd[k])
        if not isfinite(total):
            set_copy(old_q, q)
            set_copy(old_qd, qd)
            qdd[:] = 0.0
            flow[0], flow[1] = done, taken
            return step
        note_validity(arm, q, step, watch, work)
    return steps


@inlined
def midpoint_step(arm, loads, iterations, q, qd, qdd, effort, h, flow, stage, work):
    """
    One step of the implicit midpoint rule, by fixed-point iteration.

    Mass matrix and velocity terms are taken at the middle of the step as the latest acceleration
    has it; springs and dampers are solved for, so that their frequencies do not matter (T40).
    """
    middle, rate, guess = stage[2], stage[3], stage[4]
    work.touching[:] = 0.0
    for _ in range(iterations):
        for k in range(q.size):
            guess[k] = qdd[k]
            rate[k] = qd[k] + 0.5 * h * guess[k]
            middle[k] = q[k] + 0.5 * h * rate[k]
        set_loads(arm, loads, middle, rate, work)
        implicit_dynamics(arm, middle, rate, effort, h, guess, work, qdd)
    for k in range(q.size):
        rate[k] = qd[k] + 0.5 * h * qdd[k]
        middle[k] = q[k] + 0.5 * h * rate[k]
    add_powers(arm, middle, rate, h, work, flow)
    for k in range(q.size):
        q[k] += h * rate[k]
        qd[k] += h * qdd[k]


@inlined
def rk4_step(arm, loads, q, qd, qdd, effort, h, flow, stage, work):
    """One step of the classical Runge-Kutta scheme."""
    old_q, old_qd, sum_q, sum_qd = stage[0], stage[1], stage[2], stage[3]
    sum_q[:] = 0.0
    sum_qd[:] = 0.0
    for part in range(4):
        set_loads(arm, loads, q, qd, work)
        implicit_dynamics(arm, q, qd, effort, 0.0, qdd, work, qdd)
        weight = h / 6.0 if part in (0, 3) else h / 3.0
        add_powers(arm, q, qd, weight, work, flow)
        for k in range(q.size):
            sum_q[k] += weight * qd[k]
            sum_qd[k] += weight * qdd[k]
        if part < 3:
            reach = 0.5 * h if part < 2 else h
            for k in range(q.size):
                q[k] = old_q[k] + reach * qd[k]
                qd[k] = old_qd[k] + reach * qdd[k]
    for k in range(q.size):
        q[k] = old_q[k] + sum_q[k]
        qd[k] = old_qd[k] + sum_qd[k]
