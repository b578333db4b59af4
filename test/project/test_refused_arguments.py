"""Public functions refuse wrong arguments by one line that names the argument."""

import math

import numpy as np
import pytest

import flex_robot_sim as frs

ARM, OTHER = frs.load('single_link'), frs.load('two_link')
MOTION = frs.planning.minimum_jerk_motion([0.0], [0.3], duration=0.8)
FEEDBACK, PLANNING, SHAPING = frs.feedback, frs.planning, frs.shaping
DAMPING, EXPERIMENT = FEEDBACK.design_damping, frs.identification.design_experiment
LEARNING = PLANNING.RepeatedMove(MOTION, duration=1.0)
NO_NUMBERS: tuple = (None, 'fast', [], [1.0, [2.0]], np.full(3, 0.5), math.nan, OTHER, 10**400, 1j)
RAGGED = [[1.0, 2.0], [3.0]]


@pytest.fixture(scope='module')
def damping():
    return FEEDBACK.design_damping(
        ARM, [0.0], gains=(60.0, 0.18), kind='ppf', damping_ratio=0.1, period=5e-3, delay=0.0
    )


def _refused(name, act):
    with pytest.raises(frs.SettingError) as caught:
        act()
    text = str(caught.value)
    assert name in text
    assert '\n' not in text


def _log():
    return frs.rollout(ARM, duration=0.01)


def _path_error(shaper=None, **options):
    move = {'times': [0.0, 1.0], 'positions': [0.0, 1.0], **options}
    return SHAPING.path_error(ARM, SHAPING.zv(0.2) if shaper is None else shaper, **move)


def _sweep(**options):
    move = frs.sweeps.Manoeuvre(to=(0.1,))
    return frs.sweeps.sweep('single_link', scale={'arm.EIz': [1.0]}, run=move, **options)


@pytest.mark.parametrize('value', NO_NUMBERS, ids=repr)
@pytest.mark.parametrize(
    'name, act',
    [
        ('period', lambda value: FEEDBACK.Lqr(ARM, [0.0], period=value)),
        ('period', lambda value: FEEDBACK.design_lqg(ARM, [0.0], period=value)),
        ('delay', lambda value: FEEDBACK.design_lqg(ARM, [0.0], delay=value)),
        ('delay', lambda value: frs.rollout(ARM, duration=0.01, delay=value)),
        ('duration', lambda value: frs.rollout(ARM, duration=value)),
        ('period', lambda value: frs.control.design_servo(ARM, period=value, delay=1e-3)),
        ('frequency', lambda value: frs.control.design_servo(ARM, frequency=value)),
        ('time', lambda value: frs.Simulation(ARM).advance_to(value)),
        ('time', lambda value: frs.Batch(ARM, 1).advance_to(value)),
        ('tolerance', lambda value: SHAPING.si([SHAPING.Band(2.0, 3.0, 0.0, value)])),
        ('duration', lambda value: PLANNING.RepeatedMove(MOTION, duration=value)),
        ('count', lambda value: PLANNING.RepeatedMove(MOTION, duration=1.0, count=value)),
        (
            'regularization',
            lambda value: PLANNING.RepeatedMove(MOTION, duration=1.0, regularization=value),
        ),
        (
            'duration',
            lambda value: PLANNING.SimulatedTrials(ARM, MOTION, duration=value, gains=(4.0, 0.4)),
        ),
        (
            'every',
            lambda value: PLANNING.SimulatedTrials(
                ARM, MOTION, duration=1.0, every=value, gains=(4.0, 0.4)
            ),
        ),
        ('mode', lambda value: frs.modes(ARM).shape(value)),
        ('frequency', lambda value: SHAPING.zv(2.0).insensitivity(value)),
        ('weight_step', lambda value: LEARNING.model(lambda _: [0.0], weight_step=value)),
        ('duration', lambda value: EXPERIMENT(ARM, duration=value, period=1e-2)),
        ('period', lambda value: EXPERIMENT(ARM, duration=1.0, period=value)),
        ('phase_sets', lambda value: EXPERIMENT(ARM, duration=1.0, period=1e-2, phase_sets=value)),
        (
            'begin',
            lambda value: PLANNING.minimum_jerk_motion([0.0], [1.0], duration=1.0, begin=value),
        ),
        ('uncertainty', lambda value: SHAPING.recommend(ARM, [[0.0]], uncertainty=value)),
        (
            'allowed_vibration',
            lambda value: SHAPING.recommend(ARM, [[0.0]], allowed_vibration=value),
        ),
        ('sensor_delay', lambda value: DAMPING(ARM, [0.0], gains=(60.0, 0.2), sensor_delay=value)),
    ],
)
def test_a_value_that_is_no_number_is_refused(name, act, value):
    _refused(name, lambda: act(value))


