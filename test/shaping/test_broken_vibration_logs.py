"""Broken logs through `flexsim shape --log`: the true frequency, or one line with the remedy."""

import contextlib
import io
import json

import numpy as np
import pytest
from broken_logs import (
    HARMLESS,
    HOPELESS,
    expect_notes,
    expect_refusal,
    late,
    replaced_at_first,
    with_times,
)

from flex_robot_sim.cli import main

pytestmark = pytest.mark.slow

PERIOD = 0.005  # [s]
FREQUENCY, RATIO = 4.0, 0.01
TIMES = PERIOD * np.arange(1000)


def table():
    """Return times and values by name of a vibration with known frequency and damping."""
    rate = 2 * np.pi * FREQUENCY
    phase = rate * np.sqrt(1 - RATIO**2) * TIMES
    noise = np.random.default_rng(1).normal(0, 0.002, (2, TIMES.size))
    decay = np.exp(-RATIO * rate * TIMES)
    return TIMES, {
        'ax': decay * np.sin(phase) + noise[0],
        'ay': 0.3 * decay * np.sin(phase) + noise[1],
    }


@pytest.fixture
def command(tmp_path):
    """Return a function that compares shapers: exit code, result, standard error and path."""

    def run(content, *words):
        path = tmp_path / 'run.csv'
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(['shape', '--log', str(path), '--json', *words])
        return code, json.loads(out.getvalue() or 'null'), err.getvalue(), path

    return run


REPAIRED = {
    'stamps rounded to 10 ms': (
        with_times(lambda times: np.floor(100 * times + 1e-6) / 100),
        'stamps are rounded to 0.01 s; even times with a period of 0.005 s are used',
    ),
    'a jump of the clock': (
        with_times(lambda times: late(times, 3)),
        'has 1 gaps, the longest of 0.02 s',
    ),
    'nan at first': (replaced_at_first('nan'), 'is invalid in the first 40'),
    'empty at first': (replaced_at_first(''), 'is invalid in the first 40'),
}


@pytest.mark.long(after=6)
@pytest.mark.parametrize('case', [*HARMLESS, *REPAIRED])
def test_a_broken_log_gives_the_true_frequency_and_a_note(command, case):
    write, note = {**HARMLESS, **REPAIRED}[case]
    code, summary, said, path = command(write(*table()))
    assert (code, said) == (0, '')
    mode = summary['resonances'][0]
    assert mode['frequency'] == pytest.approx(FREQUENCY, abs=3 * mode['frequency_deviation'])
    assert mode['frequency_deviation'] < 0.01
    assert mode['ratio'] == pytest.approx(RATIO, abs=3 * mode['ratio_deviation'])
    expect_notes(path, summary['notes'], note)


@pytest.mark.parametrize('case', HOPELESS)
def test_a_hopeless_log_is_refused_in_one_line(command, case):
    write, line = HOPELESS[case]
    expect_refusal(command(write(*table())), 'flexsim shape', line)
