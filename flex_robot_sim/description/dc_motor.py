"""Motor with windings of a joint, `<dcmotor>` in `<flexibility>`."""

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class DcMotor:
    """Motor with windings, at its shaft: before the gear."""

    motorconst: float  # torque over current, and back-EMF over speed     [N m/A, V s/rad]
    resistance: float  # of the winding                                   [Ohm]
    voltage: float  # largest one                                         [V]
    inductance: float = 0.0  # of the winding                             [H]
    current: float = inf  # largest one                                   [A]

    @property
    def stall_torque(self) -> float:
        """Largest torque at rest [N m]."""
        return self.motorconst * min(self.current, self.voltage / self.resistance)

    @property
    def no_load_speed(self) -> float:
        """Speed at which the back-EMF is the largest voltage [rad/s]."""
        return self.voltage / self.motorconst
