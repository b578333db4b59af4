"""Fits of short logs, against a finer arm, closed forms, and another optimiser."""

from functools import cache

import numpy as np
import pytest
from refusals import refusal
from scipy.optimize import minimize

import flex_robot_sim as frs
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.cli import main
from flex_robot_sim.description.robot_parameters import parameters_of, with_parameters
from flex_robot_sim.identification.fit import Problem, solve
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.parameters import unknowns_of
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

RATE, SECONDS, LATE = 200.0, 6.0, 3e-3
STEP = 2.5e-3  # of the fit                                                        [s]
NOISE = 2e-3  # of the gauges [1/m]
TRUE = {
    'arm.stiffness': 0.88,
    'arm.damping_ratio': 0.012,
    'motor.coulomb': 0.01,
    'tip_mass.mass': 0.112,
}
FREE = [*TRUE, 'delay']


@cache
def record_log():
    """Return the log of an arm with more modes, friction, delay, noise and encoder counts."""
    text = (
        shipped_robots()['single_link']
        .read_text('utf-8')
        .replace('bending_y="2"', 'bending_y="4"')
    )
    arm = build_arm(with_parameters(frs.read_description(text), TRUE))
    simulation = frs.Simulation(arm)
    simulation.hold([0.0], [1.0], [0.1])
    random, sensors, rows = np.random.default_rng(5), flex_sensors(arm), []
    count, late = round(SECONDS * 1e3), round(LATE * 1e3)
    for k in range(count):
        t = k * 1e-3
        # a motor with a soft servo plus a chirp
        simulation.effort = [0.3 * np.sin(2 * np.pi * (0.4 + 0.3 * t) * t) if t > 0.2 else 0.0]
        rows.append(
            np.concatenate(
                [simulation.position, sensors.matrix @ simulation.q, simulation.applied_effort]
            )
        )
        simulation.step()
    rows = np.array(rows)
    every = round(1e3 / RATE)
    seen = np.vstack([np.repeat(rows[:1], late, axis=0), rows])[:count:every]
    effort = rows[::every, -1]
    place = np.round(seen[:, 0] / 1e-4) * 1e-4
    gauges = seen[:, 1:3] + random.normal(0, NOISE, (len(seen), 2))
    clock = np.arange(len(seen)) / RATE
    return Log(
        'run',
        {
            name: Column(clock, values)
            for name, values in (
                ('position/motor', place),
                ('effort/motor', effort),
                ('arm/root', gauges[:, 0]),
                ('arm/tip', gauges[:, 1]),
            )
        },
        [],
    )


def setup_of(log=None, by_motion=False, **values):
    description = frs.read_description('single_link')
    if values:
        description = with_parameters(description, values)
    arm = build_arm(description)
    return Setup(description, make_data_set([log or record_log()], arm, by_motion), time_step=STEP)


@cache
def found(factor=1.0):
    """Return an identification that starts from a stiffness wrong by a factor."""
    description = frs.read_description('single_link')
    description = with_parameters(description, {'arm.EIz': factor * description.beam('arm').EIz})
    data = make_data_set([record_log()], build_arm(description))
    return identify(Setup(description, data, time_step=STEP), FREE)


def relative_errors(result, factor=1.0):
    """Return the relative errors of the parameters; for the delay, seconds."""
    out = {
        one.path: one.value / TRUE[one.path] - 1 for one in result.estimates if one.path in TRUE
    }
    out['arm.stiffness'] = (1 + out['arm.stiffness']) * factor - 1
    out['delay'] = next(one.value for one in result.estimates if one.path == 'delay') - LATE
    return out


@pytest.mark.long
def test_six_seconds_determine_the_parameters_of_a_finer_arm():
    errors = relative_errors(found())
    assert abs(errors['arm.stiffness']) < 0.01
    assert abs(errors['arm.damping_ratio']) < 0.10
    assert abs(errors['tip_mass.mass']) < 0.01
    assert abs(errors['motor.coulomb']) < 0.06  # the smoothing rate of friction is not one
    assert abs(errors['delay']) < 1e-3
    assert found().is_good and all(one.is_identifiable for one in found().estimates)


