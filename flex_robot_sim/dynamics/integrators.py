"""
Time integration. Every scheme also integrates the work of the motors and the dissipated energy.

    implicit_midpoint       v' = M^-1 f at the middle of the step, implicit in springs and dampers;
                            second order, unconditionally stable, conserves energy (T41)
    rk4                     the classical one; fourth order
    semi_implicit_euler     v += h a(q, v), q += h v; first order, conserves energy on average
    forward_euler           q += h v, v += h a(q, v); first order, for comparison with papers

The scheme `reference`, which chooses its own steps, is in adaptive.py.
Orders and stability: Hairer, Lubich & Wanner, Geometric Numerical Integration (2006).
"""

from math import inf, isfinite, sqrt

from flex_robot_sim.dynamics.arm_state import RK4, SEMI_IMPLICIT_EULER
from flex_robot_sim.dynamics.attitude_correction import (
    take_remaining_excess,
    turn_base_pose,
    turn_for_energy,
)
from flex_robot_sim.dynamics.constraints.compliance import compliance_loss
from flex_robot_sim.dynamics.constraints.end_motion import set_end_twists
from flex_robot_sim.dynamics.constraints.projection import (
    add_prescribed_reactions,
    close_loops,
    instant_dynamics,
    subtract_from_drives,
)
from flex_robot_sim.dynamics.constraints.responses import add_response, factor_constraints
from flex_robot_sim.dynamics.constraints.singular_poses import note_singular_pose
from flex_robot_sim.dynamics.constraints.solution import (
    CONTACT_ROUNDS,
    MIDDLE_ROUNDS,
    close_middle,
    close_rates,
    close_step,
    set_start_gaps,
    ties_to_world,
)
from flex_robot_sim.dynamics.contact.instant import (
    add_contact_powers,
    add_stored_forces,
    set_loads_and_contacts,
)
from flex_robot_sim.dynamics.contact.penetration import note_penetration, substep_within_depth
from flex_robot_sim.dynamics.contact.solution import (
    add_impulses,
    add_missed_points,
    choose_points,
    contact_loss,
    has_near_points,
    is_near_world,
    keep_gaps,
    prepare_contacts,
    set_contact_efforts,
    set_mean_forces,
    solve_contacts,
)
from flex_robot_sim.dynamics.coordinates import integrate
from flex_robot_sim.dynamics.coupled_damping import apply_coupled_damping
from flex_robot_sim.dynamics.energy import set_energies, set_energies_of_motion
from flex_robot_sim.dynamics.factor_reuse import refine_dynamics, solve_dynamics
from flex_robot_sim.dynamics.forces import add_powers, restore_joint_forces, store_joint_forces
from flex_robot_sim.dynamics.forward_dynamics import base_power
from flex_robot_sim.dynamics.free_base import (
    begin_at_base_body,
    move_base_pose,
    set_coordinate_rates,
)
from flex_robot_sim.dynamics.joint_laws.maxwell_slip import copy_slip, slip_until_end
from flex_robot_sim.dynamics.loads import set_loads
from flex_robot_sim.dynamics.momentum import meet_momentum, set_impulse, store_momentum
from flex_robot_sim.dynamics.monitors import count_events, note_coarseness, note_validity
from flex_robot_sim.dynamics.motor_laws import accept_motor_step
from flex_robot_sim.dynamics.moved_base import begin_substep_of_base, move_base
from flex_robot_sim.dynamics.sliding_body import is_outside_guide
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import is_finite, set_copy

