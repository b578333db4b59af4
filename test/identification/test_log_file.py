"""Logs of all kinds, and their errors in one line each."""

import csv

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.identification.log_file import Column, Log, read_log
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.recording.simulated import SimulationRecording
from flex_robot_sim.util.exceptions import UsageError

pytestmark = pytest.mark.slow

TIME = np.arange(0, 4, 0.004)
ARM = frs.load('single_link')


def log_of(time=TIME, **changed):
    """Return a Log in which all channels move, with some columns changed."""
    wave = np.sin(6 * time) + 0.3 * np.sin(17 * time)
    columns = {'position/motor': 0.4 * wave, 'effort/motor': 0.1 * wave, 'arm/root': 0.8 * wave}
    columns.update({name.replace('__', '/'): values for name, values in changed.items()})
    return Log(
        'run.csv',
        {
            name: Column(time, np.asarray(values, float))
            for name, values in columns.items()
            if values is not None
        },
        [],
    )


def complaint(log):
    with pytest.raises(UsageError) as error:
        make_data_set([log], ARM)
    return str(error.value)


def test_a_good_log_is_used_unchanged():
    data = make_data_set([log_of()], ARM)
    assert data.channels == ('position/motor', 'arm/root') and data.has_efforts
    assert not data.notes and len(data.sequences) == 1
    root = log_of().columns['arm/root'].values
    np.testing.assert_array_equal(data.sequences[0].measured[:, 1], root)


WAVE = np.sin(6 * TIME)
JUMP = np.where(TIME < 2, TIME, TIME - 1.0)
DRIFT = np.where(TIME < 2, TIME, 2 + 1.5 * (TIME - 2))
HOLE = np.where(np.arange(TIME.size) == 5, np.nan, WAVE)


@pytest.mark.parametrize(
    'line, log',
    {
        'run.csv: no excitation: "arm/root" moves by 0, its noise is 0. '
        'Record a motion that bends the arm.': log_of(arm__root=0 * TIME),
        'run.csv: the clock of "position/motor" jumps back by 0.996 s after '
        '1.996 s. Give one recording at a time.': log_of(time=JUMP),
        'run.csv: the clock of "position/motor" drifts: its period goes from '
        '0.004 to 0.006 s. Stamp samples where they are taken.': log_of(time=DRIFT),
        'run.csv: "arm/root" is clipped: 32% of its '
        'samples are -0.5. Widen its range, or move less.': log_of(
            arm__root=np.clip(WAVE, -0.5, 0.5)
        ),
        'run.csv: "arm/root" is no number in row 6, and in 1 rows. Mend or remove them.': log_of(
            arm__root=HOLE
        ),
        'run.csv: says nothing of joint "motor". '
        'Near: position/moter, effort/motor. Give --signal position/motor=COLUMN.': log_of(
            position__motor=None, position__moter=WAVE
        ),
        'run.csv: "position/motor" goes to 60 rad: these are '
        'degrees. Give --signal position/motor=COLUMN*deg.': log_of(position__motor=60 * WAVE),
        'run.csv: "velocity/motor" is in degrees, its position in radians. Give --signal '
        'velocity/motor=COLUMN*deg.': log_of(
            position__motor=WAVE, velocity__motor=344 * np.cos(6 * TIME)
        ),
    }.items(),
)
def test_a_problem_of_a_log_is_one_line(log, line):
    assert complaint(log) == line


def test_a_rest_at_the_end_of_a_range_does_not_count_as_clipping():
    # for example, without noise: a gauge with bending to one side, an accelerometer along an arm
    root = np.where(TIME < 0.5, 0.0, (TIME - 0.5) * WAVE**2)
    data = make_data_set([log_of(arm__root=root)], ARM)
    assert 'arm/root' in data.channels


def test_a_log_with_a_gap_is_split_there_and_reports_it():
    keep = (TIME < 1.5) | (TIME > 2.0)
    log = log_of(time=TIME[keep])
    data = make_data_set([log], ARM)
    assert [round(float(np.ptp(row.time)), 2) for row in data.sequences] == [1.5, 1.99]
    assert data.notes == [
        'run.csv: 1 gaps, the longest of 0.508 s after 1.496 s; the log is cut there'
    ]


def test_a_clock_that_jumps_by_three_periods_splits_the_log():
    jumped = TIME + np.where(TIME < 2, 0.0, 3 * 0.004)
    data = make_data_set([log_of(time=jumped)], ARM)
    assert [row.time.size for row in data.sequences] == [500, 500]
    assert data.notes == [
        'run.csv: 1 gaps, the longest of 0.016 s after 1.996 s; the log is cut there'
    ]


def test_a_log_with_many_lost_samples_is_one_sequence():
    keep = np.ones(TIME.size, bool)
    keep[np.r_[50:950:60, 51:950:60]] = False
    data = make_data_set([log_of(time=TIME[keep])], ARM)
    assert len(data.sequences) == 1
    assert data.notes == [
        'run.csv: steps of the time go from 4 to 12 ms; samples are interpolated'
    ]


def test_the_part_before_a_gauge_is_valid_is_left_out():
    root = np.where(TIME < 0.5, np.nan, 0.8 * (WAVE + 0.3 * np.sin(17 * TIME)))
    data = make_data_set([log_of(arm__root=root)], ARM)
    (sequence,) = data.sequences
    assert data.notes == ['run.csv: "arm/root" is invalid for the first 0.5 s, which are left out']
    assert 0.49 < sequence.time[0] <= 0.5
    at = np.searchsorted(TIME, sequence.time[1:] - 1e-9)
    np.testing.assert_allclose(sequence.measured[1:, 1], root[at], atol=1e-9)
    position = log_of().columns['position/motor'].values[at]
    np.testing.assert_allclose(sequence.measured[1:, 0], position, atol=1e-9)


def test_columns_of_a_csv_are_assigned_and_scaled(tmp_path):
    path = tmp_path / 'bench.csv'
    with open(path, 'w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(['t', 'q [deg]', 'bridge'])
        writer.writerows(zip(TIME, 20 * WAVE, 500 * WAVE))
    log = read_log(path, ['position/motor=q [deg]*deg', 'arm/root=bridge*2e-3'])
    np.testing.assert_allclose(log.columns['position/motor'].values, np.radians(20) * WAVE)
    np.testing.assert_allclose(log.columns['arm/root'].values, WAVE)
    with pytest.raises(UsageError) as error:
        read_log(path, ['arm/root=brigde'])
    assert str(error.value) == f'{path}: has no column "brigde". Near: bridge.'


def test_a_recording_of_the_simulation_has_its_signals(tmp_path):
    pytest.importorskip('mcap')
    path = tmp_path / 'run.mcap'
    simulation = frs.Simulation(ARM)
    recording, roots = SimulationRecording(path, ARM), []
    for k in range(100):
        simulation.effort = [0.1 * np.sin(0.1 * k)]
        simulation.step(10)
        recording.add(simulation)
        roots.append(simulation.curvature['arm/root'])
    recording.close()
    log = read_log(path)
    assert {
        'position/motor',
        'velocity/motor',
        'effort/motor',
        'arm/root',
        'arm/tip',
        'tip/arm/y',
    } <= {*log.columns}
    np.testing.assert_array_equal(log.columns['arm/root'].values, roots)
