"""Trajectories against splines of scipy, and invalid trajectories."""

import numpy as np
import pytest
from refusals import refusal
from scipy.interpolate import BPoly, CubicHermiteSpline

from flex_robot_sim.motion.trajectory import Interpolation, Trajectory, joint_rows
from flex_robot_sim.util.exceptions import SettingError

NAMES = ('waist', 'shoulder', 'elbow')
PRESENT = np.array([[0.1, -0.4, 0.7], [0.5, 0.0, -1.0], [2.0, -3.0, 0.0]])
TIMES = [0.4, 1.0, 2.5]
POSITIONS = np.array([[0.5, 0.0, 0.3], [-1.0, 0.2, 0.3], [0.0, 0.0, 0.9]])
VELOCITIES = np.array([[1.0, -0.5, 0.0], [0.3, 0.3, 2.0], [0.0, 0.0, 0.0]])
ACCELERATIONS = np.array([[0.0, 4.0, 1.0], [-2.0, 1.0, 1.0], [0.0, 3.0, 0.0]])
INSIDE = np.linspace(0.0, 2.4999, 57)


def motion_of(*points, names=NAMES, present=PRESENT, elapsed=0.0):
    return Interpolation(Trajectory(names, *points), NAMES).motion(present, elapsed)


def sampled(motion, times=INSIDE):
    return np.array([motion.sample(t) for t in times]).swapaxes(0, 1)


def with_present(row, values):
    return np.vstack([PRESENT[row], values])


def test_positions_alone_are_joined_by_lines():
    motion = motion_of(TIMES, POSITIONS)
    places = with_present(0, POSITIONS)
    for j in range(3):
        np.testing.assert_allclose(
            sampled(motion)[0][:, j], np.interp(INSIDE, [0.0, *TIMES], places[:, j]), atol=1e-14
        )


def test_velocities_make_cubics():
    motion = motion_of(TIMES, POSITIONS, VELOCITIES)
    judge = CubicHermiteSpline(
        [0.0, *TIMES], with_present(0, POSITIONS), with_present(1, VELOCITIES)
    )
    for order, values in enumerate(sampled(motion)):
        # rounding of coefficients up to 10 over pieces as short as 0.4 s, squared
        np.testing.assert_allclose(values, judge(INSIDE, order), atol=1e-11)


def test_accelerations_make_quintics():
    motion = motion_of(TIMES, POSITIONS, VELOCITIES, ACCELERATIONS)
    rows = np.array(
        [with_present(0, POSITIONS), with_present(1, VELOCITIES), with_present(2, ACCELERATIONS)]
    )
    for j in range(3):
        judge = BPoly.from_derivatives([0.0, *TIMES], rows[:, :, j].T)
        for order, values in enumerate(sampled(motion)):
            np.testing.assert_allclose(
                values[:, j],
                judge.derivative(order)(INSIDE) if order else judge(INSIDE),
                atol=1e-10,
            )


def test_a_piece_is_a_line_where_one_of_its_ends_has_no_velocity():
    motion = motion_of(TIMES, POSITIONS, [[], VELOCITIES[1], VELOCITIES[2]])
    for t in (0.0, 0.2, 0.39):
        np.testing.assert_allclose(motion.sample(t)[1], (POSITIONS[0] - PRESENT[0]) / 0.4)
    for t in (0.4, 0.99):
        np.testing.assert_allclose(motion.sample(t)[1], (POSITIONS[1] - POSITIONS[0]) / 0.6)
    np.testing.assert_allclose(motion.sample(1.0)[1], VELOCITIES[1], atol=1e-13)


