"""
Trajectories that replace others in motion: continuous, within limits, and none refused.

The trajectories are sampled from smooth curves that join the present motion at their start.
So each of them is correct by construction.
"""

import numpy as np
import pytest
from scipy.interpolate import BPoly

import flex_robot_sim as frs
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.motion.limits import rate_limits
from flex_robot_sim.motion.reference import JOIN_TIME_S
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.util.exceptions import SettingError

PERIOD = 2e-3
NAMES = ('waist', 'shoulder', 'elbow')
ROUNDING = 1e-9
REPLACEMENTS = 1000  # with --long; a tenth of them in a usual run


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link', gravity=(0.0, 0.0, 0.0))


class Arm:
    """A controller that receives states of an arm exactly at its target."""

    def __init__(self, arm, random):
        self.controller, self._random = JointController(arm), random
        self.now, self.rows = 0.0, []
        self.go_on(1)

    def go_on(self, count):
        """Send states with the jitter of a busy machine."""
        for _ in range(count):
            self.now += PERIOD * self._random.uniform(0.5, 1.5)
            target, still = self.controller.target, np.zeros(3)
            self.controller.update(self.now, target, still, target, still)
            self.rows.append([self.now, *self.controller.target, *self.controller.target_velocity])

    def take_rows(self):
        """Return times (k,), targets and velocities (k, 3) since the last call, and one before."""
        rows = np.array(self.rows)
        self.rows = self.rows[-1:]
        return rows[:, 0], rows[:, 1:4], rows[:, 4:]


def curve_from(state, goal, duration):
    """Curve (BPoly) from a state (3, joints) to rest at a goal, time 0 to duration."""
    ends = np.array([state, [goal, 0 * goal, 0 * goal]])
    return BPoly.from_derivatives([0.0, duration], ends)


def correct_trajectory(random, curve, duration, order):
    """Points of a curve as drivers and planners send them, as a Trajectory."""
    spacing = random.choice([0.004, 0.02, 0.05])
    times = np.unique([*np.arange(random.choice([0.0, spacing]), duration, spacing), duration])
    tables = [curve(times, order) for order in range(order + 1)]
    for table in tables[1:]:
        table[-1] = 0.0
    return Trajectory(NAMES, times, *tables)


