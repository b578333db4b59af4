"""Chu and others, section 3.1: a slide carries a flexible link, figures 4 to 8."""

from __future__ import annotations

import numpy as np

from flex_robot_sim.formulations import element_sum
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.comparison import Comparison, number
from flex_robot_sim.reproduce.element_sums import Example, Shown, at_tip, bang_bang, of, reproduced
from flex_robot_sim.reproduce.motion import Progress, Run
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.report import Number, Reproduction

FORCE, TORQUE = 5.0, 0.5        # [N, N m]
HALVES, SECONDS = (0.5, 1.0), 1.4
ROBOT, VARIANT, VARIED = 'element_sum_arm_1', '', ()
SLIDE, TURN, TIP = of('slide'), of('revolute'), at_tip('link_2', 1)


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    return reproduced(EXAMPLE, progress, options)


def sliding_mass(arm: ArmModel) -> Comparison:
    """Compare the mass that the force moves, by the mass matrix (25), with the printed ones."""
    M = element_sum.make(arm).mass_matrix(np.zeros(arm.size))
    slide = arm.coordinate_names.index('slide')
    return number('mass that the force on the slide moves, by (25)', 'section 3.1', 2.0 + 0.706,
                  M[slide, slide], 'kg', 0.05 + 0.0005)


def numbers(arm: ArmModel, usual: Run) -> tuple[Number, ...]:
    """Return key numbers of the conventional run."""
    return (Number('slide at the end', SLIDE(arm, usual)[-1], 'm'),
            Number('revolute joint at the end', TURN(arm, usual)[-1], 'rad'),
            Number('largest tip deflection', np.abs(TIP(arm, usual)).max(), 'm'))


EXAMPLE = Example(
    ROBOT, ('figures_4_to_8', 'Element sum, example 1'),
    bang_bang([FORCE, TORQUE], HALVES), SECONDS,
    (('slide', 'Fig. 4: force on the slide', 'force [N]'),
     ('revolute', 'Fig. 5: torque', 'torque [N m]')),
    (Shown('slide', 'figure 6', 'Fig. 6: prismatic joint', 'displacement [m]', SLIDE),
     Shown('revolute joint', 'figure 7', 'Fig. 7: revolute joint', 'angle [rad]', TURN),
     Shown('tip', 'figure 8', 'Fig. 8: end-effector', 'flexural displacement [m]', TIP)),
    numbers, sliding_mass, 'slide, joint and tip',
    'the paper prints no E, I and levels of force and torque',
    (f'force {FORCE:g} N and torque {TORQUE:g} N m, turned round at {HALVES[0]:g} s and off '
     f'at {HALVES[1]:g} s',
     'a steel bar of 30 x 3 mm on edge, see urdf/element_sum_arm_1.urdf'))
