"""The program computed_torque.py with Pinocchio, where links and gears are rigid."""

import matplotlib.pyplot as plt
import numpy as np
import pinocchio as pin

import flex_robot_sim as frs

CENTRE, RATES = np.array([0.0, 0.5, -0.8]), np.array([2.0, 3.0, 4.0])  # [rad], [rad/s]


def reference(time):
    """Positions, velocities and accelerations of the joints, (3, joints)."""
    sine, cosine = 0.3 * np.sin(RATES * time), 0.3 * np.cos(RATES * time)
    return np.array([CENTRE + sine, RATES * cosine, -(RATES**2) * sine])


model = pin.buildModelFromUrdf(str(frs.robots()['two_link']))
data, w, h = model.createData(), 2 * np.pi * 2.0, 1e-3  # 2 Hz, time step [s]
(q, v, _), times, errors = reference(0.0), np.arange(0.0, 4.0, 1e-3), []
for time in times:
    target, rate, acceleration = reference(time)
    effort = pin.rnea(model, data, q, v, acceleration + 2 * w * (rate - v) + w**2 * (target - q))
    errors.append(q - target)
    v = v + h * pin.aba(model, data, q, v, effort)
    q = q + h * v
print(f'tracking error: {1e3 * np.abs(errors)[times > 1.0].max():.1f} mrad after one second')
plt.plot(times, 1e3 * np.array(errors), label=[*model.names[1:]])
plt.savefig('computed_torque_pinocchio.png', dpi=120)
