"""Broken recordings: each is read with the right numbers and a note, or refused in one line."""

import codecs
import subprocess
import sys

import numpy as np
import pytest
from refusals import refusal

from flex_robot_sim.recording.read.reader import read_recording
from flex_robot_sim.util.exceptions import UsageError

COUNT = 400
PERIOD = 0.004
TIME = PERIOD * np.arange(COUNT)
WAVE = np.round(np.sin(9 * TIME) + 0.2 * TIME, 6)
FORCE = np.round(3 * np.cos(5 * TIME), 6)


def lines(times=TIME, header='time,wave,force', separator=',', digits=6, columns=(WAVE, FORCE)):
    rows = [
        separator.join([f'{time:.{digits}f}', *(f'{value:.6f}' for value in values)])
        for time, *values in zip(times, *columns)
    ]
    return [header.replace(',', separator), *rows]


def text(*arguments, **settings):
    return '\n'.join(lines(*arguments, **settings)) + '\n'


def commas(separator):
    return text(separator=separator).replace('.', ',')


def with_lines(*before):
    first, *rows = lines()
    return '\n'.join([*before, first, *rows]) + '\n'


def with_units():
    first, *rows = lines()
    return '\n'.join([first, '[ms],[rad],[N m]', *rows]).replace('time', 't') + '\n'


def scaled(factor, name, digits=0):
    return text(factor * TIME, header=f'{name},wave,force', digits=digits)


def rewritten(change):
    first, *rows = lines()
    return '\n'.join([first, *change(rows)]) + '\n'


# content of a file, and what its only note says
READABLE = {
    'plain': (text(), None),
    'milliseconds by name': (scaled(1e3, 'time_ms'), '"time_ms" is in ms'),
    'microseconds in brackets': (scaled(1e6, 't[us]'), '"t[us]" is in us'),
    'nanoseconds': (scaled(1e9, 'stamp (ns)'), '"stamp (ns)" is in ns'),
    'milliseconds': (
        scaled(1e3, 'time'),
        '"time" is taken to be in ms, as its period is 4; name it time_s if it is in s',
    ),
    'microseconds': (
        scaled(1e6, 'time'),
        '"time" is taken to be in us, as its period is 4000; name it time_s if it is in s',
    ),
    'nanoseconds by period': (
        scaled(1e9, 't'),
        '"t" is taken to be in ns, as its period is 4e+06; name it t_s if it is in s',
    ),
    'tabs': (text(separator='\t'), None),
    'semicolons': (text(separator=';'), None),
    'spaces': (text(separator='  '), None),
    'decimal commas': (commas(';'), 'has decimal commas'),
    'decimal commas and tabs': (commas('\t'), 'has decimal commas'),
    'quoted decimal commas': (
        rewritten(
            lambda rows: ['"' + r.replace(',', '";"').replace('.', ',') + '"' for r in rows]
        ).replace('";"', '","'),
        'has decimal commas',
    ),
    'comments': (with_lines('# a', '% b', '// c, d', ''), None),
    'comment as header': (
        '\n'.join(['# made by a logger', f'# {lines()[0]}', *lines()[1:]]),
        None,
    ),
    'quoted': (
        rewritten(lambda rows: ['"' + row.replace(',', '","') + '"' for row in rows]),
        None,
    ),
    'trailing delimiter': (rewritten(lambda rows: [f'{row},' for row in rows]), None),
    'blank lines': (rewritten(lambda rows: '\n\n'.join(rows).split('\n')), None),
    'cut off': (text()[:-15], 'its last line is cut off and left out'),
    'repeated stamps': (
        rewritten(lambda rows: [*rows[:50], rows[49], *rows[50:90], rows[89], *rows[90:]]),
        '2 rows with repeated stamps are left out',
    ),
    'each row twice': (
        rewritten(lambda rows: [row for row in rows for _ in range(2)]),
        '400 rows with repeated stamps are left out',
    ),
    'two equal columns': (
        text(header='time,wave,force,wave', columns=(WAVE, FORCE, WAVE)),
        'has two equal columns "wave"; one is used',
    ),
    'a column of text': (
        rewritten(lambda rows: [f'{row},idle' for row in rows]).replace('force', 'force,mode'),
        'columns of text are left out: mode',
    ),
    'thousands of columns': (
        text(
            header=','.join(['time,wave,force', *(f'c{k}' for k in range(2000))]),
            columns=(WAVE, FORCE, *[np.zeros(COUNT)] * 2000),
        ),
        None,
    ),
}


