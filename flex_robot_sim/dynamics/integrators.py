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

from math import inf, isfinite, sqrt

from flex_robot_sim.dynamics.coupled_damping import apply_coupled_damping
from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.factor_reuse import refine_dynamics, solve_dynamics
from flex_robot_sim.dynamics.forces import add_powers, keep_laws
from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics
from flex_robot_sim.dynamics.loads import set_loads
from flex_robot_sim.dynamics.monitors import note_coarseness, note_validity
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import set_copy
from flex_robot_sim.util.settings import FIXED_STEP_SCHEMES

IMPLICIT_MIDPOINT, RK4, SEMI_IMPLICIT_EULER, FORWARD_EULER = range(4)
NUMBERS = dict(zip(FIXED_STEP_SCHEMES, range(4)))

TOLERANCE = 5e-7        # share of the rates, weighed by kinetic energy, that may be left to find
STILL = 1e-3            # rate that is added to them, for an arm at rest               [rad/s, m/s]
ACCURACY = 1e-2         # share of the kinetic energy that a step may miss before it is halved
ROUNDING = 1e-9         # likewise of the energy in springs and of height
LARGEST_SHARE = 1e-2    # of the kinetic energy that is ever put right
MOST_ITERATIONS = 12    # before a step is cut in halves
PATIENT = 3     # iterations in which joints answer to their laws as if neighbours stood
EASY = 6                # iterations after which the next part may be longer
EVALUATIONS = 400       # of the dynamics in a step, before what is left of it is one part
FAST = 0.1              # ratio of squared changes up to which factors are taken once more
SLOW = 1e-2             # ratio of squared changes from which dampers are solved for together
ROUNDS = 6              # of dampers together that take as long as one evaluation
SHORTEST = 2.0**-12     # part of a step


@compiled
def advance(arm, loads, iterations, q, qd, qdd, effort, h, steps, flow, watch, stage, work):
    """
    Take steps of length h [s] by the implicit midpoint rule; stop before a state is not finite.

    :param loads: LoadArrays of what pushes at the arm.
    :param iterations: of the implicit midpoint at least; more where they are needed.
    :param q: coordinates, (n,), changed in place; so are qd, and qdd, the latest accelerations.
    :param effort: of the motors, (joints,) [N m, N].
    :param flow: (3,) work of motors and loads, energy dissipated, and put right; added to [J].
    :param watch: Watch of where the model holds, and of steps that were hard.
    :param stage: scratch, (9, n).
    :returns: number of steps taken.
    """
    if work.step[0] == 0.0:         # something else than a step has changed the energy
        set_energies(arm, q, qd, work, work.energy)
        work.step[1] = work.energy[0] + work.energy[1] + work.energy[2]
    for step in range(steps):
        set_copy(q, stage[0])
        set_copy(qd, stage[1])
        done, taken = flow[0], flow[1]
        midpoint_step(arm, loads, iterations, q, qd, qdd, effort, h, flow, step, watch, stage,
                      work)
        if not is_kept(q, qd, qdd, stage):
            flow[0], flow[1] = done, taken
            work.joint_force[:] = 0.0
            return step
        note_validity(arm, q, step, watch, work)
    return steps


@compiled
def advance_explicitly(arm, loads, scheme, q, qd, qdd, effort, h, steps, flow, watch, stage, work):
    """Take steps of an explicit scheme; see `advance`."""
    for step in range(steps):
        set_copy(q, stage[0])
        set_copy(qd, stage[1])
        done, taken = flow[0], flow[1]
        if scheme == RK4:
            rk4_step(arm, loads, q, qd, qdd, effort, h, flow, stage, work)
        else:
            set_loads(arm, loads, q, qd, work)
            implicit_dynamics(arm, q, qd, effort, 0.0, qdd, work, qdd)
            add_powers(arm, q, qd, qdd, effort, 0.0, h, work, flow)
            for k in range(q.size):
                before = qd[k]
                qd[k] += h * qdd[k]
                q[k] += h * (qd[k] if scheme == SEMI_IMPLICIT_EULER else before)
        if not is_kept(q, qd, qdd, stage):
            flow[0], flow[1] = done, taken
            return step
        note_validity(arm, q, step, watch, work)
    return steps


@compiled
def is_kept(q, qd, qdd, stage):
    """Whether a state is finite; if not, the one in stage[0] and stage[1] comes back."""
    total = 0.0
    for k in range(q.size):
        total += abs(q[k]) + abs(qd[k])
    if isfinite(total):
        return True
    set_copy(stage[0], q)
    set_copy(stage[1], qd)
    qdd[:] = 0.0
    return False


