"""
Equations of motion, Jacobians and inertias of closed loops at one state.

References: finite differences, Pinocchio, energies, and the motion of `Simulation`.
"""

from functools import cache

import numpy as np
import pytest
from closed_loops import ONE_LOOP, closed_robot
from cut_loops import DRIVES, cut_loop
from pinocchio_loops import pinocchio_loops
from refusals import refusal
from scipy.linalg import null_space

import flex_robot_sim as frs
from flex_robot_sim.analysis.joint_space_inertia import (
    joint_space_inertia,
    poses_within,
    rigid_inertia,
)
from flex_robot_sim.analysis.loop_poses import pose_of_drives

pytestmark = pytest.mark.slow


def random_state_on(arm, seed):
    """Coordinates and rates of a random arm with loops, in motion."""
    sim, v = frs.Simulation(arm), np.zeros(arm.size)
    arm.set_joints(v, np.random.default_rng([seed, 8]).normal(size=len(arm.joint_names)))
    sim.set_state(v=v)
    sim.step(20)
    return sim.q, sim.v


@pytest.mark.parametrize('kind', [*ONE_LOOP, 'fixed'])
def test_derivatives_of_a_loop_are_those_of_its_accelerations(kind):
    arm = frs.load(closed_robot(4, kind, damping=True, links=5))
    q, v = random_state_on(arm, 4)
    effort = np.random.default_rng(4).normal(size=len(arm.joint_names))
    found, step = frs.derivatives(arm, q, v, effort), 1e-5
    for slopes, function in (
        (found.da_dq, lambda x: frs.forward_dynamics(arm, q + x, v, effort)),
        (found.da_dv, lambda x: frs.forward_dynamics(arm, q, v + x, effort)),
    ):
        expected = [
            (function(one) - function(-one)) / (2 * step) for one in step * np.eye(arm.size)
        ]
        largest = np.abs(slopes).max(axis=0) + 1e-6 * np.abs(slopes).max()
        assert (np.abs(slopes - np.array(expected).T) < 1e-5 * largest).all()
    change = frs.forward_dynamics(arm, q, v, 2 * effort) - found.a
    assert found.da_deffort @ effort == pytest.approx(change, abs=1e-8 * np.abs(change).max())


@pytest.mark.parametrize('kind', ['spherical', 'fixed'])
def test_derivatives_of_rigid_loops_are_those_of_pinocchio(kind):
    pin = pytest.importorskip('pinocchio')
    arm = frs.load(
        closed_robot(1, kind, kinds=('rigid',), gears=False, links=8, joints=('revolute',))
    )
    q, v = random_state_on(arm, 1)
    loops = pinocchio_loops(pin, arm)
    model, data, order = loops.model, loops.data, loops.order
    effort = np.random.default_rng(1).normal(size=model.nv)
    rows = loops.constraints, loops.constraint_data, loops.settings
    accelerations = pin.constraintDynamics(
        model, data, q[order], v[order], effort[order], *rows
    ).copy()
    pin.computeConstraintDynamicsDerivatives(model, data, *rows)
    W = pin.getConstraintsJacobian(model, data, loops.constraints, loops.constraint_data)
    tangent = null_space(W)
    found, block = frs.derivatives(arm, q, v, effort), np.ix_(order, order)
    for mine, theirs in (
        (found.a[order], accelerations),
        (found.da_dv[block] @ tangent, data.ddq_dv @ tangent),
    ):
        # Pinocchio's proximal term limits the accuracy
        assert mine == pytest.approx(theirs, abs=1e-6 * np.abs(theirs).max())
    upper = np.triu(pin.crba(model, data, q[order]))
    M = upper + np.triu(upper, 1).T
    by_effort = tangent @ np.linalg.solve(tangent.T @ M @ tangent, tangent.T)
    assert found.da_deffort[block] == pytest.approx(by_effort, abs=1e-10 * np.abs(by_effort).max())


def test_inverse_dynamics_returns_the_efforts_of_the_motors():
    arm = frs.load(cut_loop(1, 7, beams=(1,)))
    q, v = random_state_on(arm, 1)
    effort = np.where(arm.actuated, np.random.default_rng(0).normal(size=8), 0.0)
    a = frs.forward_dynamics(arm, q, v, effort)
    force = frs.inverse_dynamics(arm, q, v, a)
    assert force[arm.motor_q] == pytest.approx(effort, abs=1e-8)
    assert np.delete(force, arm.motor_q) == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize('motors', [1, 2])
def test_the_efforts_of_a_motion_let_the_simulation_repeat_it(motors):
    arm, h = rigid_four_bar(motors), 1e-3
    times = h * (np.arange(80) + 0.5)
    efforts = np.array([efforts_at(arm, time) for time in times])
    assert np.abs(efforts[:, 0]).max() > 0.1
    assert (np.abs(efforts[:, 2]).max() > 0.01) == (motors == 2)
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=h))
    sim.set_state(state_at(0.0)[0])
    for effort in efforts:
        sim.effort = effort
        sim.step()
    assert sim.position[0] == pytest.approx(crank(sim.time), abs=1e-5)


