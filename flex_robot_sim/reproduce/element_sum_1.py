"""Chu and others, section 3.1: a flexible link on a slide, figures 4 to 8."""

import numpy as np

from flex_robot_sim.formulations import element_sum
from flex_robot_sim.model.arm_model import ArmModel
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

FORCE, TORQUE = 5.0, 0.5  # [N, N m]
SWITCH_TIMES, DURATION_S = (0.5, 1.0), 1.4
ROBOT, VARIANT, VARIED = 'element_sum_arm_1', '', ()
SLIDE = coordinate_of('slide')
REVOLUTE = coordinate_of('revolute')
TIP = tip_deflection_of('link_2', 1)


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    return reproduce_example(EXAMPLE, progress, options)


def check_sliding_mass(arm: ArmModel) -> PaperComparison:
    """Compare the mass that the force moves, in the mass matrix (25), with the printed masses."""
    M = element_sum.make(arm).mass_matrix(np.zeros(arm.size))
    slide = arm.coordinate_names.index('slide')
    return check_number(
        'mass that the force on the slide moves, by (25)',
        'section 3.1',
        2.0 + 0.706,
        M[slide, slide],
        'kg',
        0.05 + 0.0005,
    )


def numbers(arm: ArmModel, conventional: Run) -> tuple[Number, ...]:
    """Return key numbers of the conventional run."""
    return (
        Number('slide at the end', SLIDE(arm, conventional)[-1], 'm'),
        Number('revolute joint at the end', REVOLUTE(arm, conventional)[-1], 'rad'),
        Number('largest tip deflection', np.abs(TIP(arm, conventional)).max(), 'm'),
    )


EXAMPLE = Example(
    ROBOT,
    ('figures_4_to_8', 'Element sum, example 1'),
    bang_bang([FORCE, TORQUE], SWITCH_TIMES),
    DURATION_S,
    (
        ('slide', 'Fig. 4: force on the slide', 'force [N]'),
        ('revolute', 'Fig. 5: torque', 'torque [N m]'),
    ),
    (
        CurveSpec('slide', 'figure 6', 'Fig. 6: prismatic joint', 'displacement [m]', SLIDE),
        CurveSpec('revolute joint', 'figure 7', 'Fig. 7: revolute joint', 'angle [rad]', REVOLUTE),
        CurveSpec('tip', 'figure 8', 'Fig. 8: end-effector', 'flexural displacement [m]', TIP),
    ),
    numbers,
    check_sliding_mass,
    'slide, joint and tip',
    'the paper prints no E, I and levels of force and torque',
    (
        f'force {FORCE:g} N and torque {TORQUE:g} N m, turned round at {SWITCH_TIMES[0]:g} s and '
        f'off at {SWITCH_TIMES[1]:g} s',
        'a steel bar of 30 x 3 mm on edge, see urdf/element_sum_arm_1.urdf',
    ),
)
