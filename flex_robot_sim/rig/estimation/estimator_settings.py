"""Settings of the state estimation."""

from dataclasses import dataclass

from flex_robot_sim.util.settings import Settings, setting

ESTIMATORS = ('least_squares', 'kalman')


@dataclass(frozen=True)
class EstimatorSettings(Settings):
    """Settings of the state estimation from readings."""

    estimator: str = setting('least_squares', 'of the bent link', choices=ESTIMATORS)
    velocity_bandwidth: float = setting(20.0, 'of the joint velocities', 'Hz', above=0.0)
    turn_velocity_bandwidth: float = setting(
        2.0,
        'of the velocity of the turn beyond the pulses, while the stepper holds it: below '
        'the ringing of the link, which it would drive otherwise',
        'Hz',
        above=0.0,
    )
    rate_bandwidth: float = setting(
        50.0, 'of the rates of the elastic coordinates by least squares', 'Hz', above=0.0
    )
