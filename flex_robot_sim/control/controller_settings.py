"""Settings of the joint controller."""

from dataclasses import dataclass

from flex_robot_sim.util.settings import Settings, setting

FEED_FORWARDS = ('none', 'gravity', 'sag')
FEEDBACKS = ('motor', 'link')
SERVOS = ('controller', 'drives')


@dataclass(frozen=True)
class ControllerSettings(Settings):
    """Control of the joints; lists have one number per joint, base to tip."""

    position_gain: tuple = setting(
        (),
        'position gains; empty: gains for bandwidth',
        'N m/rad, N/m',
        at_least=0.0,
        of=float,
        live=True,
    )
    velocity_gain: tuple = setting(
        (),
        'velocity gains; empty: gains for damping_ratio',
        'N m s/rad, N s/m',
        at_least=0.0,
        of=float,
        live=True,
    )
    bandwidth: float = setting(
        0.0,
        'bandwidth of each position loop for a rigid arm, in the pose with the largest inertia; '
        '0: chosen to hold the arm in all poses; ignored if position_gain is set',
        'Hz',
        at_least=0.0,
        at_most=1e4,
        live=True,
    )
    damping_ratio: float = setting(
        0.7,
        'damping ratio of each position loop for a rigid arm; ignored if velocity_gain is set',
        at_least=0.0,
        live=True,
    )
    state_period: float = setting(
        2e-3,
        'period of the joint states, and delay of the efforts, for the choice and the '
        'stability check of gains; 0: ideal loop',
        's',
        at_least=0.0,
        live=True,
    )
    effort_limits: tuple = setting(
        (),
        'largest effort of each motor; empty: <limit effort> of the description, '
        'where 0 means no limit',
        'N m, N',
        above=0.0,
        of=float,
        live=True,
    )
    integral_action: float = setting(
        -1.0,
        'rate of integral action relative to the bandwidth of the loop, against unknown payloads '
        'and dry friction; 0: none; 0.2 is usual; below 0: with default gains only, 0.2 for '
        'joints that dry friction or gravity would keep off their targets',
        at_least=-1.0,
        at_most=1.0,
        live=True,
    )
    feed_forward: str = setting(
        'gravity',
        'gravity: compensates the weight of the undeformed arm at the target; sag: '
        'compensates the weight of the deformed arm, and offsets the motors so that '
        'the link side reaches the target',
        choices=FEED_FORWARDS,
        live=True,
    )
    feedback: str = setting('motor', 'controlled side of a flexible joint', choices=FEEDBACKS)
    servo: str = setting(
        'controller',
        'location of the position and velocity gains: the controller, or the drives at every time '
        'step; drives requires a controller inside the dynamics process and feedback motor',
        choices=SERVOS,
    )
    state_timeout: float = setting(
        0.5,
        'age of the newest joint state above which efforts are zero',
        's',
        above=0.0,
        live=True,
    )

    @property
    def has_default_gains(self) -> bool:
        """Whether no gains and no bandwidth are given."""
        return not (self.position_gain or self.velocity_gain or self.bandwidth)
