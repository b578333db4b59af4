"""Vibration at the end of a move, also of joints that vibrate themselves."""

import numpy as np
import pytest

from flex_robot_sim.analysis.resonance import Resonance
from flex_robot_sim.shaping.tuning.log_vibration import log_vibration

FREQUENCY, RATIO, RATE = 3.0, 0.02, 200.0
MODE = Resonance(FREQUENCY, 0.01, RATIO, 0.001, 1.0, 'decay')


@pytest.mark.parametrize('seed', range(6))
def test_the_amplitude_at_the_end_of_a_move_is_found_although_the_joint_vibrates(seed, tmp_path):
    rng = np.random.default_rng(seed)
    begin, duration, amplitude = 1.0, rng.uniform(0.3, 1.0), rng.uniform(0.5, 2.0)
    travel, share = rng.choice([-0.3, 0.3]), rng.choice([0.0, 0.05])
    t = np.arange(0.0, 8.0, 1 / RATE)
    u = np.clip((t - begin) / duration, 0.0, 1.0)
    after = np.clip(t - begin - duration, 0.0, None)
    omega = 2 * np.pi * FREQUENCY
    wave = np.exp(-RATIO * omega * after) * np.sin(omega * np.sqrt(1 - RATIO**2) * after)
    joint = travel * (u**3 * (10 - 15 * u + 6 * u**2) + share * wave)
    sensor = amplitude * wave + rng.normal(0.0, 1e-3, t.size)
    path = tmp_path / 'log.csv'
    table = np.column_stack([t, joint, sensor])
    np.savetxt(path, table, delimiter=',', header='time,position/a,acceleration/x', comments='')
    found = log_vibration(path, ['a'], [MODE], duration)
    # the joint arrives up to an eighth of a period earlier than its set points
    assert found.amplitude == pytest.approx(amplitude, rel=0.03)
