"""Arms with a free base for the design of controllers."""

from flex_robot_sim.model.arguments import refuse_free_base
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import without_free_fall


def actuated_arm(arm: ArmModel) -> ArmModel:
    """
    Return the arm whose joints a controller moves, without the gravity in which its base falls.

    SettingError for a free base with passive joints.
    """
    if not arm.actuated.all():
        refuse_free_base(arm)
    return without_free_fall(arm)
