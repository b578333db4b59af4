"""Path errors of shaped motions, against closed forms and distances between dense curves."""

import numpy as np
import pytest
from project_files import ROOT
from public_robots import public_robot

import flex_robot_sim as frs
from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.shaping.impulses import NONE, of_kind
from flex_robot_sim.shaping.path_accuracy import path_error, tool_path
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

RADIUS = 0.1


def gantry():
    """Cartesian arm of two linear axes: the tool is at the positions of the joints."""
    builder = frs.ArmBuilder()
    for name, parent, axis in (('x', 'base', 'x'), ('y', 'slide', 'y')):
        child = 'slide' if name == 'x' else 'tool'
        builder = builder.add_rigid(child, mass=1.0, centre=(0, 0, 0)).add_joint(
            name, parent=parent, child=child, type='prismatic', axis=axis, lower=-2, upper=2
        )
    return builder.build()


@pytest.fixture(scope='module')
def arm():
    return gantry()


def error_of(arm, shaper, times, positions):
    return path_error(arm, shaper, times=times, positions=positions).error


def within(arm, shaper, times, positions, bound):
    return path_error(arm, shaper, times=times, positions=positions, bound=bound)


def circle(speed, turns=1.75, radius=RADIUS, period=2e-3):
    """Times and positions on a circle; the tool arrives and leaves on its tangents."""
    angle = np.arange(0.0, turns * 2 * np.pi, speed / radius * period)
    return period * np.arange(angle.size), radius * np.column_stack([np.cos(angle), np.sin(angle)])


def shrinkage(shaper, speed, radius=RADIUS):
    """Closed form: the response of the impulses to a rotating vector."""
    phases = np.exp(-1j * speed / radius * shaper.times)
    return radius * (1 - abs(shaper.amplitudes @ phases))


@pytest.mark.parametrize('kind', ['zv', 'zvd', 'ei2'])
@pytest.mark.parametrize('speed, frequency', [(0.5, 4.3), (0.3, 7.1), (0.9, 5.2)])
def test_a_circle_shrinks_as_in_closed_form(arm, kind, speed, frequency):
    shaper = of_kind(kind, frequency, 0.01)
    error = error_of(arm, shaper, *circle(speed))
    assert error == pytest.approx(shrinkage(shaper, speed), rel=2e-3, abs=2e-6)


def test_a_circle_of_the_issue_shrinks_by_millimetres(arm):
    assert error_of(arm, of_kind('zv', 4.3), *circle(0.5)) == pytest.approx(4.2e-3, abs=1e-4)


def test_a_corner_is_missed_by_its_distance_from_the_mean_of_both_legs(arm):
    # ZV: mean of two points d/2 before and after the corner, on legs at a right angle
    shaper, speed = of_kind('zv', 2.0), 0.4
    times = np.arange(0.0, 3.0 + 1e-9, 1e-3)
    positions = speed * np.column_stack([np.minimum(times, 1.5), np.maximum(times - 1.5, 0.0)])
    d = speed * shaper.duration
    assert error_of(arm, shaper, times, positions) == pytest.approx(d / 2 / np.sqrt(2), rel=1e-3)


def test_a_point_that_the_shaped_tool_never_reaches_counts(arm):
    # there and back without a pause: zv turns before the end, by half of its duration
    shaper, speed = of_kind('zv', 2.0), 0.4
    times = np.arange(0.0, 2.0 + 1e-9, 1e-3)
    positions = np.column_stack([speed * np.minimum(times, 2.0 - times), 0 * times])
    assert error_of(arm, shaper, times, positions) == pytest.approx(
        speed * shaper.duration / 2, rel=1e-3
    )


def test_a_straight_move_has_no_path_error_though_the_tool_lags(arm):
    times = np.arange(0.0, 1.0, 1e-3)
    positions = np.column_stack([0.7 * np.sin(times), 0.3 * np.sin(times)])
    assert error_of(arm, of_kind('zvd', 1.5), times, positions) < 1e-12
    assert error_of(arm, NONE, *circle(0.5)) == 0.0


@pytest.mark.parametrize('bound', [1e-4, 1e-3, 3e-3])
def test_the_speed_within_a_bound_is_that_of_the_closed_form(arm, bound):
    shaper = of_kind('zvd', 4.0, 0.02)
    times, positions = circle(0.5)
    found = within(arm, shaper, times, positions, bound)
    assert found.error_at_share <= bound < found.error
    assert found.speed == pytest.approx(0.5, rel=1e-4)
    speed = found.share * found.speed
    assert shrinkage(shaper, speed) == pytest.approx(found.error_at_share, rel=0.01)
    assert shrinkage(shaper, 1.03 * speed) > bound


