"""Settings of the joint controller and of the motions that it makes by itself."""

from dataclasses import dataclass

from flex_robot_sim.control.impulses import KINDS
from flex_robot_sim.settings import Settings, setting

FEED_FORWARDS = ('none', 'gravity', 'sag')
FEEDBACKS = ('motor', 'link')
SERVOS = ('controller', 'drives')
PROFILES = ('none', 'step', 'minimum_jerk', 'bang_bang', 'swing')
ENDS = ('hold', 'free')
AUTO = 'auto'       # in place of a shaper: the recommended one
CONTROLLER_SHAPERS = ('none', *KINDS, 'si')
NODE_SHAPERS = (AUTO, *KINDS, 'none')
VIBRATION_FEEDBACKS = ('none', 'strain', 'ppf', 'lqg')


@dataclass(frozen=True)
class ControllerSettings(Settings):
    """How the joints are held; lists have one number per joint, base to tip."""

    position_gain: tuple = setting(
        (), 'effort per position error; none: those of bandwidth', 'N m/rad, N/m', at_least=0.0,
        of=float, live=True)
    velocity_gain: tuple = setting(
        (), 'effort per velocity error; none: those of damping_ratio', 'N m s/rad, N s/m',
        at_least=0.0, of=float, live=True)
    bandwidth: float = setting(
        0.0, 'frequency of a closed joint if the arm were rigid, in the pose in which it is '
        'heaviest; 0: so that the arm is held in all poses; not read if position_gain is given',
        'Hz', at_least=0.0, at_most=1e4, live=True)
    damping_ratio: float = setting(
        0.7, 'of a closed joint if the arm were rigid; not read if velocity_gain is given',
        at_least=0.0, live=True)
    state_period: float = setting(
        2e-3, 'between two joint states, for which gains are chosen and judged, and which an '
        'effort is late; 0: no matter', 's', at_least=0.0, live=True)
    effort_limits: tuple = setting(
        (), 'largest effort of each motor; none: <limit effort> of the description, where 0 is no '
        'limit', 'N m, N', above=0.0, of=float, live=True)
    integral_action: float = setting(
        -1.0, 'rate of integral action over that of the closed joint; it lifts an unknown payload '
        'and overcomes dry friction. 0: none; 0.2 is usual; below 0: 0.2 for joints that dry '
        'friction or weight would keep off their targets, with default gains only',
        at_least=-1.0, at_most=1.0, live=True)
    feed_forward: str = setting(
        'gravity', 'efforts that carry the straight arm in its target pose; sag: the bent arm, '
        'with the motors so far ahead that the links of the joints come to rest at the target',
        choices=FEED_FORWARDS, live=True)
    feedback: str = setting(
        'motor', 'side of a flexible joint whose position is controlled', choices=FEEDBACKS)
    servo: str = setting(
        'controller', 'where position and velocity gains act: in the controller, or in the drives '
        'at every time step, which only works inside the process of the dynamics, with feedback '
        'motor', choices=SERVOS)
    state_timeout: float = setting(
        0.5, 'age of the newest joint state from which efforts are zero', 's', above=0.0,
        live=True)

    @property
    def has_default_gains(self) -> bool:
        """Whether no gains and no bandwidth are given."""
        return not (self.position_gain or self.velocity_gain or self.bandwidth)


@dataclass(frozen=True)
class ShapingSettings(Settings):
    """What an input shaper makes of all that moves the target."""

    shaper: str = setting(
        'none', 'input shaper of targets, trajectories and profiles, for what rings as the servo '
        'holds it', choices=CONTROLLER_SHAPERS, live=True)
    shaper_tolerance: float = setting(
        0.05, 'share of the vibration that ei, ei2 and si may leave', above=0.0, at_most=0.4,
        live=True)
    shaper_uncertainty: float = setting(
        0.1, 'share by which frequencies may be wrong, for si', at_least=0.0, at_most=0.4,
        live=True)
    shaper_by_pose: bool = setting(
        True, 'whether delays follow the pose; false: they are those of the pose in which the '
        'target is when the shaper is made', live=True)


@dataclass(frozen=True)
class FeedbackSettings(Settings):
    """What brings links to rest by what is measured of them."""

    vibration_feedback: str = setting(
        'none', 'what brings the links to rest: strain and ppf add to the efforts of the servo '
        'what flex sensors ask for, lqg takes its place', choices=VIBRATION_FEEDBACKS, live=True)
    strain_period: float = setting(
        0.01, 'between two messages of strain, for which vibration_feedback is designed; inside '
        'the process of the dynamics there are none, and it does not matter', 's', above=0.0,
        at_most=1.0, live=True)
    loop_delay: float = setting(
        0.0, 'by which efforts act later than state_period says, as on a bench; for '
        'vibration_feedback', 's', at_least=0.0, at_most=0.5, live=True)


@dataclass(frozen=True)
class ProfileSettings(Settings):
    """A motion that the controller makes by itself; lists have one number per joint."""

    profile: str = setting(
        'none', 'motion that begins with the first joint state; bang_bang: effort one way, then '
        'the other; swing: between poses until told otherwise', choices=PROFILES, live=True)
    profile_start: float = setting(1.0, 'rest before it', 's', at_least=0.0, live=True)
    profile_duration: float = setting(
        1.0, 'of a minimum_jerk or bang_bang motion, or of each swing', 's', above=0.0, live=True)
    profile_displacement: tuple = setting(
        (), 'how far step and minimum_jerk go', 'rad, m', of=float, live=True)
    profile_effort: tuple = setting(
        (), 'of bang_bang, in the first half; joints with 0 are held', 'N m, N', of=float,
        live=True)
    profile_end: str = setting(
        'hold', 'what becomes of the driven joints after bang_bang', choices=ENDS, live=True)
    profile_poses: tuple = setting(
        (), 'of swing, one pose after the other', 'rad, m', of=float, live=True)
    profile_dwell: float = setting(
        1.0, 'rest in each pose of swing', 's', at_least=0.0, live=True)
