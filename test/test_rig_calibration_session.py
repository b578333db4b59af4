"""A whole calibration on the emulator, by hands and weights that a person would use."""

import math
from dataclasses import replace

import pytest

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.exceptions import CalibrationError
from flex_robot_sim.rig import calibration_session
from flex_robot_sim.rig.bench import Bench
from flex_robot_sim.rig.calibration_file import read_calibration, write_calibration
from flex_robot_sim.rig.calibration_session import CalibrationSession
from flex_robot_sim.rig.emulated_rig import EmulatedRig
from flex_robot_sim.rig.emulator import Emulator
from flex_robot_sim.rig.link import LinkSettings, RigLink
from flex_robot_sim.rig.motors import divider_counts, flex_resistance
from flex_robot_sim.rig.parts import BenchParts

CALM = LinkSettings(stale_after=1.0, ack_timeout=0.5, hello_timeout=20.0)
# a bench that is not what the sheets say: sensors 18 % lower and 20 % less sensitive
PARTS = replace(BenchParts(), flat_resistance=8.2e3, bend_gain=2.6, bend_curve=0.5)
ANGLES, PLACES = (-40.0, 20.0, 50.0), (60.0, 120.0, 200.0)      # [degrees], [mm]
FORCES = (0.0, 0.2, 0.4, -0.2, -0.4)                            # [N]


class Person:
    """Who does what is asked for, and answers."""

    def __init__(self, emulator, forces=FORCES):
        self.emulator = emulator
        self.answers = [*((f'slide={mm / 1000 + 0.05}', f'{mm:g}') for mm in PLACES), (None, ''),
                        *((f'turn={math.radians(deg)}', f'{deg:g}') for deg in ANGLES),
                        ('turn=0', ''), (None, ''),     # the second is the switch for the motors
                        (None, ''),
                        *((f'push={force}', f'{force:g}') for force in forces), ('push=0', '')]
        self.said = []

    def ask(self, question):
        """Do what the question wants, then answer."""
        self.said.append(question)
        if 'stands there' in question:
            return ''
        deed, answer = self.answers.pop(0)
        if deed:
            self.emulator.inject(deed)
            while self.emulator.call(lambda rig: bool(rig.bench.hands)):
                pass
        return answer


@pytest.fixture
def emulator(tmp_path):
    bench = Bench(parts=PARTS, seed=2, start=(0.05, 0.0))
    with Emulator(tmp_path / 'rig', EmulatedRig(bench)) as emulator:
        yield emulator


@pytest.mark.slow
def test_person_and_emulator_make_a_calibration_that_finds_the_shape(emulator, tmp_path):
    arm, person = frs.load('rig'), Person(emulator)
    with RigLink(emulator.link, CALM) as link:
        session = CalibrationSession(link, arm, person.ask, person.said.append)
        found = session.run()
    assert not person.answers
    assert found.slide.scale == pytest.approx(300e3, rel=2e-3)      # a hand is good to 0.1 mm
    assert found.turn.scale == pytest.approx(2400 / (2 * math.pi), rel=5e-3)
    assert found.steps_per_radian == pytest.approx(3200 / (2 * math.pi), rel=5e-3)
    for name, sensor in found.sensors.items():
        length = 0.11224
        for k in (-0.3, -0.1, 0.1, 0.3) if name == 'strip/root' else (-0.05, 0.05):
            share = divider_counts(PARTS, flex_resistance(PARTS, k * length)) / 4095
            # the targets of the tip deflection leave 5 %; one in fifty is the fit's own promise
            assert sensor.curvature(share) == pytest.approx(k, abs=0.02 * abs(k) + 1e-3)
    path = tmp_path / 'bench.yaml'
    write_calibration(path, found, session.readings)
    assert read_calibration(path) == found


def test_arm_that_is_not_pulled_hard_enough_is_refused(emulator, monkeypatch):
    monkeypatch.setattr(calibration_session, 'SETTLE', 0.5)
    monkeypatch.setattr(calibration_session, 'AVERAGE', 0.2)
    person = Person(emulator, forces=(0.0, 0.001, 0.002, -0.001, -0.002))
    with RigLink(emulator.link, CALM) as link:
        session = CalibrationSession(link, frs.load('rig'), person.ask, person.said.append)
        with pytest.raises(CalibrationError, match='Take loads .* times as large'):
            session.run()
    assert emulator.call(lambda rig: rig.board.state.name) == 'DISARMED'


@pytest.fixture
def hasty(monkeypatch):
    for name in ('SETTLE', 'AVERAGE', 'ARRIVAL'):
        monkeypatch.setattr(calibration_session, name, 0.5)


def test_arm_that_nothing_holds_gives_no_reading_of_its_sensors(emulator, hasty):
    def ask(question):
        if 'force' not in question:
            return ''
        emulator.inject('stop')
        return '0.2'

    with RigLink(emulator.link, CALM) as link:
        session = CalibrationSession(link, frs.load('rig'), ask, lambda _: None)
        with pytest.raises(CalibrationError, match='flex sensors: the board stopped. ESTOP_INPUT'):
            session._sensors()


def test_stepper_behind_a_pulled_plug_is_not_waited_for(emulator, hasty):
    with RigLink(emulator.link, CALM) as link:
        session = CalibrationSession(link, frs.load('rig'), None, None)
        with pytest.raises(CalibrationError, match='has not arrived within 0.5 s; link: '), \
                session._armed():
            emulator.inject('vanish')
            session._step_to(1000)


def test_wrong_number_is_asked_for_again():
    answers, said = ['12 apples', '1,5'], []
    session = CalibrationSession(None, frs.load('rig'), lambda _: answers.pop(0), said.append)
    assert session._number('?') == 1.5
    assert said == ['"12 apples" is no number.']


def test_command_writes_nothing_where_answers_end(emulator, tmp_path, monkeypatch, capsys):
    def end(_):
        raise EOFError
    monkeypatch.setattr('builtins.input', end)
    assert main(['rig', 'calibrate', emulator.link, '--output', str(tmp_path / 'b.yaml')]) == 2
    assert 'the answers ended' in capsys.readouterr().err
    assert not (tmp_path / 'b.yaml').exists()


@pytest.mark.parametrize('words, message', [
    (['--output', '{path}/none/b.yaml'], 'is no folder'),
    (['--output', '{path}'], 'is there. Give another --output, or --force'),
])
def test_wrong_output_is_one_line_before_anything_is_asked(tmp_path, capsys, words, message):
    words = [word.format(path=tmp_path) for word in words]
    assert main(['rig', 'calibrate', '/dev/none', *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count('\n') == 1


