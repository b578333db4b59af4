"""A joint that runs into its stop."""

import pytest
from arms import beam, flexibility, joint, link, robot

from flex_robot_sim import read_description
from flex_robot_sim.assembly import build_arm
from flex_robot_sim.settings import SimulationSettings
from flex_robot_sim.simulation import Simulation


@pytest.mark.parametrize('iterations', [2, 3, 4, 8])
@pytest.mark.parametrize('step', [1e-3, 2e-4])
def test_a_flexible_arm_gains_no_energy_at_its_stop(iterations, step):
    arm = build_arm(read_description(robot(
        joint(kind='revolute', inside='<axis xyz="0 1 0"/><limit lower="-9" upper="0.5" '
              'effort="1" velocity="1"/>'), link(),
        joint('mount', 'fixed', 'arm', 'tool', '<origin xyz="1 0 0"/>'),
        link('tool', 1.0, '0.05 0 0.02', (2e-3, 3e-3, 4e-3)),
        flexibility(beam('<section EIy="60" EIz="90" GJ="10"/>'
                         '<modes bending_y="2" bending_z="2" torsion="1"/>')))))
    simulation = Simulation(arm, SimulationSettings(time_step=step, iterations=iterations))
    simulation.advance_to(1.0)
    energy = simulation.energy()
    # it falls with 10 J; a step cut in two by the stop misses a share of that
    assert abs(energy.balance) < 0.1
