"""
Logs of an accelerometer at the tool during a move and after its stop, of arms in MuJoCo.

The joints are elastic: a spring and a damper between the motor, which follows its set points, and
the link. The true modes are eigenvalues of MuJoCo's inertia matrix and of finite differences of
its forces, at the equilibrium after the stop.
"""

from functools import cache
from typing import NamedTuple
from xml.etree import ElementTree

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import eig

from flex_robot_sim.simulation.sensor_errors import limited
from flex_robot_sim.util.share import share_folder

STEP = 2.5e-4  # of the integration                                               [s]
REST, RING = 0.5, 4.0  # before and after the move                                 [s]
NOISE = 2e-3 * 9.81  # density of the accelerometer                 [m/s2/sqrt(Hz)]
RANGE, BITS = 8 * 9.81, 12  # of the accelerometer                               [m/s2]
JITTER = 0.01  # of the sampling times, standard deviation over the period
MAX_FREQUENCY = 40.0  # of modes that count                                        [Hz]
PLANAR = """<mujoco><worldbody><body name="upper">
<joint name="shoulder" axis="0 0 1"/><inertial pos="0.2 0 0" mass="4"
 diaginertia="0.01 0.06 0.06"/>
<body name="fore" pos="0.4 0 0"><joint name="elbow" axis="0 0 1"/>
<inertial pos="0.17 0 0" mass="3" diaginertia="0.01 0.04 0.04"/>
<body name="tool" pos="0.35 0 0"/></body></body></worldbody></mujoco>"""


class Plant(NamedTuple):
    """An arm in MuJoCo with elastic joints."""

    model: mujoco.MjModel
    stiffness: np.ndarray  # (n,)                                             [N m/rad]
    damping: np.ndarray  # (n,)                                             [N m s/rad]


class StopLog(NamedTuple):
    """Samples of the accelerometer, and the true modes."""

    times: np.ndarray  # (k,)                                                       [s]
    samples: np.ndarray  # (k, 3)                                                [m/s2]
    end: float  # of the move                                                       [s]
    frequencies: np.ndarray  # (m,), largest amplitude first                       [Hz]
    ratios: np.ndarray  # (m,)
    amplitudes: np.ndarray  # (m,), in the samples at the end of the move        [m/s2]


