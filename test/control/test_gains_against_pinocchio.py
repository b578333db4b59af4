"""Default gains on public arms with dry friction, simulated by Pinocchio."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from project_files import ROOT
from public_robots import public_robot

import flex_robot_sim as frs
from flex_robot_sim.control.closed_loop_move import ClosedLoopMove
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.control.servo import design_servo, servo_line
from flex_robot_sim.control.steady_state_error import steady_state_error
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.simulation.rollout import rollout

pytestmark = pytest.mark.slow

pin = pytest.importorskip('pinocchio')

PERIOD = 2e-3  # of samples, and the step of the reference                      [s]
SECONDS, WITHIN = 4.0, 1.0  # of the run, and of the motion                                  [s]
SWEEPS = 12  # of the friction impulses of a step
RESTING_TURN, RESTING_SLIDE = 5e-4, 1e-4  # error up to which the integral is constant [rad, m]


def file_of(name):
    if name in ('xarm7', 'z1'):
        return public_robot(f'{"xarm" if name == "xarm7" else name}_description/urdf/{name}.urdf')
    return ROOT / 'test/data/robots' / f'{name}.urdf'


class FrictionArm:
    """A rigid arm of Pinocchio with the friction of its file, by projected impulses."""

    def __init__(self, path, names):
        whole = pin.buildModelFromUrdf(str(path))
        locked = [k for k in range(1, whole.njoints) if whole.names[k] not in names]
        self.model = pin.buildReducedModel(whole, locked, pin.neutral(whole)) if locked else whole
        assert list(self.model.names)[1:] == list(names)
        self.data = self.model.createData()
        words = {
            joint.get('name'): joint.find('dynamics')
            for joint in ElementTree.parse(path).getroot().findall('joint')
        }

        def numbers(key):
            return np.array(
                [
                    0.0 if words[name] is None else float(words[name].get(key, 0.0))
                    for name in names
                ]
            )

        self.viscous, self.dry = numbers('damping'), numbers('friction')

    def weight(self, q):
        """Efforts that hold the arm at rest (joints,)."""
        return pin.computeGeneralizedGravity(self.model, self.data, q).copy()

    def step(self, q, v, effort, stiffness, damping, wanted):
        """Return q and v after PERIOD: implicit in the servo, friction at most `dry`."""
        mass = pin.crba(self.model, self.data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T
        bias = pin.nonLinearEffects(self.model, self.data, q, v)
        inverse = np.linalg.inv(
            mass + np.diag(PERIOD * (damping + self.viscous) + PERIOD**2 * stiffness)
        )
        v = inverse @ (
            mass @ v + PERIOD * (effort - bias + stiffness * (wanted[0] - q) + damping * wanted[1])
        )
        impulse = np.zeros(v.size)
        for _ in range(SWEEPS):
            for i in range(v.size):
                new = np.clip(
                    impulse[i] - v[i] / inverse[i, i], -PERIOD * self.dry[i], PERIOD * self.dry[i]
                )
                v = v + inverse[:, i] * (new - impulse[i])
                impulse[i] = new
        return q + PERIOD * v, v


def minimum_jerk(start, goal, t):
    """Position and velocity of a motion of WITHIN seconds."""
    s = min(t / WITHIN, 1.0)
    return (
        start + (goal - start) * (10 * s**3 - 15 * s**4 + 6 * s**5),
        (goal - start) * (30 * s**2 - 60 * s**3 + 30 * s**4) / WITHIN,
    )


def moved_by_pinocchio(reference, servo, start, goal, resting, is_late=False):
    """
    Position at the end of a move.

    :param resting: error up to which the integral is constant (joints,) [rad, m].
    :param is_late: whether efforts act a period after their state; else they act at once.
    """
    q, v, integral = start.copy(), np.zeros(start.size), np.zeros(start.size)
    rates = np.zeros(start.size) if servo.integral is None else servo.integral
    none, late = np.zeros(start.size), reference.weight(start)
    for k in range(round(SECONDS / PERIOD)):
        wanted = minimum_jerk(start, goal, k * PERIOD)
        error = wanted[0] - q
        integral += PERIOD * np.where(np.abs(error) > resting, rates * servo.stiffness * error, 0)
        effort = reference.weight(wanted[0]) + integral
        if not is_late:
            q, v = reference.step(q, v, effort, servo.stiffness, servo.damping, wanted)
            continue
        effort += servo.stiffness * error + servo.damping * (wanted[1] - v)
        q, v = reference.step(q, v, late, none, none, wanted)
        late = effort
    return q


def way_of(arm):
    """Start and goal (joints,) within limits."""
    lower, upper = arm.arrays.lower, arm.arrays.upper
    slides = np.array([unit == 'm' for unit in arm.units])
    start = np.clip(np.where(slides, 0.01, 0.1), lower + 0.06 * ~slides, upper - 0.06 * ~slides)
    return start, np.where(slides, start, np.clip(start + 0.3, lower, upper - 0.02))


def near(arm):
    return np.array([RESTING_SLIDE if unit == 'm' else RESTING_TURN for unit in arm.units])


@pytest.mark.long
@pytest.mark.parametrize('name', ['lbr_iiwa14', 'fr3', 'xarm7', 'z1'])
def test_default_gains_leave_the_error_that_an_arm_of_pinocchio_has(name):
    path = file_of(name)
    arm = frs.load(str(path))
    servo, (start, goal) = design_servo(arm), way_of(arm)
    reference = FrictionArm(path, arm.joint_names)
    simulation = frs.Simulation(arm)
    simulation.set_state(start)
    move = ClosedLoopMove(
        simulation, goal, (servo.stiffness, servo.damping), WITHIN, integral=servo.integral
    )
    rollout(simulation, duration=SECONDS, controller=move, **move.timing._asdict())
    expected = moved_by_pinocchio(reference, servo, start, goal, near(arm))
    # another step size of the integral shifts the rest position by 0.1 mrad
    np.testing.assert_allclose(simulation.position, expected, atol=2e-4)
    # F / K, and the change of gravity by the errors of the other joints
    band = reference.dry / servo.stiffness
    assert (np.abs(expected - goal) < np.maximum(2 * band, near(arm))).all()
    found = re.search(
        r'dry friction may stop (\w+) ([\d.]+) (rad|m) from its target', servo_line(arm, servo)
    )
    assert found and float(found[2]) == pytest.approx(band.max(), rel=0.05)  # of two digits
    assert band[arm.joint_names.index(found[1])] == pytest.approx(band.max())
    # the line about the error at rest names the joint that is furthest away by Pinocchio
    line = steady_state_error(
        arm, servo, goal, simulation.position, simulation.motor_position, simulation.velocity
    )
    worst = int(np.abs(expected - goal).argmax())
    if np.abs(expected - goal)[worst] < 1e-3:
        assert line == ''
    else:
        assert line.startswith(f'"{arm.joint_names[worst]}" is ') and 'dry friction' in line


@pytest.mark.long
@pytest.mark.parametrize('name', ['lbr_iiwa14', 'xarm7'])
def test_gains_for_late_states_leave_the_error_that_an_arm_of_pinocchio_has(name):
    path = file_of(name)
    arm, (start, goal) = frs.load(str(path)), way_of(frs.load(str(path)))
    controller, simulation = JointController(arm), frs.Simulation(arm)
    simulation.set_state(start)
    none, effort = np.zeros(start.size), None
    while simulation.time < SECONDS - 1e-9:
        late = effort
        effort = controller.update(
            simulation.time, simulation.position, simulation.velocity
        ).copy()
        if late is None:
            controller.follow(Trajectory(arm.joint_names, [WITHIN], [goal], [none], [none]), 0.0)
        simulation.effort = effort if late is None else late
        simulation.step(round(PERIOD / simulation.settings.time_step))
    expected = moved_by_pinocchio(
        FrictionArm(path, arm.joint_names), controller.servo, start, goal, near(arm), is_late=True
    )
    np.testing.assert_allclose(simulation.position, expected, atol=1e-4)  # as above