RATE_TOLERANCE = 5e-7  # relative, in the norm of kinetic energy
REST_VELOCITY = 1e-3  # added to velocities, for an arm at rest     [rad/s, m/s]
MAX_ENERGY_ERROR = 1e-2  # over the kinetic energy; above it a step is halved
ENERGY_ROUNDING = 1e-9  # allowed error over strain and potential energy
MAX_ENERGY_CORRECTION = 1e-2  # over the kinetic energy
CONTACT_ENERGY_ROUNDING = 1e-14  # of gaps and energies, over strain and potential energy
MAX_ITERATIONS = 12  # before a step is halved
UNRELAXED_ITERATIONS = 3  # joint forces are solved with locked neighbours
STEP_GROWTH_ITERATIONS = 6  # the next substep may be longer after fewer
MAX_EVALUATIONS = 400  # per step; then one substep covers the remainder
MAX_RATIO_FOR_REUSE = 0.1  # ratio of squared changes; below it factors are reused
MIN_RATIO_FOR_COUPLED_DAMPING = 1e-2  # ratio of squared changes
CG_ITERATIONS_PER_EVALUATION = 6  # iterations of coupled dampers in the time of an evaluation
MIN_SUBSTEP_RATIO = 2.0**-12  # over the step
NON_FINITE_EFFORT = -1  # instead of a number of events


@compiled
def advance_checked(arm, loads, settings, state, steps, watch, work):
    """
    Take steps unless an effort is not finite, and count the events; see `advance`.

    :returns: number of steps taken, and `count_events` or NON_FINITE_EFFORT.
    """
    if not is_finite(state.effort):
        return 0, NON_FINITE_EFFORT
    return advance(arm, loads, settings, state, steps, watch, work), count_events(watch)


@compiled
def advance(arm, loads, settings, state, steps, watch, work):
    """
    Take steps by the implicit midpoint rule; stop before a non-finite state.

    :param loads: LoadArrays of the external loads; settings: StepSettings.
    :param state: ArmState, changed in place; work and energies are added to its `flow`.
    :param watch: Watch; records violations of the model's limits and subdivided steps.
    :returns: number of steps taken.
    """
    if work.step[0] == 0.0:  # the energy has changed between the steps
        set_energies(arm, state.q, state.qd, work, work.energy)
        work.step[1] = work.energy[0] + work.energy[1] + work.energy[2]
        if arm.base.shape[0] > 0:
            store_momentum(1.0, work, work.momentum)
        keep_gaps(work)
        note_penetration(0, watch, work)
    for step in range(steps):
        if not take_step(arm, loads, settings, state, step, watch, work):
            return step
    return steps


@compiled
def take_step(arm, loads, settings, state, step, watch, work):
    """Take step number `step`; return False if its end is not finite, at the old state."""
    flow = state.flow
    store_start(arm, state, work)
    work_before, dissipated_before = flow[0], flow[1]
    midpoint_step(arm, loads, settings, state, step, watch, work)
    if not is_finite_or_restored(arm, state, work):
        flow[0], flow[1] = work_before, dissipated_before
        work.joint_force[:] = 0.0
        return False
    note_validity(arm, state.q, step, watch, work)
    note_singular_pose(arm, step, watch, work)
    return True


@compiled
def advance_explicitly(arm, loads, settings, state, steps, watch, work):
    """Take steps of an explicit scheme; see `advance`."""
    q, qd, qdd, effort, flow = state.q, state.qd, state.qdd, state.effort, state.flow
    h, scheme = settings.time_step[0], settings.scheme[0]
    for step in range(steps):
        store_start(arm, state, work)
        work_before, dissipated_before = flow[0], flow[1]
        if scheme == RK4:
            rk4_step(arm, loads, h, state, work)
        else:
            set_loads_and_contacts(arm, loads, q, qd, work)
            instant_dynamics(arm, q, qd, effort, work, qdd)
            add_powers(arm, q, qd, qdd, effort, 0.0, h, work, flow)
            if arm.contact_kind.size > 0:
                add_contact_powers(arm, h, work, flow)
            if scheme != SEMI_IMPLICIT_EULER:
                integrate(q, qd, h, q)
            for k in range(q.size):
                qd[k] += h * qdd[k]
            if scheme == SEMI_IMPLICIT_EULER:
                integrate(q, qd, h, q)
        if arm.constraint_kind.size > 0:
            close_loops(arm, q, qd, work)
        if arm.base.shape[0] > 0:
            move_base_pose(arm, q, work)
        if not is_finite_or_restored(arm, state, work):
            flow[0], flow[1] = work_before, dissipated_before
            return step
        note_validity(arm, q, step, watch, work)
        note_penetration(step, watch, work)
        note_singular_pose(arm, step, watch, work)
    return steps


