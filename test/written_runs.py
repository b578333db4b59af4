"""Recordings with analytically known content."""

import numpy as np

from flex_robot_sim.recording.mcap_file import RecordingWriter
from flex_robot_sim.recording.messages import JOINT_STATE, POSE, SECOND, TEXTS, joint_state, pose

RATE = 200.0


def write_run(
    path,
    seconds=6.0,
    begins=1.0,
    late=0.0,
    away=0.01,
    joint='elbow',
    size=0.5,
    frequency=2.5,
    ratio=0.02,
    shift=0.0,
    space='',
):
    """
    Write a joint that lags its target by `away`, and a tip that vibrates after the motion.

    :param begins: when the target moves [s], for half a second; late: added to stamps [s].
    :param shift: added to the position.
    """
    writer = RecordingWriter(path, {'recorded': '2026-01-02T03:04:05+00:00'})

    def send(name, kind, stamp, data):
        writer.write(writer.topic(f'{space}/{name}', kind, TEXTS[kind]), stamp, data)

    for time in np.arange(0.0, seconds, 1 / RATE):
        stamp = round((time + late) * SECOND) + 1
        target = size * np.clip((time - begins) / 0.5, 0.0, 1.0)
        send(
            'joint_states',
            JOINT_STATE,
            stamp,
            joint_state(stamp, [joint], [target - away + shift], [0.0], [1.5]),
        )
        send('controller/target', JOINT_STATE, stamp, joint_state(stamp, [joint], [target]))
        since, rate = max(time - begins - 0.5, 0.0), 2 * np.pi * frequency
        tip = 4e-3 * np.exp(-ratio * rate * since) * np.sin(rate * np.sqrt(1 - ratio**2) * since)
        send(
            'forearm/tip_deflection',
            POSE,
            stamp,
            pose(stamp, 'forearm', np.array([0.0, tip, 1e-3]), np.array([0.0, 0.0, 0.0, 1.0])),
        )
    writer.close()
    return path
