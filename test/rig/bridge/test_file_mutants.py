"""Broken copies of logs and calibrations never cause a traceback."""

import random
import re

import pytest
from refusals import refusal
from rig_lockstep import Lab

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.rig.bench.drives import Drives
from flex_robot_sim.rig.bridge.bench_comparison import compare
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.bridge.experiment_log import COLUMNS, ExperimentLog, read_experiment
from flex_robot_sim.rig.calibration.calibration import SensorCalibration
from flex_robot_sim.rig.calibration.file import read_calibration, write_calibration
from flex_robot_sim.rig.wire.profile import segment
from flex_robot_sim.util.exceptions import FlexRobotSimError, SettingError
from flex_robot_sim.util.settings import read_yaml, write_yaml

pytestmark = pytest.mark.slow

SEED = 20261122
JUNK = ['', '0', '-1', '1', '1e999', '-1e-400', '1e-320', '1e308', '-1e300', '1e12', '1e-9', 'nan',
        '.nan', 'NaN', 'inf', 'Infinity', '-.inf', '9' * 400, '1' * 5000, '4294967295', '0x10',
        '0x' + 'f' * 6000, '1' + ':59' * 9000, '&a [*a]',
        '½', 'null', '~', 'true', '[]', '{}', '[1, 2]', '{a: 1}', '{"a": 1}', '"text"', '"', '[',
        '}', ',', ':', '\n', '\0', '\x85', '#', '- ', '&a', '*a', '!!python/name:os.system',
        '2026-13-45', '\ud7ff', '(' * 9, '[' * 3000, 'é' * 50, 'a' * 5000]  # fmt: skip
NUMBERS = re.compile(r'(?<![\w.])-?\d+\.?\d*(?:e[+-]?\d+)?')
WORDS = re.compile(r'[a-z_]{3,}')


