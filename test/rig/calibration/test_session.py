"""A complete calibration on the emulator, with a simulated operator and weights."""

import contextlib
import itertools

import pytest
import rig_person
from project_files import ROOT
from rig_person import (
    CALM,
    FORCE,
    GOOD,
    KEEP,
    MOTORS,
    PARTS,
    RADIAN,
    RUN,
    SLIDE,
    START,
    STEPS,
    SUPPLY,
    TURN,
    ZERO,
    Person,
    angle,
    copied,
    place,
    pull,
)
from stepped_time import stepped_emulator

import flex_robot_sim as frs
from flex_robot_sim.rig.bench.bench import Bench
from flex_robot_sim.rig.bench.motors import divider_counts, flex_resistance
from flex_robot_sim.rig.board import board_state as board_rules
from flex_robot_sim.rig.board.emulated_rig import EmulatedRig
from flex_robot_sim.rig.board.emulator import Emulator
from flex_robot_sim.rig.calibration import calibration_bench as calibration_bench
from flex_robot_sim.rig.calibration.calibration_session import CalibrationSession, Quit
from flex_robot_sim.rig.calibration.file import read_calibration, write_calibration
from flex_robot_sim.rig.host.link import RigLink
from flex_robot_sim.rig.host.link_session import LinkState
from flex_robot_sim.util.exceptions import CalibrationError

pytestmark = pytest.mark.slow

WITHOUT_SUPPLY = {KEEP: 3 * [(None, '')], SUPPLY: [(None, 'skip')]}


@pytest.fixture(scope='module')
def arm():
    return frs.load('rig')


@pytest.fixture(scope='module')
def calm_arm():
    """Return an arm that comes to rest in one second instead of ten."""
    text = (ROOT / 'urdf' / 'rig.urdf').read_text(encoding='utf-8')
    return frs.load(text.replace('<damping ratio="0.01"/>', '<damping ratio="0.1"/>'))


@pytest.fixture
def bench_of_parts(calm_arm):
    return EmulatedRig(Bench(calm_arm, PARTS, seed=2, start=(START, 0.0)))


@pytest.fixture
def emulator(tmp_path, monkeypatch, bench_of_parts):
    with stepped_emulator(
        monkeypatch, tmp_path / 'rig', bench_of_parts, calibration_bench, rig_person
    ) as emulator:
        yield emulator


@pytest.fixture
def link(emulator):
    with RigLink(emulator.link, CALM) as link:
        yield link


@pytest.fixture
def in_real_time(tmp_path, monkeypatch, bench_of_parts):
    """Give an emulator with a real port, and a link to it."""
    # the emulator shares this process, which waits for a busy computer longer than a board would
    monkeypatch.setattr(board_rules, 'WATCHDOG', 2_000_000)
    with (
        Emulator(tmp_path / 'rig', bench_of_parts) as emulator,
        RigLink(emulator.link, CALM) as link,
    ):
        yield emulator, link


@pytest.fixture
def hasty(monkeypatch):
    for name in ('SETTLE_TIMEOUT', 'AVERAGING_TIME', 'ARRIVAL_TIMEOUT'):
        monkeypatch.setattr(calibration_bench, name, 0.3)


def board_state(emulator):
    return emulator.call(lambda rig: rig.board.state.name)


def interrupted(link, arm, person, **options):
    """Return a session that ends because the person has no more answers."""
    session = CalibrationSession(link, arm, person.ask, person.say, **options)
    with pytest.raises(EOFError):
        session.run()
    return session


def test_operator_and_emulator_produce_the_true_calibration(arm, emulator, link, tmp_path):
    person = Person(emulator)
    session = CalibrationSession(link, arm, person.ask, person.say)
    found = session.run()
    assert not person.refusals
    assert found.slide.scale == pytest.approx(300e3, rel=2e-3)  # operator: 0.1 mm
    assert found.turn.scale == pytest.approx(RADIAN, rel=5e-3)
    assert found.steps_per_radian == pytest.approx(STEPS, rel=5e-3)
    # the resolution of a current is 1 mA; half of it is 0.14 % of 355 mA
    assert found.parts.resistance == pytest.approx(PARTS.resistance, rel=5e-3)
    assert found.parts.back_emf == pytest.approx(PARTS.back_emf, rel=5e-3)
    known = found.constant_deviations
    assert 0 < known.resistance < 0.05 and 0 < known.back_emf < 5e-4
    for name, sensor in found.sensors.items():
        length = 0.09525
        for k in (-0.3, -0.1, 0.1, 0.3) if name == 'strip/root' else (-0.05, 0.05):
            share = divider_counts(PARTS, flex_resistance(PARTS, k * length)) / 4095
            # the targets of the tip deflection allow 5 %; the fit itself promises 2 %
            assert sensor.curvature(share) == pytest.approx(k, abs=0.02 * abs(k) + 1e-3)
    path = tmp_path / 'bench.yaml'
    write_calibration(path, found, session.readings)
    assert read_calibration(path) == found


