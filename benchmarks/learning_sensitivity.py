"""
Iterative learning on an arm whose stiffness is 20 % lower or higher than in the model.

A part of `python -m benchmarks.control`. The arm is simulated in MuJoCo: a motor with a servo, an
elastic joint, and a mass at the tip.
"""

import mujoco
import numpy as np

from flex_robot_sim.motion.joint_motion import minimum_jerk_motion
from flex_robot_sim.planning.iterative_learning import RepeatedMove

STEP, EVERY = 2e-3, 5  # of the integration [s]; steps between samples of the tip
DURATION, COUNT = 3.0, 12  # of a trial [s]; splines of its reference
LENGTH, SPRING = 0.6, 5.0  # of the arm [m]; of its joint [N m/rad]
TRIALS = 12
ARM = """
<mujoco><option timestep="{step}" gravity="0 0 0" integrator="RK4"/><worldbody>
  <body><joint name="motor" axis="0 0 1" damping="0.001"/>
    <inertial pos="0 0 0" mass="0.4" diaginertia="0.01 0.01 0.01"/>
    <body><joint axis="0 0 1" stiffness="{spring}" damping="0.004"/>
      <inertial pos="{length} 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/></body></body>
</worldbody><actuator><motor joint="motor"/></actuator></mujoco>
"""


def trial_of(stiffness, motion):
    """Return a function from a reference to the errors of the tip [m]."""
    model = mujoco.MjModel.from_xml_string(
        ARM.format(step=STEP, spring=stiffness * SPRING, length=LENGTH)
    )
    count = round(DURATION / STEP)

    def run(reference):
        data, rows = mujoco.MjData(model), np.zeros(count)
        for k in range(count):
            place, speed = reference(k * STEP)[:2, 0]
            data.ctrl[0] = 60.0 * (place - data.qpos[0]) + 0.18 * (speed - data.qvel[0])
            mujoco.mj_step(model, data)
            rows[k] = LENGTH * (data.qpos.sum() - motion.sample((k + 1) * STEP)[0, 0])
        return rows[::EVERY]

    return run


def learning_20_percent_off(_quick):
    """Errors of the trials over that of the first one, by stiffness: largest and last."""
    motion = minimum_jerk_motion(np.zeros(1), np.array([0.4]), duration=0.6, begin=0.25)
    known = RepeatedMove(motion, duration=DURATION, count=COUNT)
    known.model([trial_of(factor, motion) for factor in (1.0, 0.8, 1.2)], weight_step=0.01)
    out = {}
    for factor in (0.8, 0.9, 1.0, 1.1, 1.2):
        move = RepeatedMove(motion, duration=DURATION, count=COUNT)
        move.gain, move.other_gains = known.gain, known.other_gains
        run = trial_of(factor, motion)
        for _ in range(TRIALS):
            move.learn(run(move.reference()))
        out[f'stiffness {factor:g}'] = {
            'first [mm]': round(1e3 * move.errors[0], 2),
            'largest': round(max(move.errors) / move.errors[0], 4),
            'last': round(move.errors[-1] / move.errors[0], 4),
            'warning': move.warning or 'none',
        }
    return out
