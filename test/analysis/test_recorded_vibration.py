"""Recorded vibration, tested with known oscillators, noise, and logs of all kinds."""

import numpy as np
import pytest
from refusals import refusal
from scipy.signal import cont2discrete, lfilter

from flex_robot_sim.analysis.recorded_vibration import _quartile, resonances
from flex_robot_sim.shaping.vibration_log import read_samples
from flex_robot_sim.util.exceptions import UsageError

pytestmark = pytest.mark.slow

RATE = 200.0


def decay(frequency, ratio, seconds=12.0, start=2.0, noise=0.02, seed=0):
    t = np.arange(0.0, seconds, 1 / RATE)
    rate, after = 2 * np.pi * frequency, np.maximum(t - start, 0.0)
    vibration = np.exp(-ratio * rate * after) * np.sin(rate * np.sqrt(1 - ratio**2) * after)
    return vibration + noise * np.random.default_rng(seed).normal(size=t.size)


@pytest.mark.long(after=1)
@pytest.mark.parametrize('frequency, ratio', [(3.0, 0.005), (3.0, 0.03), (12.0, 0.01), (7.3, 0.1)])
def test_a_decay_gives_frequency_and_damping_within_their_deviations(frequency, ratio):
    misses = []
    # Cramer-Rao bound of the ratio for samples with this noise
    least = 4 * np.sqrt(2 * np.pi * frequency * ratio / RATE) * 0.02 * ratio
    for seed in range(5):
        found, _ = resonances(RATE, decay(frequency, ratio, seed=seed)[:, None])
        first = found[0]
        assert first.way == 'decay'
        assert first.frequency == pytest.approx(frequency, rel=max(0.001, 0.2 * ratio))
        assert first.ratio == pytest.approx(ratio, abs=4 * first.ratio_deviation)
        # the change of the fit with its begin may add to the deviation
        assert first.ratio_deviation < 4 * least
        misses += [abs(first.frequency - frequency) / first.frequency_deviation]
    assert np.median(misses) < 1.5


@pytest.mark.long
@pytest.mark.parametrize(
    'frequency, ratio, zeros', [(3.0, 0.03, 0), (7.3, 0.06, 0), (12.0, 0.02, 2), (7.3, 0.06, 2)]
)
def test_vibration_excited_by_noise_gives_the_resonance_of_the_spectrum(frequency, ratio, zeros):
    """Use the position of a mass on a spring, and its acceleration with two zeros."""
    rate = 2 * np.pi * frequency
    numerator, misses, surprises = [1.0, *zeros * [0.0]], [], []
    b, a, _ = cont2discrete((numerator, [1.0, 2 * ratio * rate, rate**2]), 1 / RATE, 'foh')
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = lfilter(b.ravel(), a, rng.normal(size=24000))
        found, _ = resonances(RATE, (y + 0.1 * y.std() * rng.normal(size=y.size))[:, None])
        assert len(found) == 1 and found[0].way == 'spectrum'
        first = found[0]
        misses.append([first.frequency / frequency - 1, first.ratio / ratio - 1])
        surprises.append(
            [
                (first.frequency - frequency) / first.frequency_deviation,
                (first.ratio - ratio) / first.ratio_deviation,
            ]
        )
    # a spectrum of 8 segments determines the ratio to 15 to 30 %, the mean of 12 to a third
    assert (np.abs(np.mean(misses, axis=0)) < [0.15 * ratio, 0.15]).all()
    assert (np.std(misses, axis=0) < [0.4 * ratio, 0.35]).all()
    # reported standard deviations equal the observed ones, as far as 12 samples show
    assert (np.median(np.abs(surprises), axis=0) < 1.3).all()


@pytest.mark.long
def test_a_decay_with_few_periods_or_little_damping_is_found():
    rng = np.random.default_rng(0)
    for case in range(60):
        frequency, periods = 10 ** rng.uniform(-0.3, 1.4), rng.uniform(8.0, 60.0)
        # between a third and 99.9 % of the vibration has decayed at the end
        ratio = -np.log(10 ** rng.uniform(-3.0, -0.17)) / (2 * np.pi * periods)
        t = np.arange(0.0, periods / frequency, 1 / (rng.uniform(20.0, 60.0) * frequency))
        x = np.exp(-ratio * 2 * np.pi * frequency * t) * np.sin(
            2 * np.pi * frequency * np.sqrt(1 - ratio**2) * t + rng.uniform(0.0, 6.0)
        )
        x += 10 ** rng.uniform(-4.0, -2.0) * rng.normal(size=t.size) + rng.normal()
        first = resonances(1 / t[1], x[:, None])[0][0]
        assert first.way == 'decay', case
        assert first.frequency == pytest.approx(frequency, rel=0.01), case
        assert first.ratio == pytest.approx(ratio, rel=0.02, abs=4 * first.ratio_deviation), case


