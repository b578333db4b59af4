"""Calibration of the emulated bench with known parameters, and a fit that continues from it."""

import json
import math
import os
from dataclasses import replace

import numpy as np
import pytest
import rig_person
from project_files import ROOT
from refusals import refusal
from rig_lockstep import Lab
from rig_person import KEEP, PARTS, START, ZERO, Person, copied
from small_disk import small_disk
from stepped_time import stepped_emulator

import flex_robot_sim as frs
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.cli import main
from flex_robot_sim.cli.identify import _free_of_bench
from flex_robot_sim.identification.bench_log import _resting_rows
from flex_robot_sim.identification.calibration_priors import (
    known_numbers,
    near_known,
    with_stepper,
)
from flex_robot_sim.identification.log_file import calibration_of_logs
from flex_robot_sim.identification.unknown import Unknown
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.rig.bench.bench import Bench
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.board.emulated_rig import UID, EmulatedRig
from flex_robot_sim.rig.bridge.calibration_log import CalibrationLog
from flex_robot_sim.rig.bridge.experiment_log import read_experiment
from flex_robot_sim.rig.calibration import calibration_bench as calibration_bench
from flex_robot_sim.rig.calibration.calibration import SlideFriction, nominal
from flex_robot_sim.rig.calibration.file import read_calibration, write_calibration
from flex_robot_sim.rig.calibration.fits import fit_friction
from flex_robot_sim.rig.calibration.readings import write_readings
from flex_robot_sim.rig.wire.profile import segment
from flex_robot_sim.util.exceptions import UsageError

pytestmark = pytest.mark.slow