def written(tmp_path, content):
    path = tmp_path / 'log.csv'
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def expect_true_numbers(recording, rows=slice(None), time_tolerance=1e-9):
    for name, values in {'wave': WAVE, 'force': FORCE}.items():
        column = recording.columns[name]
        count = column.values.size
        assert count >= COUNT - 1
        np.testing.assert_allclose(column.values, values[rows][:count], atol=1e-12)
        np.testing.assert_allclose(column.time, TIME[rows][:count], atol=time_tolerance)


@pytest.mark.parametrize('case', READABLE)
def test_a_strange_log_is_read_with_its_numbers_and_a_note(tmp_path, case):
    content, note = READABLE[case]
    path = written(tmp_path, content)
    recording = read_recording(path)
    expect_true_numbers(recording)
    assert recording.notes == ([f'{path}: {note}'] if note else [])


def test_rows_without_a_header_may_end_with_a_delimiter(tmp_path):
    path = written(tmp_path, '\n'.join(f'{row}\t' for row in lines(separator='\t')[1:]) + '\n')
    columns = read_recording(path).columns
    assert [*columns] == ['column2', 'column3']
    np.testing.assert_allclose(columns['column3'].values, FORCE, atol=1e-12)


def test_a_first_column_that_falls_is_no_time(tmp_path):
    path = written(tmp_path, '\n'.join(f'{a:.6f} {b:.6f}' for a, b in zip(FORCE, WAVE)) + '\n')
    recording = read_recording(path)
    assert [*recording.columns] == ['column1', 'column2'] and not recording.has_times
    np.testing.assert_allclose(recording.columns['column1'].values, FORCE, atol=1e-12)


def test_a_name_in_seconds_with_the_period_of_milliseconds_has_a_note(tmp_path):
    path = written(tmp_path, scaled(250.0, 'Time (s)'))
    recording = read_recording(path)
    np.testing.assert_allclose(recording.columns['wave'].time, 250 * TIME)
    assert recording.notes == [
        f'{path}: "Time (s)" is in s by its name, with a period of 1 s; name it time_ms if it is '
        'in ms'
    ]


def test_a_row_of_units_sets_the_unit_of_the_time(tmp_path):
    path = written(tmp_path, with_units())
    recording = read_recording(path)
    np.testing.assert_allclose(recording.columns['wave'].time, 1e-3 * TIME, atol=1e-12)
    assert recording.notes == [
        f'{path}: of the row of units, only that of the time is used: [ms], [rad], [N m]',
        f'{path}: "t" is in ms',
    ]


@pytest.mark.parametrize(
    'content',
    [
        codecs.BOM_UTF8 + text().encode(),
        codecs.BOM_UTF16_LE + text().encode('utf-16-le'),
        codecs.BOM_UTF16_BE + text().encode('utf-16-be'),
        text().encode('utf-16-le'),
        text().replace('\n', '\r\n').encode(),
        text().replace('\n', '\r').encode(),
    ],
    ids=['utf-8', 'utf-16-le', 'utf-16-be', 'utf-16 without a mark', 'crlf', 'cr'],
)
def test_an_encoding_or_line_ending_does_not_matter(tmp_path, content):
    recording = read_recording(written(tmp_path, content))
    expect_true_numbers(recording)
    assert recording.notes == []


@pytest.mark.parametrize('period, tick', [(0.0025, 0.01), (0.0025, 0.001), (0.00125, 0.01)])
@pytest.mark.parametrize('rounding', [np.floor, np.round])
def test_rounded_stamps_become_even_times(tmp_path, period, tick, rounding):
    stamps = rounding(period * np.arange(COUNT) / tick + 1e-6) * tick
    path = written(tmp_path, text(stamps))
    recording = read_recording(path)
    column = recording.columns['wave']
    np.testing.assert_array_equal(column.values, WAVE)
    np.testing.assert_allclose(np.diff(column.time), period, rtol=5e-3)
    assert np.abs(column.time - stamps).max() <= tick
    assert recording.notes[0].startswith(f'{path}: stamps are rounded to {tick:g} s; even times')


