"""Gears and DC motors of public robots, against another integrator of Pinocchio's dynamics."""

import numpy as np
import pytest
from gear_reference import harmonic_sum, spring_torque
from public_robots import plain_robot
from rigid_robot import RigidRobot
from scipy.integrate import solve_ivp

import flex_robot_sim as frs

pin = pytest.importorskip('pinocchio')

ROBOTS = {'kinova': 'kinova_description/robots/kinova.urdf', 'z1': 'z1_description/urdf/z1.urdf'}
GRAVITY = (1.0, -2.0, -9.0)
RATIO = 50.0
K, RESISTANCE, VOLTAGE, CURRENT = 0.05, 0.8, 24.0, 12.0  # of the DC motors


class Robot:
    """A robot in both libraries, with drives from `drive`, and a random state."""

    def __init__(self, name, drive, seed=0):
        text = plain_robot(ROBOTS[name])
        self.names = frs.load(text).joint_names
        self.rng = rng = np.random.default_rng(seed)
        self.q = rng.uniform(-1.0, 1.0, len(self.names))
        self.rigid = RigidRobot(pin, text, self.names, GRAVITY)
        self.drives = [drive(rng, J) for J in self.rigid.inertias(self.q)]
        parts = ''.join(xml.format(name=one) for one, (xml, _) in zip(self.names, self.drives))
        whole = text.replace('</robot>', f'<flexibility>{parts}</flexibility></robot>')
        self.arm = frs.load(whole, gravity=GRAVITY)
        self.drives = [numbers for _, numbers in self.drives]

    def simulation(self, **settings):
        """Return a Simulation whose drives have no limits."""
        return frs.Simulation(self.arm, frs.SimulationSettings(drive_limits=False, **settings))


def numbers(values):
    return ' '.join(map(str, np.ravel(values)))


def gear(rng, inertia):
    """A gear whose link vibrates with about 15 Hz: text and laws; torques in units of the link."""
    k = inertia * (2 * np.pi * 15.0) ** 2
    laws = {
        'stiffness': k * np.array([1.0, 2.0, 3.0]),
        'at': k * np.array([1e-3, 4e-3]),
        'backlash': 2e-3,
        'damping': 0.02 * np.sqrt(k * inertia),
    }
    error = [(1e-3, 0.4, rng.uniform(0, 6)), (3e-4, 1.3, rng.uniform(0, 6))]
    cogging = [(2e-3 * k / RATIO, 0.3, rng.uniform(0, 6))]
    ripple = [(0.05, 0.5, rng.uniform(0, 6))]
    rotor = 1.5 * inertia / RATIO**2
    xml = (
        f'<joint name="{{name}}" rotor_inertia="{rotor}" gear_ratio="{RATIO}" '
        f'stiffness="{numbers(laws["stiffness"])}" at="{numbers(laws["at"])}" '
        f'backlash="{laws["backlash"]}" damping="{laws["damping"]}" '
        f'kinematic_error="{numbers(error)}" cogging="{numbers(cogging)}" '
        f'torque_ripple="{numbers(ripple)}"/>'
    )
    # per turn of the motor: per turn of the joint, and the torque at the joint
    laws['kinematic_error'] = [(a, RATIO * c, p) for a, c, p in error]
    laws['cogging'] = [(RATIO * a, RATIO * c, p) for a, c, p in cogging]
    laws['torque_ripple'] = [(a, RATIO * c, p) for a, c, p in ripple]
    return xml, {**laws, 'rotor': RATIO**2 * rotor}


def gear_forces(laws, link, rotor, link_rate, rotor_rate, effort):
    """Torque on the link, and acceleration of the rotor in units of the joint."""
    ratio = 1.0 - harmonic_sum(rotor, laws['kinematic_error'], 1)
    twist = rotor - link - harmonic_sum(rotor, laws['kinematic_error'])
    torque = spring_torque(twist, laws['stiffness'], laws['at'], laws['backlash'])
    torque += laws['damping'] * (ratio * rotor_rate - link_rate)
    if abs(twist) <= laws['backlash'] / 2 or torque * twist < 0.0:
        torque = 0.0
    motor = effort * (1.0 + harmonic_sum(rotor, laws['torque_ripple']))
    motor += harmonic_sum(rotor, laws['cogging']) - ratio * torque
    return torque, motor / laws['rotor']


