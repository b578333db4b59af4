"""
Readings of gyros and accelerometers on an arm along a motion.

A gyro measures the angular velocity w of its frame. An accelerometer measures the acceleration of
its origin minus gravity, as in sensor_msgs/Imu. Both use the axes of the frame. With v the
velocity of the origin in these axes and R their rotation in the base frame,

    f = dv/dt + w x v - R^T g                                                                (I22)

dv/dt follows from a polynomial through seven samples, with a relative error of (w dt)^6 / 140.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import savgol_filter

from flex_robot_sim.analysis.imu_kinematics import imu_frames
from flex_robot_sim.description.robot_parameters import near
from flex_robot_sim.dynamics.kinematics import set_base_poses, set_motion
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.spatial.screws import set_composed, set_in_child
from flex_robot_sim.util.exceptions import UsageError

KINDS = 'gyro', 'acceleration'
UNITS = {'gyro': 'rad/s', 'acceleration': 'm/s2'}
DERIVATIVE_SAMPLES = 7  # samples of the polynomial of a numerical derivative
MIN_SPREAD_RATIO = 1e-6  # signal of a moving axis, over that of the axis that moves most
MIN_DISTINCT_VALUES = 32  # values of an axis; with fewer, quantization would count as clipping
MIN_GRAVITY_RATIO = 0.3  # mean norm of three axes, over gravity
_CHANNEL = re.compile(rf'(?P<kind>{"|".join(KINDS)})/(?P<link>.+)/(?P<axis>[xyz])')

_IMU_NAME = re.compile(r'(?:^|_)imu(?:_|\d|$)', re.IGNORECASE)


class ImuChannel(NamedTuple):
    """An axis of a gyro or an accelerometer."""

    kind: str  # of KINDS
    link: str  # name of the link frame, or of an IMU of the description
    axis: int


def imu_channel(name: str) -> ImuChannel | None:
    """Return the ImuChannel with this name, or None if it is another channel."""
    match = _CHANNEL.fullmatch(name)
    return match and ImuChannel(match['kind'], match['link'], 'xyz'.index(match['axis']))


def is_imu_name(link: str) -> bool:
    """Whether a link has the name of an IMU: imu, imu_link, tool_imu, imu2."""
    return bool(_IMU_NAME.search(link))


def imu_channels(arm: ArmModel) -> list[str]:
    """Return the channels of IMUs on all moving links, and of those of the description."""
    return [
        f'{kind}/{link}/{axis}'
        for kind in KINDS
        for link, frame in _frames(arm).items()
        if frame.body >= 0
        for axis in 'xyz'
    ]


def _frames(arm):
    """Frames of links, and of IMUs that are not at the origin of their link."""
    return {**arm.frames, **imu_frames(arm)}


def unknown_links(arm: ArmModel, names: Iterable[str]) -> list[str]:
    """Return the links of IMU channels that do not exist in this arm."""
    channels, frames = (imu_channel(name) for name in names), _frames(arm)
    return [
        *dict.fromkeys(
            channel.link for channel in channels if channel and channel.link not in frames
        )
    ]


def refuse_unknown_links(arm: ArmModel, signals: Iterable[str]) -> None:
    """Refuse `SIGNAL=COLUMN` of an IMU on an unknown link, or on a fixed link."""
    frames = _frames(arm)
    for words in signals:
        name = words.partition('=')[0]
        channel = imu_channel(name)
        if channel and channel.link not in frames:
            raise UsageError(
                f'--signal {words}: the robot has no link "{channel.link}". '
                f'{near(channel.link, frames)}'
            )
        if channel and frames[channel.link].body < 0:
            raise UsageError(
                f'--signal {words}: link "{channel.link}" never moves. Name the link '
                'that carries the sensor.'
            )


def imu_readings(
    arm: ArmModel,
    gravity: ArrayLike,
    channels: Sequence[str],
    coordinates: np.ndarray,
    rates: np.ndarray,
    period: float,
) -> np.ndarray:
    """
    Return the readings of IMU channels (c,) at even samples, (k, c) [rad/s, m/s2].

    :param gravity: in the base frame, (3,) [m/s2].
    :param coordinates: of the arm, (k, n); rates: of these, (k, n); period: of the samples [s].
    """
    parsed = [imu for imu in map(imu_channel, channels) if imu]
    links = [*dict.fromkeys(imu.link for imu in parsed)]
    known = _frames(arm)
    frames = [known[link] for link in links]
    twists = np.zeros((len(coordinates), len(links), 6))
    rotations = np.zeros((len(coordinates), len(links), 3, 3))
    set_frames_along(
        arm.arrays,
        np.ascontiguousarray(coordinates),
        np.ascontiguousarray(rates),
        np.array([frame.body for frame in frames], int),
        np.array([frame.R for frame in frames]),
        np.array([frame.p for frame in frames]),
        make_workspace(arm.arrays),
        twists,
        rotations,
    )
    angular_velocity, v = twists[..., :3], twists[..., 3:]
    specific_force = (
        rates_along(v, period)
        + np.cross(angular_velocity, v)
        - np.einsum('kmij,i->kmj', rotations, np.asarray(gravity, float))
    )  # (I22)
    readings = dict(zip(KINDS, (angular_velocity, specific_force)))
    return np.column_stack(
        [readings[imu.kind][:, links.index(imu.link), imu.axis] for imu in parsed]
    )


def rates_along(values: np.ndarray, period: float) -> np.ndarray:
    """Return the derivative of even samples (k, ...), by a polynomial through their neighbours."""
    count = min(DERIVATIVE_SAMPLES, len(values) - 1 + len(values) % 2)  # an odd number
    return savgol_filter(values, count, count - 1, deriv=1, delta=period, axis=0)


@compiled
def set_frames_along(arm, coordinates, rates, bodies, R, p, work, twists, rotations):
    """
    Compute twist and rotation of frames at every sample of a motion.

    :param arm: ArmModel with n coordinates; coordinates, rates: (k, n) each.
    :param bodies: of the frames (m,); R, p: poses in these bodies, (m, 3, 3) and (m, 3).
    :param work: Workspace.
    :param twists: output, body twists (k, m, 6).
    :param rotations: output, rotations in the base frame (k, m, 3, 3).
    """
    for k in range(len(coordinates)):
        set_motion(arm, coordinates[k], rates[k], work)
        set_base_poses(arm, work)
        for m in range(len(bodies)):
            i = bodies[m]
            set_in_child(R[m], p[m], work.V[i], twists[k, m])
            set_composed(work.base_R[i], work.base_p[i], R[m], p[m], rotations[k, m], work.child_p)