def test_a_stiffness_wrong_by_two_ends_in_the_same_optimum(factor=2.0):
    right, wrong = relative_errors(found()), relative_errors(found(factor), factor)
    deviation = next(
        one.standard_deviation for one in found().estimates if one.path == 'arm.stiffness'
    )
    assert abs(right['arm.stiffness'] - wrong['arm.stiffness']) < deviation / 0.88


def test_the_jacobian_agrees_with_central_differences():
    problem = Problem(
        setup_of(), unknowns_of(setup_of().arm(), setup_of().data, [*FREE, 'arm/root.gain'])
    )
    z = np.full(problem.size, 0.01)
    slopes = problem.slopes(z)
    for k, one in enumerate(problem.unknowns):
        high, low = (
            problem.read(
                problem.simulated(z + sign * 2e-4 * np.eye(z.size)[k]),
                z + sign * 2e-4 * np.eye(z.size)[k],
            )
            for sign in (1, -1)
        )
        central = (high - low) / 4e-4
        # one-sided differences err by a step times the second derivative; friction has corners
        assert np.linalg.norm(slopes[:, :, k] - central) < 0.02 * np.linalg.norm(central), one.path


def test_another_optimiser_finds_no_better_minimum():
    setup = setup_of()
    problem = Problem(setup, unknowns_of(setup.arm(), setup.data, ['arm.stiffness', 'delay']))
    z = np.array([np.log(0.88), 3.0] + [0.0] * (problem.size - 2))
    fit = solve(problem, z, rounds=1)

    def cost(z):
        rows = (problem.read(problem.simulated(z), z) - problem.measured) / first
        return float(np.sum(9 * 2 * (np.sqrt(1 + (rows / 3) ** 2) - 1)) / 2)

    from flex_robot_sim.identification.fit import initial_deviations

    first = initial_deviations(problem)
    simplex = fit.z + np.vstack([np.zeros(z.size), np.diag(np.full(z.size, 0.02))])
    other = minimize(
        cost, fit.z, method='Nelder-Mead', options={'initial_simplex': simplex, 'maxfev': 25}
    )
    assert fit.cost <= other.fun * (1 + 1e-5)  # of the tolerance of the fit


def decay(frequency, ratio, noise, seconds=6.0):
    """Return the log of a decaying link by the closed form."""
    t = np.arange(0, seconds, 0.01)
    rate = 2 * np.pi * frequency
    # small, because large bending lowers the frequency
    root = 0.05 * np.exp(-ratio * rate * t) * np.cos(rate * np.sqrt(1 - ratio**2) * t + 0.7)
    noise = np.random.default_rng(2).normal(0, noise, t.size)
    return Log(
        'decay',
        {'position/motor': Column(t, 0.3 + 0 * t), 'arm/root': Column(t, root + noise)},
        [],
    )


@pytest.mark.long
def test_a_free_decay_gives_its_true_frequency_and_log_decrement():
    frequency, ratio = 2.1, 0.02
    setup = setup_of(decay(frequency, ratio, 1e-4))
    result = identify(setup, ['arm.stiffness', 'arm.damping_ratio'])
    arm = setup.arm(result.values)
    found_modes = frs.modes(arm, [0.3])
    assert found_modes.frequencies[0] == pytest.approx(frequency, rel=1e-3)
    assert found_modes.damping_ratios[0] == pytest.approx(ratio, rel=0.03)
    assert result.is_good


@pytest.mark.long
def test_unidentifiable_parameters_are_reported_and_keep_their_values():
    # with prescribed motion, twice the stiffness and twice all masses bend in the same way
    result = identify(setup_of(by_motion=True), ['arm.stiffness', 'tip_mass.mass', 'arm.mass'])
    lost = [one for one in result.estimates if not one.is_identifiable]
    assert {one.path for one in lost} == {'arm.stiffness', 'tip_mass.mass', 'arm.mass'}
    assert all(one.value == one.initial_value and one.hint for one in lost)


