"""Settings of the motion profiles of a joint controller."""

from dataclasses import dataclass

from flex_robot_sim.util.settings import Settings, setting

PROFILES = ('none', 'step', 'minimum_jerk', 'bang_bang', 'swing')
ENDS = ('hold', 'free')


@dataclass(frozen=True)
class ProfileSettings(Settings):
    """Motion profile of the controller; lists have one number per joint."""

    profile: str = setting(
        'none',
        'motion after the first joint state; bang_bang: constant effort, then the '
        'opposite effort; swing: from pose to pose until a target arrives',
        choices=PROFILES,
        live=True,
    )
    profile_start: float = setting(1.0, 'rest before the profile', 's', at_least=0.0, live=True)
    profile_duration: float = setting(
        1.0,
        'duration of a minimum_jerk or bang_bang motion, or of each swing',
        's',
        above=0.0,
        live=True,
    )
    profile_displacement: tuple = setting(
        (), 'displacement of step and minimum_jerk', 'rad, m', of=float, live=True
    )
    profile_effort: tuple = setting(
        (),
        'effort of bang_bang in its first half; joints with 0 are held',
        'N m, N',
        of=float,
        live=True,
    )
    profile_end: str = setting(
        'hold', 'driven joints after bang_bang: held, or free', choices=ENDS, live=True
    )
    profile_poses: tuple = setting(
        (),
        'poses of swing, all joints of the first pose, then of the second, and so on',
        'rad, m',
        of=float,
        live=True,
    )
    profile_dwell: float = setting(1.0, 'rest in each pose of swing', 's', at_least=0.0, live=True)
