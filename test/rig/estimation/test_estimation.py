"""Shape estimates, against the true shape of the bench and closed forms."""

import math
from dataclasses import replace

import numpy as np
import pytest
from project_files import ROOT
from scipy.linalg import expm, solve_discrete_are

import flex_robot_sim as frs
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.linear import linearise
from flex_robot_sim.model.friction import without_dry_friction
from flex_robot_sim.rig.bench.bench import Bench, Drive
from flex_robot_sim.rig.bench.motors import stepper_stiffness
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.estimation.shape_estimator import ShapeEstimator, tip_map
from flex_robot_sim.rig.estimation.shape_filter import ShapeFilter, integrated_covariance
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

PARTS = BenchParts()
RIG = (ROOT / 'urdf' / 'rig.urdf').read_text(encoding='utf-8')
PERIOD = 2e-3  # of telemetry [s]
STEPS = 30  # microsteps of the jerk that excites vibration


@pytest.fixture(scope='module')
def arm():
    return frs.load('rig')


def bench_with(modes):
    """Return the bench with other modes, so that it differs from the model of the estimates."""
    return frs.load(RIG.replace('<modes bending_y="3"', f'<modes {modes}'))


def simulate_vibration(arm, seconds, steps=STEPS, seed=1):
    """Move the stepper by `steps`, then wait; return (time, duration, readings, truth)."""
    bench = Bench(arm, PARTS, seed=seed)
    drive = Drive(bridge=True, stepper=True)
    for k in range(50):
        bench.advance(drive._replace(steps=round(steps * (k + 1) / 50), step_rate=steps / 0.05))
    drive, rows = drive._replace(steps=steps), []
    for _ in range(round(seconds / PERIOD)):
        bench.advance(drive, PERIOD)
        rows.append(
            (
                bench.read(),
                bench.simulation.deflection['strip'][1],
                bench.simulation.position,
                bench.simulation.velocity,
            )
        )
    return rows


def curvatures(pins):
    """Return the curvature of the sensors from their readings, by the inverse formulas."""
    counts = np.array(pins.adc) / 16
    ratio = counts / (4095 - counts) * PARTS.divider_resistance / PARTS.flat_resistance
    a, b = PARTS.bend_curve, PARTS.bend_gain
    return (-b + np.sqrt(b * b + 4 * a * (ratio - 1))) / (2 * a) / 0.09525


def deviation():
    """Return that of a curvature: noise of 16 rounded conversions over the divider slope."""
    noise = math.hypot(PARTS.adc_noise, 1 / math.sqrt(12)) / 4
    return noise / (4095 / 4 * PARTS.bend_gain * 0.09525)


def make_filter(arm):
    scales = np.array([PARTS.counts_per_metre, PARTS.counts_per_radian])
    return ShapeFilter(
        arm,
        'strip',
        1 / scales / math.sqrt(12),
        deviation(),
        [0.0, stepper_stiffness(PARTS)],
        [0.0, PARTS.stepper_damping],
    )


def follow(shape_filter, rows, steps):
    """Return tips (k, 2), estimate and deviation, joint positions and velocities, innovations."""
    scales = np.array([PARTS.counts_per_metre, PARTS.counts_per_radian])
    target = [0.15, steps * 2 * math.pi / PARTS.steps_per_turn]
    out = []
    for pins, *_ in rows:
        shape_filter.predict(PERIOD, target=target)
        shape_filter.correct([0.15, 0.0] + np.array(pins.encoders) / scales, curvatures(pins))
        shape = shape_filter.shape
        out.append(
            (
                shape.tip[1],
                shape.tip_deviation[1],
                *shape_filter.velocity,
                shape_filter.normalized_innovation,
            )
        )
    return np.array(out)


def test_as_many_sensors_as_coordinates_determine_any_shape():
    arm = bench_with('bending_y="2"')
    elastic = np.array([0.013, -0.004])
    matrix = flex_sensors(arm).matrix[:, 2:]
    shape = ShapeEstimator(arm, 'strip', 1e-3).estimate(matrix @ elastic)
    assert shape.elastic == pytest.approx(elastic, abs=1e-12)  # rounding


