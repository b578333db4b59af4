"""`flexsim shape` on the command line: from a model, from a recording, and errors."""

import json
import re
import shlex

import numpy as np
import pytest
from command_calls import shape_outcome

import flex_robot_sim as frs
from flex_robot_sim.control.servo import design_servo

pytestmark = pytest.mark.slow


@pytest.fixture
def log(tmp_path):
    t = np.arange(0.0, 10.0, 0.005)
    after = np.maximum(t - 1.0, 0.0)
    rng = np.random.default_rng(0)
    ringing = np.exp(-0.25 * after) * np.sin(2 * np.pi * 4.0 * after)
    path = tmp_path / 'log.csv'
    table = np.column_stack(
        [t, ringing + 0.02 * rng.normal(size=t.size), rng.normal(size=t.size) * 0.02]
    )
    np.savetxt(path, table, delimiter=',', header='time,ax,ay', comments='')
    return path


def test_model_gives_a_line_for_each_shaper_and_one_recommendation(capsys):
    code, out, err = shape_outcome(capsys, 'single_link', '--pose', '0.3', '--json')
    assert (code, err) == (0, '')
    summary = json.loads(out)
    rows = {one['name']: one for one in summary['shapers']}
    assert {'none', 'zv', 'zvd', 'zvdd', 'ei', 'ei2', 's-curve', 'quintic'} <= set(rows)
    known = frs.frequencies(frs.load('single_link'), [0.3])[0]
    assert summary['cases'][0]['frequencies'][0] == pytest.approx(known, rel=1e-9)
    assert rows['zv']['times'][-1] == pytest.approx(0.5 / known, rel=1e-3)
    best = rows[summary['recommended']]
    assert best['is_shaper'] and best['meets_constraint'] == summary['meets_constraint']
    assert best['left'] <= 1.01 * summary['allowed_vibration']
    for one in rows.values():
        assert sum(one['amplitudes']) == pytest.approx(1.0)


def test_the_constraint_may_be_a_percentage_of_the_unshaped_vibration(capsys):
    words = ('single_link', '--pose', '0.3', '--allowed', '5%', '--json')
    code, out, err = shape_outcome(capsys, *words)
    assert (code, err) == (0, '')
    summary = json.loads(out)
    rows = {one['name']: one for one in summary['shapers']}
    assert summary['allowed_share'] == 0.05
    assert 0 < summary['allowed_vibration'] <= 0.05 * rows['none']['left']
    assert rows[summary['recommended']]['left'] <= 1.01 * summary['allowed_vibration']


def test_the_text_names_the_recommended_shaper(capsys):
    code, out, _ = shape_outcome(capsys, 'single_link', '--move', '-0.4', '0.5')
    assert code == 0
    lines = out.splitlines()
    match = re.search(
        r'recommended: (.+), first at rest of the shapers that leave at most 0.5 mm', lines[-1]
    )
    assert match is not None
    recommended = match[1]
    (row,) = (line for line in lines if line[5:26].strip() == recommended)
    assert row.startswith('  +')
    nominal, worst = map(float, row[26:].split()[1:3])
    assert nominal <= worst <= 0.51


@pytest.mark.long
def test_no_shaper_is_recommended_if_all_increase_the_vibration(capsys):
    code, out, _ = shape_outcome(capsys, 'single_link', '--servo')
    assert code == 0
    # with these gains, from the linear matrices alone
    arm = frs.load('single_link')
    servo = design_servo(arm)
    rates = np.linalg.eigvals(frs.linearise(arm, gains=(servo.stiffness, servo.damping)).A)
    slow = rates[np.abs(rates).argmin()]
    assert (
        '  recommended: none, first at rest, but with more vibration than 0.5 mm, as all '
        'shapers: the servo is soft '
        f'and comes to rest slowly by itself, at {abs(slow) / 2 / np.pi:.2g} Hz with '
        f'{-slow.real / abs(slow):.0%} of critical damping\n'
    ) in out


@pytest.mark.long
def test_each_pose_and_payload_is_a_case(capsys):
    cases = '--pose 0,0,0 --pose 0,0.5,1 --payload 0 --payload forearm=0.2'
    code, out, _ = shape_outcome(capsys, 'two_link', *shlex.split(cases), '--json')
    assert code == 0
    assert [case['name'] for case in json.loads(out)['cases']] == [
        f'{pose}, {payload}'
        for payload in ('0 kg at tool', '0.2 kg at forearm')
        for pose in ('0 0 0', '0 0.5 1')
    ]


def test_servo_gains_make_the_joints_compliant(capsys):
    stiff, soft = (
        json.loads(shape_outcome(capsys, 'single_link', '--pose', '0', '--json', *words)[1])
        for words in ((), ('--servo',))
    )
    assert soft['cases'][0]['frequencies'][0] != stiff['cases'][0]['frequencies'][0]


def test_log_gives_its_frequency_and_a_recommendation(capsys, log):
    code, out, _ = shape_outcome(capsys, '--log', log, '--json')
    summary = json.loads(out)
    (first,) = summary['resonances']
    assert code == 0
    assert first['frequency'] == pytest.approx(4.0, rel=2e-3)
    assert first['ratio'] == pytest.approx(0.25 / (2 * np.pi * 4.0), rel=0.05)
    assert summary['uncertainty'] == 0.05
    assert summary['recommended'] is not None


