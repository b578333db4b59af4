"""Energy of an arm: kinetic, in springs, and of height."""

from flex_robot_sim.core.compiled import compiled
from flex_robot_sim.core.dynamics import WITH_MODES, set_bodies
from flex_robot_sim.core.forces import stored_in_springs
from flex_robot_sim.core.kinematics import set_base_poses


@compiled
def set_energies(arm, q, qd, work, out):
    """
    Kinetic energy, energy in springs, and potential energy of gravity (3,) [J].

    :param arm: ArmModel with n coordinates.
    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    """
    set_bodies(arm, q, qd, work, WITH_MODES)
    set_base_poses(arm, work)
    kinetic = height = 0.0
    for i in range(arm.parent.size):
        V, I, n, first = work.V[i], work.I[i], arm.modes[i], arm.first[i]
        # 1/2 V I V + V B de + 1/2 de E de                                                  (T20)
        for r in range(6):
            for s in range(6):
                kinetic += 0.5 * V[r] * I[r, s] * V[s]
            for k in range(n):
                kinetic += V[r] * work.B[i, r, k] * qd[first + k]
        for k in range(n):
            for m in range(n):
                kinetic += 0.5 * qd[first + k] * work.E[i, k, m] * qd[first + m]
        # mass and first moment stand in the inertia of the body
        mass, x, y, z = I[3, 3], I[2, 4], I[0, 5], I[1, 3]
        R, p = work.base_R[i], work.base_p[i]
        for r in range(3):
            height += arm.rising[3 + r] * (mass * p[r] + R[r, 0] * x + R[r, 1] * y + R[r, 2] * z)
    for j in range(arm.motor.size):
        driven = j if arm.motor[j] < 0 else arm.motor[j]
        kinetic += 0.5 * arm.rotor[j] * qd[driven] * qd[driven]
    out[0], out[1], out[2] = kinetic, stored_in_springs(arm, q), height
