"""
What gyros and accelerometers on an arm read, along a motion.

A gyro reads the rate w at which its frame turns, an accelerometer the acceleration of its origin
less gravity, as sensor_msgs/Imu has it, each in axes of the frame. With v the velocity of the
origin in these axes and R their turn in the base frame,

    f = dv/dt + w x v - R^T g                                                                (I22)

dv/dt comes from the samples: the polynomial through seven neighbours errs by (w dt)^6 / 140.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import savgol_filter

from flex_robot_sim.description.parameters import near
from flex_robot_sim.dynamics.kinematics import set_base_poses, set_motion
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arm_model import ArmModel, make_workspace
from flex_robot_sim.spatial.screws import set_composed, set_in_child
from flex_robot_sim.util.exceptions import UsageError

KINDS = 'gyro', 'acceleration'
UNITS = {'gyro': 'rad/s', 'acceleration': 'm/s2'}
NEIGHBOURS = 7          # samples that a rate is found of
STANDS_STILL = 1e-6     # of what the liveliest axis does, below which another one does nothing
FEW_VALUES = 32         # that an axis takes: steps of its converter, and no end of its range
LEAST_WEIGHT = 0.3      # of gravity, that three axes show in the mean at least
_CHANNEL = re.compile(rf'(?P<kind>{"|".join(KINDS)})/(?P<link>.+)/(?P<axis>[xyz])')

_CALLED = re.compile(r'(?:^|_)imu(?:_|\d|$)', re.IGNORECASE)


class ImuChannel(NamedTuple):
    """An axis of a gyro or an accelerometer."""

    kind: str               # of KINDS
    link: str               # whose frame it is in
    axis: int


def imu_channel(name: str) -> ImuChannel | None:
    """Return what the name of a channel says, or None if it is no IMU's."""
    match = _CHANNEL.fullmatch(name)
    return match and ImuChannel(match['kind'], match['link'], 'xyz'.index(match['axis']))


def called_imu(link: str) -> bool:
    """Whether a link has the name of an IMU: imu, imu_link, tool_imu, imu2."""
    return bool(_CALLED.search(link))


def imu_channels(arm: ArmModel) -> list[str]:
    """Return the channels of IMUs on all links that move."""
    return [f'{kind}/{link}/{axis}' for kind in KINDS for link, frame in arm.frames.items()
            if frame.body >= 0 for axis in 'xyz']


def strange_links(arm: ArmModel, names: Iterable[str]) -> list[str]:
    """Return links of IMU channels that this arm does not have."""
    found = (imu_channel(name) for name in names)
    return [*dict.fromkeys(one.link for one in found if one and one.link not in arm.frames)]


def refuse_strange_links(arm: ArmModel, signals: Iterable[str]) -> None:
    """Refuse `SIGNAL=COLUMN` of an IMU on a link that this arm does not have, or that stands."""
    for words in signals:
        name = words.partition('=')[0]
        one = imu_channel(name)
        if one and one.link not in arm.frames:
            raise UsageError(f'--signal {words}: the robot has no link "{one.link}". '
                             f'{near(one.link, arm.frames)}')
        if one and arm.frames[one.link].body < 0:
            raise UsageError(f'--signal {words}: link "{one.link}" never moves. Name the link '
                             'that carries the sensor.')


def imu_readings(arm: ArmModel, gravity: ArrayLike, channels: Sequence[str],
                 coordinates: np.ndarray, rates: np.ndarray, period: float) -> np.ndarray:
    """
    Return what the channels (c,) of IMUs read at even samples, (k, c) [rad/s, m/s2].

    :param gravity: in the base frame, (3,) [m/s2].
    :param coordinates: of the arm, (k, n); rates: likewise; period: of the samples [s].
    """
    wanted = [one for one in map(imu_channel, channels) if one]
    links = [*dict.fromkeys(one.link for one in wanted)]
    frames = [arm.frames[link] for link in links]
    twists = np.zeros((len(coordinates), len(links), 6))
    turns = np.zeros((len(coordinates), len(links), 3, 3))
    set_frames_along(arm.arrays, np.ascontiguousarray(coordinates), np.ascontiguousarray(rates),
                     np.array([frame.body for frame in frames], int),
                     np.array([frame.R for frame in frames]),
                     np.array([frame.p for frame in frames]), make_workspace(arm.arrays),
                     twists, turns)
    turning, v = twists[..., :3], twists[..., 3:]
    force = (rates_along(v, period) + np.cross(turning, v)
             - np.einsum('kmij,i->kmj', turns, np.asarray(gravity, float)))         # (I22)
    read = dict(zip(KINDS, (turning, force)))
    return np.column_stack([read[one.kind][:, links.index(one.link), one.axis]
                            for one in wanted])


def rates_along(values: np.ndarray, period: float) -> np.ndarray:
    """Return the rates of even samples (k, ...), by the polynomial through their neighbours."""
    count = min(NEIGHBOURS, len(values) - 1 + len(values) % 2)      # an odd number
    return savgol_filter(values, count, count - 1, deriv=1, delta=period, axis=0)


@compiled
def set_frames_along(arm, coordinates, rates, bodies, R, p, work, twists, turns):
    """
    Twist and turn of frames at every sample of a motion.

    :param arm: ArmModel with n coordinates; coordinates: (k, n), rates likewise.
    :param bodies: that carry the frames (m,); R, p: poses there, (m, 3, 3) and (m, 3).
    :param work: Workspace.
    :param twists: receives the body twists (k, m, 6); turns: rotations in the base (k, m, 3, 3).
    """
    for k in range(len(coordinates)):
        set_motion(arm, coordinates[k], rates[k], work)
        set_base_poses(arm, work)
        for m in range(len(bodies)):
            i = bodies[m]
            set_in_child(R[m], p[m], work.V[i], twists[k, m])
            set_composed(work.base_R[i], work.base_p[i], R[m], p[m], turns[k, m], work.child_p)
