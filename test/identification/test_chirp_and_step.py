"""Efforts over time, from expressions and from tables."""

import math

import numpy as np
import pytest
from refusals import refusal

from flex_robot_sim.identification.chirp_and_step import (
    effort_function,
    effort_of_table,
    effort_of_words,
)
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

JOINTS = ('waist', 'elbow')


@pytest.mark.parametrize(
    'words, times, efforts',
    [
        ('1.5', [0.0, 7.0], [1.5, 1.5]),
        ('-2e-1', [0.0], [-0.2]),
        ('step:2@0.5', [0.0, 0.49, 0.5, 9.0], [0.0, 0.0, 2.0, 2.0]),
        ('bang:2@0.5,1.5,2.5', [0.4, 0.5, 1.4, 1.5, 2.4, 2.5, 9.0], [0, 2, 2, -2, -2, 0, 0]),
        ('bang:-3@0,1,1', [0.0, 0.9, 1.0], [-3, -3, 0]),
        ('sine:2@1.5', [0.0, 1 / 6, 1 / 3, 1 / 12], [0, 2, 0, 2 * math.sin(math.pi / 4)]),
        (' 4. ', [0.0], [4.0]),
    ],
)
def test_an_expression_is_an_effort_over_time(words, times, efforts):
    function = effort_function(words)
    np.testing.assert_allclose([function(t) for t in times], efforts, atol=1e-14)


@pytest.mark.parametrize(
    'words',
    [
        '',
        'much',
        '1,2',
        'nan',
        'inf',
        '1e999',
        '2@1',
        'step:2',
        'step:2@',
        'step:2@1,2',
        'step:@1',
        'bang:2@1',
        'bang:2@1,2',
        'bang:2@3,2,4',
        'sine:2',
        'sine:2@1@2',
        'saw:2@1',
        'step:2@1e999',
    ],
)
def test_an_invalid_expression_is_rejected(words):
    assert refusal(SettingError, effort_function, words) == (
        f'effort "{words}" is none of 1.5, step:SIZE@START, '
        'bang:SIZE@START,TURN,END, sine:SIZE@FREQUENCY'
    )


def test_an_expression_applies_to_the_joint_it_names():
    effort = effort_of_words(['elbow=step:2@1'], JOINTS)
    np.testing.assert_array_equal([effort(0.0), effort(1.0)], [[0, 0], [0, 2]])
    np.testing.assert_array_equal(effort_of_words([], JOINTS)(3.0), [0, 0])


@pytest.mark.parametrize(
    'assignments, message',
    [
        (['hip=1'], 'no joint "hip". Known: waist, elbow'),
        (['1.5'], 'no joint "1.5". Known: waist, elbow'),
        (['waist=1', 'waist=2'], 'joint "waist" gets two efforts. Give one'),
        (
            ['waist'],
            'effort "" is none of 1.5, step:SIZE@START, bang:SIZE@START,TURN,END, '
            'sine:SIZE@FREQUENCY',
        ),
    ],
)
def test_wrong_assignments_are_rejected(assignments, message):
    assert refusal(SettingError, effort_of_words, assignments, JOINTS) == message


def table(folder, text):
    """Return the path of a table that holds `text`."""
    path = folder / 'efforts.csv'
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    'text',
    [
        'time,elbow\n1,0\n2,4\n3,4\n',
        'elbow,time\r\n0,1\r\n4,2\r\n\r\n4,3\r\n',
        '\ufefftime,elbow\n1,0\n2,4\n3,4',
    ],
    ids=['plain', 'windows', 'spreadsheet'],
)
def test_a_table_is_interpolated_linearly(tmp_path, text):
    effort = effort_of_table(table(tmp_path, text), JOINTS)
    found = [effort(t) for t in (0.9, 1.0, 1.25, 2.0, 2.5, 3.0, 3.1)]
    np.testing.assert_allclose(found, [[0, value] for value in (0, 0, 1, 4, 4, 4, 0)], atol=1e-14)


NUMBERS = 'every row needs a number for time and for every joint that the first row names'
COLUMNS = 'needs the columns time (rising) and joints among waist, elbow, each once, all finite'


@pytest.mark.parametrize(
    'text, problem',
    [
        ('time,elbow\n1,much\n', NUMBERS),
        ('time,elbow\n1,\n', NUMBERS),
        ('time,elbow\n1,2\n3\n', NUMBERS),
        (b'time,elbow\n1,\xff\n', 'not UTF-8'),
        ('', COLUMNS),
        ('time,elbow\n', COLUMNS),
        ('elbow\n1\n', COLUMNS),
        ('time,hip\n1,2\n', COLUMNS),
        ('time,elbow,elbow\n1,2,3\n', COLUMNS),
        ('time,elbow\n1,2,3\n', COLUMNS),
        ('time,elbow\n2,0\n1,0\n', COLUMNS),
        ('time,elbow\n1,0\n1,0\n', COLUMNS),
        ('time,elbow\n1,nan\n', COLUMNS),
        ('time,elbow\nnan,1\n', COLUMNS),
        ('time,elbow\n1,1e999\n', COLUMNS),
    ],
)
def test_an_unusable_table_is_rejected(tmp_path, text, problem):
    path = table(tmp_path, text)
    assert refusal(SettingError, effort_of_table, path, JOINTS) == f'{path}: {problem}'


def test_a_missing_table_is_rejected(tmp_path):
    path = tmp_path / 'nothing.csv'
    with pytest.raises(SettingError) as caught:
        effort_of_table(path, JOINTS)
    assert str(caught.value) == f'{path}: No such file or directory'