def test_a_trajectory_within_the_bound_keeps_its_speed_and_a_tiny_bound_has_none(arm):
    shaper, (times, positions) = of_kind('zv', 4.0), circle(0.5)
    assert within(arm, shaper, times, positions, 0.1).share == 1.0
    nothing = within(arm, shaper, times, positions, 1e-7)
    assert nothing.share == 0.0 and nothing.error_at_share > 1e-7


def largest_gap(points, path):
    """Distance of the farthest of points from dense places of a path."""
    return max(np.linalg.norm(path - point, axis=1).min() for point in points)


@pytest.mark.parametrize('seed', range(2))
def test_the_error_by_pose_is_the_distance_of_the_curves(arm, seed):
    # delays that change by a factor of 4, and velocity limits
    rng, period = np.random.default_rng(seed), 4e-3
    axis = np.array([-0.4, 0.4])
    frequencies = np.array([[1.2], [4.8]])[:: int(rng.choice([1, -1]))]
    table = ModeTable((0,), (axis,), frequencies, np.zeros((2, 1)))
    shaper = ShaperSpecification(
        'zvd', table=table, stages=tuple(stages_of(table, 'zvd')), velocity_limits=np.full(2, 0.35)
    )
    times = np.arange(0.0, 2.5, period)
    share = times / times[-1]
    positions = np.column_stack(
        [-0.4 + 0.8 * share**2 * (3 - 2 * share), 0.1 * np.sin(rng.uniform(2.0, 4.0) * times)]
    )
    shaped = shaper.shape(times, positions).positions
    fine = np.linspace(0.0, 1.0, 5001)
    dense = np.column_stack(
        [np.interp(fine, np.linspace(0.0, 1.0, len(times)), column) for column in positions.T]
    )
    dense_shaped = np.column_stack(
        [np.interp(fine, np.linspace(0.0, 1.0, len(shaped)), column) for column in shaped.T]
    )
    expected = max(largest_gap(shaped, dense), largest_gap(positions, dense_shaped))
    assert error_of(arm, shaper, times, positions) == pytest.approx(expected, rel=1e-3, abs=1e-6)
    assert expected > 1e-3


@pytest.mark.parametrize('name', ['panda', 'ur5e'])
def test_the_error_of_a_public_arm_is_the_distance_between_dense_curves(name):
    if name == 'panda':
        arm = frs.load(public_robot('panda_description/urdf/panda.urdf'))
    else:
        arm = frs.load(str(ROOT / 'test' / 'data' / 'robots' / 'ur5e.urdf'))
    rng = np.random.default_rng(len(name))
    period, joints = 4e-3, len(arm.joint_names)
    times = np.arange(0.0, 3.0, period)
    middle = np.clip(0.0, arm.arrays.lower + 0.5, arm.arrays.upper - 0.5)
    waves = 0.3 * np.sin(2 * np.pi * rng.uniform(0.1, 0.6, joints) * times[:, None])
    positions = middle + waves * rng.uniform(0.3, 1.0, joints)
    shaper = of_kind('zvd', 2.1, 0.01)
    # shaped densely, with the impulses instead of the FIR coefficients
    dense = np.arange(0.0, times[-1] + shaper.duration, period / 4)
    path, shaped = (
        np.column_stack(
            [
                sum(a * np.interp(dense - t, times, column) for t, a in zip(delays, amplitudes))
                for column in positions.T
            ]
        )
        for delays, amplitudes in (([0.0], [1.0]), (shaper.times, shaper.amplitudes))
    )
    path, shaped = tool_path(arm, path), tool_path(arm, shaped)
    expected = max(largest_gap(shaped[::4], path), largest_gap(path[::4], shaped))
    assert error_of(arm, shaper, times, positions) == pytest.approx(expected, rel=0.02)
    assert expected > 1e-3


@pytest.mark.parametrize(
    'times, positions, bound, message',
    [
        (
            [0.0, 1.0],
            [[0.0], [1.0]],
            1.0,
            'positions have 1 columns and the arm has 2 joints: give one column each, in this '
            'order: x, y',
        ),
        ([0.0, 1.0], [[0.0, 0.0], [1.0, 0.0]], 0.0, 'bound = 0.0 must be > 0 and finite [m]'),
    ],
)
def test_useless_arguments_are_refused(arm, times, positions, bound, message):
    with pytest.raises(SettingError) as caught:
        within(arm, of_kind('zv', 0.2), times, positions, bound)
    assert str(caught.value) == message
