"""Settings of the state estimation."""

from dataclasses import dataclass

from flex_robot_sim.util.settings import Settings, setting

ESTIMATORS = ('least_squares', 'kalman')


@dataclass(frozen=True)
class EstimatorSettings(Settings):
    """Settings of the state estimation from readings."""

    estimator: str = setting('least_squares', 'estimator of the deflection', choices=ESTIMATORS)
    velocity_bandwidth: float = setting(
        20.0, 'bandwidth of the joint velocity estimate', 'Hz', above=0.0
    )
    turn_velocity_bandwidth: float = setting(
        2.0,
        'bandwidth of the encoder correction to the pulse rate of the turn; keep it '
        'below the natural frequency of the link, or the feedback excites the link',
        'Hz',
        above=0.0,
    )
    rate_bandwidth: float = setting(
        50.0,
        'bandwidth of the rates of the elastic coordinates, with estimator least_squares',
        'Hz',
        above=0.0,
    )
