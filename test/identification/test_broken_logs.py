"""Broken logs through `flexsim identify`: the true values and a note, or one line."""

import contextlib
import importlib
import io
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from broken_logs import (
    HARMLESS,
    HOPELESS,
    expect_notes,
    expect_refusal,
    late,
    replaced_at_first,
    text,
    with_times,
)
from test_identify import FREE, LATE, TRUE, record_log

from flex_robot_sim.cli import main

pytestmark = pytest.mark.slow

fit_module = importlib.import_module('flex_robot_sim.identification.identify')

NAMES = 'position/motor', 'effort/motor', 'arm/root', 'arm/tip'
TRUTH = {**TRUE, 'delay': LATE}
SETTINGS = ['single_link', '--free', ','.join(FREE), '--time-step', '2.5e-3', '--json']
HALF_THICKNESS = 0.75e-3  # of the strip, see single_link.urdf [m]


def table():
    """Return times and values by name of the log of an arm with known parameters."""
    columns = record_log().columns
    return columns['arm/root'].time, {name: columns[name].values for name in NAMES}


class SavedFits:
    """Fits of the command; samples that were fitted before give the same result."""

    def __init__(self):
        self.fit, self.known, self.count = fit_module.identify, [], 0

    def __call__(self, setup, *arguments):
        """Return the Identification of a Setup."""
        for data, found in self.known:
            if is_equal(data, setup.data):
                return replace(found, notes=[*setup.data.notes])
        self.count += 1
        found = self.fit(setup, *arguments)
        self.known.append((setup.data, found))
        return found


def is_equal(first, second):
    """Whether two data sets have the same samples; one may lack the last sample."""
    if [row.name for row in first.sequences] == [] or len(first.sequences) != len(
        second.sequences
    ):
        return False
    for one, other in zip(first.sequences, second.sequences):
        count = min(len(one.time), len(other.time))
        if max(len(one.time), len(other.time)) > count + 1:
            return False
        for field in ('time', 'positions', 'velocities', 'efforts', 'measured'):
            values, expected = (getattr(row, field)[: count - 20] for row in (one, other))
            if not np.allclose(values, expected, rtol=1e-6, atol=1e-8):
                return False
    return True


@pytest.fixture(scope='module')
def saved():
    return SavedFits()


@pytest.fixture
def command(saved, tmp_path, monkeypatch):
    """Return a function that fits a log: exit code, result, standard error and path."""
    monkeypatch.setattr(fit_module, 'identify', saved)

    def run(content, *words):
        path = tmp_path / 'run.csv'
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(['identify', str(path), *SETTINGS, *words])
        return code, json.loads(out.getvalue() or 'null'), err.getvalue(), path

    return run


def expect_true_values(summary, clean):
    """Compare estimates with the true values, within the intervals of the clean log."""
    for path, row in summary['estimates'].items():
        low, high = clean['estimates'][path]['interval']
        assert abs(row['value'] - TRUTH[path]) <= high - low, path
        assert row['is_identifiable'], path


@pytest.mark.long(after=3)
@pytest.mark.parametrize('case', HARMLESS)
def test_a_harmless_peculiarity_changes_no_sample(command, saved, case):
    clean = command(text(*table()))[1]
    count = saved.count
    write, note = HARMLESS[case]
    code, summary, _, path = command(write(*table()))
    assert code == 0 and saved.count == count
    expect_true_values(summary, clean)
    expect_notes(path, summary['notes'], note)


@pytest.mark.parametrize('case', HOPELESS)
def test_a_hopeless_log_is_refused_in_one_line(command, case):
    write, line = HOPELESS[case]
    expect_refusal(command(write(*table())), 'flexsim identify', line)


def with_gauges(change):
    """Return a way to write a table with other gauges; `change` takes and returns both."""

    def write(times, columns):
        root, tip = change(columns['arm/root'], columns['arm/tip'])
        return text(times, {**columns, 'arm/root': root, 'arm/tip': tip})

    return write


