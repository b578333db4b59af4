"""Shaper files: a shaper that is read equals the written one; damage is a one-line error."""

import json

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim import cli
from flex_robot_sim.analysis.mode_table import mode_table
from flex_robot_sim.shaping.impulses import of_kind
from flex_robot_sim.shaping.shaper_file import read_shaper, write_shaper
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.util.exceptions import SettingError


@pytest.fixture(scope='module')
def by_pose():
    table = mode_table(frs.load('two_link'), poses=[[0.0, 0.2, -1.0], [0.5, 0.9, 1.5]], count=2)
    return ShaperSpecification('zvd by pose', table=table, stages=tuple(stages_of(table, 'zvd')))


@pytest.mark.slow
@pytest.mark.parametrize('is_by_pose', [False, True])
def test_what_is_read_shapes_as_what_was_written(tmp_path, by_pose, is_by_pose):
    parts = by_pose if is_by_pose else ShaperSpecification('ei', of_kind('ei', 2.3, 0.01))
    write_shaper(tmp_path / 'shaper.json', parts, 'two_link', ('waist', 'shoulder', 'elbow'))
    read = read_shaper(tmp_path / 'shaper.json', ('waist', 'shoulder', 'elbow'))
    samples = np.random.default_rng(0).normal(size=(300, 3)).cumsum(axis=0) * 1e-2
    assert read.name == parts.name
    # numpy sums the same terms in an order that depends on the memory layout
    assert read.online(3, 0.005).run(samples) == pytest.approx(
        parts.online(3, 0.005).run(samples), rel=1e-13, abs=1e-15
    )


@pytest.mark.parametrize(
    'text, message',
    [
        ('', 'is no shaper. Write one by flexsim shape --output'),
        ('[1]', 'is no shaper. Write one by flexsim shape --output'),
        (
            '{"kind": "flex_robot_sim shaper 1"}',
            'is damaged. Write it again by flexsim shape --output',
        ),
    ],
)
def test_what_is_no_shaper_is_refused(tmp_path, text, message):
    path = tmp_path / 'a.json'
    path.write_text(text)
    with pytest.raises(SettingError) as caught:
        read_shaper(path)
    assert str(caught.value) == f'{path}: {message}'


def test_damage_anywhere_is_one_line(tmp_path, by_pose):
    path, rng = tmp_path / 'a.json', np.random.default_rng(3)
    write_shaper(path, by_pose, 'two_link', ('waist', 'shoulder', 'elbow'))
    good = json.loads(path.read_text())
    assert len(good.pop('crc32')) == 8  # errors are also found without it
    for where, value in (
        (('shaper', 'times'), ['x']),
        (('shaper', 'amplitudes'), [np.nan]),
        (('table', 'axes'), []),
        (('table', 'joints'), [7]),
        (('stages',), 3),
        (('table', 'frequencies'), [[1.0]]),
        (('velocity_limits',), [1.0]),
        (('velocity_limits',), [1.0, -1.0, None]),
        (('bands',), [[1.0]]),
        (('bands',), 3),
    ):
        tree = json.loads(json.dumps(good))
        place = tree
        for name in where[:-1]:
            place = place[name]
        place[where[-1]] = value
        path.write_text(json.dumps(tree))
        with pytest.raises(SettingError, match='is damaged'):
            read_shaper(path)
    text = json.dumps(good)
    for digits in (400, 5000):  # more than a float holds, more than Python reads
        number = '9' * digits
        path.write_text(text.replace(json.dumps(good['shaper']['times'][0]), number, 1))
        with pytest.raises(SettingError) as error:
            read_shaper(path)
        assert '\n' not in str(error.value) and len(str(error.value)) < 400
    for cut in rng.integers(1, len(text) - 1, 20):
        path.write_text(text[:cut])
        with pytest.raises(SettingError):
            read_shaper(path)


@pytest.mark.slow
def test_no_bit_that_flips_in_a_file_changes_a_shaper(tmp_path, by_pose, mutants):
    path, rng = tmp_path / 'a.json', np.random.default_rng(4)
    write_shaper(path, by_pose, 'two_link', ('waist', 'shoulder', 'elbow'))
    whole = path.read_bytes()
    expected = repr(read_shaper(path))
    for bit in rng.integers(0, 8 * len(whole), mutants // 200):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        try:
            assert repr(read_shaper(path)) == expected, bit  # in the name of the checksum
        except SettingError as error:
            assert str(error).startswith(f'{path}: is ')


def test_the_file_of_another_robot_is_refused(tmp_path, by_pose):
    path = tmp_path / 'a.json'
    write_shaper(path, by_pose, 'two_link', ('waist', 'shoulder', 'elbow'))
    with pytest.raises(SettingError, match='is for two_link with the joints waist, shoulder, elb'):
        read_shaper(path, ('a', 'b', 'c'))
    with pytest.raises(SettingError, match='cannot be read: No such file'):
        read_shaper(tmp_path / 'none.json')


def test_the_command_writes_what_it_recommends(tmp_path, capsys):
    path = tmp_path / 'shaper.json'
    assert (
        cli.main(['shape', 'single_link', '--pose', '0.3', '--output', str(path), '--json']) == 0
    )
    summary = json.loads(capsys.readouterr().out)
    parts = read_shaper(path, ('motor',))
    best = next(one for one in summary['shapers'] if one['name'] == summary['recommended'])
    assert parts.name == summary['recommended']
    assert parts.shaper.times == pytest.approx(best['times'], rel=1e-12)
