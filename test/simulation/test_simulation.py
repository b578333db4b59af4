"""State and time of a simulated arm."""

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from ctrl_c import interrupted
from moving_arms import swinging_arm
from scipy.spatial.transform import Rotation

from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import SimulationSettings


@pytest.fixture(name='simulation')
def swinging():
    """Return a Simulation of two flexible links and a tool, at rest."""
    return Simulation(swinging_arm())


def expect_same(one, other):
    np.testing.assert_array_equal((one.q, one.v), (other.q, other.v))
    assert one.energy() == other.energy()


def test_advance_to_takes_the_nearest_whole_step(simulation):
    for time, reached in ((0.0104, 10), (0.0105001, 11), (0.0106, 11), (0.5, 500)):
        simulation.advance_to(time)
        assert simulation.time == pytest.approx(reached * 1e-3, rel=1e-12)


def test_one_call_of_many_steps_is_many_calls_of_one():
    runs = [Simulation(swinging_arm()) for _ in range(2)]
    for run in runs:
        run.set_state(v=[1.0, -0.5])
    runs[0].step(500)
    for _ in range(500):
        runs[1].step()
    expect_same(*runs)
    assert runs[0].time == pytest.approx(runs[1].time, rel=1e-12)


def test_a_push_acts_from_the_next_step_on(simulation):
    """A call of `step` may reuse the arguments of the last one."""
    fresh = Simulation(swinging_arm())
    for _ in range(3):
        simulation.step(2)
    simulation.push('tool', force=(0.0, 1.0, 0.0))
    simulation.step(2)
    simulation.push('tool')
    simulation.step(2)
    fresh.step(6)
    fresh.push('tool', force=(0.0, 1.0, 0.0))
    fresh.step(2)
    fresh.push('tool')
    fresh.step(1)
    fresh.step(1)
    expect_same(simulation, fresh)


def test_single_steps_report_what_one_call_reports():
    runs = [Simulation(swinging_arm()) for _ in range(2)]
    for run in runs:
        run.set_state(v=[40.0, -60.0])  # the links bend beyond the limit
    runs[0].step(200)
    for _ in range(200):
        runs[1].step()
    reports = [sorted(line.partition(' at ')[0] for line in run.reports) for run in runs]
    assert reports[0] == reports[1] != []


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason='Ctrl-C stops plain Python anywhere')
@pytest.mark.parametrize('scheme', ['implicit_midpoint', 'rk4'])
@pytest.mark.parametrize('steps', [3, 10**8])
def test_the_state_of_an_interrupted_run_matches_its_time(scheme, steps):
    rng = np.random.default_rng(steps)

    def started():
        run = Simulation(swinging_arm(), SimulationSettings(scheme=scheme, time_step=1e-5))
        run.effort = [0.5, 0.1]
        run.step()
        return run

    for _ in range(5):
        run, fresh = started(), started()
        interrupted(
            lambda run=run: [run.step(steps) for _ in range(10**9)], rng.uniform(5e-3, 2e-2)
        )
        taken = round(run.time / 1e-5)
        assert run.time == pytest.approx(taken * 1e-5, rel=1e-9) and taken > 1
        fresh.step(taken - 1)
        expect_same(run, fresh)


def test_reset_goes_back_to_rest_and_time_runs_on(simulation):
    simulation.effort = [5.0, 1.0]
    simulation.hold([1.0, 1.0], 10.0, 1.0)
    simulation.push('tool', force=(0.0, 300.0, 0.0))
    simulation.step(300)
    assert simulation.reports
    simulation.reset()
    assert simulation.time == pytest.approx(0.3)
    assert not simulation.q.any()
    assert not simulation.v.any()
    assert not simulation.applied_effort.any()
    assert simulation.reports == []
    fresh = Simulation(swinging_arm())
    for run in (simulation, fresh):
        run.step(100)
    expect_same(simulation, fresh)


def test_a_position_sets_both_sides_of_a_gear():
    arm = swinging_arm(gear='stiffness="400" rotor_inertia="1" gear_ratio="1"')
    simulation = Simulation(arm)
    simulation.set_state(q=[0.2, 0.3], v=[0.4, 0.5])
    np.testing.assert_array_equal(simulation.position, [0.2, 0.3])
    np.testing.assert_array_equal(simulation.motor_position, [0.2, 0.3])
    np.testing.assert_array_equal(simulation.velocity, [0.4, 0.5])
    np.testing.assert_array_equal(simulation.motor_velocity, [0.4, 0.5])
    assert not simulation.q[4:].any()
    simulation.set_state(q=np.arange(arm.size), v=-np.arange(arm.size))
    np.testing.assert_array_equal(simulation.motor_position, [2.0, 3.0])
    np.testing.assert_array_equal(simulation.velocity, [0.0, -1.0])


def test_properties_return_copies(simulation):
    names = 'position velocity motor_position motor_velocity q v applied_effort'
    for name in names.split():
        getattr(simulation, name)[:] = 7.0
        assert not getattr(simulation, name).any()


def test_pose_and_deflection_agree():
    simulation = Simulation(swinging_arm())
    rng = np.random.default_rng(2)
    simulation.set_state(q=rng.uniform(-0.1, 0.1, simulation.arm.size))
    root, tool = simulation.pose('forearm'), simulation.pose('tool')
    moved = simulation.deflection['forearm']
    expected = np.eye(4)
    expected[:3, :3] = Rotation.from_rotvec(moved[3:]).as_matrix()
    expected[:3, 3] = moved[:3] + [1.0, 0.0, 0.0]
    np.testing.assert_allclose(np.linalg.solve(root, tool), expected, atol=1e-13)
    assert list(simulation.deflection) == ['arm', 'forearm']
    assert len(simulation.deflection) == 2
    assert 'hand' not in simulation.deflection


def test_the_base_stays_where_it_is(simulation):
    simulation.step(10)
    np.testing.assert_array_equal(simulation.pose('base'), np.eye(4))


def test_runs_are_equal_bit_for_bit_and_independent():
    arm = swinging_arm()
    first, second, other = (Simulation(arm) for _ in range(3))
    other.set_payload('tool', 3.0)
    other.hold([1.0, 1.0], 10.0, 1.0)
    other.push('tool', (1.0, 2.0, 3.0))
    other.effort = [1.0, 2.0]
    for _ in range(5):
        for run in (first, other, second):
            run.step(40)
    expect_same(first, second)
    assert np.abs(first.q - other.q).max() > 1e-3
    alone = Simulation(arm)
    alone.step(200)
    np.testing.assert_allclose(alone.q, first.q, rtol=0, atol=0)


@pytest.mark.slow
def test_threads_do_not_disturb_each_other():
    # the compiled steps run without the GIL, so that these overlap
    def run(speed):
        simulation = Simulation(swinging_arm())
        simulation.set_state(v=[speed, -speed])
        simulation.step(3000)
        return simulation.q

    speeds = [0.5, 1.0, 1.5]
    one_by_one = [run(speed) for speed in speeds]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(run, speeds))
    np.testing.assert_array_equal(together, one_by_one)