# other samples, and what the note about them says
CHANGED = {
    'stamps rounded to 10 ms': (
        with_times(lambda times: np.floor(100 * times + 1e-6) / 100),
        'stamps are rounded to 0.01 s; even times with a period of 0.005 s are used',
    ),
    'a jump of the clock': (with_times(partial(late, jump=3)), 'the log is cut there'),
    'a gauge that is nan at first': (
        replaced_at_first('nan'),
        '"arm/tip" is invalid for the first 0.2 s, which are left out',
    ),
    'a gauge that is empty at first': (
        replaced_at_first(''),
        '"arm/tip" is invalid for the first 0.2 s, which are left out',
    ),
    'a gauge with the wrong sign': (
        with_gauges(lambda root, tip: (-root, tip)),
        'arm/root: the column "arm/root" times -1 is used',
    ),
    'swapped gauges': (
        with_gauges(lambda root, tip: (tip, root)),
        'arm/root: the column "arm/tip" times 1 is used',
    ),
}


@pytest.mark.long(after=1)
@pytest.mark.parametrize('case', CHANGED)
def test_a_repaired_log_gives_the_true_values_and_a_note(command, case):
    clean = command(text(*table()))[1]
    write, note = CHANGED[case]
    code, summary, _, _ = command(write(*table()))
    assert code == 0
    expect_true_values(summary, clean)
    assert any(note in line for line in summary['notes']), summary['notes']


MISTAKEN = {
    'microstrain': (
        with_gauges(lambda root, tip: (1e6 * HALF_THICKNESS * root, 1e6 * HALF_THICKNESS * tip)),
        'in microstrain? Give --signal arm/root=COLUMN*',
    ),
    'strain': (
        with_gauges(lambda root, tip: (HALF_THICKNESS * root, HALF_THICKNESS * tip)),
        'in strain? Give --signal arm/root=COLUMN*',
    ),
    'a constant gauge': (
        with_gauges(lambda root, tip: (root, 0 * tip)),
        'no excitation: "arm/tip" moves by 0, its noise is 0. Record a motion that bends the arm.',
    ),
    'a constant effort': (
        lambda t, c: text(t, {**c, 'effort/motor': 0 * t}),
        '"effort/motor" is constant, but the motion needs efforts that change by ',
    ),
    'a position with a turn too much': (
        lambda t, c: text(t, {**c, 'position/motor': c['position/motor'] + 2 * np.pi}),
        'turns are added. Give --signal position/motor=COLUMN*deg, or subtract 6.283 from it.',
    ),
    'milliseconds that are called seconds': (
        lambda t, c: text(1e3 * t, c, header='time_s'),
        'samples every 5 s cannot show vibrations of ',
    ),
    'a position in degrees': (
        lambda t, c: text(t, {**c, 'position/motor': np.degrees(c['position/motor'])}),
        ': these are degrees. Give --signal position/motor=COLUMN*deg.',
    ),
    'a gauge that is nan for a second': (
        with_gauges(
            lambda root, tip: (root, np.where(np.arange(tip.size) // 200 == 3, np.nan, tip))
        ),
        '"arm/tip" is no number in row 601, and in 200 rows. Mend or remove them.',
    ),
    'no time': (lambda t, c: text(t, c, header='row'), 'has no column "time". Add one [s].'),
}


@pytest.mark.parametrize('case', MISTAKEN)
def test_a_mistake_of_the_bench_is_one_line_with_the_remedy(command, case):
    write, line = MISTAKEN[case]
    code, summary, said, path = command(write(*table()))
    assert (code, summary, said.count('\n')) == (2, None, 1)
    assert said.startswith(f'flexsim identify: {path}: ') and line in said


@pytest.mark.long
def test_the_factor_of_the_line_about_microstrain_gives_the_true_values(command):
    clean = command(text(*table()))[1]
    write, _ = MISTAKEN['microstrain']
    said = command(write(*table()))[2]
    factor = said.partition('arm/root=COLUMN*')[2].split()[0]
    assert said.endswith('*0.001333 (1e-06 over the distance from the neutral axis, 0.00075 m).\n')
    words = [f'--signal={name}={name}*{factor}' for name in ('arm/root', 'arm/tip')]
    expect_true_values(command(write(*table()), *words)[1], clean)