@pytest.mark.parametrize(
    'modes', ['bending_y="2"', 'bending_y="3"', 'bending_y="5"', 'segments="3" bending_y="2"']
)
def test_static_tip_deflection_from_curvatures_equals_a_cantilever(modes):
    force, EI, L = 0.1, 206e9 * 0.02 * 0.001**3 / 12, 0.4
    seen = [force * (L - middle) / EI for middle in (0.057625, 0.342375)]
    shape = ShapeEstimator(bench_with(modes), 'strip', 1e-3).estimate(seen)
    # the shapes contain the static deflection exactly; the map of segments is for small bending
    assert shape.tip[1] == pytest.approx(force * L**3 / 3 / EI, rel=1e-9)


@pytest.mark.parametrize(
    'modes, sensor',
    [
        ('bending_y="2"', ''),
        ('bending_y="5"', '<flex_sensor name="middle" from="0.15" to="0.25" plane="xy"/>'),
    ],
)
def test_a_tip_moment_is_estimated_as_far_as_the_sensors_permit(modes, sensor):
    tip = '<flex_sensor name="tip"'
    arm = frs.load(
        RIG.replace('<modes bending_y="3"', f'<modes {modes}').replace(tip, sensor + tip)
    )
    force, moment, EI, L = 0.1, 0.03, 206e9 * 0.02 * 0.001**3 / 12, 0.4
    middles = (0.057625, *((0.2,) if sensor else ()), 0.342375)
    seen = [(force * (L - middle) + moment) / EI for middle in middles]
    shape = ShapeEstimator(arm, 'strip', 1e-3).estimate(seen)
    assert shape.tip[1] == pytest.approx((force * L**3 / 3 + moment * L**2 / 2) / EI, rel=1e-9)


@pytest.mark.parametrize(
    'modes, tolerance',
    [
        ('bending_y="3"', 1e-3),
        ('bending_y="5"', 1e-3),  # polynomials, nearly hyperbolic
        ('segments="3" bending_y="2"', 1e-2),
    ],
)  # three straight segments
def test_tip_of_a_strip_in_its_first_mode_is_that_of_a_clamped_free_beam(modes, tolerance):
    L, z = 0.4, 1.875104069
    share = (np.cosh(z) + np.cos(z)) / (np.sinh(z) + np.sin(z))

    def slope(x):
        x = z * x / L
        return z / L * (np.sinh(x) + np.sin(x) - share * (np.cosh(x) - np.cos(x)))

    # the mean curvature of a sensor is the slope difference of its ends over its length
    seen = [
        (slope(end) - slope(start)) / (end - start)
        for start, end in ((0.01, 0.10525), (0.29475, 0.39))
    ]
    tip = np.cosh(z) - np.cos(z) - share * (np.sinh(z) - np.sin(z))
    shape = ShapeEstimator(bench_with(modes), 'strip', 1e-3).estimate(seen)
    assert shape.tip[1] == pytest.approx(tip, rel=tolerance)


