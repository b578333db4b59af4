"""Parameters of the friction of a joint, as described; `model/friction.py` has the law."""

from typing import NamedTuple


class JointFriction(NamedTuple):
    """Friction on the driven side of a joint; `flexsim check --json` prints these names."""

    viscous_friction: float = 0.0   # [N m s/rad or N s/m]
    coulomb_friction: float = 0.0   # dry friction in motion                  [N m or N]
    static_friction: float = 0.0    # dry friction at rest                    [N m or N]
    stribeck_rate: float = 0.01     # of its decay to coulomb_friction        [rad/s or m/s]

    @property
    def stiction(self) -> float:
        """Excess of dry friction at rest [N m or N]."""
        return self.static_friction - self.coulomb_friction

    def with_value(self, name: str, value: float) -> 'JointFriction':
        """Return this friction with a new value; `stiction` is independent of coulomb_friction."""
        changed = self._replace(**{name: value})
        if name == 'coulomb_friction':
            return changed._replace(static_friction=value + self.stiction)
        return changed
