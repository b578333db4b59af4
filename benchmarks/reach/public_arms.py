"""Shares of random poses that are reached in time, and the times, of the arms of a wheel."""

from dataclasses import dataclass
from time import process_time

import numpy as np
from public_robots import ROBOTS

import flex_robot_sim as frs
from benchmarks.limits import Row
from flex_robot_sim.description.rewriting import Edit, rewritten
from flex_robot_sim.util.exceptions import UsageError

POSES, QUICK_POSES, SEED = 10_000, 320, 44
TOLERANCE = 1e-6  # [m, rad]
TIME_LIMIT_S = 0.05
SAG = 0.01  # turn of each elastic gear under the largest torque of the weight   [rad]
ARMS = (
    'baxter_description/urdf/baxter.urdf',
    'kinova_description/robots/kinova.urdf',
    'panda_description/urdf/panda.urdf',
    'pr2_description/urdf/pr2.urdf',
    'so_arm_description/urdf/so100.urdf',
    'so_arm_description/urdf/so101.urdf',
    'tiago_description/robots/tiago_no_hand.urdf',
    'tiago_pro_description/robots/tiago_pro.urdf',
    'ur_description/urdf/ur3_robot.urdf',
    'ur_description/urdf/ur3_joint_limited_robot.urdf',
    'ur_description/urdf/ur5_robot.urdf',
    'ur_description/urdf/ur5_joint_limited_robot.urdf',
    'ur_description/urdf/ur10_robot.urdf',
    'ur_description/urdf/ur10_joint_limited_robot.urdf',
    'xarm_description/urdf/xarm7.urdf',
    'z1_description/urdf/z1.urdf',
)


@dataclass
class Tally:
    """Times [s] of searches, and whether each has reached its pose in time."""

    times: list[float]
    reached: list[bool]

    def add(self, other):
        """Add the searches of another arm."""
        self.times += other.times
        self.reached += other.reached

    def rows(self, words, share, median):
        """Yield Rows: the share that is missed, and the median of the times."""
        missed = 100.0 * (1.0 - float(np.mean(self.reached)))
        yield Row(f'{words}, missed or slower than 50 ms', missed, 100.0 * (1.0 - share), '%')
        yield Row(f'{words}, median time', 1e3 * float(np.median(self.times)), median, 'ms')


def rows(quick, arms=ARMS):
    """Yield the Rows of this module."""
    if ROBOTS is None:
        raise UsageError('this table needs public robots: `pip install example-robot-data`.')
    count = (QUICK_POSES if quick else POSES) // len(ARMS)
    rigid, elastic = Tally([], []), Tally([], [])
    for path in arms:
        arm = frs.load(ROBOTS / path)
        rigid.add(measured(arm, count, straight=True))
        elastic.add(measured(with_elastic_gears(arm), count))
    yield from rigid.rows('rigid arms', 0.999, 1.0)
    yield from elastic.rows('arms with elastic gears and gravity', 0.99, 5.0)


def measured(arm, count, *, straight=False):
    """Return the Tally of an arm: poses at random joint positions, from other ones."""
    random, tally = np.random.default_rng(SEED), Tally([], [])
    frs.inverse_kinematics(arm, frs.pose(arm, at(arm, random, straight)), straight=straight)
    for _ in range(count):
        target, start = frs.pose(arm, at(arm, random, straight)), joints(arm, random)
        begun = process_time()
        found = frs.inverse_kinematics(arm, target, start, straight=straight, nearest=True)
        tally.times.append(process_time() - begun)
        T = frs.pose(arm, at_rest(arm, found.joints, straight))
        turn = T[:3, :3].T @ target[:3, :3]
        sine = np.linalg.norm(turn - turn.T) / np.sqrt(8.0)
        error = max(np.abs(T[:3, 3] - target[:3, 3]).max(), sine)
        is_within = (arm.arrays.lower <= found.joints) & (found.joints <= arm.arrays.upper)
        tally.reached.append(
            bool(error <= TOLERANCE and is_within.all() and tally.times[-1] <= TIME_LIMIT_S)
        )
    return tally


def joints(arm, random):
    """Random joint positions within limits, and within half a turn where there are none."""
    low, high = np.maximum(arm.arrays.lower, -np.pi), np.minimum(arm.arrays.upper, np.pi)
    return random.uniform(low, high)


def at(arm, random, straight):
    """Coordinates at random joint positions, see `at_rest`."""
    return at_rest(arm, joints(arm, random), straight)


def at_rest(arm, positions, straight):
    """Coordinates at motor positions; with elastic gears, in equilibrium."""
    if not straight:
        return frs.equilibrium(arm, positions).q
    q = np.zeros(arm.nq)
    arm.set_joints(q, positions)
    return q


def with_elastic_gears(arm):
    """
    Return an arm with elastic gears in the joints that move its tool; grippers are held.

    The gears turn by SAG under the largest weight of random poses.
    """
    random, largest = np.random.default_rng(SEED), np.zeros(len(arm.joint_names))
    for _ in range(50):
        torque = frs.inverse_dynamics(
            arm, at_rest(arm, joints(arm, random), True), np.zeros(arm.nv), np.zeros(arm.nv)
        )
        largest = np.maximum(largest, np.abs(torque[: largest.size]))
    moving, link = set(), arm.tool
    while link in (parents := {joint.child: joint for joint in arm.description.joints}):
        moving.add(parents[link].name)
        link = parents[link].parent
    edits = [Edit((('flexibility', ''),), 'mimic', 'held')] + [
        Edit((('flexibility', ''), ('joint', name)), word, text)
        for name, weight in zip(arm.joint_names, largest)
        if name in moving
        for word, text in (
            ('stiffness', f'{max(weight, 1e-3 * largest.max()) / SAG:.6g}'),
            ('rotor_inertia', '1e-4'),
            ('gear_ratio', '100'),
        )
    ]
    return frs.load(rewritten(arm.description.text, edits, {}))
