"""Sensors of a robot, as plain values: flex sensors and IMUs of links, encoders of joints."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FlexSensor:
    """A sensor that measures the mean curvature of a beam between two stations."""

    name: str
    start: float  # station where it begins, from the link origin             [m]
    end: float  # station where it ends                                     [m]
    plane: str  # 'xy' or 'xz'


@dataclass(frozen=True, eq=False)
class StrainGauge:
    """A gauge on the surface of a reduced link, which reads the strain over `distance`."""

    name: str
    position: np.ndarray  # (3,)  on the surface, in the link frame              [m]
    direction: np.ndarray  # (3,)  unit vector in the link frame
    distance: float  # from the neutral axis; negative on the other side         [m]


@dataclass(frozen=True, eq=False)
class Imu:
    """An accelerometer and a gyroscope with common axes."""

    name: str
    position: np.ndarray  # (3,)    of the accelerometer, in the link frame          [m]
    rotation: np.ndarray  # (3, 3)  of the axes, in the link frame
    rate: float  # samples per second                                         [Hz]
    accelerometer_bias: np.ndarray  # (3,)  constant error                    [m/s2]
    gyroscope_bias: np.ndarray  # (3,)  constant error                        [rad/s]
    accelerometer_noise: float = 0.0  # one-sided density                     [m/s2/sqrt(Hz)]
    gyroscope_noise: float = 0.0  # one-sided density                         [rad/s/sqrt(Hz)]
    accelerometer_range: float = np.inf  # largest reading of an axis         [m/s2]
    gyroscope_range: float = np.inf  # largest reading of an axis             [rad/s]
    bits: int | None = None  # 2^bits steps from -range to range; None: no steps

    @property
    def is_at_origin(self) -> bool:
        """Whether its frame is the link frame."""
        return not self.position.any() and (self.rotation == np.eye(3)).all()


@dataclass(frozen=True)
class Encoder:
    """Errors of the measured position of a joint, on either side of its gear."""

    resolution: float = 0.0  # step of the position; 0: none                  [rad or m]
    noise: float = 0.0  # standard deviation of a sample                      [rad or m]
    delay: float = 0.0  # age of the position                                 [s]