@compiled
def midpoint_step(arm, loads, iterations, q, qd, qdd, effort, h, flow, step, watch, stage, work):
    """
    One step of the implicit midpoint rule, in parts where it does not go as a whole.

    Mass matrix and velocity terms are taken at the middle of the step as the latest acceleration
    has it; springs, dampers, stops and friction are solved for, so that their frequencies do not
    matter (T40). Iterations after the first take its factors, where these do (T48). A part that
    does not converge, or whose energy does not add up, is halved; what went well is doubled again.
    For a loop in real time, what is left after EVALUATIONS is one part (T43). A part that is taken
    although it is not good makes no energy (T46).
    """
    middle, rate, guess, start, old_law, new_q, new_qd = (
        stage[2], stage[3], stage[4], stage[5], stage[6], stage[7], stage[8])
    left, part, calls, last = h, h, 0, work.step[0]
    prescribed = together = False
    for j in range(arm.motor.size):
        prescribed = prescribed or work.prescribed[j] != 0.0
    while left > 0.0:
        for k in range(q.size):
            start[k] = qdd[k]
            old_law[k] = work.joint_force[k]
            if part == last:        # the acceleration goes on changing as it did
                qdd[k] += qdd[k] - work.last[k]
        before, converged, fast, count, rounds = inf, False, False, 0, 0
        while not converged and count < MOST_ITERATIONS:
            for k in range(q.size):
                guess[k] = qdd[k]
                rate[k] = qd[k] + 0.5 * part * guess[k]
                middle[k] = q[k] + 0.5 * part * rate[k]
            if count > 0:
                keep_laws(arm, rate, work)
            work.relaxation[0] = 1.0 if count < PATIENT else 0.25 * work.relaxation[0]
            set_loads(arm, loads, middle, rate, work)
            if count == 0 or prescribed or not fast:
                solve_dynamics(arm, middle, rate, effort, part, guess, work, qdd)
            else:
                refine_dynamics(arm, middle, rate, effort, part, guess, work, qdd)
            if together:
                rounds += apply_coupled_damping(arm, part, guess, work, qdd)
            count += 1
            change = size = 0.0
            for k in range(q.size):
                error, speed = part * (qdd[k] - guess[k]), part * qdd[k]
                change += arm.inertia_scale[k] * error * error
                size += arm.inertia_scale[k] * (rate[k] * rate[k] + speed * speed + STILL * STILL)
            # what is left is about change * change / before
            converged = count >= iterations and (
                change * min(change, before) <= TOLERANCE * TOLERANCE * size * before)
            together = together or (arm.shared.size > 0 and count >= iterations
                                    and change > SLOW * before)
            # whether the factors are near enough for another look                            (T48)
            fast = change <= FAST * before if count > 1 else work.step[3] <= iterations
            before = change
            if not change < inf:
                break
        calls += count + rounds // ROUNDS
        work.step[3] = count
        for k in range(q.size):
            rate[k] = qd[k] + 0.5 * part * qdd[k]
            middle[k] = q[k] + 0.5 * part * rate[k]
            new_q[k] = q[k] + part * rate[k]
            new_qd[k] = qd[k] + part * qdd[k]
        keep_laws(arm, rate, work)
        done, taken = flow[0], flow[1]
        add_powers(arm, middle, rate, qdd, effort, part, part, work, flow)
        set_energies(arm, new_q, new_qd, work, work.energy)
        kinetic = work.energy[0]
        now = kinetic + work.energy[1] + work.energy[2]
        lost = flow[1] - taken
        due = work.step[1] + (flow[0] - done) - lost
        good = converged and abs(now - due) <= ACCURACY * (
            kinetic + abs(flow[0] - done) + abs(lost)) + ROUNDING * (
            work.energy[1] + abs(work.energy[2]))
        if not good and calls < EVALUATIONS and part > SHORTEST * h:
            part *= 0.5
            set_copy(start, qdd)
            set_copy(old_law, work.joint_force)
            flow[0], flow[1] = done, taken
            continue
        if not good and lost < 0.0:         # no law gives energy
            due += lost
            flow[1] = taken
        left -= part
        if not good and not now - due <= kinetic and (calls >= EVALUATIONS or isfinite(now)):
            # too much for the rates to give: the arm is left as it was                      (T46)
            flow[0], flow[1] = done, taken
            set_copy(old_law, work.joint_force)
            qdd[:] = 0.0
            work.last[:] = 0.0
        else:
            # what the energy misses is put right along the rates; what is too much waits    (T44)
            flow[2] += abs(now - due)
            open_, share, most = due - now - work.step[2], 0.0, LARGEST_SHARE if good else 1.0
            if kinetic > 0.0 and not prescribed:
                share = min(max(open_ / kinetic, -most), LARGEST_SHARE)
            scale = sqrt(1.0 + share)
            work.step[1] = now + share * kinetic
            work.step[2] = max(share * kinetic - open_, 0.0)
            for k in range(q.size):
                q[k] = new_q[k]
                qd[k] = scale * new_qd[k]
                work.last[k] = start[k]
        if left < SHORTEST * h:
            left = 0.0
        if not good:
            watch.hard[1] += 1
            if watch.hard[2] < 0:
                watch.hard[2] = step
        if part < h and left == 0.0:
            watch.hard[0] += 1
        note_coarseness(arm, rate, start, qdd, part, watch)
        last = part
        part = left if calls >= EVALUATIONS else min(2.0 * part if count < EASY else part, left)
    work.step[0] = last


@compiled
def rk4_step(arm, loads, q, qd, qdd, effort, h, flow, stage, work):
    """One step of the classical Runge-Kutta scheme."""
    old_q, old_qd, sum_q, sum_qd = stage[0], stage[1], stage[2], stage[3]
    sum_q[:] = 0.0
    sum_qd[:] = 0.0
    for part in range(4):
        set_loads(arm, loads, q, qd, work)
        implicit_dynamics(arm, q, qd, effort, 0.0, qdd, work, qdd)
        weight = h / 6.0 if part in (0, 3) else h / 3.0
        add_powers(arm, q, qd, qdd, effort, 0.0, weight, work, flow)
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
