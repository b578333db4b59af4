"""Chu and others, section 3.2: two flexible links and a payload, figures 10 to 15."""

import numpy as np

from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.formulations import element_sum
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.reproduce.element_sums import (
    CurveSpec,
    Example,
    bang_bang,
    coordinate_of,
    reproduce_example,
    tip_deflection_of,
)
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.paper_comparison import PaperComparison, check_number
from flex_robot_sim.reproduce.reproduction import Number, Reproduction
from flex_robot_sim.reproduce.simulated_motion import Progress, Run

TORQUES = (0.1, 0.01)  # [N m]
SWITCH_TIMES, DURATION_S = (0.5, 1.0), 1.4
ROBOT, VARIANT, VARIED = 'element_sum_arm_2', '', ()
REACH = 0.8 + 0.3  # both links stretched                                    [m]
RISE_TIME = 0.06  # of a torque change; a jump excites the short link 2     [s]
JOINT_1, JOINT_2 = coordinate_of('joint_1'), coordinate_of('joint_2')
TIP = tip_deflection_of('link_2', 1)
SLOPE = tip_deflection_of('link_2', 5)
ELBOW = tip_deflection_of('link_1', 1)


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    return reproduce_example(EXAMPLE, progress, options)


def check_payload_mass(arm: ArmModel) -> PaperComparison:
    """Compare the payload, computed from its inertia in the mass matrix (25), with 50 g."""
    unloaded = build_arm(with_parameters(arm.description, {'payload.mass': 1e-9}))
    inertias = [
        element_sum.make(model).mass_matrix(np.zeros(arm.size))[0, 0] for model in (arm, unloaded)
    ]
    return check_number(
        'payload, by the inertia that it adds about joint 1 in (25)',
        'section 3.2',
        50.0,
        1e3 * (inertias[0] - inertias[1]) / REACH**2,
        'g',
        0.5,
    )


def numbers(arm: ArmModel, conventional: Run) -> tuple[Number, ...]:
    """Return key numbers of the conventional run."""
    return (
        Number('joint 1 at the end', JOINT_1(arm, conventional)[-1], 'rad'),
        Number('joint 2 at the end', JOINT_2(arm, conventional)[-1], 'rad'),
        Number('largest tip deflection of link 2', np.abs(TIP(arm, conventional)).max(), 'm'),
        Number('largest tip deflection of link 1', np.abs(ELBOW(arm, conventional)).max(), 'm'),
    )


EXAMPLE = Example(
    ROBOT,
    ('figures_10_to_15', 'Element sum, example 2'),
    bang_bang(TORQUES, SWITCH_TIMES, RISE_TIME),
    DURATION_S,
    (
        ('joint_1', 'Fig. 10: torque at joint 1', 'torque [N m]'),
        ('joint_2', 'Fig. 11: torque at joint 2', 'torque [N m]'),
    ),
    (
        CurveSpec('joint 1', 'figure 12', 'Fig. 12: joint 1', 'angle [rad]', JOINT_1),
        CurveSpec('joint 2', 'figure 13', 'Fig. 13: joint 2', 'angle [rad]', JOINT_2),
        CurveSpec('tip', 'figure 14', 'Fig. 14: end-effector', 'flexural displacement [m]', TIP),
        CurveSpec('slope', 'figure 15', 'Slope at the end-effector', 'slope [rad]', SLOPE),
    ),
    numbers,
    check_payload_mass,
    'joints, tip and its slope',
    'the paper prints no E, I and levels of the torques; its figure 15 is the '
    'photograph of the bench instead of the slope',
    (
        f'torques {TORQUES[0]:g} and {TORQUES[1]:g} N m, turned round at {SWITCH_TIMES[0]:g} s '
        f'and off at {SWITCH_TIMES[1]:g} s, each change within {1e3 * RISE_TIME:g} ms, because '
        'jumps shake link 2 by more than the motion bends it',
        'steel bars of 15 x 2 mm on edge, see urdf/element_sum_arm_2.urdf',
    ),
)