def mutant(text, rng):
    """Return a copy of `text` that is broken in one to three places."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.randrange(7)
        if kind == 0:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(JUNK) + text[at + rng.randrange(4) :]
        elif kind == 1:
            lines = text.splitlines(True)
            at = rng.randrange(len(lines))
            lines[at : at + rng.choice((1, 1, 5))] = rng.choice(([], [lines[at]] * 2, lines[-1:]))
            text = ''.join(lines)
        elif kind == 2:
            words = list(WORDS.finditer(text)) or [*re.finditer('^', text)]
            old, new = rng.choice(words), rng.choice(words)[0]
            text = text[: old.start()] + new + text[old.end() :]
        else:
            numbers = list(NUMBERS.finditer(text)) or [*re.finditer('^', text)]
            old = rng.choice(numbers)
            new = (
                rng.choice(JUNK)
                if kind < 6
                else f'{old[0]}{rng.choice(("e3", "e-3", "e9", "e-9", "0000"))}'
            )
            text = text[: old.start()] + new + text[old.end() :]
        text = text or 'x'
    return text


@pytest.fixture(scope='module')
def arm():
    return frs.load('rig')


@pytest.fixture(scope='module')
def readings(arm):
    lab = Lab(arm)
    lab.play([segment(0.02, 0.5, 500.0)], 40)
    return lab.readings[45:-45:2]


@pytest.fixture
def log(tmp_path, arm, readings):
    log = ExperimentLog(tmp_path / 'run.csv', arm, calibration_of(BridgeSettings(), arm))
    for reading in readings:
        log.put(reading)
    log.close()
    return log.path


@pytest.fixture
def calibration(tmp_path, arm):
    path = tmp_path / 'bench.yaml'
    write_calibration(path, calibration_of(BridgeSettings(), arm))
    return path


def read_mutants(path, text, use, rng, count):
    """Pass mutants of `text` to `use`; return how many it accepted."""
    taken = 0
    for number in range(count):
        path.write_bytes(mutant(text, rng).encode('utf-8', 'surrogatepass'))
        try:
            use(path)
            taken += 1
        except FlexRobotSimError as error:
            assert str(error).isprintable() and len(str(error)) < 1300
        except Exception as error:
            raise AssertionError(f'mutant {number} in {path}: {error!r}') from error
    return taken


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('estimator, count', [('least_squares', 150), ('kalman', 25)])
def test_a_broken_log_causes_no_traceback(log, estimator, count, mutants):
    count = count * mutants // 20_000
    text, rng = log.read_text('utf-8'), random.Random(SEED)
    first, rest = text.split('\n', 1)

    def use(path):
        compare(read_experiment(path), estimator)

    assert read_mutants(log, text, use, rng, count) > count / 10
    # half of the first line is the text of the robot, which has its own mutant test
    calibration = first.index('"calibration"')
    for number in range(count):
        changed = first[:calibration] + mutant(first[calibration:], rng)
        log.write_bytes(f'{changed}\n{rest}'.encode('utf-8', 'surrogatepass'))
        try:
            use(log)
        except FlexRobotSimError as error:
            assert str(error).isprintable()
        except Exception as error:
            raise AssertionError(f'mutant {number} of the first line in {log}') from error


@pytest.mark.filterwarnings('error')
def test_a_broken_calibration_causes_no_traceback(calibration, log, arm, readings, mutants):
    text, rng = calibration.read_text('utf-8'), random.Random(SEED)
    experiment = read_experiment(log)
    few = experiment._replace(readings=experiment.readings[:12])

    def use(path):
        found = read_calibration(path)
        Drives(arm, found).set_point((1.0, 0.01), (0.01, 0.1), 100.0, 0.005)
        compare(few._replace(calibration=found))

    assert read_mutants(calibration, text, use, rng, mutants // 100) > mutants // 1000


@pytest.mark.parametrize(
    'values, message',
    [
        (
            {'gain': 0.0, 'curve': 0.0},
            'gain must not be 0: the sensor could not determine the direction of bending',
        ),
        ({'gain': 1e300}, 'gain = 1e+300 must be 0 or of a size between 1e-09 and 1e+12'),
        (
            {'deviation': 1e-320},
            'deviation = 1e-320 must be 0 or of a size between 1e-09 and 1e+12',
        ),
    ],
)
def test_a_constant_sensor_is_rejected(values, message):
    assert refusal(SettingError, lambda: SensorCalibration(**values)) == message


def test_a_comparison_detects_a_sensor_at_its_rail(log, capsys):
    first, header, *rows = log.read_text('utf-8').splitlines()
    column = COLUMNS.index('adc_tip')
    broken = [
        ','.join(['0' if k == column else word for k, word in enumerate(row.split(','))])
        for row in rows
    ]
    log.write_text('\n'.join([first, header, *broken, '']), 'utf-8')
    assert main(['rig', 'compare', str(log), '--estimator', 'kalman']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert next(line.split() for line in lines if 'strip/tip ' in line) == [
        'strip/tip',
        '-',
        '1/m',
        '-',
        '-',
        '-',
        '-',
    ]
    assert main(['rig', 'compare', str(log)]) == 2
    assert capsys.readouterr().err == (
        'flexsim rig: the flex sensors do not determine the shape of the link at any time at '
        'which the motors were on. Mend the sensor, or take --estimator kalman.\n'
    )


@pytest.mark.parametrize(
    'text, problem',
    [
        ('a: &a [x]\nb: [*a, *a]', '2: is no YAML: the alias *a is not read. Write the value out'),
        ('a: 1' + ':59' * 300_000, '1: is no YAML: a number has more than 1000 letters'),
        ('a: 0x' + 'f' * 6000, '1: is no YAML: a number has more than 1000 letters'),
    ],
)
def test_a_yaml_file_that_expands_is_rejected(tmp_path, text, problem):
    path = tmp_path / 'bomb.yaml'
    path.write_text(text)
    assert refusal(SettingError, read_calibration, path) == f'{path}:{problem}'


def test_a_value_used_twice_is_written_twice(tmp_path):
    shared = [1, 2]
    write_yaml(tmp_path / 'two.yaml', {'a': shared, 'b': shared}, ['about'])
    assert read_yaml(tmp_path / 'two.yaml') == {'a': [1, 2], 'b': [1, 2]}
