"""Settings of drift detection: thresholds for differences between an arm and its model."""

from dataclasses import dataclass

from flex_robot_sim.util.settings import Settings, setting


@dataclass(frozen=True)
class DriftSettings(Settings):
    """Settings of drift detection."""

    drift_stops: int = setting(
        4, 'consecutive stops with the same result before a warning', above=0
    )
    drift_share: float = setting(
        0.02,
        'relative frequency change that causes a warning, if it also exceeds '
        'three standard deviations',
        above=0.0,
    )
    drift_model: float = setting(
        0.005,
        'relative standard deviation of the predicted frequency: half of that of the '
        'stiffness fitted by flexsim identify',
        at_least=0.0,
    )
    drift_payload_link: str = setting(
        '', 'link whose payload is estimated from efforts and gauges at rest; empty: the tool'
    )
    drift_payload_centre: tuple = setting(
        (0.0, 0.0, 0.0), 'centre of mass of that payload in the frame of its link', 'm'
    )
    drift_gauge_zero: float = setting(
        0.02, 'standard deviation of the zero offsets of the gauges', '1/m', above=0.0
    )
    drift_patience: float = setting(
        60.0, 'time without residual vibration after which the state is STALE', 's', above=0.0
    )