RIG = (ROOT / 'urdf' / 'rig.urdf').read_text(encoding='utf-8')
SOFT, COULOMB = 0.94, 11.0
# softer steel and a screw with more friction than described
TRUTH = RIG.replace('E="206e9"', f'E="{SOFT * 206e9}"').replace(
    'friction="8"', f'friction="{COULOMB}"'
)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return the output folder of `flexsim rig calibrate` with a simulated operator."""
    folder = tmp_path_factory.mktemp('bench')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration_bench, 'SETTLE_TIMEOUT', 4.0)
        patch.setattr(calibration_bench, 'AVERAGING_TIME', 0.5)
        rig = EmulatedRig(Bench(frs.load(TRUTH), PARTS, seed=2, start=(START, 0.0)))
        with stepped_emulator(
            patch, folder / 'rig', rig, calibration_bench, rig_person
        ) as emulator:
            person = Person(emulator, **{KEEP: 2 * [(None, '')], ZERO: [(f'slide={START}', '')]})
            patch.setattr('builtins.input', person.ask)
            # ruler readings take a minute; other tests cover them
            write_readings(folder / 'bench.yaml.part', UID.hex(), copied('zero', 'slide', 'turn'))
            assert (
                main(['rig', 'calibrate', emulator.link, '--output', str(folder / 'bench.yaml')])
                == 0
            )
    return folder


@pytest.mark.long
def test_calibration_measures_the_friction_of_the_slide_and_leaves_a_log(folder):
    friction = read_calibration(folder / 'bench.yaml').friction
    # the resolution of currents is 1 mA; 0.3 A overcome the friction
    assert friction.coulomb == pytest.approx(COULOMB, abs=4 * friction.coulomb_deviation + 0.1)
    assert 0 < friction.coulomb_deviation < 0.1 * COULOMB
    assert not (folder / 'bench.part.mcap').exists()
    run = read_experiment(folder / 'bench.mcap')
    assert run.calibration == read_calibration(folder / 'bench.yaml')
    places = [run.calibration.turn.position(one.message.turn_counts) for one in run.readings]
    # the oscillations of the stepper, without the manual pull
    assert min(places) == pytest.approx(-0.35, abs=0.06) and max(places) == pytest.approx(
        0.35, abs=0.06
    )


@pytest.mark.long
def test_a_fit_continues_from_the_calibration_and_finds_the_truth(folder, capsys):
    files = (
        f'{folder}/bench.mcap rig --calibration {folder}/bench.yaml --output {folder}/fitted.urdf'
    )
    # a coarse step is sufficient for 5 Hz and takes a tenth of the time
    words = f'identify {files} --free stiffness,damping,strip/root.gain --time-step 0.002'
    assert main([*words.split(), '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    # the gauge near the tip measures a tenth of the root vibration, less than its noise
    assert (
        found['signals_below_noise'] == ['strip/tip']
        and found['validation_variance']['strip/root'] > 0.95
    )
    numbers = found['estimates']
    stiffness, damping = numbers['strip.stiffness'], numbers['strip.damping_ratio']
    # the model is exact, so errors come from noise alone: four reported standard deviations,
    # each 0.1 % of the stiffness and 1 % of the damping
    assert (
        stiffness['standard_deviation'] < 2e-3 * SOFT
        and damping['standard_deviation'] < 0.02 * 0.01
    )
    assert stiffness['value'] == pytest.approx(SOFT, abs=4 * stiffness['standard_deviation'])
    assert damping['value'] == pytest.approx(0.01, abs=4 * damping['standard_deviation'])
    # 0.4 N m times 50, the slope of the sinusoidal field of the emulator. It is a^2/8 lower for
    # an amplitude a, which is 5 % at a third of the slipping amplitude
    assert numbers['turn_gives.spring_stiffness']['value'] == pytest.approx(20.0, rel=0.05)
    # with known forces, a softer beam lowers the gauge gain in proportion; the arm was
    # not quite at rest during the readings
    assert numbers['strip/root.gain']['value'] == pytest.approx(SOFT, rel=0.04)
    assert any(
        note.startswith('strip/root: reads 0.9') and 'times as stiff make it' in note
        for note in found['notes']
    )
    # the output contains measured and fitted values unchanged
    friction = read_calibration(folder / 'bench.yaml').friction.coulomb
    assert found['calibrated']['slide.coulomb']['value'] == friction
    fitted, truth = frs.load(folder / 'fitted.urdf').description, frs.load(TRUTH).description
    assert fitted.joint('slide').friction.coulomb_friction == pytest.approx(friction, rel=1e-5)
    assert fitted.beam('strip').EIz == pytest.approx(
        truth.beam('strip').EIz * stiffness['value'] / SOFT, rel=1e-5
    )  # six digits


@pytest.mark.long
def test_without_a_calibration_the_constants_in_the_log_are_used(folder, tmp_path):
    known = read_calibration(folder / 'bench.yaml')
    assert calibration_of_logs([folder / 'bench.mcap']) == known
    other = tmp_path / 'other.csv'
    other.write_text('time,position/slide\n0,0\n')
    assert calibration_of_logs([folder / 'bench.mcap', other]) is None


def test_free_vibration_excludes_a_delay_and_data_sheet_gains():
    arm, gauges = frs.load('rig'), ('strip/root', 'strip/tip')
    own = ['strip.stiffness', 'strip.damping_ratio']
    gains = ['strip/root.gain', 'strip/tip.gain']
    assert _free_of_bench(arm, [], gauges, False, False) == own
    assert _free_of_bench(arm, [], gauges, False, True) == own + gains
    assert _free_of_bench(arm, ['mass', 'sensors', 'delay'], gauges, False, False) == [
        'mass',
        *gains,
    ]
    # a complete log contains the start of each motion
    assert _free_of_bench(arm, [], (), True, True) == [
        'stiffness',
        'damping',
        'sensors',
        'friction',
    ]


def test_the_gauge_of_a_log_does_not_lead_the_pulses(folder):
    """Delay fits to free vibration found -4 to -10 ms; a check in pure NumPy finds no lead."""
    run = read_experiment(folder / 'bench.mcap')
    time = np.array([one.stamp for one in run.readings])
    pulses = np.array([one.message.step_position for one in run.readings])
    # the part without a gap with the largest stepper motion
    parts = np.split(np.arange(time.size), np.flatnonzero(np.diff(time) > 5e-3) + 1)
    travels = [np.abs(np.diff(pulses[rows])).sum() for rows in parts]
    part = parts[int(np.argmax(travels))]
    even = np.arange(time[part[0]], time[part[-1]], 1e-3)
    turn = run.calibration.turn
    encoder, gauge = (
        np.interp(even, time[part], values)
        for values in (
            [turn.position(run.readings[k].message.turn_counts) for k in part],
            [run.readings[k].message.adc_root for k in part],
        )
    )
    pulses = np.interp(even, time[part], pulses[part]) / run.calibration.steps_per_radian
    # the rotor oscillates about its pulses with the period of its field, some 10 ms
    assert 0.0 <= lag(pulses, encoder) < 6e-3
    # strip and field are one mode, y'' + 2 D w y' + w^2 y = -x'', with w of the gauge's peak
    spectrum = np.abs(np.fft.rfft((gauge - gauge.mean()) * np.hanning(gauge.size), 2**18))
    rates = 2 * np.pi * np.fft.rfftfreq(2**18, 1e-3)
    band = (rates > 2 * np.pi * 3) & (rates < 2 * np.pi * 8)
    rate = rates[band][spectrum[band].argmax()]
    # excited from rest by the pulses: y = z - x
    begin = int(np.flatnonzero(np.diff(pulses))[0])
    window = slice(begin, begin + 600)
    place, speed, shown = pulses[begin], 0.0, []
    for x in pulses[window]:
        shown.append(place - x)
        speed -= 1e-3 * (rate**2 * (place - x) + 2 * 0.015 * rate * speed)
        place += 1e-3 * speed
    # the gauge lags the pulses because of the rotor; it never leads
    assert 0.0 <= lag(np.array(shown), gauge[window]) < 8e-3


def lag(first, second):
    """Return the lag [s] of the second of two evenly sampled signals, by cross-correlation."""
    first, second = first - first.mean(), second - second.mean()
    steps = np.arange(-40, 41)
    agree = np.abs([first[40:-40] @ second[40 + k : second.size - 40 + k] for k in steps])
    return 1e-3 * steps[agree.argmax()]


def arm_and_calibration(**parts):
    arm = frs.load('rig')
    return arm, nominal(BenchParts(**parts), dict.fromkeys(flex_sensors(arm).names, 0.09525))


def test_friction_at_two_speeds_agrees_with_the_closed_form():
    speeds = np.array([0.01, -0.01, 0.02, -0.02])
    forces = np.sign(speeds) * 11.0 + 40.0 * speeds
    found = fit_friction(forces, speeds, 99.0, 0.01)
    assert (found.coulomb, found.viscous) == pytest.approx((11.0, 40.0))
    # two speeds determine two parameters: 10 mN on either side of 10 mm/s
    assert found.viscous_deviation == pytest.approx(math.sqrt(2) * 0.01 / 0.01, rel=0.01)
    close = fit_friction(forces, speeds, 40.0, 1.0)
    assert close.viscous_deviation == 0.0
    assert (close.coulomb, close.viscous) == pytest.approx((11.0, 40.0))


def test_parameters_without_a_measurement_keep_their_described_values():
    arm, calibration = arm_and_calibration()
    assert known_numbers(arm, calibration) == []
    measured = replace(calibration, friction=SlideFriction(9.0, 41.0, 0.1, 0.0))
    (known,) = known_numbers(arm, measured)
    assert known == ('slide.coulomb', 'N', 8.0, 9.0, 0.1)
    unknown = Unknown('slide.coulomb', 'N', 9.0, 0.09, 900.0, 0.0, 'friction')
    near = near_known(unknown, [known])
    assert (near.lower, near.upper) == pytest.approx((8.5, 9.5))
    assert near_known(unknown._replace(path='turn.coulomb'), [known]).upper == 900.0


def test_the_field_of_the_stepper_acts_as_a_spring_in_series():
    arm, calibration = arm_and_calibration()
    given = build_arm(with_stepper(arm.description, calibration))
    assert given.joint_names == ('slide', 'turn', 'turn_gives')
    locked = frs.frequencies(arm, joints='locked')[0]
    soft = frs.modes(given, joints=['slide', 'turn']).frequencies[0]
    # Rayleigh with the tip's deflection: L^3/3EI and L^2/k in series. The lever of the mass
    # differs, too: a fifth of the difference
    EI, length, k = 206e9 * 0.02 * 0.001**3 / 12, 0.4, 20.0
    share = 1 + 3 * EI / (k * length)
    assert (locked / soft) ** 2 == pytest.approx(share, abs=0.2 * (share - 1))


@pytest.mark.parametrize(
    'words, said',
    [
        (['--calibration', '{folder}/none.yaml'], '{folder}/none.yaml: '),
        (
            ['--calibration', '{folder}/other.yaml'],
            'the calibration is of the sensors beam/a, beam/b, and the robot has strip/root, '
            'strip/tip',
        ),
    ],
)
def test_an_impossible_calibration_is_a_one_line_error(tmp_path, capsys, words, said):
    _, calibration = arm_and_calibration()
    sensors = dict(zip(('beam/a', 'beam/b'), calibration.sensors.values()))
    write_calibration(tmp_path / 'other.yaml', replace(calibration, sensors=sensors))
    (tmp_path / 'log.csv').write_text('time,position/slide\n0,0\n1,1\n')
    words = [word.format(folder=tmp_path) for word in words]
    assert main(['identify', str(tmp_path / 'log.csv'), 'rig', *words]) == 2
    err = capsys.readouterr().err
    assert said.format(folder=tmp_path) in err and err.count('\n') == 1


def test_a_log_of_a_stepper_with_lost_steps_is_rejected():
    _, calibration = arm_and_calibration()
    time = np.arange(0, 5, 2e-3)
    rows = np.column_stack(
        [time, 0 * time, 0.1 + 0.2 * (time > 3), 0 * time, 0 * time, 0.1 + 0 * time]
    )
    assert refusal(UsageError, lambda: _resting_rows('a.csv', rows, 0 * time, calibration)) == (
        'a.csv: pulses and encoder of the stepper drift apart by 0.2 '
        'rad: steps were lost. Move less fast.'
    )


def test_only_rests_with_gauge_vibration_are_used():
    _, calibration = arm_and_calibration()
    time, rng = np.arange(0, 24, 2e-3), np.random.default_rng(1)
    # motions from 0.5, 12, 16.5 and 21 s on, half a second each; the first rest is the longest
    begins = np.array([1.0, 12.5, 17.0, 21.5])
    moves = np.any([(time >= begin - 0.5) & (time < begin) for begin in begins], axis=0)
    gauge = 1e-4 * rng.standard_normal(time.size)
    for begin, size in zip(begins, (0.0, 0.02, 0.01, 0.02)):
        gauge += np.where(
            time >= begin, size * np.exp(-1.5 * (time - begin)) * np.sin(30 * (time - begin)), 0.0
        )
    rows = np.column_stack([time, 0 * time, 0 * time, gauge, gauge, 0 * time])
    found = _resting_rows('a.csv', rows, moves.astype(float), calibration)[:, 0]
    assert {*np.searchsorted(begins, found)} == {2, 4}


def test_a_calibration_resumed_on_another_day_continues_its_log(tmp_path):
    arm, calibration = arm_and_calibration()
    lab = Lab(arm)
    lab.play([segment(0.3, 0.3, 300.0)], 400)
    half = len(lab.readings) // 2
    for part in (lab.readings[:half], lab.readings[half:]):
        log = CalibrationLog(tmp_path / 'bench.mcap', arm)
        log.record(np.array([100.0, 0.0]))
        for reading in part:
            log.take(reading)
        log.record(None)
        log.take(part[0])  # the operator touches the arm: ignored
        log.close()
    assert not (tmp_path / 'bench.mcap').exists()
    log = CalibrationLog(tmp_path / 'bench.mcap', arm)
    own = replace(calibration, steps_per_radian=-500.0)
    assert log.finish(own) == len(lab.readings)
    found = read_experiment(tmp_path / 'bench.mcap')
    assert found.calibration == own and not (tmp_path / 'bench.part.mcap').exists()
    assert [one.message.slide_counts for one in found.readings] == [
        one.message.slide_counts - 100 for one in lab.readings
    ]


def test_a_full_disk_keeps_the_log_of_a_calibration(tmp_path):
    arm, calibration = arm_and_calibration()
    lab = Lab(arm)
    lab.play([segment(0.3, 0.3, 300.0)], 400)
    with small_disk(tmp_path / 'disk', '512k') as disk:
        existing = {'bench.new.csv': 'of the user', 'bench.csv': 'an older log'}
        for name, content in existing.items():
            (disk / name).write_text(content)
        log = CalibrationLog(disk / 'bench.csv', arm)
        log.record(np.zeros(2))
        for reading in lab.readings:
            log.take(reading)
        log.close()
        partial_log = (disk / 'bench.part.csv').read_bytes()
        with open(disk / 'filling', 'wb', buffering=0) as file:
            while os.statvfs(disk).f_bavail > 1:
                file.write(bytes(1024))
        assert refusal(UsageError, lambda: CalibrationLog(disk / 'bench.csv', arm)).startswith(
            f'log file {disk}/bench.part.csv: No space left on device.'
        )
        with pytest.raises(UsageError) as caught:
            log.finish(calibration)
        error = str(caught.value)
        assert error.startswith(f'log file {disk}/bench.csv: No space left on device.')
        assert error.endswith(f'. What was logged is in {disk}/bench.part.csv.')
        assert (disk / 'bench.part.csv').read_bytes() == partial_log
        assert {path.name for path in disk.iterdir()} == {*existing, 'bench.part.csv', 'filling'}
        assert all((disk / name).read_text() == content for name, content in existing.items())


def test_a_log_that_cannot_be_continued_is_a_one_line_error(tmp_path):
    (tmp_path / 'bench.part.csv').write_text('time\n1\n')
    assert refusal(UsageError, CalibrationLog, tmp_path / 'bench.csv', frs.load('rig')) == (
        f'{tmp_path}/bench.part.csv:1: this is no log of an experiment '
        'of this version. Delete it, or give another --log.'
    )