def test_a_wrong_number_is_rejected_with_its_reason_and_dropped_alone(arm, emulator, link, hasty):
    wrong, enter = (place(100)[0], '130'), (None, '')
    places = place(60), wrong, place(150), place(200)
    person = Person(emulator, **{SLIDE: [*places, enter, (None, 'drop 2'), enter], TURN: []})
    session = interrupted(link, arm, person)
    assert [row['position'] for row in session.readings['slide']] == pytest.approx(
        [0.06, 0.15, 0.2]
    )
    assert len(person.refusals) == 1
    assert person.refusals[0].startswith('slide: position 130 mm is 2')
    assert person.refusals[0].count(' mm') == 2


def test_a_session_continues_from_a_previous_one(arm, emulator, link, hasty):
    person = Person(emulator, **{**WITHOUT_SUPPLY, MOTORS: [], ZERO: [('slide=0.1', '')]})
    session = interrupted(link, arm, person, readings=copied('zero', 'slide', 'turn', 'stepper'))
    assert not person.refusals and not session.readings['motor']
    assert any(
        ' microsteps per radian; the data sheets say 509.296' in line for line in person.said
    )
    # the zero pose is at 0.1 m this time: counts continue as in the previous session
    session._bench.new_origin()
    assert session._bench.average().slide == pytest.approx(0.0, abs=40)  # a hand: 0.1 mm


def test_a_reboot_requires_the_zero_pose_and_counts_continue(arm, emulator, link, hasty):
    person = Person(
        emulator,
        **{
            ZERO: 2 * GOOD[ZERO],
            TURN: [],
            SLIDE: [place(60), place(120), ('reboot', '120'), place(200), (None, '')],
        },
    )
    ask = person.ask

    def ask_and_wait(question):
        boot, answer = link.board.boot_id, ask(question)
        if answer == '120' and len(session.readings['slide']) == 2:
            assert link.wait_until(lambda: link.board.boot_id != boot, 5.0)
        return answer

    session = CalibrationSession(link, arm, ask_and_wait, person.say)
    with pytest.raises(EOFError):
        session.run()
    assert person.refusals == ['the board has restarted, and its counts with it.']
    assert [row['counts'] for row in session.readings['slide']] == pytest.approx(
        [18e3, 36e3, 60e3], abs=60
    )  # the operator is accurate to 0.1 mm, here twice


def test_back_returns_to_the_previous_step_without_loss(arm, emulator, link, hasty):
    person = Person(
        emulator, **{KEEP: [(None, '')], TURN: [angle(-40), (None, 'back')], SLIDE: []}
    )
    session = interrupted(link, arm, person, readings=copied('zero', 'slide'))
    assert len(session.readings['slide']) == 3 and len(session.readings['turn']) == 1
    assert sum('Slide (1 of 5)' in line for line in person.said) == 2


def test_quit_saves_all_accepted_readings(arm, emulator, link, hasty):
    kept = []
    person = Person(emulator, **{SLIDE: [place(60), (None, 'quit')]})
    session = CalibrationSession(
        link,
        arm,
        person.ask,
        person.say,
        keep=lambda readings: kept.append(len(readings['slide'])),
    )
    with pytest.raises(Quit):
        session.run()
    assert kept == [0, 1]  # the zero pose, and a place