@pytest.mark.parametrize('name', ROBOTS)
def test_gears_of_a_robot_move_as_in_another_integrator(name):
    robot = Robot(name, gear)
    arm, n, rng = robot.arm, len(robot.names), robot.rng
    J, end = np.array([one['rotor'] for one in robot.drives]), 0.04
    q, motor = robot.q, robot.q + rng.uniform(-4e-3, 4e-3, n)
    v, effort = rng.normal(0.0, 0.3, (2, n)), rng.normal(0.0, 5.0, n) * J

    def slope(_, y):
        link, rotor, rate, spin = y.reshape(4, n)
        pairs = [gear_forces(*one) for one in zip(robot.drives, link, rotor, rate, spin, effort)]
        torque, acceleration = np.array(pairs).T
        return [*rate, *spin, *robot.rigid.accelerations(link, rate, torque), *acceleration]

    start = np.concatenate([q, motor, *v])
    out = solve_ivp(slope, (0.0, end), start, 'DOP853', rtol=1e-8, atol=1e-9, max_step=1e-3)
    links, motors, errors = out.y[:n, -1], out.y[n : 2 * n, -1], []
    place, rates = np.zeros((2, arm.nq))
    place[arm.joint_q], place[arm.motor_q], rates[arm.joint_q], rates[arm.motor_q] = q, motor, *v
    for settings in (
        {'time_step': 4e-4},
        {'time_step': 1e-4},
        {'time_step': 1e-4, 'scheme': 'rk4'},
    ):
        sim = robot.simulation(**settings)
        sim.set_state(place, rates)
        sim.effort = effort
        sim.advance_to(end)
        errors.append(max(abs(sim.position - links).max(), abs(sim.motor_position - motors).max()))
    assert abs(links - q).max() > 5e-3
    assert errors[1] < 1e-5 and errors[1] < errors[0] / 8
    assert errors[2] < 3e-6  # corners of the laws are within steps


def dc_motor(inductance):
    """A DC motor that reaches its largest speed within about 20 ms."""

    def drive(_, inertia):
        rotor = (0.01 * (K * RATIO) ** 2 / RESISTANCE - inertia) / RATIO**2
        rotor = max(rotor, 2.0 * inertia / RATIO**2)
        xml = (
            f'<joint name="{{name}}" rotor_inertia="{rotor}" gear_ratio="{RATIO}">'
            f'<dcmotor motorconst="{K}" resistance="{RESISTANCE}" inductance="{inductance}" '
            f'voltage="{VOLTAGE}" current="{1e9 if inductance else CURRENT}"/></joint>'
        )
        return xml, RATIO**2 * rotor

    return drive


@pytest.mark.parametrize('inductance', [2e-3, 0.0])
@pytest.mark.parametrize('name', ROBOTS)
def test_dc_motors_of_a_robot_run_up_as_in_another_integrator(name, inductance):
    robot = Robot(name, dc_motor(inductance))
    n, constant, rng = len(robot.names), K * RATIO, robot.rng
    armature, end = np.array(robot.drives), 0.02
    robot.rigid.model.armature[robot.rigid.rows] = armature
    # at the largest voltage with inductance; without, some motors reach their largest current
    effort = rng.choice([-1.0, 1.0], n) * (1e9 if inductance else constant * rng.uniform(4, 25, n))
    wanted = np.clip(effort / constant, -CURRENT, CURRENT)

    def slope(_, y):
        q, v, current = y[: 3 * n].reshape(3, n)
        voltage, change = np.sign(effort) * VOLTAGE, np.zeros(n)
        if inductance:
            change = (voltage - RESISTANCE * current - constant * v) / inductance
        else:
            low, high = ((u - constant * v) / RESISTANCE for u in (-VOLTAGE, VOLTAGE))
            current = np.clip(wanted, low, high)
            voltage = RESISTANCE * current + constant * v
        a = robot.rigid.accelerations(q, v, constant * current)
        return [*v, *a, *change, voltage @ current]

    start, errors = [*robot.q, *np.zeros(2 * n + 1)], []
    out = solve_ivp(slope, (0.0, end), start, 'DOP853', rtol=1e-9, atol=1e-10, max_step=1e-3)
    q, v, current = out.y[:-1, -1].reshape(3, n)
    for h in (5e-4, 2.5e-4):
        sim = robot.simulation(time_step=h)
        sim.set_state(robot.q)
        sim.effort = effort
        sim.advance_to(end)
        found = [abs(sim.q - q).max(), abs(sim.v - v).max() / 50.0]
        if inductance:
            found.append(abs(sim.motor_current - current).max() / 100.0)
        found.append(abs(sim.electrical_energy.sum() / out.y[-1, -1] - 1.0))
        errors.append(found)
    assert abs(v).max() > 0.5 * VOLTAGE / constant
    errors = np.array(errors)
    # without inductance, the current has kinks within steps
    share = 0.3 if inductance else 0.6
    assert errors[1].max() < (1e-3 if inductance else 1e-4)
    assert (errors[1] < share * errors[0]).all() and errors[1][0] < 0.3 * errors[0][0]