def test_filter_settles_at_the_solution_of_riccatis_equation(arm):
    """Gain and covariance of the textbook: Van Loan's integral, and scipy for the equation."""
    smooth = replace(
        arm, arrays=arm.arrays._replace(friction=without_dry_friction(arm.arrays.friction))
    )
    linear, filter_ = linearise(smooth, [0.15, 0.0]), make_filter(arm)
    n, K = 2 * arm.size, np.zeros((2, 2 * arm.size))
    K[1, 1], K[1, arm.size + 1] = stepper_stiffness(PARTS), PARTS.stepper_damping
    A, density = linear.A - linear.B @ K, linear.B @ np.diag([9.0, 1e-6]) @ linear.B.T
    loan = expm(PERIOD * np.block([[-A, density], [np.zeros((n, n)), A.T]]))
    moved = loan[n:, n:].T
    Q = moved @ loan[:n, n:]
    H = np.zeros((4, n))
    H[0, 0] = H[1, 1] = 1.0
    H[2:, : arm.size] = flex_sensors(arm).matrix
    R = np.diag(
        [
            (1 / PARTS.counts_per_metre) ** 2 / 12,
            (1 / PARTS.counts_per_radian) ** 2 / 12,
            deviation() ** 2,
            deviation() ** 2,
        ]
    )
    before = solve_discrete_are(moved.T, H.T, (Q + Q.T) / 2, R)
    gain = before @ H.T @ np.linalg.inv(H @ before @ H.T + R)
    for _ in range(3000):
        filter_.predict(PERIOD, target=[0.15, 0.0])
        filter_.correct([0.15, 0.0], [0.0, 0.0])
    scale = np.sqrt(np.diag(before))
    # standard deviations span five orders of magnitude, which limits the accuracy
    found = filter_.covariance / np.outer(scale, scale)
    assert found == pytest.approx((before - gain @ H @ before) / np.outer(scale, scale), abs=1e-8)
    filter_.predict(PERIOD, target=[0.15, 0.0])
    rest, readings = filter_.state, np.array([0.151, 0.01, 0.02, -0.03])
    filter_.correct(readings[:2], readings[2:])
    expected = rest + gain @ (readings - H @ rest)
    assert filter_.state / scale == pytest.approx(expected / scale, abs=1e-5)


def test_the_tip_deviation_equals_the_spread_of_many_estimates(arm):
    estimator = ShapeEstimator(arm, 'strip', [1e-3, 2e-3])
    noise = np.random.default_rng(2).normal(0.0, [1e-3, 2e-3], (4000, 2))
    tips = np.array([estimator.estimate(row).tip[1] for row in noise])
    assert tips.std() == pytest.approx(estimator.estimate([0, 0]).tip_deviation[1], rel=0.05)


def test_sensors_at_the_same_position_are_rejected():
    text = RIG.replace('from="0.29475" to="0.39"', 'from="0.01" to="0.10525"')
    with pytest.raises(SettingError, match='do not determine its bending'):
        ShapeEstimator(frs.load(text), 'strip', 1e-3)


def test_a_direction_without_a_sensor_is_unknown():
    arm = frs.load(RIG.replace('bending_z="0"', 'bending_z="1"'))
    shape = ShapeEstimator(arm, 'strip', 1e-3).estimate([0.1, 0.0])
    assert np.isfinite(shape.tip[:2]).all()
    assert np.isnan(shape.tip[2])
    assert np.isnan(shape.tip_deviation[2])


def test_a_missing_sensor_gives_no_estimate(arm):
    shape = ShapeEstimator(arm, 'strip', 1e-3).estimate([0.1, np.nan])
    assert np.isnan(shape.tip).all()


@pytest.mark.parametrize('robot', ['rig', 'two_link', 'canadarm2'])
def test_the_tip_map_is_the_derivative_of_the_tip_deflection(robot):
    arm = frs.load(robot)
    sim = frs.Simulation(arm)
    for link in arm.tips:
        for k in range(arm.size):
            q = np.zeros(arm.size)
            q[k] = 1e-6
            sim.set_state(q=q)
            ahead = sim.deflection[link][:3]
            sim.set_state(q=-q)
            slope = (ahead - sim.deflection[link][:3]) / 2e-6
            # a central difference; the even shortening cancels, rotations add 1e-12
            assert tip_map(arm, link)[:, k] == pytest.approx(slope, abs=1e-8)