@pytest.mark.parametrize(
    'name, act',
    [
        ('bandwidth', lambda: FEEDBACK.design_lqg(ARM, [0.0], bandwidth='high')),
        ('modes', lambda: FEEDBACK.design_lqg(ARM, [0.0], modes=1.5)),
        ('modes', lambda: FEEDBACK.design_damping(ARM, [0.0], gains=(60.0, 0.2), modes='all')),
        ('kind', lambda: FEEDBACK.design_damping(ARM, [0.0], gains=(60.0, 0.2), kind=np.ones(2))),
        ('sensors', lambda: FEEDBACK.design_lqg(ARM, [0.0], sensors=np.ones(2))),
        ('feedback', lambda: FEEDBACK.design_lqg(ARM, [0.0], feedback='motors')),
        (
            'feedback',
            lambda: FEEDBACK.design_damping(ARM, [0.0], gains=(60.0, 0.2), feedback='gear'),
        ),
        ('duration', lambda: PLANNING.plan_move(ARM, [0.0], [0.3], duration='short')),
        ('duration', lambda: PLANNING.plan_move(ARM, [0.0], [0.3], duration=1e308)),
        ('payload', lambda: PLANNING.plan_move(ARM, [0.0], [0.3], payload='tool')),
        ('motion', lambda: PLANNING.RepeatedMove([0.0, 0.3], duration=1.0)),
        ('motion', lambda: PLANNING.SimulatedTrials(ARM, 'swing', duration=1.0, gains=(4.0, 0.4))),
        ('inputs', lambda: frs.linearise(ARM).part('motor/effort')),
        ('outputs', lambda: frs.linearise(ARM).part(None, 1.0)),
        ('free', lambda: frs.identification.identify_parameters(ARM, [], free=1.0)),
        ('path', lambda: frs.identification.read_log(None)),
        ('xacro_arguments', lambda: frs.load('two_link', xacro_arguments='mass:=1')),
        ('period', lambda: frs.rollout(ARM, duration=0.01, period=1e308)),
        ('duration', lambda: frs.rollout(ARM, duration=1e308)),
        ('time', lambda: frs.Simulation(ARM).advance_to(1e308)),
        ('t = ', lambda: MOTION.sample('x')),
        ('t = ', lambda: MOTION.sample(None)),
        ('t = ', lambda: MOTION.sample(np.ones(2))),
        ('times', lambda: MOTION.samples('x')),
        ('times', lambda: MOTION.samples(1.0)),
        ('knots', lambda: PLANNING.Motion('x', [1.0])),
        ('knots', lambda: PLANNING.Motion([], np.zeros((1, 6, 1)))),
        ('pieces', lambda: PLANNING.Motion([0.0, 1.0], np.zeros((1, 6, 1)))),
        ('repeats_from', lambda: PLANNING.Motion([0.0], np.zeros((2, 6, 1)), repeats_from=7)),
        ('path', lambda: _log().plot(path=1.0)),
        ('the log has no', lambda: _log().plot(np.ones(2))),
        ('scheme', lambda: frs.SimulationSettings(scheme=np.ones(2))),
        ('shaper', lambda: frs.sweeps.Manoeuvre(shaper=np.ones(2))),
        ('formulation', lambda: frs.formulations.make(np.ones(2), ARM)),
        ('vary', lambda: frs.sweeps.sweep('single_link', vary=np.ones(2))),
        ('scale', lambda: frs.sweeps.sweep('single_link', scale=np.ones(2))),
        ('folder', lambda: _sweep(folder=1.0)),
        ('executor', lambda: _sweep(executor=1.0)),
        ('shaper', lambda: SHAPING.shaped_motion('zv', MOTION)),
        ('kind', lambda: SHAPING.design_for_arm(ARM, kind=np.ones(2))),
        ('masses', lambda: SHAPING.design_for_arm(ARM, masses='heavy')),
        ('velocity_limits', lambda: SHAPING.OnlineShaper(1, 1e-3, velocity_limits='fast')),
        ('source', lambda: SHAPING.shaper_for(np.ones(2))),
        ('fixed', lambda: SHAPING.shaper_for(ARM, fixed=np.ones(2))),
        ('uncertainty', lambda: SHAPING.shaper_for(ARM, uncertainty='large')),
        ('shaper', lambda: _path_error(shaper=np.ones(2))),
        ('times', lambda: _path_error(times='x')),
        ('bound', lambda: _path_error(bound='small')),
        ('positions', lambda: _path_error(positions=np.ones((2, 2)))),
        ('poses', lambda: SHAPING.recommend(ARM, 'all')),
        ('poses', lambda: SHAPING.recommend(ARM, [[0.0, 1.0]])),
        ('payloads', lambda: SHAPING.recommend(ARM, [[0.0]], payloads=1.0)),
        ('pole', lambda: SHAPING.zv(2.0).response('x')),
        ('frequency', lambda: SHAPING.zv(2.0).vibration('x')),
        ('weights', lambda: LEARNING.reference('x')),
        ('run', lambda: LEARNING.model('x', weight_step=0.1)),
        ('bandwidth', lambda: FEEDBACK.Lqr(ARM, [0.0], bandwidth='high')),
        ('initial_design', lambda: DAMPING(ARM, [0.0], gains=(60.0, 0.2), initial_design='x')),
    ],
)
def test_a_value_of_another_kind_is_refused(name, act):
    _refused(name, act)


