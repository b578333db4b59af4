"""
Energy of an arm: kinetic, strain and potential.

Every step needs it. With a free base, the same pass over the bodies gives the momentum, too.
"""

from flex_robot_sim.dynamics.body_sums import sum_bodies
from flex_robot_sim.dynamics.constraints.compliance import compliance_energy
from flex_robot_sim.dynamics.contact.gaps import set_contact_gaps
from flex_robot_sim.dynamics.forces import spring_energy
from flex_robot_sim.dynamics.joint_laws.maxwell_slip import slip_energy
from flex_robot_sim.dynamics.kinematics import set_twists
from flex_robot_sim.jit.compiled import compiled


@compiled
def set_energies(arm, q, qd, work, out):
    """
    Kinetic energy, strain energy, and potential energy of gravity (3,) [J].

    :param arm: ArmModel with n coordinates.
    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    """
    set_twists(arm, q, qd, work)
    set_energies_of_motion(arm, q, qd, work, out)


@compiled
def set_energies_of_motion(arm, q, qd, work, out):
    """
    Energies as `set_energies`, for poses in the base frame and twists that are set.

    With a free base, work.composite receives mass, inertia and momentum; see `sum_bodies`.
    """
    if arm.base.shape[0] > 0:
        kinetic, potential = sum_with_momentum(arm, q, qd, work)
    else:
        kinetic, potential = sum_bodies(arm, q, qd, False, work)
    for j in range(arm.motor.size):
        driven = j if arm.motor[j] < 0 else arm.motor[j]
        kinetic += 0.5 * arm.rotor[j] * qd[driven] * qd[driven]
    strain = spring_energy(arm, q) + slip_energy(arm, work)
    if arm.constraint_kind.size > 0:
        strain += compliance_energy(arm, work)
    if arm.contact_kind.size > 0:
        strain += set_contact_gaps(arm, work)
    out[0], out[1], out[2] = kinetic, strain, potential


@compiled
def sum_with_momentum(arm, q, qd, work):
    """Energies of `sum_bodies`, with the momentum."""
    return sum_bodies(arm, q, qd, True, work)
