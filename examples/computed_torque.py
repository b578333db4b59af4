"""Computed torque for a rigid arm, applied to an elastic one: tracking error and deflection."""

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

CENTRE, RATES = np.array([0.0, 0.5, -0.8]), np.array([2.0, 3.0, 4.0])  # [rad], [rad/s]


def reference(time):
    """Positions, velocities and accelerations of the joints, (3, joints)."""
    sine, cosine = 0.3 * np.sin(RATES * time), 0.3 * np.cos(RATES * time)
    return np.array([CENTRE + sine, RATES * cosine, -(RATES**2) * sine])


arm = frs.load('two_link')
law = frs.control.ComputedTorque(arm, reference=reference, frequency=2.0)
sim = frs.Simulation(arm)
sim.set_state(*reference(0.0)[:2])
controller = frs.feedback.sensor_feedback(arm, law.step)
recorded = ('motor_position', 'deflection')
log = frs.rollout(sim, duration=4.0, record=recorded, controller=controller)
error = log.motor_position - [reference(time)[0] for time in log.time]
print(f'tracking error: {1e3 * np.abs(error[log.time > 1.0]).max():.1f} mrad after one second')
plt.plot(log.time, 1e3 * error, label=[f'{name}: error [mrad]' for name in arm.joint_names])
plt.plot(log.time, 1e3 * log.deflection['forearm'][:, 2], 'k:', label='bending at the tip [mm]')
plt.legend()
plt.savefig('computed_torque.png', dpi=120)
