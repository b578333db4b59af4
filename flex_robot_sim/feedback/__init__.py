"""
Feedback that damps flexible links: LQR, LQG, strain feedback and positive position feedback.

In short::

    law = frs.feedback.Lqr(arm, q)
    effort = law.step(measurement)          # of a simulation or of any other plant
"""

from flex_robot_sim.util.lazy_names import lazy_names

TYPE_CHECKING = False  # True for static tools, as `typing` has it
if TYPE_CHECKING:
    from flex_robot_sim.feedback.lqg import Lqg
    from flex_robot_sim.feedback.lqg_design import LqgDesign, design_lqg
    from flex_robot_sim.feedback.lqr import Lqr
    from flex_robot_sim.feedback.measurement import Measurement
    from flex_robot_sim.feedback.modal_damping import DampingDesign, design_damping
    from flex_robot_sim.feedback.simulated_sensors import measure, sensor_feedback
    from flex_robot_sim.feedback.strain_feedback import StrainFeedback

__all__ = [
    'DampingDesign',
    'Lqg',
    'LqgDesign',
    'Lqr',
    'Measurement',
    'StrainFeedback',
    'design_damping',
    'design_lqg',
    'measure',
    'sensor_feedback',
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            'feedback.lqg': ('Lqg',),
            'feedback.lqg_design': ('LqgDesign', 'design_lqg'),
            'feedback.lqr': ('Lqr',),
            'feedback.measurement': ('Measurement',),
            'feedback.modal_damping': ('DampingDesign', 'design_damping'),
            'feedback.simulated_sensors': ('measure', 'sensor_feedback'),
            'feedback.strain_feedback': ('StrainFeedback',),
        },
    )
