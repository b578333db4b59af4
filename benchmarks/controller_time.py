"""
Time of one update of the joint controller, called from Python.

`python -m benchmarks.controller_time`
"""

import numpy as np

import flex_robot_sim as frs
from benchmarks.shipped_trees import shipped_trees
from benchmarks.timing import in_turns
from flex_robot_sim.control.controller_settings import FEED_FORWARDS, ControllerSettings
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.motion.profile_settings import ProfileSettings

CALLS = 500  # in one measurement
PERIOD = 1e-3  # between two joint states                                      [s]


def update_times(rounds):
    """Least and longest time [us] by robot, feed_forward, and whether the target moves."""
    updates = {}
    for robot in shipped_trees():
        arm = frs.load(robot)
        for kind in FEED_FORWARDS:
            for moves in (False, True):
                updates[robot, kind, moves] = _updates(arm, kind, moves)
    times = in_turns(list(updates.values()), rounds)
    return {
        case: (min(row) / CALLS * 1e6, max(row) / CALLS * 1e6) for case, row in zip(updates, times)
    }


def _updates(arm, kind, moves):
    """Return a function that passes CALLS joint states to a controller."""
    n = len(arm.joint_names)
    still = np.zeros(n)
    swing = ProfileSettings(
        profile='swing',
        profile_start=0.0,
        profile_dwell=0.0,
        profile_poses=(0.1,) * n + (0.0,) * n,
    )
    controller = JointController(
        arm, ControllerSettings(feed_forward=kind), swing if moves else None
    )
    now = 0.0

    def call():
        nonlocal now
        for _ in range(CALLS):
            now += PERIOD
            controller.update(now, still, still, still, still)

    return call


def as_text(result):
    """Lines of the table."""
    for (robot, kind, moves), (least, longest) in result.items():
        yield (
            f'{robot}, feed_forward {kind}, {"moving" if moves else "at rest"}',
            f'{least:.1f} us; where other things ran, {longest:.1f} us',
        )


if __name__ == '__main__':
    for what, value in as_text(update_times(21)):
        print(f'{what:56s} {value}')
