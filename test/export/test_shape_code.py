"""`flexsim shape --code`: files, figures and errors of the command."""

import json

import numpy as np
import pytest
from command_calls import shape_outcome
from shaper_cases import shaper_cases
from structured_text_interpreter import FunctionBlock

import flex_robot_sim as frs
from flex_robot_sim.export.shaper_tables import shaper_tables
from flex_robot_sim.shaping.shaper_file import write_shaper
from flex_robot_sim.shaping.shaper_specification import CoveredBand, ShaperSpecification

pytestmark = pytest.mark.slow

CASES = {case.name: case for case in shaper_cases()}


@pytest.fixture
def design(tmp_path):
    """Return a function that writes the design of a case and returns its path."""

    def write(name):
        path = tmp_path / 'design.json'
        write_shaper(path, CASES[name].specification, 'my arm', CASES[name].joints)
        return path

    return write


def test_a_design_becomes_a_header_with_its_joints(capsys, design, tmp_path):
    path = tmp_path / 'two_link.h'
    words = ['--design', design('by_pose'), '--code', 'c', '--output', path, '--period', '0.002']
    code, out, err = shape_outcome(capsys, *words)
    assert (code, err) == (0, '')
    assert out.startswith(f'{path}: C99 and C++17 of zvd by pose, every 0.002 s, 2 joints, adds')
    text = path.read_text()
    assert '"shoulder",' in text and 'two_link_step(' in text and '"my arm"' in text


def test_a_design_becomes_a_block_of_structured_text(capsys, design, tmp_path):
    path = tmp_path / 'two-link.st'
    words = ['--design', design('limited'), '--code', 'st', '--output', path, '--json']
    code, out, _ = shape_outcome(capsys, *words)
    summary = json.loads(out)
    assert (code, summary['joints'], summary['period']) == (0, ['swing', 'lift'], 1e-3)
    assert summary['bytes'] == path.stat().st_size
    assert FunctionBlock(path.read_text()).name == 'FB_two_link'


def test_fir_coefficients_are_those_of_the_shaper(capsys, design, tmp_path):
    path = tmp_path / 'fir.csv'
    words = ['--design', design('two_modes'), '--code', 'fir', '--output', path]
    assert shape_outcome(capsys, *words)[0] == 0
    delays, weights = np.loadtxt(path, delimiter=',', skiprows=1).T
    # the two modes of the design vanish: the response at their poles, from the file alone
    for frequency, ratio in CASES['two_modes'].specification.shaper.modes:
        rate = 2 * np.pi * frequency
        pole = -ratio * rate + 1j * rate * np.sqrt(1 - ratio**2)
        assert abs(np.exp(-pole * delays * 1e-3) @ weights) < 1e-9
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)


def test_tables_for_the_ros_plugins_are_those_of_the_header(capsys, design, tmp_path):
    path = tmp_path / 'two-link.json'  # no functions have this name
    words = [
        '--design',
        design('by_pose'),
        '--code',
        'json',
        '--output',
        path,
        '--period',
        '0.002',
    ]
    code, out, err = shape_outcome(capsys, *words)
    assert (code, err) == (0, '')
    assert out.startswith(f'{path}: tables for the ROS plugins of zvd by pose, every 0.002 s')
    tree = json.loads(path.read_text())
    assert (tree['robot'], tree['joint_names']) == ('my arm', ['shoulder', 'elbow'])
    tables = shaper_tables(CASES['by_pose'].specification, ['shoulder', 'elbow'], 0.002)
    for name, value in {**tables.sizes, **tables.values}.items():
        assert np.array_equal(tree[name], value), name


def test_tables_of_a_recording_name_no_joints(capsys, tmp_path):
    design = tmp_path / 'recording.json'
    write_shaper(design, ShaperSpecification('zv', frs.shaping.zv(3.0)), 'log.csv')
    path = tmp_path / 'tables.json'
    words = ['--design', design, '--code', 'json', '--output', path]
    assert shape_outcome(capsys, *words)[0] == 0
    tree = json.loads(path.read_text())
    assert (tree['joint_names'], tree['joints']) == ([], 1)


def test_settings_of_klipper_name_a_shaper_and_its_vibration(capsys, tmp_path):
    specification = ShaperSpecification(
        'zvd', frs.shaping.zvd(45.0, damping_ratios=0.05), bands=(CoveredBand(42.0, 48.0, 0.05),)
    )
    write_shaper(tmp_path / 'x.json', specification, 'raw_data_x.csv')
    path = tmp_path / 'shaper.cfg'
    words = ['--design', tmp_path / 'x.json', '--code', 'klipper', '--axis', 'x']
    code, out, _ = shape_outcome(capsys, *words, '--output', path, '--json')
    summary = json.loads(out)
    assert (code, summary['axes']) == (0, ['x'])
    settings = dict(
        line.split(': ') for line in path.read_text().splitlines() if line[0] not in '#['
    )
    assert settings['shaper_type_x'] == summary['name']
    assert float(settings['shaper_freq_x']) == pytest.approx(summary['frequency'], abs=0.01)
    assert summary['vibration'] <= 0.05


@pytest.mark.parametrize(
    'words, message',
    [
        ('--code c', '--code needs a file: give --output FILE.'),
        ('--apply a.csv --period 0.1', '--period needs --code.'),
        ('--code c --output a.h --axis x', '--axis needs --code klipper.'),
        (
            '--code klipper --output a.cfg --period 0.1',
            '--period does not apply to --code klipper.',
        ),
        ('--code c --output a.h --apply move.csv', 'give either --apply FILE or --code.'),
        (
            '--code c --output 1.h',
            '1.h: the functions are named after the file, but "1" is no name. Use at most 40 '
            'letters, digits and underscores, beginning with a letter',
        ),
        (
            '--code fir --output a.csv',
            'the delays of "zvd by pose" follow the pose, so it has no FIR coefficients: design '
            'again with --fixed.',
        ),
        ('--code c --output a.h --period 0', '--period must be above 0 and below 10.'),
    ],
)
def test_bad_options_end_in_one_line(capsys, design, monkeypatch, tmp_path, words, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = shape_outcome(capsys, '--design', design('by_pose'), *words.split())
    assert (code, out) == (2, '')
    assert err.count('\n') == 1 and message in err


def test_a_design_for_another_robot_is_refused(capsys, design, tmp_path):
    words = [
        'two_link',
        '--design',
        design('by_pose'),
        '--code',
        'c',
        '--output',
        tmp_path / 'a.h',
    ]
    code, _, err = shape_outcome(capsys, *words)
    assert code == 2
    assert 'is for my arm with the joints shoulder, elbow, not for' in err
