"""Settings of drift detection: thresholds for differences between an arm and its model."""

from dataclasses import dataclass

from flex_robot_sim.util.settings import Settings, setting


@dataclass(frozen=True)
class DriftSettings(Settings):
    """Settings of drift detection."""

    drift_stops: int = setting(4, 'stops in a row that say the same, before it is said', above=0)
    drift_share: float = setting(
        0.02, 'of the frequency, that matters if it is also three deviations', above=0.0
    )
    drift_model: float = setting(
        0.005,
        'deviation of the frequency by the model, over it: half of that of a stiffness '
        'that flexsim identify has fitted',
        at_least=0.0,
    )
    drift_payload_link: str = setting(
        '', 'link whose payload is estimated from efforts and gauges at rest; empty: the tool'
    )
    drift_payload_centre: tuple = setting(
        (0.0, 0.0, 0.0), 'its centre of mass in the frame of that link', 'm'
    )
    drift_gauge_zero: float = setting(
        0.02, 'deviation of the zeros of the gauges', '1/m', above=0.0
    )
    drift_patience: float = setting(
        60.0, 'without a stop that rings, after which nothing is known any more', 's', above=0.0
    )
