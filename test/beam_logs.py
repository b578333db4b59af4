"""Logs of the arm `single_link` from finite elements (hub_beam.py)."""

import numpy as np
from hub_beam import HubBeam

from flex_robot_sim.identification import make_log

SERVO = 20.0, 0.3


def chirp_log(name='log', seed=1, rise=0.15):
    """
    Return the log of a small chirp on a servo, with noise.

    :param rise: of the frequency [Hz/s].
    """
    plant, rows, random = HubBeam(1e-3), [], np.random.default_rng(seed)
    for k in range(8000):
        t = k * 1e-3
        target = 0.01 * np.sin(2 * np.pi * (0.4 + rise * t) * t)
        effort = SERVO[0] * (target - plant.position[0]) - SERVO[1] * plant.velocity[0]
        if k % 5 == 0:
            rows.append((t, plant.position[0], *plant.curvature))
        plant.step(effort)
    times, position, root, tip = np.array(rows).T
    noise = 2e-5 * random.standard_normal((2, times.size))
    signals = {'arm/root': root + noise[0], 'arm/tip': tip + noise[1]}
    return make_log(times, {'position/motor': position, **signals}, name=name)
