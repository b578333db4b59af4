"""
Joint control: gains that hold an arm, PD with gravity compensation, computed torque.

In short::

    law = frs.control.ComputedTorque(arm, reference=motion, frequency=2.0)
    effort = law.step(measurement)          # frs.feedback.Measurement of any plant
"""

from flex_robot_sim.util.lazy_names import lazy_names

TYPE_CHECKING = False  # True for static tools, as `typing` has it
if TYPE_CHECKING:
    from flex_robot_sim.control.gains import Servo
    from flex_robot_sim.control.joint_space_control import ComputedTorque, PdControl
    from flex_robot_sim.control.servo import design_servo

__all__ = ['ComputedTorque', 'PdControl', 'Servo', 'design_servo']

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            'control.gains': ('Servo',),
            'control.joint_space_control': ('ComputedTorque', 'PdControl'),
            'control.servo': ('design_servo',),
        },
    )
