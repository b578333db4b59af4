"""Motion profiles of a controller: step, minimum jerk, bang-bang effort and swing."""

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.model.arguments import checked
from flex_robot_sim.motion.joint_motion import Motion, minimum_jerk, rest
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.util.exceptions import SettingError


class Doublet:
    """Bang-bang efforts: one direction, then the opposite one for the same time."""

    def __init__(
        self, effort: np.ndarray, start: float, duration: float, ends_free: bool = False
    ) -> None:
        """Store efforts (n,) [N m, N], 0: not driven; start, and duration of both halves [s]."""
        self.first_half = effort
        self.driven = effort != 0.0
        self.start, self.turn, self.end = start, start + duration / 2, start + duration
        self.ends_free = ends_free

    def effort(self, t: float) -> np.ndarray:
        """Efforts at time t (n,) [N m, N]."""
        if not self.start <= t < self.end:
            return np.zeros_like(self.first_half)
        return self.first_half if t < self.turn else -self.first_half


def motion_of_profile(
    settings: ProfileSettings, joint_names: Sequence[str], start: np.ndarray
) -> Motion | None:
    """Motion of ProfileSettings from positions (n,); None for `none` and for `bang_bang`."""
    begin, T = settings.profile_start, settings.profile_duration
    if settings.profile in ('step', 'minimum_jerk'):
        end = start + checked('profile_displacement', settings.profile_displacement, joint_names)
        if settings.profile == 'step':
            return Motion([begin], [rest(start), rest(end)])
        return Motion([begin, begin + T], [rest(start), minimum_jerk(start, end), rest(end)])
    if settings.profile == 'swing':
        return _swing(_poses(settings, joint_names), start, begin, T, settings.profile_dwell)
    return None


def doublet_of_profile(settings: ProfileSettings, joint_names: Sequence[str]) -> Doublet | None:
    """Return the Doublet of ProfileSettings, or None if their profile is a motion."""
    if settings.profile != 'bang_bang':
        return None
    effort = checked('profile_effort', settings.profile_effort, joint_names)
    return Doublet(
        effort, settings.profile_start, settings.profile_duration, settings.profile_end == 'free'
    )


def _swing(poses, start, begin, T, dwell):
    """Return the Motion from `start` to each pose in turn, and back to the first one."""
    knots, pieces, position = [begin], [rest(start)], start
    for pose in [*poses, poses[0]]:
        if position is not start and dwell > 0.0:
            knots.append(knots[-1] + dwell)
            pieces.append(rest(position))
        knots.append(knots[-1] + T)
        pieces.append(minimum_jerk(position, pose))
        position = pose
    return Motion(knots, [*pieces, rest(position)], repeats_from=1)


def _poses(settings, joint_names):
    n, numbers = len(joint_names), settings.profile_poses
    if not numbers or len(numbers) % n:
        raise SettingError(
            f'profile_poses has {len(numbers)} numbers: give poses of {n} each, in '
            f'this order: {", ".join(joint_names)}'
        )
    return np.reshape(numbers, (-1, n)).astype(float)