@pytest.mark.long
def test_gauge_gains_that_trade_with_masses_use_described_masses():
    free = ['arm.stiffness', 'tip_mass.mass', 'arm.mass', 'arm/root.gain', 'arm/tip.gain']
    values = {path: TRUE[path] for path in ('arm.stiffness', 'arm.damping_ratio', 'tip_mass.mass')}
    result = identify(setup_of(by_motion=True, **values), free)
    identified = {one.path: one.value for one in result.estimates if one.is_identifiable}
    assert [*identified] == ['arm/root.gain', 'arm/tip.gain']
    # true gauges have a gain of one; the model follows encoder steps of 0.1 mrad
    assert [*identified.values()] == pytest.approx([1.0, 1.0], abs=0.1)


@pytest.mark.long
@pytest.mark.parametrize('before, is_identifiable', [(0.0004, True), (0.004, False)])
def test_a_rough_estimate_is_used_if_the_initial_value_is_far_off(before, is_identifiable):
    result = identify(
        setup_of(decay(2.1, 0.004, 0.006, 2.2), **{'arm.damping_ratio': before}),
        ['arm.stiffness', 'arm.damping_ratio'],
    )
    damping = next(one for one in result.estimates if one.path == 'arm.damping_ratio')
    assert damping.standard_deviation > 0.25 * damping.value  # which alone would not suffice
    assert damping.is_identifiable == is_identifiable
    assert damping.value == pytest.approx(0.004, abs=3 * damping.standard_deviation)


def test_currents_instead_of_efforts_are_rejected():
    log = record_log()
    columns = {
        **log.columns,
        'effort/motor': Column(
            log.columns['effort/motor'].time, 25 * log.columns['effort/motor'].values
        ),
    }
    with pytest.raises(
        UsageError,
        match=r'^run: the motion of "motor" needs 0\.0\d+ times the '
        r'efforts that were logged: a current, or another unit',
    ):
        identify(setup_of(Log('run', columns, [])), FREE)


def test_drive_parameters_are_rejected_if_the_motion_is_prescribed():
    assert refusal(UsageError, identify, setup_of(by_motion=True), ['motor.coulomb']) == (
        '"motor.coulomb" drops out where the measured motion drives the '
        'arm. Log effort/motor, or leave it out.'
    )


def log_file(folder):
    """Write the log as CSV; return its path."""
    columns = record_log().columns
    rows = [columns['arm/root'].time] + [column.values for column in columns.values()]
    header = ','.join(['time', *columns])
    np.savetxt(folder / 'run.csv', np.column_stack(rows), '%.18e', ',', header=header, comments='')
    return folder / 'run.csv'


def test_the_command_writes_a_robot_with_the_estimates(flexsim, tmp_path):
    path, fitted = log_file(tmp_path), tmp_path / 'fitted.urdf'
    free = ['--free', 'arm.stiffness,motor.coulomb,tip_mass.mass,delay', '--time-step', STEP]
    out = ['--output', fitted, '--plot', tmp_path / 'fit.png']
    answer = flexsim('identify', path, 'single_link', *free, *out)
    assert answer.returncode == 0, answer.stderr
    known = parameters_of(frs.read_description(fitted))
    assert known['arm.EIz'].value / parameters_of(frs.read_description('single_link'))[
        'arm.EIz'
    ].value == pytest.approx(0.88, rel=0.01)
    assert known['motor.coulomb'].value == pytest.approx(0.01, rel=0.06)
    before = shipped_robots()['single_link'].read_text('utf-8').splitlines()
    changed = [line for line in fitted.read_text('utf-8').splitlines() if line not in before]
    assert len(changed) < 8 and any('before' in line and 'run.csv' in line for line in changed)


def test_the_command_reports_a_wrong_name_in_one_line(tmp_path, capsys):
    path = log_file(tmp_path)
    assert main(['identify', str(path), 'single_link', '--free', 'arm.EIzz']) == 2
    said = capsys.readouterr().err
    assert said.startswith('flexsim identify: no parameter "arm.EIzz". Near: arm.EIz')
    assert said.count('\n') == 1
    assert main(['identify', 'single_link', str(path)]) == 2
    assert capsys.readouterr().err == (
        f'flexsim identify: {path}: this is a log. Name the logs first, and the robot last.\n'
    )
