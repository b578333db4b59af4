"""The model beside the bench: nothing is left where both are the same, and the rest where not."""

import math

import numpy as np
import pytest
from project_files import ROOT
from rig_lockstep import Lab
from scipy.integrate import solve_ivp

import flex_robot_sim as frs
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, RigState, calibration_of
from flex_robot_sim.rig.bridge.comparison import BenchQuantity, compare, states_of, summary
from flex_robot_sim.rig.bridge.experiment_log import Experiment
from flex_robot_sim.rig.bridge.twin import Twin, TwinSettings
from flex_robot_sim.rig.estimation.shape_tracker import BentLinkState, ShapeTracker
from flex_robot_sim.rig.host.session import Reading
from flex_robot_sim.rig.wire.profile import segment
from flex_robot_sim.rig.wire.protocol import Telemetry
from flex_robot_sim.rig.wire.vocabulary import MOVING, State
from flex_robot_sim.util.exceptions import SettingError

RIG = (ROOT / 'urdf' / 'rig.urdf').read_text(encoding='utf-8')
MOVES = [segment(0.3, 0.6, 600.0), segment(0.3, -0.6, -600.0), segment(0.6, 0.0, 0.0)]
COUNT = np.array([1 / 300000, 2 * math.pi / 2400])      # of the encoders [m, rad]


@pytest.fixture(scope='module')
def arm():
    return frs.load('rig')


def experiment(bench_arm, model):
    lab = Lab(bench_arm)
    lab.play(MOVES, 1300)
    return Experiment(model, calibration_of(BridgeSettings(), model), lab.readings)


@pytest.fixture(scope='module')
def same(arm):
    return experiment(arm, arm)


@pytest.fixture(scope='module')
def other(arm):
    """A bench whose slide has four times the friction of the model."""
    return experiment(frs.load(RIG.replace('damping="40" friction="8"',
                                           'damping="40" friction="32"')), arm)


def residuals(run, **settings):
    """Positions (k, 2), and the Twin."""
    shapes = ShapeTracker(run.arm, run.calibration)
    twin = Twin(run.arm, run.calibration, shapes.link, TwinSettings(twin=True, **settings))
    rows = []
    for state in states_of(run):
        shapes.take(state)
        rows.append(twin.take(state, shapes.link_state))
    return np.array([row.position for row in rows]), twin


@pytest.mark.parametrize('constant', [0.0, 0.5])
def test_twin_of_a_perfect_model_stays_with_the_bench(same, constant):
    position, _ = residuals(same, twin_time_constant=constant)
    # when they are switched off is known to 2 ms only, and the rotor flies off then
    is_on = [reading.message.state in MOVING for reading in same.readings]
    # the duty is known every 2 ms only: by so much the slide may be ahead, at 0.07 m/s
    assert np.abs(position[is_on, 0]).max() < 2 * COUNT[0] + 2e-3 * 0.07
    assert np.abs(position[is_on, 1]).max() < COUNT[1]


def test_free_twin_shows_the_friction_that_the_model_lacks(other):
    position, _ = residuals(other, twin_time_constant=0.0)
    # 24 N over the 1178 N s/m with which the back-EMF brakes are 20 mm/s, and they take 0.1 s to
    # come about: 4 mm in 0.3 s, of which half must be seen
    assert np.abs(position[:, 0]).max() > 0.002


def coasting(time, viscous):
    """Place and speed of the slide under half a duty, from 0.15 m and 30 mm/s, in closed form."""
    # 12 V, 5.73 ohm, 0.0191 V s/rad through 7853.98 rad/m, of whose force 30 % arrive; 8 N of
    # friction; carriage, hub, strip and rotor
    emf, mass = 0.0191 * 7853.9816, 0.7 + 0.048 + 0.0628 + 2e-6 * 7853.9816**2
    brake = viscous + 0.3 * emf**2 / 5.73
    final = (0.3 * emf * 6.0 / 5.73 - 8.0) / brake
    constant = mass / brake
    gone = np.exp(-time / constant)
    return 0.15 + final * time + (0.03 - final) * constant * (1 - gone), \
        final + (0.03 - final) * gone


@pytest.mark.parametrize('viscous', [40.0, 400.0])
def test_residual_of_the_free_twin_is_that_of_the_closed_forms(arm, viscous):
    """No simulation has made what the twin is compared with."""
    twin = Twin(arm, calibration_of(BridgeSettings(), arm), 'strip',
                TwinSettings(twin=True, twin_time_constant=0.0))
    sensors, modes = np.zeros(2), np.zeros(arm.size - 2)
    straight = BentLinkState(sensors, sensors, modes, modes, np.zeros(3), np.zeros(3))
    for k in range(251):
        time = k * 2e-3
        place, speed = coasting(time, viscous)
        message = Telemetry(k * 2000, 0, 0, 0, 0, 0.5, 0, 0.0, State.ARMED, 0, 0, 0, 0.0)
        residual = twin.take(
            RigState(Reading(message, time, time), 2e-3, k == 0, (place, 0.0), (speed, 0.0),
                     (0.0, 0.0)), straight)
    own_place, own_speed = coasting(time, 40.0)
    # one step of 1 ms by which the motor's force lags behind its speed, 0.3 m/s2 at most
    assert residual.position[0] == pytest.approx(place - own_place, abs=2e-5)
    assert residual.velocity[0] == pytest.approx(speed - own_speed, abs=3e-4)
    assert twin.restarts == 1 and abs(residual.position[1]) < 1e-9