@pytest.mark.long(after=1)
@pytest.mark.parametrize('sums', [0, 1, 2])
def test_short_noise_and_drift_contain_no_vibration(sums):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        samples = rng.normal(size=(int(10 ** rng.uniform(2.2, 3.6)), 1 + seed % 3))
        for _ in range(sums):
            samples = np.cumsum(samples, axis=0)
        assert resonances(RATE, samples)[0] == [], seed


def test_two_modes_are_both_found():
    signal = decay(3.0, 0.01) + 0.5 * decay(11.0, 0.015, seed=1)
    found, _ = resonances(RATE, signal[:, None])
    assert sorted(one.frequency for one in found) == pytest.approx([3.0, 11.0], rel=0.01)


@pytest.mark.long
@pytest.mark.parametrize('columns', [1, 3])
def test_noise_and_drift_contain_no_vibration(columns):
    for seed in range(6):
        noise = np.random.default_rng(seed).normal(size=(4000, columns))
        assert resonances(RATE, noise)[0] == []
        assert resonances(RATE, np.cumsum(noise, axis=0))[0] == []


def test_the_quartile_equals_that_of_numpy():
    values = np.random.default_rng(0).normal(size=12)
    for few in range(2, 12):  # the quarter falls on a sample, or between two
        assert _quartile(values[:few]) == pytest.approx(np.percentile(values[:few], 25), rel=1e-14)


def test_a_constant_sensor_contains_no_vibration():
    assert resonances(RATE, np.ones((1000, 2)))[0] == []


def write(path, columns, rows):
    path.write_text('\n'.join([','.join(columns), *(','.join(map(str, row)) for row in rows)]))
    return path


def test_log_with_uneven_times_gives_the_same_frequency(tmp_path):
    rng = np.random.default_rng(0)
    t = np.sort(np.arange(0.0, 12.0, 1 / RATE) + rng.uniform(-1e-3, 1e-3, 2400))
    after = np.maximum(t - 1.0, 0.0)
    y = np.exp(-0.4 * after) * np.sin(2 * np.pi * 3.0 * after)
    log = write(tmp_path / 'log.csv', ['time', 'x'], zip(t, y))
    rate, samples, names, *_ = read_samples(log)
    assert names == ['x'] and rate == pytest.approx(RATE, rel=1e-3)
    assert resonances(rate, samples)[0][0].frequency == pytest.approx(3.0, rel=0.01)


def test_columns_and_rate_are_selectable(tmp_path):
    log = write(tmp_path / 'log.csv', ['x', 'y', 'z'], [(k, 2 * k, 3 * k) for k in range(200)])
    rate, samples, names, *_ = read_samples(log, ['z', 'y'], 50.0)
    assert (rate, names) == (50.0, ['y', 'z'])
    assert (samples[3] == [6.0, 9.0]).all()


ROWS = [(k / 100, k % 3) for k in range(200)]


@pytest.mark.parametrize(
    'message, header, rows',
    [
        (
            ': has 50 samples. Record at least 128, and several seconds of vibration.',
            'time,x',
            ROWS[:50],
        ),
        (': has no column "time". Add one [s], or give --rate [Hz].', 'x,y', ROWS),
        (': has no column but the time. Record a vibration.', 'time', [(k,) for k in range(200)]),
        (
            ': the time does not rise after row 9. Sort the log, or give one recording at a time.',
            'time,x',
            [*ROWS[:9], (0.0, 1), *ROWS[9:]],
        ),
        (':11: is not 2 numbers. Mend or remove this line.', 'time,x', [*ROWS[:9], ('a', 1)]),
        (':11: is not 2 numbers. Mend or remove this line.', 'time,x', [*ROWS[:9], (1.0, 2, 3)]),
        (
            ': "x" is no number in row 10, and in 1 rows. Mend or remove them.',
            'time,x',
            [*ROWS[:9], ('nan', 1), *ROWS[10:]],
        ),
    ],
)
def test_an_invalid_log_is_rejected(tmp_path, message, header, rows):
    log = write(tmp_path / 'log.csv', header.split(','), rows)
    assert refusal(UsageError, read_samples, log) == f'{log}{message}'


def test_an_unknown_column_is_rejected(tmp_path):
    log = write(tmp_path / 'log.csv', ['time', 'x'], ROWS)
    message = refusal(UsageError, read_samples, log, columns=['z'])
    assert message == f'{log}: has no column "z". Known: x.'


def test_a_missing_file_is_rejected(tmp_path):
    assert refusal(UsageError, lambda: read_samples(tmp_path / 'no.csv')) == (
        f'{tmp_path}/no.csv: cannot be read: No such file or directory. Give a CSV or MCAP file.'
    )