def test_an_arm_with_too_small_a_load_is_rejected(arm, emulator, link, hasty):
    forces = (0.0, 0.001, 0.002, -0.001, -0.002)
    pulls = [(None, '20'), *(pull(force) for force in forces), (None, '')]
    person = Person(emulator, **WITHOUT_SUPPLY, **{MOTORS: [(None, '')], FORCE: pulls})
    session = interrupted(link, arm, person, readings=copied('zero', 'slide', 'turn', 'stepper'))
    assert 'strip/root: the loads change the reading' in person.refusals[0]
    assert len(session.readings['sensors']) == 5
    # F L^3 / (3 E I) of the strip: 20 * 0.4^3 / (3 * 206e9 * 0.02 * 0.001^3 / 12) = 1.243 m
    assert any(line.startswith('  20 N would bend the end by 1243 mm.') for line in person.said)
    assert board_state(emulator) == 'DISARMED'


def test_the_stop_button_ends_the_hold_and_keeps_earlier_readings(arm, emulator, link, hasty):
    pulls = [pull(0.2), ('stop', '0.4')]
    person = Person(emulator, **WITHOUT_SUPPLY, **{MOTORS: [(None, '')], FORCE: pulls})
    session = interrupted(link, arm, person, readings=copied('zero', 'slide', 'turn', 'stepper'))
    assert person.refusals[0].startswith('the board stopped. ESTOP_INPUT')
    assert len(session.readings['sensors']) == 1


@pytest.mark.parametrize('word, question', [('stepper', MOTORS), ('motor', RUN)])
def test_a_key_stops_a_motion(arm, emulator, link, hasty, word, question):
    presses = itertools.count()

    def watch():
        # pressed while the motor rotates; the program polls about every 2 ms
        return contextlib.nullcontext(lambda: next(presses) > 400)

    names = ('zero', 'slide', 'turn', 'stepper')
    person = Person(emulator, **{KEEP: 3 * [(None, '')], question: [GOOD[question][0]]})
    interrupted(
        link, arm, person, watch=watch, readings=copied(*names[:3] if word == 'stepper' else names)
    )
    assert person.refusals == ['a key was pressed: the motors are off.']
    assert board_state(emulator) == 'DISARMED'


@pytest.mark.parametrize(
    'deed, message',
    [
        ('slide=0.09', 'the slide stands at 40 mm. Put it between 46 and 154 mm'),
        ('jam', '2.5 V do not move the slide.'),
        ('limit=slide+', 'the board applied a duty of 0 instead of 0.21'),
    ],
)
def test_a_blocked_slide_is_rejected(arm, emulator, link, hasty, deed, message):
    person = Person(emulator, **{KEEP: 3 * [(None, '')], RUN: [(deed, '')], MOTORS: []})
    interrupted(link, arm, person, readings=copied('zero', 'slide', 'turn', 'stepper'))
    assert person.refusals[0].startswith(message)
    assert board_state(emulator) == 'DISARMED'


def test_the_slide_stops_at_the_known_end_of_its_travel(arm, emulator, link, hasty):
    person = Person(emulator)
    bench = CalibrationSession(link, arm, person.ask, person.say)._bench
    bench.new_origin()
    with (
        pytest.raises(CalibrationError, match='the slide has come to the end'),
        bench.armed(),
        bench.within(0, (-100.0, 1500.0)),
    ):
        bench.run(0.35, 5.0, 5.0)
    place = emulator.call(lambda rig: rig.bench.simulation.position[0]) - START
    assert 0.005 <= place < 0.015  # 20 mm/s during one further set point of 20 ms


def test_an_unplugged_stepper_is_not_waited_for(arm, in_real_time, hasty):
    emulator, link = in_real_time
    bench = CalibrationSession(link, arm, None, lambda line: None)._bench
    with (
        pytest.raises(
            frs.FlexRobotSimError, match='has not arrived within 0.3 s; link: |WATCHDOG'
        ),
        bench.armed(),
    ):
        emulator.inject('vanish')
        bench.step_to(1000)


def test_unplugging_during_a_step_is_reported_and_the_step_continues(arm, in_real_time, hasty):
    emulator, link = in_real_time
    person = Person(emulator, **{SLIDE: [place(60), ('unplug=4', '61'), place(120)]})

    def ask_when_connected(question):  # the test reads on only after replugging
        assert link.wait_until(lambda: link.state is LinkState.READY, 60.0)
        return person.ask(question)

    session = CalibrationSession(link, arm, ask_when_connected, person.say)
    with pytest.raises(EOFError):
        session.run()
    assert person.refusals[0].startswith('no telemetry comes; link: the port is gone')
    assert [row['position'] for row in session.readings['slide']] == pytest.approx([0.06, 0.12])
