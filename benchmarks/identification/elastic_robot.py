"""
Logs of a robot with elastic joints in MuJoCo, and a description of it with wrong values.

The robots are those of `settling_plants.py`. Each of their joints is a motor and, behind it, a
spring with a damper. All of it is random: pose, stiffness, damping, friction, rotors and motion.
"""

from copy import deepcopy
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import mujoco
import numpy as np

import flex_robot_sim as frs
from benchmarks.identification.bench_log import LOG_PERIOD
from benchmarks.settling_plants import document
from flex_robot_sim.identification.log_file import Column, Log

STEP = 1.25e-4  # of MuJoCo [s]
CREEP_RATE = 0.02  # at which friction reaches its level [rad/s]
COUNTS = 2**17  # of an encoder, in a turn
SERVO_HZ = 2.0
REST = 0.3  # before the motion [s]
FREQUENCIES_HZ = np.geomspace(0.15, 4.0, 8)  # of the motion
QUANTITIES = 'stiffness', 'damping', 'coulomb', 'viscous'


class ElasticRobot:
    """A robot in MuJoCo whose motors move its joints through springs."""

    def __init__(self, name, random):
        """Build the robot with random parameters at a random pose, in equilibrium."""
        self.document, self.names = document(name)
        self.model = _model(self.document, self.names)
        self.data = mujoco.MjData(self.model)
        self.motors, self.gears = (
            np.array([self.model.joint(name + end).dofadr[0] for name in self.names])
            for end in ('', '_gear')
        )
        n, data = len(self.names), self.data
        self.pose = random.uniform(-1.0, 1.0, n)
        data.qpos[self.motors] = self.pose
        mujoco.mj_forward(self.model, data)
        inertia = np.zeros((self.model.nv, self.model.nv))
        for row, unit in zip(inertia, np.eye(self.model.nv)):
            mujoco.mj_mulM(self.model, data, row, unit)
        links = np.maximum(np.diag(inertia)[self.gears], 1e-3)
        self.rotors = random.uniform(0.3, 1.0, n) * links
        stiffness = links * (2 * np.pi * random.uniform(6.0, 20.0, n)) ** 2
        rate = 2 * np.pi * SERVO_HZ
        self.gains = (links + self.rotors) * rate**2, 1.4 * (links + self.rotors) * rate
        coulomb = random.uniform(0.01, 0.025, n) * self.gains[0]
        viscous = random.uniform(0.3, 0.8, n) * coulomb
        damping = 0.04 * np.sqrt(stiffness * links)
        self.values = dict(zip(QUANTITIES, (stiffness, damping, coulomb, viscous)))
        self.model.dof_armature[self.motors] = self.rotors
        self.model.jnt_stiffness[self.gears] = stiffness
        self.model.dof_damping[self.gears] = damping
        self.model.dof_damping[self.motors] = viscous
        for _ in range(20):
            mujoco.mj_forward(self.model, data)
            data.qpos[self.gears] = -data.qfrc_bias[self.gears] / stiffness

    def recorded(self, random, seconds, name):
        """Return the Log of sums of sines, which begin at rest."""
        data, per_row, n = self.data, round(LOG_PERIOD / STEP), len(self.names)
        rates = 2 * np.pi * FREQUENCIES_HZ[:, None] * random.uniform(0.8, 1.2, (8, n))
        phases = random.uniform(0, 2 * np.pi, (8, n))
        sizes = 0.2 * (rates / rates[0]) ** -0.6
        count = round(seconds / LOG_PERIOD)
        rows, efforts = np.empty((count + 1, 2 * n)), np.empty((count * per_row, n))
        before = data.qfrc_bias[self.motors].copy()
        for k in range(count * per_row + 1):
            motor = data.qpos[self.motors]
            if k % per_row == 0:
                rows[k // per_row] = np.concatenate([motor, motor + data.qpos[self.gears]])
            if k == count * per_row:
                break
            t = max(k * STEP - REST, 0.0)
            waves = (sizes * np.sin(rates * t + phases)).sum(axis=0)
            error = self.pose + (1 - np.exp(-((t / 0.7) ** 3))) * waves - motor
            rate = data.qvel[self.motors]
            efforts[k] = self.gains[0] * error - self.gains[1] * rate
            efforts[k] += data.qfrc_bias[self.motors]
            friction = self.values['coulomb'] * np.clip(rate / CREEP_RATE, -1, 1)
            # a force acts from half a step before its sample to half a step after it
            data.qfrc_applied[self.motors] = 0.5 * (before + efforts[k]) - friction
            before = efforts[k]
            mujoco.mj_step(self.model, data)
        # mean of the period around each sample
        half = per_row // 2
        padded = np.concatenate([np.repeat(efforts[:1], half, 0), efforts, efforts[-half:]])
        means = padded.reshape(count + 1, per_row, n).mean(axis=1)
        turn, times = 2 * np.pi / COUNTS, LOG_PERIOD * np.arange(count + 1)
        rows = turn * np.round(rows / turn)
        columns = {}
        for j, joint in enumerate(self.names):
            for kind, column in (('motor', rows[:, j]), ('position', rows[:, n + j])):
                columns[f'{kind}/{joint}'] = Column(times, column)
            columns[f'effort/{joint}'] = Column(times, means[:, j])
        return Log(name, columns, [])

    def described(self, factors):
        """Return the ArmModel whose parameters are off by factors (joints,), by quantity."""
        robot = deepcopy(self.document)
        words = ElementTree.SubElement(robot, 'flexibility')
        wrong = {name: factors[name] * values for name, values in self.values.items()}
        for j, name in enumerate(self.names):
            words.append(
                ElementTree.Element(
                    'joint',
                    name=name,
                    stiffness=f'{wrong["stiffness"][j]:.9g}',
                    damping=f'{wrong["damping"][j]:.9g}',
                    rotor_inertia=f'{self.rotors[j]:.9g}',
                    creep_rate=f'{CREEP_RATE:g}',
                )
            )
            joint = next(row for row in robot.iterfind('joint') if row.get('name') == name)
            for part in joint.findall('dynamics'):
                joint.remove(part)
            viscous, coulomb = (f'{wrong[word][j]:.9g}' for word in ('viscous', 'coulomb'))
            ElementTree.SubElement(joint, 'dynamics', damping=viscous, friction=coulomb)
            joint.set('type', 'continuous')  # the plant has no stops
            limit = joint.find('limit')
            limit.attrib = {'effort': '1e6', 'velocity': limit.get('velocity')}
        with TemporaryDirectory() as folder:
            path = f'{folder}/robot.urdf'
            ElementTree.ElementTree(robot).write(path)
            return frs.load(path)

    @property
    def truth(self):
        """True values by path."""
        return {
            f'{name}.{quantity}': float(values[j])
            for quantity, values in self.values.items()
            for j, name in enumerate(self.names)
        }


def _model(robot, names):
    """Return the MuJoCo model of a URDF; a body without mass stands between motor and gear."""
    robot = deepcopy(robot)
    for joint in [row for row in robot.iterfind('joint') if row.get('name') in names]:
        name, child = joint.get('name'), joint.find('child')
        rotor = ElementTree.SubElement(robot, 'link', name=f'{name}_rotor')
        inertial = ElementTree.SubElement(rotor, 'inertial')
        ElementTree.SubElement(inertial, 'mass', value='1e-6')
        moments = {'ixx': '1e-9', 'iyy': '1e-9', 'izz': '1e-9', 'ixy': '0', 'ixz': '0', 'iyz': '0'}
        ElementTree.SubElement(inertial, 'inertia', moments)
        gear = ElementTree.SubElement(robot, 'joint', name=f'{name}_gear', type='continuous')
        ElementTree.SubElement(gear, 'parent', link=f'{name}_rotor')
        ElementTree.SubElement(gear, 'child', link=child.get('link'))
        ElementTree.SubElement(gear, 'axis', xyz=joint.find('axis').get('xyz'))
        child.set('link', f'{name}_rotor')
        joint.set('type', 'continuous')
        for word in ('dynamics', 'limit', 'safety_controller'):
            for part in joint.findall(word):
                joint.remove(part)
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(robot, 'unicode'))
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return spec.compile()