def speed_of(curve, duration):
    return np.abs(curve(np.linspace(0.0, duration, 400), 1)).max(axis=0)


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize('order', [0, 1, 2], ids=['positions', 'velocities', 'accelerations'])
def test_correct_trajectories_replace_one_another_in_motion(arm, mutants, order):
    random = np.random.default_rng(35)
    limits, here = rate_limits(arm), Arm(arm, random)
    lower, upper = np.maximum(arm.arrays.lower, -2.5), np.minimum(arm.arrays.upper, 2.5)
    curve, start, duration = None, here.now, 0.0
    for _ in range(min(REPLACEMENTS, mutants // 200)):
        lead = random.choice([0.0, 0.02, 0.02, 0.1])
        begin = here.now + lead
        state = np.zeros((3, 3))
        state[0] = here.controller.target
        if curve is not None:
            t = min(begin - start, duration)
            state = np.array([curve(t, k) for k in range(3)])
        while True:  # until a curve stays within the limits
            goal, new_duration = random.uniform(lower, upper), random.uniform(0.4, 2.5)
            new = curve_from(state, goal, new_duration)
            places = new(np.linspace(0.0, new_duration, 200))
            if (
                (speed_of(new, new_duration) < 0.98 * limits).all()
                and (places > lower).all()
                and (places < upper).all()
            ):
                break
        curve, start, duration = new, begin, new_duration
        here.controller.trajectories.plan(
            correct_trajectory(random, curve, duration, order),
            here.now,
            begin,
            here.controller.trajectories.ticket(),
        )
        here.go_on(int(random.integers(20, 400)))
        times, places, velocities = here.take_rows()
        assert here.controller.refused == 0, here.controller.reports
        steps = np.abs(np.diff(places, axis=0))
        assert (steps <= 1.02 * limits * np.diff(times)[:, None] + ROUNDING).all()
        assert (np.abs(velocities) <= 1.02 * limits).all()
        # after the start, the target lies on the curve; lines of 50 ms are off by a T^2 / 8
        since = times > begin + 0.06
        expected = curve(np.minimum(times[since] - begin, duration))
        np.testing.assert_allclose(places[since], expected, atol=3e-3 if order else 2e-2)
        if order == 0:  # lines, whose velocities jump at every point
            continue
        # velocities do not jump: one that arrives a state late has the acceleration of JOIN_TIME_S
        bends = np.abs(curve(np.linspace(0.0, duration, 400), 2)).max(axis=0)
        jumps = np.abs(np.diff(velocities, axis=0)) / np.diff(times)[:, None]
        most = np.maximum(3.0 * bends + 1.0, 1.02 * limits / JOIN_TIME_S)
        assert (jumps[times[1:] > begin + PERIOD] <= most).all()


def test_a_continuation_that_starts_later_is_checked_from_the_state_at_its_start(arm):
    controller = JointController(arm)
    still = np.zeros(3)
    controller.update(0.0, still, still, still, still)
    goal = np.array([2.0, 1.0, 1.0])
    curve = curve_from(np.zeros((3, 3)), goal, 1.5)

    def points(times):
        return Trajectory(NAMES, times - times[0], curve(times), curve(times, 1))

    controller.follow(points(np.linspace(0.0, 1.5, 76)), 0.0)
    for k in range(1, 376):
        controller.update(k * PERIOD, controller.target, still, controller.target, still)
    # the same motion once more, stamped 20 ms ahead, with points 1 ms apart
    times = np.linspace(0.77, 1.5, 731)
    controller.follow(points(times), 0.75, start=0.77)
    for k in range(376, 760):
        controller.update(k * PERIOD, controller.target, still, controller.target, still)
        np.testing.assert_allclose(controller.target, curve(min(k * PERIOD, 1.5)), atol=1e-5)
    assert controller.refused == 0 and not controller.is_moving


def test_a_late_trajectory_is_joined_where_the_joints_can_reach_it(arm):
    controller, still = JointController(arm), np.zeros(3)
    controller.update(0.0, still, still, still, still)
    times = np.linspace(0.0, 1.0, 1001)
    curve = curve_from(np.zeros((3, 3)), np.array([1.0, 0.5, 0.5]), 1.0)
    # it started 0.2 s ago: the next point is 0.06 rad and 1 ms away
    controller.follow(Trajectory(NAMES, times, curve(times), curve(times, 1)), 0.2, start=0.0)
    places = []
    for k in range(100, 510):
        controller.update(k * PERIOD, still, still, still, still)
        places.append(controller.target)
    steps = np.abs(np.diff(places, axis=0)) / PERIOD
    assert controller.refused == 0 and (steps <= 1.02 * rate_limits(arm)).all()
    np.testing.assert_allclose(places[-1], [1.0, 0.5, 0.5])


def test_one_that_waits_starts_although_another_waits_for_a_later_time(arm):
    controller, still = JointController(arm), np.zeros(3)
    controller.update(0.0, still, still, still, still)
    controller.follow(Trajectory(['waist'], [0.1], [[0.1]]), 0.0, start=0.1)
    controller.follow(Trajectory(['waist'], [0.1], [[0.2]]), 0.0, start=0.3)
    controller.follow(Trajectory(['waist'], [0.1], [[0.3]]), 0.0, start=0.5)
    controller.follow(Trajectory(['waist'], [0.1], [[0.4]]), 0.0, start=0.5)  # in its place
    places = []
    for k in range(1, 61):
        controller.update(k * 0.01, still, still, still, still)
        places.append(controller.target[0])
    np.testing.assert_allclose(
        [places[k] for k in (9, 19, 29, 39, 49, 59)], [0.0, 0.1, 0.1, 0.2, 0.2, 0.4], atol=1e-12
    )


def test_a_trajectory_reports_what_becomes_of_it(arm):
    controller, still = JointController(arm), np.zeros(3)
    controller.update(0.0, still, still, still, still)
    queue = controller.trajectories

    def plan(identifier, goal, start=None, time=0.1):
        queue.plan(
            Trajectory(['waist'], [time], [[goal]]),
            controller.newest,
            start,
            queue.ticket(),
            identifier,
        )

    def states(now):
        controller.update(now, still, still, still, still)
        return [(event.identifier, event.state) for event in queue.take_events()]

    plan(1, 0.1)
    assert states(0.01) == [(1, 'accepted')]
    assert states(0.2) == [(1, 'completed')]
    plan(2, 0.2)
    plan(3, 0.3, 0.25)
    assert states(0.21) == [(2, 'accepted'), (3, 'accepted')]
    assert states(0.26) == [(2, 'replaced')]
    plan(4, 2.0)
    controller.update(0.27, still, still, still, still)
    (event,) = queue.take_events()
    assert (event.identifier, event.state) == (4, 'refused') and 'faster than' in event.reason
    controller.hold()
    assert states(0.28) == [(3, 'replaced')]
    with pytest.raises(SettingError):
        plan(5, 9.0)
