"""Chu and others, section 3.2: two flexible links and a payload, figures 10 to 15."""

from __future__ import annotations

import numpy as np

from flex_robot_sim.description.parameters import with_parameters
from flex_robot_sim.formulations import element_sum
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.reproduce.comparison import Comparison, number
from flex_robot_sim.reproduce.element_sums import Example, Shown, at_tip, bang_bang, of, reproduced
from flex_robot_sim.reproduce.motion import Progress, Run
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.report import Number, Reproduction

TORQUES = (0.1, 0.01)           # [N m]
HALVES, SECONDS = (0.5, 1.0), 1.4
ROBOT, VARIANT, VARIED = 'element_sum_arm_2', '', ()
REACH = 0.8 + 0.3               # both links stretched                                    [m]
RISE = 0.06                     # of a change of torque: a jump shakes the short link 2   [s]
FIRST, SECOND = of('joint_1'), of('joint_2')
TIP, SLOPE, ELBOW = at_tip('link_2', 1), at_tip('link_2', 5), at_tip('link_1', 1)


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    return reproduced(EXAMPLE, progress, options)


def added_mass(arm: ArmModel) -> Comparison:
    """Compare the payload, by the inertia that it adds to the mass matrix (25), with 50 g."""
    bare = build_arm(with_parameters(arm.description, {'payload.mass': 1e-9}))
    inertias = [element_sum.make(one).mass_matrix(np.zeros(arm.size))[0, 0]
                for one in (arm, bare)]
    return number('payload, by the inertia that it adds about joint 1 in (25)', 'section 3.2',
                  50.0, 1e3 * (inertias[0] - inertias[1]) / REACH**2, 'g', 0.5)


def numbers(arm: ArmModel, usual: Run) -> tuple[Number, ...]:
    """Return key numbers of the conventional run."""
    return (Number('joint 1 at the end', FIRST(arm, usual)[-1], 'rad'),
            Number('joint 2 at the end', SECOND(arm, usual)[-1], 'rad'),
            Number('largest tip deflection of link 2', np.abs(TIP(arm, usual)).max(), 'm'),
            Number('largest tip deflection of link 1', np.abs(ELBOW(arm, usual)).max(), 'm'))


EXAMPLE = Example(
    ROBOT, ('figures_10_to_15', 'Element sum, example 2'),
    bang_bang(TORQUES, HALVES, RISE), SECONDS,
    (('joint_1', 'Fig. 10: torque at joint 1', 'torque [N m]'),
     ('joint_2', 'Fig. 11: torque at joint 2', 'torque [N m]')),
    (Shown('joint 1', 'figure 12', 'Fig. 12: joint 1', 'angle [rad]', FIRST),
     Shown('joint 2', 'figure 13', 'Fig. 13: joint 2', 'angle [rad]', SECOND),
     Shown('tip', 'figure 14', 'Fig. 14: end-effector', 'flexural displacement [m]', TIP),
     Shown('slope', 'figure 15', 'Slope at the end-effector', 'slope [rad]', SLOPE)),
    numbers, added_mass, 'joints, tip and its slope',
    'the paper prints no E, I and levels of the torques; in the place of its figure 15, the '
    'slope, stands the photograph of the bench',
    (f'torques {TORQUES[0]:g} and {TORQUES[1]:g} N m, turned round at {HALVES[0]:g} s and off '
     f'at {HALVES[1]:g} s, each change within {1e3 * RISE:g} ms, because jumps shake link 2 '
     'by more than the motion bends it',
     'steel bars of 15 x 2 mm on edge, see urdf/element_sum_arm_2.urdf'))