def test_a_log_without_vibration_gives_no_recommendation(capsys, tmp_path):
    path = tmp_path / 'quiet.csv'
    noise = np.random.default_rng(0).normal(size=(2000, 2))
    np.savetxt(path, noise, delimiter=',', header='ax,ay', comments='')
    code, out, err = shape_outcome(capsys, '--log', path, '--rate', 200, '--json')
    assert (code, json.loads(out)['recommended']) == (1, None)
    assert err == (
        f'flexsim shape: {path}: no resonance stands out. Record several periods '
        'of the vibration at rest after a move or a push, with several samples per period.\n'
    )


def test_a_rigid_arm_needs_a_description_of_its_flexibility_or_a_recording(capsys):
    code, _, err = shape_outcome(capsys, 'rcm')
    assert (code, err) == (
        1,
        'flexsim shape: rcm: no resonance stands out, as no link and no '
        'joint of it is flexible. Describe its <flexibility>, or give a recording of its '
        'vibration by --log.\n',
    )


@pytest.mark.long(after=1)
@pytest.mark.parametrize('words', [('single_link',), ('--log', 'LOG')])
def test_plot_is_written(capsys, log, tmp_path, words):
    figure = tmp_path / 'shape.png'
    words = [log if word == 'LOG' else word for word in words]
    assert shape_outcome(capsys, *words, '--plot', figure)[0] == 0
    assert figure.read_bytes().startswith(b'\x89PNG')


@pytest.mark.parametrize(
    'words, message',
    [
        ((), 'give either a URDF or --log CSV.'),
        (('single_link', '--log', 'x.csv'), 'give either a URDF or --log CSV.'),
        (
            ('single_link', '--output', 'no/shaper.yaml'),
            'no/shaper.yaml: cannot be written: No such file or directory.',
        ),
        (
            ('single_link', '--output', '/proc', '--force'),
            '/proc: cannot be written: Is a directory.',
        ),
        (('single_link', '--rate', '100'), '--column and --rate are about a --log.'),
        (('--log', 'x.csv', '--servo'), '--pose, --move, --payload and --servo are about a URDF.'),
        (
            ('single_link', '--payload', 'heavy'),
            '--payload heavy: is not a mass. Write KG or LINK=KG.',
        ),
        (
            ('single_link', '--pose', '9'),
            'target 9 of "motor" is beyond its stops at -3.14159 and 3.14159 rad',
        ),
        (('single_link', '--pose', '0', '--move', '0', '1'), 'give either --pose or --move.'),
        (
            ('single_link', '--move', '0', '0'),
            'move must be two different poses, its start and its end',
        ),
        (
            ('single_link', '--uncertainty', '0.7'),
            'uncertainty = 0.7 of frequencies must be at least 0 and below 0.5',
        ),
        (
            ('single_link', '--allowed', '0'),
            'allowed_vibration = 0.0 must be > 0 and finite [m], or a percentage such as "5%"',
        ),
        (
            ('single_link', '--allowed', '120%'),
            "allowed_vibration = '120%' must be a number [m], or a percentage between 0 and 100 "
            'such as "5%" of the unshaped vibration',
        ),
        (('single_link', '--plot', 'a.gif'), 'a.gif: a figure ends in one of .png, .pdf, .svg'),
        (
            ('--log', 'none.csv'),
            'none.csv: cannot be read: No such file or directory. Give a CSV or MCAP file.',
        ),
    ],
)
def test_an_impossible_input_is_one_line(capsys, words, message):
    assert shape_outcome(capsys, *words) == (2, '', f'flexsim shape: {message}\n')


def test_a_recording_is_shaped_in_proportion_to_its_vibration(capsys, tmp_path):
    # 40 Hz: small moves with 1 m/s2 leave 0.03 mm, far below the 0.5 mm of a robot model
    time = np.arange(0.0, 1.0, 1e-3)
    log, rate = tmp_path / 'log.csv', 2 * np.pi * 40.0
    ring = np.exp(-0.02 * rate * time) * np.cos(rate * time)
    noise = 1e-4 * np.random.default_rng(0).normal(size=time.size)
    np.savetxt(
        log, np.column_stack([time, ring + noise]), '%.9g', ',', header='time,a', comments=''
    )
    code, out, _ = shape_outcome(capsys, '--log', log, '--json')
    found = json.loads(out)
    assert (code, found['allowed_share']) == (0, 0.05)
    best = next(row for row in found['shapers'] if row['name'] == found['recommended'])
    assert best['left'] <= 0.05 * found['shapers'][0]['mean_left'] < 5e-6
    code, out, _ = shape_outcome(capsys, '--log', log, '--allowed', '0.0005')
    (line,) = (line for line in out.splitlines() if 'recommended' in line)
    assert line.endswith(
        'leave at most 0.5 mm. For a shaper, give a smaller --allowed, such as 5%'
    )
