"""Links that bend far: the log shows whether the fit needs more segments."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from project_files import ROOT

import flex_robot_sim as frs
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.identification.fit import Fit, Problem, solve
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.large_bending import (
    LargeBending,
    bending_bias,
    deflection_ratios,
    large_bending,
    share_of_change,
    with_bending_bias,
)
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.parameters import unknowns_of
from flex_robot_sim.identification.prediction import Setup, with_more_segments
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.identification.uncertainty import uncertainty
from flex_robot_sim.model.assembly import build_arm

pytestmark = pytest.mark.slow

FREE = ['arm.stiffness', 'tip_mass.mass', 'delay']
PERIOD, COUNT = 5e-3, 600
NOISE = 2e-3  # of the gauges [1/m]


def fitted(arm, size):
    """Return Problem and Fit, of the arm as described, to a log of `arm`."""
    simulation, sensors = frs.Simulation(arm), flex_sensors(arm)
    simulation.hold([0.0], [1.0], [0.1])
    rows = []
    for k in range(COUNT * 5):
        t = 1e-3 * k
        effort = size * np.sin(2 * np.pi * (0.4 + 0.5 * t) * t) if t > 0.2 else 0.0
        simulation.effort = [effort]
        rows.append([simulation.position[0], *(sensors.matrix @ simulation.q)])
        rows[-1].append(simulation.applied_effort[0])
        simulation.step()
    rows = np.array(rows)[::5]
    rows[:, 1:3] += np.random.default_rng(2).normal(0, NOISE, (COUNT, 2))
    names = 'position/motor', 'arm/root', 'arm/tip', 'effort/motor'
    times = PERIOD * np.arange(COUNT)
    log = Log('run', {name: Column(times, row) for name, row in zip(names, rows.T)}, [])
    description = frs.read_description('single_link')
    data = make_data_set([log], build_arm(description))
    setup = Setup(description, data, time_step=2.5e-3, finer=0)
    problem = Problem(setup, unknowns_of(setup.arm(), data, FREE))
    return problem, solve(problem, problem.initial_point(), tolerance=1e-5)


def described(segments=1):
    description = frs.read_description('single_link')
    return build_arm(with_more_segments(description, ('arm',) if segments == 2 else ()))


@pytest.mark.parametrize(('segments', 'finding'), [(1, 'wrong'), (2, 'needed')])
def test_a_log_with_large_bending_shows_the_segments_of_its_arm(segments, finding):
    problem, fit = fitted(described(segments), 0.5)
    found = large_bending(problem, fit)
    assert found.links == ('arm',) and found.finding == finding
    assert found.ratio > 0.05
    assert len(found.notes) == (finding == 'needed')


def test_the_change_by_more_segments_is_the_error_of_a_fit_that_lacks_them():
    problem, fit = fitted(described(2), 0.5)
    values = problem.values(fit.z)
    bias = bending_bias(problem, fit, ('arm',))
    assert bias is not None
    # the arm is that of the description
    assert fit.z[0] == pytest.approx(-bias[0], rel=0.3)
    assert abs(values['arm.stiffness'] - 1) > 5e-3


def test_misfit_that_more_segments_cannot_cause_leaves_them_open():
    problem, fit = fitted(described(2), 0.5)
    setup = replace(problem.setup, finer=0, time_step=problem.step, segmented=('arm',))
    segmented = Problem(setup, problem.unknowns, problem.servo, problem.sequences)
    change = segmented.residuals(fit.z, fit.deviations) - fit.residuals
    # friction may leave a residual like that of bending, but several times as large
    excess = fit._replace(residuals=fit.residuals - 2.6 * change)
    assert large_bending(problem, excess).finding == 'open'


@pytest.mark.parametrize('share', [0.0, 1.0, 3.6])
def test_the_share_of_a_change_is_that_of_linear_regression(share):
    random, count = np.random.default_rng(4), 4000
    jacobian = random.normal(size=(count, 2, 3))
    change = 0.1 * random.normal(size=(count, 2)) + jacobian @ [1.0, -2.0, 0.5]
    noise = random.normal(size=(count, 2))
    residuals = jacobian @ [0.3, 0.1, -0.2] - share * change + noise
    fit = Fit(np.zeros(3), residuals, jacobian, np.ones((count, 2)), np.ones(2), 0.0, 0)
    found, std = share_of_change(fit, change, 40 * [count // 40])
    columns = np.concatenate((jacobian, change[:, :, None]), axis=2).reshape(-1, 4)
    expected = -np.linalg.lstsq(columns, residuals.ravel())[0][-1]
    assert found == pytest.approx(expected, rel=1e-6)
    # white noise of unit variance; forty blocks determine a deviation within a ninth
    assert std == pytest.approx(1 / (0.1 * np.sqrt(2 * count)), rel=0.3)
    assert abs(found - share) < 3 * std


def test_small_bending_needs_nothing():
    problem, fit = fitted(described(), 0.05)
    assert deflection_ratios(problem, fit.z)['arm'] < 0.05
    assert large_bending(problem, fit) == LargeBending()


def test_intervals_include_a_change_that_the_log_leaves_open():
    problem, fit = fitted(described(2), 0.5)
    found = uncertainty(fit, [COUNT])
    wide = with_bending_bias(
        problem, fit, found, LargeBending(('arm',), 0.1, 'open'), problem.sequences
    )
    half = wide.factor * wide.deviations
    assert (half >= found.factor * found.deviations).all()
    assert half[0] > abs(fit.z[0])  # the stiffness is that of the description
    for finding in ('wrong', 'needed', 'unknown'):
        same = with_bending_bias(
            problem, fit, found, LargeBending(('arm',), 0.1, finding), problem.sequences
        )
        assert same is found


@pytest.mark.long
def test_the_stiffness_of_a_chain_in_mujoco_that_bends_far_is_right(monkeypatch):
    pytest.importorskip('mujoco')
    monkeypatch.syspath_prepend(str(ROOT))
    bench, errors = (
        importlib.import_module(f'benchmarks.identification.{name}')
        for name in ('bench_log', 'parameter_errors')
    )
    random, arm = np.random.default_rng([2, 5]), errors.true_arm('creep')
    motion = errors.random_motion(random, 6.0)
    plant = errors.make_plant('creep', arm)
    times, columns = bench.recorded(plant, motion, 6.0, errors.GAINS)
    log = bench.log_of(times, columns, delay=errors.DELAY)
    model = arm.model(pieces=errors.PIECES, creep_rate=0.0285)
    data = make_data_set([log], model)
    found = identify(Setup(model.description, data), [*errors.TARGETS, 'link1.damping_time'])
    assert any('link1: bends by up to 7.5 % of its length' in note for note in found.notes)
    estimate = found.estimates[0]
    low, high = estimate.interval
    assert low <= errors.LINK.EI <= high
    assert estimate.value == pytest.approx(errors.LINK.EI, rel=5e-4)  # with one segment: 2e-3