def test_covariance_grows_as_its_integral(arm):
    A = linearise(arm, joints='locked').A
    density = np.diag([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    h, points = 0.01, 401
    times = np.linspace(0, h, points)
    terms = np.array([expm(A * t) @ density @ expm(A * t).T for t in times])
    weights = np.r_[1, [4, 2] * ((points - 3) // 2), 4, 1] * h / (points - 1) / 3  # Simpson
    exact = np.tensordot(weights, terms, 1)
    grown = integrated_covariance(A, density, h)
    assert grown == pytest.approx(exact, rel=1e-6, abs=1e-9 * np.abs(exact).max())


def test_a_long_gap_keeps_the_covariance_finite_and_positive(arm):
    shape_filter = make_filter(arm)
    shape_filter.correct([0.15, 0.0], [0.0, 0.0])
    shape_filter.predict(5.0)
    assert np.isfinite(shape_filter.covariance).all()
    # rounding, relative to the largest eigenvalue, that of the slide
    values = np.linalg.eigvalsh(shape_filter.covariance)
    assert values.min() > -1e-12 * values.max()


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    'modes', ['bending_y="3"', 'bending_y="4"', 'bending_y="8"', 'segments="2" bending_y="2"']
)
def test_tip_in_free_vibration_within_5_percent_and_with_the_filter_2(arm, modes):
    rows = simulate_vibration(bench_with(modes), 2.0)
    truth = np.array([row[1] for row in rows])
    estimator = ShapeEstimator(arm, 'strip', deviation())
    tips = np.array([estimator.estimate(curvatures(pins)).tip[1] for pins, *_ in rows])
    filtered = follow(make_filter(arm), rows, STEPS)[:, 0]
    # the second mode decays in 0.5 s; the filter needs 0.3 s to find the vibration
    free_vibration = slice(250, None)
    assert np.abs(truth[free_vibration]).max() > 5e-3
    assert np.abs(tips - truth)[free_vibration].max() < 0.05 * np.abs(truth[free_vibration]).max()
    assert np.abs(filtered - truth)[150:].max() < 0.02 * np.abs(truth).max()


def test_the_filter_estimates_its_own_error(arm):
    rows = simulate_vibration(arm, 3.0)
    filtered = follow(make_filter(arm), rows, STEPS)[250:]
    truth = np.array([row[1] for row in rows])[250:]
    ratio = np.abs(filtered[:, 0] - truth) / filtered[:, 1]
    assert 0.2 < np.sqrt((ratio**2).mean()) < 2.0
    # four readings; quantisation is not white noise, so only the magnitude counts
    assert 1.0 < filtered[:, 4].mean() < 10.0


def test_the_filter_continues_with_one_sensor(arm):
    rows = simulate_vibration(arm, 2.0)
    shape_filter, tips = make_filter(arm), []
    for pins, *_ in rows:
        shape_filter.predict(PERIOD, target=[0.15, STEPS * 2 * math.pi / 3200])
        seen = curvatures(pins)
        seen[1] = np.nan
        shape_filter.correct([0.15, pins.encoders[1] / PARTS.counts_per_radian], seen)
        tips.append(shape_filter.shape.tip[1])
    truth = np.array([row[1] for row in rows])
    assert np.abs(np.array(tips) - truth)[100:].max() < 0.05 * np.abs(truth).max()


def test_the_filter_estimates_the_unmeasured_velocity(arm):
    rows = simulate_vibration(arm, 2.0)
    filtered = follow(make_filter(arm), rows, STEPS)[100:]
    truth = np.array([row[3] for row in rows])[100:]
    # a third of one count of the encoder in one period
    assert np.abs(filtered[:, 3] - truth[:, 1]).max() < 2 * math.pi / 2400 / PERIOD / 3


def test_a_hanging_arm_rests_in_its_gravity_deflection():
    arm = frs.load(
        RIG.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 1 0"/>').replace(
            '<link name="strip" end="0.4 0 0">', '<link name="strip" end="0.4 0 0" y_axis="0 0 1">'
        )
    )
    rest = frs.equilibrium(arm, [0.1, 0.0])
    shape_filter = ShapeFilter(arm, 'strip', [1e-6, 1e-4], 1e-3, [1e6, 1e3], [1e3, 1.0])
    seen = flex_sensors(arm).matrix @ rest.q
    hold = rest.effort
    for _ in range(300):
        shape_filter.predict(PERIOD, effort=hold, target=[0.1, 0.0])
        shape_filter.correct([0.1, 0.0], seen)
    expected = tip_map(arm, 'strip') @ rest.q
    assert abs(expected[1]) > 1e-3
    assert shape_filter.shape.tip == pytest.approx(expected, abs=1e-6)  # converged by then