@pytest.mark.parametrize(
    'act',
    [
        lambda: frs.Simulation(ARM).set_state(RAGGED),
        lambda: frs.Simulation(ARM).set_state([0.0], RAGGED),
        lambda: frs.Batch(ARM, 2).set_state(RAGGED),
        lambda: frs.Simulation(ARM).hold([0.0], RAGGED, 1.0),
        lambda: frs.Simulation(ARM).hold([0.0], 1j, 1.0),
        lambda: frs.equilibrium(ARM, RAGGED),
        lambda: frs.modes(ARM, RAGGED),
        lambda: frs.control.ComputedTorque(ARM, reference=[0.0], frequency=RAGGED),
        lambda: frs.control.ComputedTorque(ARM, reference=[0.0], damping_ratio=1j),
        lambda: frs.Simulation(ARM).prescribe(np.ones(2), ([0.0, 1.0], [0.0, 1.0])),
    ],
)
def test_rows_of_different_lengths_and_complex_numbers_are_refused(act):
    with pytest.raises(frs.SettingError):
        act()


@pytest.mark.slow
@pytest.mark.parametrize('value', ['two_link', None, frs.Simulation])
def test_laws_and_measurements_refuse_other_objects(damping, value):
    design = FEEDBACK.design_lqg(ARM, [0.0], period=5e-3, delay=5e-3)
    law = FEEDBACK.StrainFeedback(ARM, damping)
    _refused('is no arm', lambda: FEEDBACK.Lqg(value, design))
    _refused('design', lambda: FEEDBACK.Lqg(ARM, value))
    _refused('is no arm', lambda: FEEDBACK.StrainFeedback(value, damping))
    _refused('design', lambda: FEEDBACK.StrainFeedback(ARM, value))
    _refused('simulation', lambda: FEEDBACK.measure(value))
    _refused('is no arm', lambda: FEEDBACK.sensor_feedback(value, law.step))
    _refused('law', lambda: FEEDBACK.sensor_feedback(ARM, 'step'))
    _refused('measurement', lambda: law.step(value))


def test_shapers_of_too_many_modes_are_refused():
    with pytest.raises(frs.SettingError, match='50 shapers in series have .* impulses'):
        SHAPING.zvd(np.linspace(1.0, 20.0, 50))


def test_an_unknown_method_of_a_sweep_is_refused():
    with pytest.raises(frs.FlexRobotSimError, match='^method = .* must be one of grid, latin'):
        _sweep(method=np.ones(2))