def test_twin_goes_the_same_way_whether_or_not_anybody_asks(same):
    shapes = ShapeTracker(same.arm, same.calibration)
    asked, silent = (Twin(same.arm, same.calibration, shapes.link) for _ in range(2))
    for state in states_of(same._replace(readings=same.readings[:300])):
        shapes.take(state)
        assert asked.take(state, shapes.link_state) is not None
        assert silent.take(state, shapes.link_state, False) is None
    assert silent.coordinates.tolist() == asked.coordinates.tolist()


def test_twin_is_drawn_towards_the_bench(other):
    free, _ = residuals(other, twin_time_constant=0.0)
    drawn, _ = residuals(other, twin_time_constant=0.1)
    assert np.abs(drawn[:, 0]).max() < 0.7 * np.abs(free[:, 0]).max()


def test_twin_starts_anew_after_a_gap(same):
    run = same._replace(readings=[*same.readings[:300], *same.readings[340:]])
    position, twin = residuals(run, twin_time_constant=0.0)
    whole = residuals(same, twin_time_constant=0.0)[1]
    assert twin.restarts == whole.restarts + 1
    # the speeds begin at zero after a gap, and are there within 16 ms of 0.07 m/s
    assert np.abs(position[:, 0]).max() < 0.07 * 0.02 * 2


def test_twin_of_a_bench_that_is_off_says_nothing_without_a_sensor(arm):
    lab = Lab(arm)
    lab.bench.faults.shorted_sensors.add(0)
    lab.wait(20)
    run = Experiment(arm, calibration_of(BridgeSettings(), arm), lab.readings)
    shapes = ShapeTracker(arm, run.calibration)
    twin = Twin(arm, run.calibration, shapes.link)
    for state in states_of(run):
        shapes.take(state)
        answer = twin.take(state, shapes.link_state)
    assert answer is None


def test_comparison_with_the_true_model_leaves_counts_and_noise(same):
    facts = summary(compare(same))
    assert facts['runs'] == 1 and facts['duration_s'] == pytest.approx(1.3, abs=0.05)
    assert list(facts['quantities']) == ['slide', 'turn', 'strip/root', 'strip/tip',
                                        'strip/tip_deflection']
    # the bench of Chu and others comes to 3.5 %; here nothing is left but counts and noise
    for figures in facts['quantities'].values():
        assert figures['steady_percent'] < 0.35
    assert facts['quantities']['slide']['steady_percent'] < 100 * COUNT[0] / 8.4e-3
    assert facts['quantities']['slide']['rms_percent'] < 0.1
    assert facts['quantities']['strip/tip_deflection']['rms_percent'] < 1.0


def test_what_is_left_of_a_perfect_model_is_the_noise_of_the_sensors(same):
    comparison = compare(same)
    late = comparison.time > 0.15       # after the first ramp, on which the pulses fall in step
    root, tip = comparison.quantities[2:4]
    assert np.sqrt((tip.difference[late]**2).mean()) < 1.2 * same.calibration.deviations[1]
    # the root sensor sees 20 times as much of the swing with which the twin started: of one
    # reading of each sensor, and of rates that are noisier
    assert root.figures(comparison.runs)['rms_percent'] < 0.5


def test_comparison_with_a_wrong_model_says_so(other, same):
    wrong, right = (summary(compare(run))['quantities']['slide'] for run in (other, same))
    assert wrong['rms_percent'] > 3.5 > right['rms_percent']


def way_of_slide(friction):
    """Places of the slide alone in MOVES, by a solver that knows neither bench nor twin."""
    # as in `coasting`; what the motor takes while it brakes passes without loss
    emf, mass = 0.0191 * 7853.9816, 0.7 + 0.048 + 0.0628 + 2e-6 * 7853.9816**2

    def rates(time, state, duty):
        speed = state[1]
        force = emf * (12.0 * duty - emf * speed) / 5.73
        force *= 0.3 + 0.7 * max(0.0, -math.copysign(1.0, force) * math.tanh(speed / 1e-3))
        return speed, (force - 40.0 * speed - friction * math.tanh(speed / 1e-3)) / mass

    state, places = [0.0, 0.0], []
    for duration, duty in ((0.3, 0.6), (0.3, -0.6), (0.6, 0.0)):
        found = solve_ivp(rates, (0.0, duration), state, args=(duty,), max_step=2e-3, rtol=1e-6,
                          atol=1e-9, t_eval=np.linspace(0.0, duration, 301))
        state = found.y[:, -1]
        places.append(found.y[0])
    return np.concatenate(places)