@pytest.mark.long(after=2)
@pytest.mark.parametrize('seed', range(6))
def test_extremes_are_those_of_many_samples(seed):
    random = np.random.default_rng(seed)
    tables = [random.normal(size=(3, 3)) * size for size in (1.0, 3.0, 10.0)]
    motion = motion_of(
        TIMES,
        *tables[: 1 + seed % 3][:1],
        *[np.vstack([table[:2], np.zeros(3)]) for table in tables[1 : 1 + seed % 3]],
    )
    lowest, highest, knots = motion.extremes()
    for k in range(3):
        t = np.linspace(knots[k], knots[k + 1], 20001)
        places = sampled(motion, t)[0]
        # between two samples a curve of curvature 1e4 at most rises by 1e4 (1.5 / 2e4)^2 / 8
        np.testing.assert_allclose(lowest[k], places.min(axis=0), atol=7e-6)
        np.testing.assert_allclose(highest[k], places.max(axis=0), atol=7e-6)
        assert (lowest[k] <= places.min(axis=0) + 1e-12).all()
        assert (highest[k] >= places.max(axis=0) - 1e-12).all()


@pytest.mark.parametrize('seed', range(20))
def test_extremes_beyond_bounds_are_exact(seed):
    random = np.random.default_rng(seed)
    tables = [random.normal(size=(40, 3)) * size for size in (1.0, 3.0, 10.0)]
    tables[1][-1] = 0.0
    motion = motion_of(np.cumsum(random.uniform(0.05, 1.0, 40)), *tables)
    bounds = np.array([0.5, 1.5, 3.0])
    lowest, highest, _ = motion.extremes()
    for exact, found in (
        (-lowest, -motion.extremes(-bounds, bounds)[0]),
        (highest, motion.extremes(-bounds, bounds)[1]),
        (motion.max_speeds(), motion.max_speeds(bounds)),
    ):
        np.testing.assert_array_equal(found > bounds, exact > bounds)
        np.testing.assert_array_equal(found[exact > bounds], exact[exact > bounds])
        assert (exact > bounds).any()


@pytest.mark.parametrize('seed', range(20))
def test_each_piece_is_that_of_a_trajectory_of_its_two_points(seed):
    random = np.random.default_rng(seed)
    k = int(random.integers(2, 9))
    times = np.cumsum(random.uniform(0.05, 1.0, k))
    has_velocity = random.random(k) < 0.7
    has_acceleration = has_velocity & (random.random(k) < 0.7)
    positions, velocities, accelerations = random.normal(size=(3, k, 3))
    velocities[-1] = 0.0
    rows = [[*velocities * has_velocity[:, None]], [*accelerations * has_acceleration[:, None]]]
    given = [
        [row if has[i] else [] for i, row in enumerate(table)]
        for table, has in zip(rows, (has_velocity, has_acceleration))
    ]
    motion = motion_of(times, positions, *given)
    for i in range(k - 1):
        both = has_velocity[i] and has_velocity[i + 1]
        second = [[0.0] * 3] if both and i + 1 == k - 1 else [velocities[i + 1]] if both else ()
        if both and i + 1 < k - 1:
            continue  # a trajectory must end at rest
        more = [[accelerations[i + 1]]] if both and has_acceleration[i : i + 2].all() else []
        alone = motion_of(
            [times[i + 1] - times[i]],
            [positions[i + 1]],
            second,
            *more,
            present=np.array([positions[i], velocities[i], accelerations[i]]),
        )
        for share in (0.0, 0.3, 0.9):
            time = share * (times[i + 1] - times[i])
            # rounding of times, over pieces as short as 0.05 s, twice
            np.testing.assert_allclose(
                motion.sample(times[i] + time), alone.sample(time), rtol=1e-7, atol=1e-7
            )


def test_joints_that_are_left_out_stand_still():
    motion = motion_of([1.0], [[0.2, 0.9]], names=['elbow', 'waist'])
    for t in (0.0, 0.5, 3.0):
        place, velocity, acceleration = motion.sample(t)
        assert (place[1], velocity[1], acceleration[1]) == (PRESENT[0, 1], 0.0, 0.0)
    np.testing.assert_array_equal(motion.sample(1.0)[0], [0.9, PRESENT[0, 1], 0.2])


