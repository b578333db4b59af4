"""Settings of the input shaper in a joint controller."""

from dataclasses import dataclass

from flex_robot_sim.shaping.impulses import KINDS
from flex_robot_sim.util.settings import Settings, setting

AUTO = 'auto'       # in place of a shaper: the recommended one
CONTROLLER_SHAPERS = ('none', *KINDS, 'si')
NODE_SHAPERS = (AUTO, *KINDS, 'none')


@dataclass(frozen=True)
class ShapingSettings(Settings):
    """What an input shaper makes of all that moves the target."""

    shaper: str = setting(
        'none', 'input shaper of targets, trajectories and profiles, for residual vibration as '
        'the servo holds it', choices=CONTROLLER_SHAPERS, live=True)
    shaper_tolerance: float = setting(
        0.05, 'share of the vibration that ei, ei2 and si may leave', above=0.0, at_most=0.4,
        live=True)
    shaper_uncertainty: float = setting(
        0.1, 'share by which frequencies may be wrong, for si', at_least=0.0, at_most=0.4,
        live=True)
    shaper_by_pose: bool = setting(
        True, 'whether delays follow the pose; false: they are those of the pose in which the '
        'target is when the shaper is made', live=True)