@compiled
def store_start(arm, state, work):
    """Store a state, and the pose of a free base, for `is_finite_or_restored`."""
    if arm.base.shape[0] > 0:
        set_copy(work.base_pose, work.base_start)
    set_copy(state.q, state.stage[0])
    set_copy(state.qd, state.stage[1])


@compiled
def is_finite_or_restored(arm, state, work):
    """
    Whether a state is finite and keeps sliding links in their guides.

    If not, restore the start of the step; `stage[2]` receives the refused coordinates.
    """
    magnitude = 0.0
    for k in range(state.q.size):
        magnitude += abs(state.q[k]) + abs(state.qd[k])
    if arm.base.shape[0] > 0:
        for k in range(work.base_pose.size):
            magnitude += abs(work.base_pose[k])
    if isfinite(magnitude) and not is_outside_guide(arm, state.q):
        return True
    set_copy(state.q, state.stage[2])
    set_copy(state.stage[0], state.q)
    set_copy(state.stage[1], state.qd)
    if arm.base.shape[0] > 0:
        set_copy(work.base_start, work.base_pose)
    state.qdd[:] = 0.0
    return False


@compiled
def midpoint_step(arm, loads, settings, state, step, watch, work):
    """
    Take one step of the implicit midpoint rule, subdivided where it does not converge.

    Mass matrix and velocity terms are those at mid-step, predicted by the latest acceleration.
    Springs, dampers, stops and friction are implicit, so that their frequencies do not limit the
    step (T40). Later iterations reuse the factors of the first one where they are accurate (T48).
    A substep is halved if it does not converge or violates the energy balance; after an accurate
    one the length is doubled again. To bound the time of a real-time loop, one substep covers the
    remainder after MAX_EVALUATIONS (T43). An accepted inaccurate substep adds no energy (T46).
    """
    q = state.q
    qd = state.qd
    qdd = state.qdd
    effort = state.effort
    flow = state.flow
    stage = state.stage
    h, iterations = settings.time_step[0], settings.iterations[0]
    mid_q = stage[2]
    mid_qd = stage[3]
    guess = stage[4]
    start = stage[5]
    old_joint_force = stage[6]
    new_q = stage[7]
    new_qd = stage[8]
    old_gear_force = stage[9]
    remaining, substep, evaluations, last_substep = h, h, 0, work.step[0]
    is_prescribed = is_coupled = is_tied = False
    has_memory, has_loops = work.slip.size > 0, arm.constraint_kind.size > 0
    is_free, is_moved = arm.base.shape[0] > 0, work.base_moves[0] != 0.0
    has_contacts, has_missed, has_motor_law = False, False, False
    if arm.contact_kind.size > 0:
        work.contact_impulse[:] = 0.0
    for j in range(arm.motor.size):
        is_prescribed = is_prescribed or work.prescribed[j] != 0.0
        has_motor_law = has_motor_law or arm.has_motor_law[j] != 0.0
    while remaining > 0.0:
        if evaluations < MAX_EVALUATIONS:
            substep = substep_within_depth(substep, MIN_SUBSTEP_RATIO * h, watch, work)
        for k in range(q.size):
            start[k] = qdd[k]
            old_joint_force[k] = work.joint_force[k]
            if substep == last_substep:  # extrapolate the acceleration
                qdd[k] += qdd[k] - work.last[k]
        for j in range(arm.motor.size):
            old_gear_force[j] = work.gear_law[j, 0]
        if is_moved:
            move_base(0.0, substep, work)
        if has_loops:
            set_start_gaps(arm, q, qd, substep, work)
        if arm.contact_kind.size > 0:
            if not has_missed:
                choose_points(arm, substep, work)
            has_contacts = has_near_points(arm, work)
        if is_moved:
            move_base(0.5, substep, work)
        old_change, converged, is_close, count, cg_iterations = inf, False, False, 0, 0
        work.constraint_force[:] = 0.0
        while not converged and count < MAX_ITERATIONS:
            for k in range(q.size):
                guess[k] = qdd[k]
                mid_qd[k] = qd[k] + 0.5 * substep * guess[k]
            integrate(q, mid_qd, 0.5 * substep, mid_q)
            if count > 0:
                store_joint_forces(arm, mid_qd, work)
            work.relaxation[0] = 1.0 if count < UNRELAXED_ITERATIONS else 0.25 * work.relaxation[0]
            set_loads(arm, loads, mid_q, work)
            is_factored = count == 0 or is_prescribed or not is_close
            if is_factored:
                solve_dynamics(arm, mid_q, mid_qd, effort, substep, guess, work, qdd)
            else:
                is_factored = refine_dynamics(
                    arm, mid_q, mid_qd, effort, substep, guess, work, qdd
                )
            if has_loops:
                if is_factored:
                    factor_constraints(arm, work)
                if count > 0:
                    add_response(arm, 1.0, work.constraint_force, work, qdd)
            if has_contacts:
                prepare_contacts(arm, qd, substep, work, qdd)
            if is_coupled:
                cg_iterations += apply_coupled_damping(arm, substep, guess, work, qdd)
            if has_loops:
                rounds = CONTACT_ROUNDS if has_contacts else MIDDLE_ROUNDS
                close_middle(arm, qd, substep, rounds, work, new_qd, qdd)
            if has_contacts:
                solve_contacts(arm, qd, substep, work, qdd)
                if has_loops:
                    close_middle(arm, qd, substep, CONTACT_ROUNDS, work, new_qd, qdd)
            count += 1
            change = magnitude = 0.0
            for k in range(q.size):
                error, speed = substep * (qdd[k] - guess[k]), substep * qdd[k]
                change += arm.inertia_scale[k] * error * error
                magnitude += arm.inertia_scale[k] * (
                    mid_qd[k] * mid_qd[k] + speed * speed + REST_VELOCITY * REST_VELOCITY
                )
            # the remaining error is about change^2 / old_change
            converged = count >= iterations and (
                change * min(change, old_change)
                <= RATE_TOLERANCE * RATE_TOLERANCE * magnitude * old_change
            )
            is_coupled = is_coupled or (
                arm.shared.size > 0
                and count >= iterations
                and change > MIN_RATIO_FOR_COUPLED_DAMPING * old_change
            )
            # whether the factors are accurate enough for another iteration                   (T48)
            is_close = (
                change <= MAX_RATIO_FOR_REUSE * old_change
                if count > 1
                else work.step[3] <= iterations
            )
            old_change = change
            if not change < inf:
                break
        evaluations += count + cg_iterations // CG_ITERATIONS_PER_EVALUATION
        work.step[3] = count
        is_closed = True
        if is_moved:
            move_base(1.0, substep, work)
        if has_loops:
            is_closed = close_step(arm, q, qd, substep, work, new_q, new_qd, qdd)
            if is_prescribed:
                add_prescribed_reactions(
                    arm, work.constraint_jacobian, work.constraint_force, 1.0, work, guess, new_qd
                )
        if has_contacts and is_prescribed:
            set_contact_efforts(arm, work, guess)
            subtract_from_drives(arm, work, guess, new_qd)
        for k in range(q.size):
            mid_qd[k] = qd[k] + 0.5 * substep * qdd[k]
            new_qd[k] = qd[k] + substep * qdd[k]
        integrate(q, mid_qd, 0.5 * substep, mid_q)
        integrate(q, mid_qd, substep, new_q)
        store_joint_forces(arm, mid_qd, work)
        work_before, dissipated_before = flow[0], flow[1]
        mean = qdd  # acceleration of the step, with the impulses at its end
        if has_loops:
            is_closed &= close_rates(arm, new_qd, work)
            if is_prescribed:
                impulse, end_jacobian = work.constraint_impulse, work.constraint_end_jacobian
                add_prescribed_reactions(
                    arm, end_jacobian, impulse, 1.0 / substep, work, guess, work.cg_vectors[0]
                )
            if is_moved:
                mean = work.cg_vectors[0]
                for k in range(q.size):
                    mean[k] = (new_qd[k] - qd[k]) / substep
        if is_moved:
            move_base(0.5, substep, work)
        if has_contacts:
            flow[1] += contact_loss(arm, mid_qd, substep, work)
        if is_moved:
            if has_contacts:  # the base does not carry what the world carries
                add_stored_forces(arm, True, work)
            flow[0] += substep * base_power(arm, mid_q, mid_qd, mean, work, guess)
            if has_contacts:
                set_loads(arm, loads, mid_q, work)
            move_base(1.0, substep, work)
        add_powers(arm, mid_q, mid_qd, qdd, effort, substep, substep, work, flow)
        if has_memory:
            flow[1] += slip_until_end(arm, mid_q, mid_qd, qdd, substep, work)
        if is_free:
            set_impulse(arm, loads, substep, work)
            # the world may take momentum, and then only the energy is corrected
            is_tied = (has_contacts and is_near_world(arm, work)) or ties_to_world(arm)
        if has_loops:
            flow[1] += compliance_loss(arm, substep, work)
        if has_loops and not is_moved:
            set_end_twists(arm, new_q, new_qd, work)
            set_energies_of_motion(arm, new_q, new_qd, work, work.energy)
        else:
            set_energies(arm, new_q, new_qd, work, work.energy)
        has_missed = arm.contact_kind.size > 0 and add_missed_points(arm, work)
        if has_missed:  # the step did not consider a point that touches: repeat it
            set_copy(start, qdd)
            restore_joint_forces(old_joint_force, old_gear_force, work)
            flow[0], flow[1] = work_before, dissipated_before
            continue
        kinetic = work.energy[0]
        energy = kinetic + work.energy[1] + work.energy[2]
        dissipated = flow[1] - dissipated_before
        expected = work.step[1] + (flow[0] - work_before) - dissipated
        rounding = ENERGY_ROUNDING * (work.energy[1] + abs(work.energy[2]))
        is_accurate = (
            converged
            and is_closed
            and abs(energy - expected) < inf  # the bound below may be infinite, too
            and abs(energy - expected)
            <= MAX_ENERGY_ERROR * (kinetic + abs(flow[0] - work_before) + abs(dissipated))
            + rounding
        )
        if has_motor_law and dissipated < -ENERGY_ROUNDING * kinetic - rounding:
            is_accurate = False  # cogging has reversed the direction of dry friction
        if not is_accurate and evaluations < MAX_EVALUATIONS and substep > MIN_SUBSTEP_RATIO * h:
            substep *= 0.5
            set_copy(start, qdd)
            restore_joint_forces(old_joint_force, old_gear_force, work)
            flow[0], flow[1] = work_before, dissipated_before
            continue
        if dissipated < 0.0 and (has_motor_law or not is_accurate):
            # passive joint laws add no energy
            expected += dissipated
            flow[1] = dissipated_before
        remaining -= substep
        if (
            not is_accurate
            and not (energy - expected <= kinetic and is_closed)
            and (evaluations >= MAX_EVALUATIONS or isfinite(energy) or has_loops)
        ):
            # the excess is above the kinetic energy, or a loop is open: keep the old state   (T46)
            flow[0], flow[1] = work_before, dissipated_before
            restore_joint_forces(old_joint_force, old_gear_force, work)
            qdd[:] = 0.0
            work.last[:] = 0.0
            if has_memory:
                copy_slip(work.slip, work.slip_end)
        else:
            # correct the energy error by scaling the velocities; carry over the excess      (T44)
            if is_free and not is_tied:
                change, kinetic = meet_momentum(arm, substep, new_qd, work)
                energy += change
            flow[2] += abs(energy - expected)
            open_error = expected - energy - work.step[2]
            correction = turned = 0.0
            # a free arm and one with contacts take all excess at once: their energy never rises
            has_limit = is_accurate and not is_free and arm.contact_kind.size == 0
            # rounding has both signs: taking only its excess would damp small vibrations
            is_rounding = (
                arm.contact_kind.size > 0
                and not is_free
                and abs(open_error)
                <= CONTACT_ENERGY_ROUNDING * (work.energy[1] + abs(work.energy[2]))
            )
            has_limit = has_limit or is_rounding
            max_correction = MAX_ENERGY_CORRECTION if has_limit or open_error > 0.0 else 1.0
            if not (is_prescribed or is_moved):
                if is_free and not is_tied:
                    turned = turn_for_energy(
                        arm, open_error, kinetic, max_correction, new_qd, work
                    )
                    energy += turned
                    open_error -= turned
                if kinetic > 0.0:
                    correction = min(max(open_error / kinetic, -max_correction), max_correction)
            scale = sqrt(1.0 + correction)
            excess = correction * kinetic - open_error
            work.step[1] = energy + correction * kinetic
            work.step[2] = excess if is_rounding else max(excess, 0.0)
            for k in range(q.size):
                q[k] = new_q[k]
                qd[k] = scale * new_qd[k]
                work.last[k] = start[k]
            if is_tied:
                store_momentum(scale, work, work.momentum)
            elif is_free:  # the motion with the momentum is not scaled                      (T112)
                for b in range(arm.base.shape[0]):
                    qd[arm.base[b, 0]] += (1.0 - scale) * work.base_force[b]
            if is_free:
                begin_at_base_body(arm, q, work)
                if turned != 0.0:
                    turn_base_pose(work)
                    if arm.contact_kind.size > 0:  # the turn may press a point
                        set_energies(arm, q, qd, work, work.energy)
                        energy = work.energy[0] + work.energy[1] + work.energy[2]
                        excess += energy - work.step[1]
                        work.step[1], work.step[2] = energy, max(excess, 0.0)
                if not (is_tied or is_prescribed or is_moved):
                    take_remaining_excess(arm, excess, q, qd, work)
            if has_memory:
                copy_slip(work.slip_end, work.slip)
            if has_motor_law:
                accept_motor_step(work)
            if arm.contact_kind.size > 0:
                add_impulses(substep, work)
                keep_gaps(work)
                note_penetration(step, watch, work)
        if is_moved:
            begin_substep_of_base(work)
        if remaining < MIN_SUBSTEP_RATIO * h:
            remaining = 0.0
        if not is_accurate:
            watch.hard[1] += 1
            if watch.hard[2] < 0:
                watch.hard[2] = step
        if substep < h and remaining == 0.0:
            watch.hard[0] += 1
        note_coarseness(arm, mid_qd, start, qdd, substep, watch)
        last_substep = substep
        substep = (
            remaining
            if evaluations >= MAX_EVALUATIONS
            else min(2.0 * substep if count < STEP_GROWTH_ITERATIONS else substep, remaining)
        )
    work.step[0] = last_substep
    if arm.contact_kind.size > 0 and last_substep < h:
        set_mean_forces(h, work)


