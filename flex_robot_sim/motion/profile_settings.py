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
        'motion that begins with the first joint state; bang_bang: effort one way, then '
        'the other; swing: between poses until another target comes',
        choices=PROFILES,
        live=True,
    )
    profile_start: float = setting(1.0, 'rest before it', 's', at_least=0.0, live=True)
    profile_duration: float = setting(
        1.0, 'of a minimum_jerk or bang_bang motion, or of each swing', 's', above=0.0, live=True
    )
    profile_displacement: tuple = setting(
        (), 'how far step and minimum_jerk go', 'rad, m', of=float, live=True
    )
    profile_effort: tuple = setting(
        (),
        'of bang_bang, in the first half; joints with 0 are held',
        'N m, N',
        of=float,
        live=True,
    )
    profile_end: str = setting(
        'hold', 'what becomes of the driven joints after bang_bang', choices=ENDS, live=True
    )
    profile_poses: tuple = setting(
        (), 'of swing, one pose after the other', 'rad, m', of=float, live=True
    )
    profile_dwell: float = setting(1.0, 'rest in each pose of swing', 's', at_least=0.0, live=True)
