"""Arms with a joint controller, for tests."""

import numpy as np
from arms import joint, link, robot

from flex_robot_sim import read_description
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.motion.profile_settings import ProfileSettings

INERTIA = 0.4  # of the rigid arm about its hinge          [kg m2]
POSE = np.array([0.5, 0.8, -0.6])
NOTHING = ControllerSettings(feed_forward='none')
SWING = ProfileSettings(
    profile='swing',
    profile_start=0.0,
    profile_duration=0.5,
    profile_dwell=0.0,
    profile_poses=(0.5, 0.8, -0.6, 0.0, 0.5, 0.0),
)


def rigid_arm(limits='', count=1):
    """Return the ArmModel of hinges about z without gravity, each with INERTIA by itself."""
    parts = []
    for i in range(count):
        parts += [
            joint(
                f'hinge_{i}',
                parent=f'arm_{i - 1}' if i else 'base',
                child=f'arm_{i}',
                inside=f'<axis xyz="0 0 1"/>{limits}',
            ),
            link(f'arm_{i}', 1.0, '0 0 0', (INERTIA,) * 3),
        ]
    return build_arm(read_description(robot(*parts)), gravity=(0.0, 0.0, 0.0))


def seven_joints():
    """Return a typical rigid laboratory arm with seven joints, without rotors."""
    parts, axes = [], ('0 0 1', '0 1 0') * 3 + ('0 0 1',)
    masses = (4.0, 4.0, 3.0, 3.0, 2.0, 1.5, 0.6)
    lengths = (0.33, 0.1, 0.3, 0.1, 0.3, 0.1, 0.1)
    for i, (axis, mass, length) in enumerate(zip(axes, masses, lengths)):
        height = sum(lengths[max(i - 1, 0) : i])
        parts += [
            joint(
                f'joint_{i}',
                'revolute',
                f'link_{i - 1}' if i else 'base',
                f'link_{i}',
                f'<origin xyz="0.02 0 {height}"/><axis xyz="{axis}"/>'
                '<limit lower="-2" upper="2" effort="90" velocity="2"/>',
            ),
            link(f'link_{i}', mass, f'0.01 0.02 {length}', (0.02 * mass,) * 3),
        ]
    return build_arm(read_description(robot(*parts)))


def feed(controller, simulation, until):
    """Close the loop until the simulated time `until` [s]; return time, position and effort."""
    rows = []
    while simulation.time < until - 1e-9:
        state = (
            simulation.position,
            simulation.velocity,
            simulation.motor_position,
            simulation.motor_velocity,
        )
        simulation.effort = controller.update(simulation.time, *state)
        rows.append([simulation.time, state[0][0], simulation.effort[0]])
        simulation.step()
    return np.array(rows).T


def started(arm, settings=NOTHING, profile=None, position=None, now=0.0):
    """Return a controller after one joint state at rest."""
    controller = JointController(arm, settings, profile)
    see(controller, now, position)
    return controller


def see(controller, now, position=None):
    """Pass a joint state at rest; return the efforts."""
    n = len(controller.joint_names)
    position = np.zeros(n) if position is None else np.asarray(position, float)
    return controller.update(now, position, np.zeros(n), position, np.zeros(n))
