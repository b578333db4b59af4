"""Free arms in flight: their energy never rises in a step, and their momentum stays."""

import numpy as np
import pytest
from compare import arm_of
from contact_arms import grasping_satellite
from free_arms import SPACE_ARM, freed, largest_rise, violent
from random_arms import random_robot
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs

WEIGHTLESS = (0.0, 0.0, 0.0)
INERTIA = np.diag([0.3, 0.4, 0.5])
BODY = """<robot name="body"><link name="world"/><link name="body">
<inertial><origin xyz="0.1 0.05 -0.02"/><mass value="2"/>
<inertia ixx="0.3" iyy="0.4" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="free" type="floating"><parent link="world"/><child link="body"/></joint></robot>"""


@pytest.mark.parametrize(
    'twist',
    [
        [3, 5, 2, 0.1, 0.2, 0.3],
        [30, 50, 20, 0, 0, 0],  # 3.4 degrees in a step
        [0, 20, 1e-6, 0, 0, 0],  # about the unstable axis
        [0, 0, 20, 0.5, 0, 0],  # no turn changes the energy
    ],
)
@pytest.mark.parametrize('steps', [2000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_tumbling_body_keeps_energy_and_angular_momentum(twist, steps):
    sim = frs.Simulation(arm_of(BODY, gravity=WEIGHTLESS))
    sim.set_state(base_twist=twist)
    start, energies = INERTIA @ twist[:3], []
    turn = Rotation.from_quat(sim.base_pose[3:])
    for _ in range(steps // 10):
        sim.step(10)
        w = sim.base_twist[:3]
        energies.append(0.5 * w @ INERTIA @ w)
    expected = 0.5 * np.dot(twist[:3], start)
    # rounding of a step does not add up, because each step knows the energy that is due
    assert abs(np.array(energies) - expected).max() < 1e-13 * expected
    change = Rotation.from_quat(sim.base_pose[3:]).apply(INERTIA @ w) - turn.apply(start)
    assert abs(change).max() < 1e-12 * np.linalg.norm(start)


def test_energy_never_rises_where_links_whip_and_steps_are_too_long():
    sim = violent(arm_of(SPACE_ARM, gravity=WEIGHTLESS), 30.0, 2e-3)
    rise, change = largest_rise(sim, 800)
    assert sim.hard_steps[0] > 0  # subdivided
    assert rise < 1e-12 and change < 1e-12


def test_energy_of_the_space_station_never_rises_in_violent_motion():
    arm = frs.load('space_station')
    rise, change = largest_rise(violent(arm, 1.0, 1e-2), 200)
    assert rise < 1e-12 and change < 1e-12


@pytest.mark.parametrize('kind', ['floating', 'planar'])
@pytest.mark.parametrize(
    ('seeds', 'rate', 'steps'),
    [
        ((8, 12), 20.0, 100),
        pytest.param(range(20), 20.0, 300, marks=pytest.mark.long),
        # at higher rates, bends are so large that an inertia of second order is not positive
        pytest.param(range(20), 10.0, 1000, marks=pytest.mark.long),
    ],
)
def test_energy_of_random_trees_never_rises(kind, seeds, rate, steps):
    for seed in seeds:
        arm = arm_of(freed(random_robot(seed, 5, damping=seed % 2 == 1), kind), gravity=WEIGHTLESS)
        rise, change = largest_rise(violent(arm, rate, 4e-3, seed), steps)
        assert rise < 1e-12
        assert kind == 'planar' or change < 1e-12  # the plane takes momentum


def test_a_prescribed_drive_of_an_arm_with_contacts_exchanges_no_momentum():
    sim = frs.Simulation(frs.load(grasping_satellite(), gravity=WEIGHTLESS))
    sim.prescribe('shoulder', lambda t: (1.0 - np.cos(5.0 * t), 5.0 * np.sin(5.0 * t)))
    sim.set_state(base_twist=[-0.1, 0.5, 0.2, 0.0, 0.0, 0.0])
    momentum = sim.momentum()
    sim.step(300)
    assert abs(sim.momentum() - momentum).max() <= 1e-12 * abs(momentum).max()