@compiled
def rk4_step(arm, loads, h, state, work):
    """One step of the classical Runge-Kutta scheme."""
    q = state.q
    qd = state.qd
    qdd = state.qdd
    effort = state.effort
    flow = state.flow
    stage = state.stage
    old_q, old_qd, sum_q, sum_qd, rates = stage[0], stage[1], stage[2], stage[3], stage[4]
    sum_q[:] = 0.0
    sum_qd[:] = 0.0
    if arm.contact_kind.size > 0:
        work.contact_impulse[:] = 0.0
    for stage_number in range(4):
        set_loads_and_contacts(arm, loads, q, qd, work)
        instant_dynamics(arm, q, qd, effort, work, qdd)
        weight = h / 6.0 if stage_number in (0, 3) else h / 3.0
        add_powers(arm, q, qd, qdd, effort, 0.0, weight, work, flow)
        if arm.contact_kind.size > 0:
            add_contact_powers(arm, weight, work, flow)
            add_impulses(weight, work)
        set_coordinate_rates(arm, q, qd, work, rates)
        for k in range(q.size):
            sum_q[k] += weight * rates[k]
            sum_qd[k] += weight * qdd[k]
        if stage_number < 3:
            stage_step = 0.5 * h if stage_number < 2 else h
            integrate(old_q, rates, stage_step, q)
            for k in range(q.size):
                qd[k] = old_qd[k] + stage_step * qdd[k]
    if arm.contact_kind.size > 0:
        set_mean_forces(h, work)
    integrate(old_q, sum_q, 1.0, q)
    for k in range(q.size):
        qd[k] = old_qd[k] + sum_qd[k]