def test_a_point_at_time_zero_does_not_make_the_reference_jump():
    motion = motion_of([0.0, *TIMES], [[9, 9, 9], *POSITIONS])
    np.testing.assert_array_equal(motion.sample(0.0)[0], PRESENT[0])
    np.testing.assert_allclose(motion.sample(0.2)[0], (PRESENT[0] + POSITIONS[0]) / 2)


def test_points_that_are_over_are_left_out():
    motion = motion_of(TIMES, POSITIONS, elapsed=0.6)
    np.testing.assert_array_equal(motion.sample(0.6)[0], PRESENT[0])
    np.testing.assert_allclose(motion.sample(0.8)[0], (PRESENT[0] + POSITIONS[1]) / 2)
    np.testing.assert_array_equal(motion.sample(3.0), [POSITIONS[2], [0] * 3, [0] * 3])


def test_a_trajectory_that_is_over_is_refused():
    assert refusal(SettingError, motion_of, TIMES, POSITIONS, elapsed=2.5) == (
        'the trajectory is over: its last point is at 2.5 s, and 2.5 s have passed'
    )


@pytest.mark.parametrize(
    'times, positions, more, message',
    [
        ([], [], {}, 'the trajectory has no points'),
        (
            [1.0, 1.0],
            [[1], [2]],
            {},
            'the times of a trajectory must rise: 1 s of point 2 comes after 1 s',
        ),
        (
            [1.0, 2.0, 0.5],
            [[1], [2], [3]],
            {},
            'the times of a trajectory must rise: 0.5 s of point 3 comes after 2 s',
        ),
        ([-1.0, 1.0], [[1], [2]], {}, 'the times of a trajectory must be finite and >= 0 [s]'),
        ([np.nan], [[1]], {}, 'the times of a trajectory must be finite and >= 0 [s]'),
        ([np.inf], [[1]], {}, 'the times of a trajectory must be finite and >= 0 [s]'),
        (
            [0.0],
            [[1]],
            {},
            'a trajectory needs a point after time 0: it begins where the reference is',
        ),
        ([1.0], [[np.nan]], {}, 'the positions of point 1 of the trajectory are not finite'),
        ([1.0], [[np.inf]], {}, 'the positions of point 1 of the trajectory are not finite'),
        ([1.0, 2.0], [[1], []], {}, 'point 2 of the trajectory has no positions'),
        ([1.0], [[1, 2]], {}, 'point 1 of the trajectory has 2 positions for 1 joints'),
        ([1.0, 2.0], [[1]], {}, 'the trajectory has 1 rows of positions for 2 times'),
        (
            [1.0, 2.0],
            [[1], [2]],
            {'velocities': [[1]]},
            'the trajectory has 1 rows of velocities for 2 times',
        ),
        (
            [1.0],
            [[1]],
            {'velocities': [[0.0, 0.0]]},
            'point 1 of the trajectory has 2 velocities for 1 joints',
        ),
        (
            [1.0, 2.0],
            [[1], [2]],
            {'velocities': [[np.nan], [0]]},
            'the velocities of point 1 of the trajectory are not finite',
        ),
        (
            [1.0],
            [[1]],
            {'velocities': [[0.1]]},
            'the trajectory ends while "waist" moves: its last velocity must be 0',
        ),
        (
            [1.0],
            [[1]],
            {'accelerations': [[0.1]]},
            'point 1 of the trajectory has accelerations but no velocities: give both',
        ),
        ([1.0], [['a']], {}, 'the positions of point 1 of the trajectory are not numbers'),
    ],
)
def test_what_is_no_trajectory_is_refused(times, positions, more, message):
    with pytest.raises(SettingError) as caught:
        Trajectory(['waist'], times, positions, **more)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    'names, message',
    [
        (['hip'], 'no joint "hip". Known: waist, shoulder, elbow'),
        (['waist', 'waist'], 'each joint must be named once'),
        ([], 'it names no joint'),
    ],
)
def test_names_that_are_no_joints_are_refused(names, message):
    assert refusal(SettingError, joint_rows, names, NAMES) == message
