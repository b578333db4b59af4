"""
Arms whose tool comes to rest after set points, by other programs or formulations than the package.

UR5 and Franka Research 3 are models in MuJoCo whose joints are springs and dampers. The arm with
flexible links is simulated by the formulation `wrench_dae`, which shares no dynamics with the
recursion. Errors of the stiffness and payloads are unknown to the shapers.
"""

from __future__ import annotations

from functools import cache
from tempfile import TemporaryDirectory
from typing import NamedTuple
from xml.etree import ElementTree

import mujoco
import numpy as np

import flex_robot_sim as frs
from benchmarks.stop_logs import Plant, equilibrium
from flex_robot_sim.model.arm_model import with_stiffness
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.share import share_folder

STEP = 2.5e-4  # of MuJoCo                                                      [s]
DAE_STEP = 8e-3  # of the formulation                                             [s]
WINDOW = 0.6  # after the set points                                            [s]
SAMPLE = 4  # steps of MuJoCo between two samples of the tool
RATIO = 0.01  # of damping, at the frequencies below
SIZE2 = 0.12**2 / 6  # inertia of a cubic payload over its mass                   [m2]


class Robot(NamedTuple):
    """An arm with elastic joints, of which stiffness and damping are made up."""

    file: str
    tool: str
    left_out: tuple[str, ...]  # joints of a gripper
    stiffness: tuple[float, ...]  # [N m/rad]
    corners: tuple[float, ...]  # frequencies at which the joints have RATIO [Hz]


ROBOTS = {
    'ur5': Robot(
        'examples/ur5.urdf',
        'tool',
        (),
        (1.2e4, 1.2e4, 8e3, 4e3, 4e3, 3e3),
        (8, 8, 15, 60, 80, 100),
    ),
    'fr3': Robot(
        'test/data/robots/fr3.urdf',
        'fr3_hand_tcp',
        ('fr3_finger_joint1', 'fr3_finger_joint2'),
        (1.0e4, 1.0e4, 9e3, 9e3, 4e3, 4e3, 3e3),
        (8, 8, 10, 12, 40, 40, 80),
    ),
}


def damping(robot):
    """Damping of the joints (n,) [N m s/rad]."""
    return 2 * RATIO * np.array(robot.stiffness) / (2 * np.pi * np.array(robot.corners, float))


def document(name):
    """Root of the URDF without meshes and gripper, and names of its joints."""
    robot = ROBOTS[name]
    root = ElementTree.parse(share_folder() / robot.file).getroot()
    for part in [*root.iterfind('flexibility'), *root.iterfind('transmission')]:
        root.remove(part)
    for link in root.iterfind('link'):
        for part in (*link.findall('visual'), *link.findall('collision')):
            link.remove(part)
    for joint in root.findall('joint'):
        if joint.get('name') in robot.left_out:
            child = joint.findall('child')[0].get('link')
            root.remove(joint)
            root.remove(next(link for link in root.iter('link') if link.get('name') == child))
    names = [j.get('name') for j in root.iterfind('joint') if j.get('type') != 'fixed']
    return root, names


@cache
def arm(name):
    """ArmModel of a robot with elastic joints, from its URDF."""
    if name not in ROBOTS:
        return frs.load(name)
    robot = ROBOTS[name]
    root, names = document(name)
    words = ElementTree.SubElement(root, 'flexibility')
    for joint, k, d in zip(names, robot.stiffness, damping(robot)):
        ElementTree.SubElement(
            words,
            'joint',
            {
                'name': joint,
                'stiffness': f'{k:g}',
                'damping': f'{d:.6g}',
                'rotor_inertia': '1e-4',
                'gear_ratio': '100',
            },
        )
    with TemporaryDirectory() as folder:
        path = f'{folder}/{name}.urdf'
        ElementTree.ElementTree(root).write(path)
        return frs.load(path)


def tool(name):
    """Link with the payload."""
    return ROBOTS[name].tool if name in ROBOTS else arm(name).tool


def plant(name, error, mass):
    """Return an arm whose frequencies are off by an error, with a payload [kg]."""
    if name in ROBOTS:
        return ElasticJoints(name, error, mass)
    return FlexibleLinks(name, error, mass)


class ElasticJoints:
    """A robot in MuJoCo."""

    def __init__(self, name, error, mass):
        """Build the model."""
        robot = ROBOTS[name]
        root, _ = document(name)
        spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, 'unicode'))
        body = spec.body(robot.tool)
        body.explicitinertial = True
        body.mass, body.inertia = max(mass, 1e-6), 3 * [max(mass, 1e-6) * SIZE2]
        body.add_site(name='tool')
        spec.option.timestep = STEP
        spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        model = spec.compile()
        scale = (1 + error) ** 2
        model.jnt_stiffness[:] = scale * np.array(robot.stiffness)
        model.dof_damping[:] = scale * damping(robot)
        model.qpos_spring[:] = 0.0
        self._plant = Plant(model, model.jnt_stiffness.copy(), model.dof_damping.copy())
        self._tool = model.site('tool').id

    def distances(self, positions, period):
        """
        Distances of the tool from its rest after set points, and the period of the samples.

        :param positions: set points (k, joints) [rad]; period: between them [s].
        """
        model, data = self._plant.model, mujoco.MjData(self._plant.model)
        data.qpos[:] = equilibrium(self._plant, positions[-1])
        mujoco.mj_forward(model, data)
        rest = data.site_xpos[self._tool].copy()
        data.qpos[:] = equilibrium(self._plant, positions[0])
        data.qvel[:] = 0.0
        times = np.arange(0.0, period * (len(positions) - 1) + WINDOW, STEP)
        known = period * np.arange(len(positions))
        path = np.column_stack([np.interp(times, known, column) for column in positions.T])
        forces = self._plant.stiffness * path + self._plant.damping * np.gradient(
            path, STEP, axis=0
        )
        places = []
        for row, force in enumerate(forces):
            data.qfrc_applied[:] = force
            mujoco.mj_step(model, data)
            if row % SAMPLE == 0:
                places.append(data.site_xpos[self._tool].copy())
        return np.linalg.norm(np.array(places) - rest, axis=1), SAMPLE * STEP


class FlexibleLinks:
    """A shipped robot by the formulation `wrench_dae`."""

    def __init__(self, name, error, mass):
        """Build the model."""
        self._arm = with_stiffness(
            frs.with_payload(arm(name), arm(name).tool, mass), (1 + error) ** 2
        )

    def distances(self, positions, period):
        """Return the same as of ElasticJoints."""
        arm, step = self._arm, DAE_STEP
        settings = SimulationSettings(time_step=step, formulation='wrench_dae')
        simulation = frs.Simulation(arm, settings)
        simulation.set_state(q=frs.equilibrium(arm, positions[0]).q)
        rest = frs.pose(arm, frs.equilibrium(arm, positions[-1]).q, link=arm.tool)[:3, 3]
        times = step * np.arange(int((period * (len(positions) - 1) + WINDOW) / step))
        known = period * np.arange(len(positions))
        path = np.column_stack([np.interp(times, known, column) for column in positions.T])
        rates = np.gradient(path, step, axis=0)
        for j, name in enumerate(arm.joint_names):

            def along(t, j=j):
                k = min(round(t / step), len(path) - 1)
                return path[k, j], rates[k, j]

            simulation.prescribe(name, along)
        places = []
        for _ in times[1:]:
            simulation.step()
            places.append(simulation.pose(arm.tool)[:3, 3])
        return np.linalg.norm(np.array(places) - rest, axis=1), step
