"""Settings of the joint controller."""

from dataclasses import dataclass

from flex_robot_sim.util.settings import Settings, setting

FEED_FORWARDS = ('none', 'gravity', 'sag')
FEEDBACKS = ('motor', 'link')
SERVOS = ('controller', 'drives')


@dataclass(frozen=True)
class ControllerSettings(Settings):
    """How the joints are held; lists have one number per joint, base to tip."""

    position_gain: tuple = setting(
        (),
        'effort per position error; none: those of bandwidth',
        'N m/rad, N/m',
        at_least=0.0,
        of=float,
        live=True,
    )
    velocity_gain: tuple = setting(
        (),
        'effort per velocity error; none: those of damping_ratio',
        'N m s/rad, N s/m',
        at_least=0.0,
        of=float,
        live=True,
    )
    bandwidth: float = setting(
        0.0,
        'frequency of a closed joint if the arm were rigid, in the pose in which it is '
        'heaviest; 0: so that the arm is held in all poses; not read if position_gain is given',
        'Hz',
        at_least=0.0,
        at_most=1e4,
        live=True,
    )
    damping_ratio: float = setting(
        0.7,
        'of a closed joint if the arm were rigid; not read if velocity_gain is given',
        at_least=0.0,
        live=True,
    )
    state_period: float = setting(
        2e-3,
        'between two joint states, for which gains are chosen and judged, and which an '
        'effort is late; 0: no matter',
        's',
        at_least=0.0,
        live=True,
    )
    effort_limits: tuple = setting(
        (),
        'largest effort of each motor; none: <limit effort> of the description, where 0 is no '
        'limit',
        'N m, N',
        above=0.0,
        of=float,
        live=True,
    )
    integral_action: float = setting(
        -1.0,
        'rate of integral action over that of the closed joint; it lifts an unknown payload '
        'and overcomes dry friction. 0: none; 0.2 is usual; below 0: 0.2 for joints that dry '
        'friction or weight would keep off their targets, with default gains only',
        at_least=-1.0,
        at_most=1.0,
        live=True,
    )
    feed_forward: str = setting(
        'gravity',
        'efforts that carry the straight arm in its target pose; sag: the bent arm, '
        'with the motors so far ahead that the links of the joints come to rest at the target',
        choices=FEED_FORWARDS,
        live=True,
    )
    feedback: str = setting(
        'motor', 'side of a flexible joint whose position is controlled', choices=FEEDBACKS
    )
    servo: str = setting(
        'controller',
        'where position and velocity gains act: in the controller, or in the drives '
        'at every time step, which only works inside the process of the dynamics, with feedback '
        'motor',
        choices=SERVOS,
    )
    state_timeout: float = setting(
        0.5, 'age of the newest joint state from which efforts are zero', 's', above=0.0, live=True
    )

    @property
    def has_default_gains(self) -> bool:
        """Whether no gains and no bandwidth are given."""
        return not (self.position_gain or self.velocity_gain or self.bandwidth)