def test_comparison_with_a_wrong_model_finds_what_its_friction_does(other):
    """Neither of the two has made what the comparison is judged by."""
    figures = summary(compare(other))['quantities']['slide']
    bench, model = way_of_slide(32.0), way_of_slide(8.0)
    # two counts, and 2 ms by which the duty is late, at 20 mm/s more or less
    late = 2 * COUNT[0] + 2e-3 * 0.02
    assert figures['range'] == pytest.approx(np.ptp(bench), abs=late)
    assert figures['largest_difference'] == pytest.approx(np.abs(bench - model).max(), abs=late)


def test_comparison_figures_are_those_of_the_definition(same):
    comparison = compare(same)
    slide = comparison.quantities[0]
    figures = slide.figures(comparison.runs)
    difference = slide.bench - slide.simulation
    assert figures['range'] == slide.bench.max() - slide.bench.min()
    assert figures['rms_difference'] == pytest.approx(math.sqrt((difference**2).sum() / len(
        difference)), rel=1e-12)
    last = difference[-round(0.1 * len(difference)):]
    assert figures['steady_percent'] == pytest.approx(100 * abs(last.mean()) / figures['range'])


def test_broken_second_run_counts_as_a_run_of_its_own(arm):
    lab = Lab(arm)
    for _ in range(2):
        lab.play([segment(0.2, 0.4, 0.0), segment(0.2, -0.4, 0.0)], 420)
    run = Experiment(arm, calibration_of(BridgeSettings(), arm), lab.readings)
    assert summary(compare(run))['runs'] == 2


def test_what_moves_between_two_runs_is_no_part_of_the_range():
    bench = np.array([0.0, 0.01, 0.15, 0.17])
    figures = BenchQuantity('slide', 'm', bench, bench - 1e-3).figures((slice(0, 2), slice(2, 4)))
    assert figures['range'] == pytest.approx(0.02)
    assert figures['rms_percent'] == pytest.approx(100 * 1e-3 / 0.02)


@pytest.mark.parametrize('change', [
    ('E="206e9"', 'E="170e9"'), ('<damping ratio="0.01"/>', '<damping ratio="0.05"/>'),
    ('<link name="tool"/>', '<link name="tool"><inertial><mass value="0.03"/><inertia ixx="1e-6" '
     'iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>')])
def test_twin_takes_other_numbers_in_motion_without_a_jump(same, change):
    """With 30 g at the tip shapes are others, so that coordinates alone would lead astray."""
    other = frs.load(RIG.replace(*change))
    shapes = ShapeTracker(same.arm, same.calibration)
    twin = Twin(same.arm, same.calibration, shapes.link,
                TwinSettings(twin=True, twin_time_constant=0.0))
    states = list(states_of(same))[:450]
    tips, places = [], []
    for k, state in enumerate(states):
        shapes.take(state)
        if k == 300:
            twin.offer(other)
        residual = twin.take(state, shapes.link_state)
        tips.append(residual.twin_tip)
        places.append(residual.twin_position)
    assert states[300].reading.message.state in MOVING and twin.restarts <= 2
    # from one reading to the next it moves no further than it does without the change
    for values, scale in ((np.array(tips)[:, None], 1e-6), (np.array(places), 1e-9)):
        steps = np.abs(np.diff(values, axis=0))
        assert np.ptp(values) > 1e-3
        assert (steps[299] <= 1.5 * steps[290:299].max(axis=0) + scale).all()
    assert twin._bench.arm is other and twin._bench.time > 0.5


def test_twin_that_takes_the_same_numbers_goes_the_same_way(same):
    ways = []
    for offers in (False, True):
        shapes = ShapeTracker(same.arm, same.calibration)
        twin = Twin(same.arm, same.calibration, shapes.link)
        for k, state in enumerate(states_of(same._replace(readings=same.readings[:300]))):
            shapes.take(state)
            if offers and k == 200:
                twin.offer(frs.load(RIG))
            twin.take(state, shapes.link_state, False)
        ways.append(twin.coordinates)
    # it is drawn towards the bench at every reading, which begins the step anew as well
    assert ways[1] == pytest.approx(ways[0], abs=1e-9)


def test_twin_of_another_structure_is_refused_and_the_old_one_goes_on(same):
    twin = Twin(same.arm, same.calibration, 'strip')
    with pytest.raises(SettingError) as caught:
        twin.offer(frs.load(RIG.replace('bending_y="3"', 'bending_y="2"')))
    assert str(caught.value) == (
        '<text>: is of another structure: of its shapes, "strip/bending_y_3" is missing. Give '
        'the same robot with other numbers')
    assert twin._offered_bench is None