@cache
def rigid_four_bar(motors=1):
    text = frs.read_description('four_bar').text
    start, end = text.index('<flexibility>'), text.index('</flexibility>') + len('</flexibility>')
    text = text[:start] + text[end:]
    if motors == 2:
        head, tail = text.split('<joint name="rocker_joint"')
        text = f'{head}<joint name="rocker_joint"{tail.replace(NO_EFFORT, SOME_EFFORT, 1)}'
    return frs.load(text)


NO_EFFORT, SOME_EFFORT = 'effort="0"', 'effort="5"'


def crank(time):
    return 0.5 + 0.3 * (1 - np.cos(6.0 * time))


def state_at(time):
    """Coordinates and rates of the motion of the crank."""
    sim = frs.Simulation(rigid_four_bar())
    sim.set_state([crank(time), 0.0, 0.0], [1.8 * np.sin(6.0 * time), 0.0, 0.0])
    return sim.q.copy(), sim.v.copy()


def efforts_at(arm, time, step=1e-4):
    """Efforts of the motors for the motion of the crank, with accelerations by differences."""
    (_, before), (q, v), (_, after) = (state_at(time + s) for s in (-step, 0.0, step))
    force = frs.inverse_dynamics(arm, q, v, (after - before) / (2 * step))
    assert force[~arm.actuated] == pytest.approx(0.0, abs=1e-6)
    return force


def test_two_motors_of_one_degree_of_freedom_share_the_least_efforts():
    one, two = rigid_four_bar(), rigid_four_bar(2)
    rest = frs.equilibrium(one, [0.6, 0.0, 0.0])
    shared = frs.equilibrium(two, rest.q[:3])
    assert shared.q == pytest.approx(rest.q, abs=1e-9)
    # the same power with rates w: u . w = constant, so the least u is along w
    sim = frs.Simulation(one)
    sim.set_state(rest.q, [1.0, 0.0, 0.0])
    w = sim.v * [1.0, 0.0, 1.0]
    assert shared.effort == pytest.approx(rest.effort[0] * w / (w @ w), rel=1e-9)


def test_the_static_jacobian_is_the_slope_of_equilibria():
    arm = frs.load(cut_loop(1, 7, beams=(1,)))
    start, step = frs.equilibrium(arm).q[: len(arm.joint_names)], 1e-4
    J = frs.static_jacobian(arm, start, link='link_3', representation='mixed')
    assert not J[:, ~arm.actuated].any()
    for name in DRIVES:
        k = arm.joint_names.index(name)
        ends = [
            frs.pose(arm, frs.equilibrium(arm, start + s * step * np.eye(8)[k]).q, link='link_3')
            for s in (-1, 1)
        ]
        assert J[3:, k] == pytest.approx((ends[1] - ends[0])[:3, 3] / (2 * step), abs=1e-6)


def test_the_static_jacobian_of_a_rigid_loop_is_that_of_its_motion():
    arm = rigid_four_bar()
    sim = frs.Simulation(arm)
    sim.set_state([0.8, 0.0, 0.0], [1.0, 0.0, 0.0])
    J = frs.static_jacobian(arm, [0.8, 0.0, 0.0], representation='mixed')
    assert J[:, 0] == pytest.approx(sim.twist('tool', representation='mixed'), abs=1e-9)


def test_the_inertia_at_a_drive_is_that_of_the_energy_of_a_rigid_loop():
    arm = rigid_four_bar()
    sim = frs.Simulation(arm)
    for position in (0.3, 1.9):
        closed = pose_of_drives(arm, np.array([position, 0.0, 0.0]))
        sim.set_state(closed, [2.0, 0.0, 0.0])
        inertia = rigid_inertia(arm, sim.position)
        assert inertia[0, 0] == pytest.approx(2 * sim.energy().kinetic / 2.0**2, rel=1e-9)
    found = joint_space_inertia(arm)
    assert found.least[0] > 0 and found.largest[0] > 1.5 * found.least[0]
    assert not found.largest[1:].any()


def test_the_flexible_loop_has_the_inertia_of_the_rigid_one():
    inertia = rigid_inertia(frs.load('four_bar'), np.array([0.4, 0.0, 0.0]))
    rigid = rigid_inertia(rigid_four_bar(), np.array([0.4, 0.0, 0.0]))
    assert inertia[0, 0] == pytest.approx(rigid[0, 0], rel=2e-3)  # section of the beam


def test_poses_within_the_range_close_the_loop_on_the_branch_of_the_start():
    arm = frs.load('four_bar')
    for position in poses_within(arm):
        tip = 0.2 * np.array([np.cos(position[0]), np.sin(position[0])])
        end = [0.5, 0.0] + 0.4 * np.array([-np.sin(position[2]), np.cos(position[2])])
        assert np.linalg.norm(end - tip) == pytest.approx(0.5, abs=1e-9)
        assert end[1] > 0.0  # the other branch has the rocker below the frame


def test_a_pose_that_does_not_close_is_refused():
    # the crank tip moves away from the rocker by more than coupler and rocker are long
    text = frs.read_description('four_bar').text.replace('"0.5 0 0"', '"0.8 0 0"')
    arm = frs.load(text)
    line = refusal(frs.SettingError, pose_of_drives, arm, np.array([3.0, 0.0, 0.0]))
    assert 'cannot close with the drives at crank_joint 3: they open at' in line
