"""A time-optimal move without residual vibration, and a minimum-jerk move of equal duration."""

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

START, GOAL = [0.0, 0.5, -0.8], [0.8, 0.2, -0.4]  # [rad]
arm = frs.load('two_link')
limits = frs.planning.PlanLimits(acceleration=(20.0, 20.0, 20.0))
plan = frs.planning.plan_move(arm, START, GOAL, limits=limits)
end = plan.motion.end
smooth = frs.planning.minimum_jerk_motion(START, GOAL, duration=end)
figure, (above, below) = plt.subplots(2, sharex=True, layout='constrained')
for label, motion in (('minimum jerk', smooth), ('time-optimal', plan.motion)):
    log = frs.rollout(
        arm, duration=end + 2.0, trajectory=motion, record=('position', 'deflection')
    )
    bending = 1e3 * log.deflection['forearm'][:, 2]
    print(f'{label}: {end:.3f} s, and {np.ptp(bending[log.time > end]) / 2:.2f} mm of vibration')
    above.plot(log.time, log.position[:, 0], label=label)
    below.plot(log.time, bending, label=label)
above.set_ylabel('waist [rad]')
above.legend()
below.set(xlabel='time [s]', ylabel='bending at the tip [mm]')
figure.savefig('time_optimal_move.png', dpi=120)
