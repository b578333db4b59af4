"""Trajectories planned in one thread and followed in another."""

import threading
import time

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.util.exceptions import SettingError

NAMES = ['waist', 'shoulder', 'elbow']
PERIOD = 2e-3


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link', gravity=(0.0, 0.0, 0.0))


@pytest.fixture
def controller(arm):
    controller = JointController(arm)
    update(controller, 0.0)
    return controller


def update(controller, now):
    still = np.zeros(3)
    return controller.update(now, still, still, still, still)


def long_trajectory(points=20_000, size=0.02):
    times = 1e-3 * np.arange(1, points + 1)
    phase = 2 * np.pi * times / times[-1]
    positions, velocities = (
        np.outer(curve, np.ones(3))
        for curve in (size * (1 - np.cos(phase)), size * 2 * np.pi / times[-1] * np.sin(phase))
    )
    velocities[-1] = 0.0
    return Trajectory(NAMES, times, positions, velocities)


def plan(controller, trajectory, start=None):
    queue = controller.trajectories
    queue.plan(trajectory, controller.newest, start, queue.ticket())


def test_a_planned_trajectory_moves_the_target_as_one_that_is_followed_at_once(arm, controller):
    judge = JointController(arm)
    update(judge, 0.0)
    trajectory = long_trajectory(400)
    plan(controller, trajectory)
    update(controller, PERIOD)
    update(judge, PERIOD)
    judge.follow(trajectory, PERIOD)
    for k in range(2, 220):
        for each in (controller, judge):
            update(each, k * PERIOD)
        assert (controller.target == judge.target).all()
        assert (controller.target_velocity == judge.target_velocity).all()
    assert not controller.is_moving and np.abs(controller.target).max() == 0.0


def test_the_loop_goes_on_while_another_thread_plans(controller):
    trajectory = long_trajectory()
    thread = threading.Thread(target=plan, args=(controller, trajectory))
    thread.start()
    updates = 0
    while thread.is_alive():
        updates += 1
        update(controller, updates * PERIOD)
        time.sleep(1e-4)
    assert updates > 20  # planning takes a tenth of a second, even on a fast machine
    update(controller, (updates + 1) * PERIOD)
    assert controller.is_moving and controller.refused == 0


def test_to_follow_a_long_plan_takes_no_more_than_to_follow_a_short_one(controller):
    plan(controller, long_trajectory())
    began = time.thread_time()
    update(controller, PERIOD)
    # planning in this thread would take ten times as long
    assert time.thread_time() - began < 0.02
    assert controller.is_moving


@pytest.mark.parametrize(
    'command',
    [
        lambda controller: controller.hold(),
        lambda controller: controller.set_target([0.1, 0.0, 0.0]),
    ],
    ids=['hold', 'reference'],
)
def test_what_stops_the_arm_while_a_trajectory_is_planned_replaces_it(controller, command):
    plan(controller, long_trajectory(100))
    command(controller)
    target = controller.target
    update(controller, PERIOD)
    assert not controller.is_moving and (controller.target == target).all()
    assert controller.refused == 1 and controller.reports[-1] == (
        'trajectory refused: the arm was stopped, or got another target, while the trajectory was '
        'planned'
    )


def test_two_trajectories_are_followed_in_their_order(controller):
    plan(controller, Trajectory(NAMES, [1.0], [[0.1, 0.1, 0.1]]))
    plan(controller, Trajectory(NAMES, [0.1], [[0.2, 0.2, 0.2]]), start=0.5)
    for k in range(1, 330):
        update(controller, k * PERIOD)
    assert controller.refused == 0
    np.testing.assert_allclose(controller.target, 0.2)


def test_a_plan_joins_the_reference_where_it_is_by_then(controller):
    controller.follow(Trajectory(['waist'], [1.0], [[0.5]], [[0.0]]), 0.0)
    plan(controller, Trajectory(['shoulder'], [1.0], [[0.3]], [[0.0]]))
    for k in range(1, 100):
        before = controller.target
        update(controller, k * PERIOD)
        assert np.abs(controller.target - before).max() < 1.5 * 0.5 * PERIOD
    # the waist is not named: it stays at its position at the start of planning
    assert controller.target_velocity[0] == 0.0 < controller.target_velocity[1]


@pytest.mark.filterwarnings('error::RuntimeWarning')
def test_wild_trajectories_are_refused_in_one_line_or_stay_within_the_limits(arm, mutants):
    count = mutants // 20
    random = np.random.default_rng(20261125)
    controller, refused = JointController(arm), 0
    update(controller, 0.0)
    for _ in range(count // 5):
        k = int(random.integers(1, 6))
        sizes = (
            10.0 ** random.uniform(-1, 1, 4)
            if random.random() < 0.5
            else (10.0 ** random.uniform(-330, 308, 4))
        )
        times = np.cumsum(np.abs(random.normal(size=k) * sizes[0]))
        tables = [random.normal(size=(k, 3)) * size for size in sizes[1:]]
        if k > 1 and random.random() < 0.1:
            tables[0][0, 0] = random.choice([np.nan, np.inf, -np.inf])
        tables[1][-1] = 0.0
        try:
            controller.follow(Trajectory(NAMES, times, *tables[: random.integers(1, 4)]), 0.0)
        except SettingError as error:
            refused += 1
            assert '\n' not in str(error)
            continue
        for now in np.linspace(0.0, min(times[-1], 1e3), 7):
            sample = controller._reference._motion.sample(now)
            assert (sample[0] >= arm.arrays.lower - 1.1e-3).all()
            assert (sample[0] <= arm.arrays.upper + 1.1e-3).all()
        controller.hold()
    assert refused > count / 50