def stop_log(case):
    """Return the StopLog of one of many random stops, numbered by `case`."""
    rng = np.random.default_rng(1000 + case)
    plant = _planar(rng) if case % 4 == 3 else _ur5(rng)
    start = rng.uniform(-1.0, 1.0, plant.model.nv)
    turn = rng.uniform(0.15, 0.5, plant.model.nv) * rng.choice([-1, 1], plant.model.nv)
    duration, is_smooth = rng.uniform(0.3, 0.6), case % 2 == 0
    times, clean = _simulated(plant, start, turn, duration, is_smooth)
    end = REST + duration
    frequencies, ratios, poles = true_modes(plant, start + turn)
    amplitudes = _amplitudes(times[times >= end] - end, clean[times >= end], poles)
    rate = (100.0, 200.0, 400.0, 1000.0)[case // 4 % 4]
    counted = np.flatnonzero((frequencies < min(MAX_FREQUENCY, 0.4 * rate)) & (ratios < 0.3))
    order = counted[np.argsort(-amplitudes[counted])]
    stamps, samples = _measured(times, clean, rate, rng)
    return StopLog(stamps, samples, end, frequencies[order], ratios[order], amplitudes[order])


@cache
def _ur5_text():
    robot = ElementTree.parse(share_folder() / 'examples' / 'ur5.urdf').getroot()
    for link in robot.iterfind('link'):  # meshes are irrelevant
        for part in (*link.findall('visual'), *link.findall('collision')):
            link.remove(part)
    return ElementTree.tostring(robot, 'unicode')


def _ur5(rng):
    """Return a UR5 with a tool of 0.5 to 3 kg; its springs are not public and drawn at random."""
    stiffness = np.array([1.2e4, 1.2e4, 8e3, 4e3, 4e3, 3e3]) * rng.uniform(0.5, 1.5, 6)
    return _plant(_ur5_text(), rng.uniform(0.5, 3.0), stiffness, [8, 8, 15, 60, 80, 100], rng)


def _planar(rng):
    """Return an arm with two links that turn in the horizontal plane."""
    stiffness = np.array([6e3, 3e3]) * rng.uniform(0.5, 1.5, 2)
    return _plant(PLANAR, rng.uniform(0.3, 2.0), stiffness, [8, 20], rng)


def _plant(text, mass, stiffness, corners, rng):
    spec = mujoco.MjSpec.from_string(text)
    tool = spec.body('tool')
    size = 0.12**2 / 6  # of a cube
    tool.mass, tool.inertia, tool.explicitinertial = mass, 3 * [mass * size], True
    tool.add_site(name='imu')
    spec.add_sensor(
        name='imu',
        type=mujoco.mjtSensor.mjSENS_ACCELEROMETER,
        objtype=mujoco.mjtObj.mjOBJ_SITE,
        objname='imu',
    )
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    ratios = rng.uniform(0.005, 0.03, len(stiffness))
    damping = 2 * ratios * stiffness / (2 * np.pi * np.array(corners))
    model = spec.compile()
    model.jnt_stiffness[:], model.dof_damping[:] = stiffness, damping
    model.qpos_spring[:] = 0.0
    return Plant(model, stiffness, damping)


def _simulated(plant, start, turn, duration, is_smooth):
    """Return times (k,) and the exact signal of the accelerometer (k, 3)."""
    data = mujoco.MjData(plant.model)
    data.qpos[:] = equilibrium(plant, start)
    times = STEP * np.arange(int((REST + duration + RING) / STEP))
    shares, rates = _profile((times - REST) / duration, is_smooth)
    samples = np.empty((times.size, 3))
    for row, (share, rate) in enumerate(zip(shares, rates)):
        motor, speed = start + share * turn, rate / duration * turn
        data.qfrc_applied[:] = plant.stiffness * motor + plant.damping * speed
        mujoco.mj_step(plant.model, data)
        samples[row] = data.sensordata[:3]
    return times, samples


def _profile(u, is_smooth):
    """Return share of the path and its rate per duration: of fifth order, or a trapezoid."""
    u = np.clip(u, 0.0, 1.0)
    if is_smooth:
        return 10 * u**3 - 15 * u**4 + 6 * u**5, 30 * u**2 - 60 * u**3 + 30 * u**4
    peak, part = 4 / 3, 0.25  # velocity, and share of the time to reach it
    rate = peak * np.clip(np.minimum(u, 1 - u) / part, 0.0, 1.0)
    first, last = np.minimum(u, part), np.maximum(u - 1 + part, 0.0)
    middle = np.clip(u - part, 0.0, 1 - 2 * part)
    return peak * (first**2 / (2 * part) + middle + last - last**2 / (2 * part)), rate


def equilibrium(plant, motor):
    """Return the joint positions at rest (n,), with the motors at `motor` (n,)."""
    data, q = mujoco.MjData(plant.model), np.array(motor)
    for _ in range(30):
        data.qpos[:], data.qvel[:] = q, 0.0
        mujoco.mj_forward(plant.model, data)
        q = motor - data.qfrc_bias / plant.stiffness
    return q


def true_modes(plant, motor):
    """Return frequencies [Hz], damping ratios and poles of oscillating modes at rest."""
    model, data, q = plant.model, mujoco.MjData(plant.model), equilibrium(plant, motor)
    n, step = model.nv, 1e-5

    def bias(position):
        data.qpos[:], data.qvel[:] = position, 0.0
        mujoco.mj_forward(model, data)
        return data.qfrc_bias.copy()

    weight = np.column_stack(
        [(bias(q + row) - bias(q - row)) / (2 * step) for row in step * np.eye(n)]
    )
    bias(q)
    mass = np.empty((n, n))
    for column, unit in zip(mass, np.eye(n)):
        mujoco.mj_mulM(model, data, column, unit)
    zero, unit = np.zeros((n, n)), np.eye(n)
    A = np.block([[zero, unit], [-np.diag(plant.stiffness) - weight, -np.diag(plant.damping)]])
    poles = eig(A, np.block([[unit, zero], [zero, mass]]), right=False)
    poles = poles[poles.imag > 1e-6]
    return np.abs(poles) / (2 * np.pi), -poles.real / np.abs(poles), poles


def _amplitudes(times, clean, poles):
    """Return amplitudes (m,) at time 0 of free vibration with known poles."""
    waves = np.exp(times[:, None] * poles)
    basis = np.hstack([waves.real, waves.imag, np.ones((times.size, 1))])
    found = np.linalg.lstsq(basis, clean, rcond=None)[0]
    m = poles.size
    return np.sqrt((found[:m] ** 2 + found[m : 2 * m] ** 2).sum(axis=1))


def _measured(times, clean, rate, rng):
    """Return stamps (k,) and samples (k, 3) of a sensor with noise, jitter and few bits."""
    stamps = np.arange(0.001, times[-1] - 0.002, 1 / rate)
    taken = np.maximum(stamps + rng.normal(0.0, JITTER / rate, stamps.size), 0.0)
    samples = CubicSpline(times, clean)(taken)
    samples += rng.normal(0.0, NOISE * np.sqrt(rate / 2), samples.shape)
    return stamps, limited(samples, RANGE, BITS)