def test_a_gap_in_rounded_stamps_stays_a_gap(tmp_path):
    times = 0.0025 * np.arange(COUNT) + np.where(np.arange(COUNT) < 200, 0.0, 0.5)
    recording = read_recording(written(tmp_path, text(np.floor(times / 0.01 + 1e-6) * 0.01)))
    steps = np.diff(recording.columns['wave'].time)
    assert steps[199] == pytest.approx(0.5025, abs=0.005)
    np.testing.assert_allclose(np.delete(steps, 199), 0.0025, rtol=0.01)


def test_even_stamps_with_lost_samples_are_not_changed(tmp_path):
    rows = np.sort(np.random.default_rng(1).choice(COUNT, 360, replace=False))
    path = written(tmp_path, text(TIME[rows], columns=(WAVE[rows], FORCE[rows])))
    recording = read_recording(path)
    np.testing.assert_array_equal(recording.columns['wave'].time, np.round(TIME[rows], 6))
    assert not recording.notes


def test_empty_cells_are_no_numbers(tmp_path):
    content = rewritten(
        lambda rows: [
            ','.join([*row.split(',')[:2], word])
            for row, word in zip(rows, ['', 'nan', 'NaN', 'null', 'N/A', ' '] + ['1.5'] * COUNT)
        ]
    )
    force = read_recording(written(tmp_path, content)).columns['force'].values
    assert np.isnan(force[:6]).all() and (force[6:] == 1.5).all()


REFUSED = {
    '': ': is empty. Give a CSV file with a header and rows of numbers.',
    '# only a comment\n': ': is empty. Give a CSV file with a header and rows of numbers.',
    'time,a\n': ': has no rows of numbers. Give a header and rows of numbers.',
    text(header='time,a,a'): ': has two columns "a" that differ. Rename one of them.',
    rewritten(lambda rows: [*rows[:30], '1,x,2', *rows[30:]]): (
        ':32: is not 3 numbers. Mend or remove this line.'
    ),
    rewritten(lambda rows: [*rows[:30], '1,2', *rows[30:]]): (
        ':32: is not 3 numbers. Mend or remove this line.'
    ),
    'time,a\n' + '0,5,1,5\n' * 20: (
        ':2: has decimal commas and commas between columns. Write decimal points, or '
        'semicolons between columns.'
    ),
    '\x00\x01\x02\x80': ': cannot be read: no text. Give a CSV or MCAP file.',
}


@pytest.mark.parametrize('content', REFUSED, ids=range(len(REFUSED)))
def test_an_unreadable_log_is_one_line(tmp_path, content):
    path = written(tmp_path, content)
    assert refusal(UsageError, read_recording, path) == f'{path}{REFUSED[content]}'


def test_stamps_that_repeat_unevenly_are_refused(tmp_path):
    stamps = np.sort(np.random.default_rng(0).integers(0, 150, COUNT)) * 0.01
    path = written(tmp_path, text(stamps))
    assert 'rows, and not evenly. Stamp samples where they are taken.' in refusal(
        UsageError, read_recording, path
    )


def test_a_folder_without_recordings_is_one_line(tmp_path):
    assert '\n' not in refusal(UsageError, read_recording, tmp_path)


def test_a_rate_replaces_the_stamps(tmp_path):
    recording = read_recording(written(tmp_path, text(np.zeros(COUNT))), rate=250.0)
    expect_true_numbers(recording)


@pytest.mark.slow
def test_a_million_rows_are_read_within_one_gigabyte(tmp_path):
    path = tmp_path / 'long.csv'
    block = '\n'.join(lines()[1:]) + '\n'
    with open(path, 'w') as file:
        file.write('clock,wave,force\n')
        file.writelines(block for _ in range(2500))
    program = (
        'import sys\n'
        'from flex_robot_sim.recording.read.reader import read_recording\n'
        'recording = read_recording(sys.argv[1], rate=250.0)\n'
        'print(recording.columns["wave"].values.size, recording.columns["wave"].values.sum())\n'
        # not ru_maxrss, which counts the process that started this one, too
        'lines = open("/proc/self/status").read().splitlines()\n'
        'print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))\n'
    )
    done = subprocess.run(
        [sys.executable, '-c', program, path], capture_output=True, text=True, check=True
    )
    count, total, peak = done.stdout.split()
    assert int(count) == 2500 * COUNT
    assert float(total) == pytest.approx(2500 * WAVE.sum(), rel=1e-9)
    assert int(peak) * 1024 < 2**30
