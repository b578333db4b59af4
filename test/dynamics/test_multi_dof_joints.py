"""Universal and spherical joints move as other formulations say."""

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.simulation import queries

CENTRE, MASS = np.array([0.1, 0.05, -0.4]), 2.0
INERTIA = np.array([[0.05, 0.004, 0.0], [0.004, 0.06, 0.01], [0.0, 0.01, 0.03]])
G = np.array([0.0, 0.0, -9.81])


def body(name='rod'):
    return link(
        name, MASS, ' '.join(map(str, CENTRE)), np.diag(INERTIA).tolist(), (0.004, 0.0, 0.01)
    )


def hung(kind, *more, attributes=''):
    """Return a rod that hangs on the base by a joint "ball"."""
    element = f'<joint name="ball" type="{kind}"{attributes}/>'
    origin = '<origin xyz="0.3 0 1" rpy="0.2 -0.4 0.1"/>'
    fixed = joint('ball', 'fixed', 'base', 'rod', origin)
    return robot(body(), fixed, *more, flexibility(element))


def about_pivot():
    """Inertia of the rod about its joint (3, 3)."""
    return INERTIA + MASS * (CENTRE @ CENTRE * np.eye(3) - np.outer(CENTRE, CENTRE))


@pytest.mark.slow
def test_a_spherical_pendulum_moves_as_eulers_equations_say():
    arm = frs.load(hung('spherical'))
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=1e-4))
    simulation.set_state([0.3, 0.5, 0.2], [1.0, 2.0, 3.0])
    R = simulation.pose('rod')[:3, :3]
    omega = simulation.twist('rod')[:3]
    I = about_pivot()

    def rates(_, x):
        turned = Rotation.from_quat(x[:4])
        w = x[4:]
        moment = np.cross(CENTRE, MASS * turned.inv().apply(G))
        quaternion_rate = 0.5 * np.array([*(x[3] * w + np.cross(x[:3], w)), -x[:3] @ w])
        return [*quaternion_rate, *np.linalg.solve(I, moment - np.cross(w, I @ w))]

    start = [*Rotation.from_matrix(R).as_quat(), *omega]
    result = solve_ivp(rates, (0.0, 0.6), start, 'DOP853', rtol=1e-11, atol=1e-12)
    simulation.advance_to(0.6)
    expected = Rotation.from_quat(result.y[:4, -1]).as_matrix()
    assert simulation.pose('rod')[:3, :3] == pytest.approx(expected, abs=2e-6)
    assert simulation.twist('rod')[:3] == pytest.approx(result.y[4:, -1], abs=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize('kind', ['universal', 'spherical'])
def test_accelerations_are_those_of_the_joints_of_pinocchio(kind):
    pin = pytest.importorskip('pinocchio')
    arm, rng = frs.load(hung(kind)), np.random.default_rng(2)
    x, y = np.eye(3)[:2]
    joints = {'universal': pin.JointModelUniversal(x, y), 'spherical': pin.JointModelSpherical()}
    model = pin.Model()
    home = pin.SE3(pin.rpy.rpyToMatrix(0.2, -0.4, 0.1), np.array([0.3, 0.0, 1.0]))
    number = model.addJoint(0, joints[kind], home, 'ball')
    model.appendBodyToJoint(number, pin.Inertia(MASS, CENTRE, INERTIA), pin.SE3.Identity())
    data = model.createData()
    for _ in range(5):
        simulation = frs.Simulation(arm)
        simulation.set_state(rng.uniform(-1, 1, arm.size), rng.normal(size=arm.size))
        q, v = simulation.q.copy(), simulation.v.copy()
        if kind == 'spherical':
            R = home.rotation.T @ simulation.pose('rod')[:3, :3]
            q, v = Rotation.from_matrix(R).as_quat(), simulation.twist('rod')[:3]
        expected = pin.aba(model, data, q, v, np.zeros(arm.size))
        found = queries.accelerations(simulation._simulated)
        if kind == 'spherical':
            found = simulation.twist_rate('rod')[:3]
        assert found == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())


def test_springs_drive_a_spherical_joint_back():
    text = hung('spherical', attributes=' spring_stiffness="300"')
    simulation = frs.Simulation(frs.load(text, gravity=(0.0, 0.0, 0.0)))
    for axis in 1e-7 * np.eye(3):
        simulation.set_state(axis)
        expected = -300.0 * np.linalg.solve(about_pivot(), axis)
        found = queries.accelerations(simulation._simulated)
        assert found == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize('step', [1e-3, 5e-3])
def test_energy_never_rises_with_flexible_rods_stops_and_friction(step):
    beam = (
        '<link name="rod" end="0 0 -0.8"><rod diameter="0.006"/><material E="7e10" G="2.6e10"/>'
        '<damping ratio="0.01"/></link>'
    )
    rods = [link(name, 0.062, '0 0 -0.4', (3.4e-3, 3.4e-3, 3e-7)) for name in ('rod', 'tip')]
    joints = [
        joint('ball', 'fixed', 'base', 'rod', '<origin rpy="0.1 0 0"/>'),
        joint('cross', 'fixed', 'rod', 'tip', '<origin xyz="0 0 -0.8"/>'),
    ]
    elements = (
        beam,
        '<joint name="ball" type="spherical" lower="-0.9" upper="0.9" coulomb_friction="0.02"/>',
        '<joint name="cross" type="universal"/>',
    )
    simulation = frs.Simulation(
        frs.load(robot(*rods, *joints, flexibility(*elements))),
        frs.SimulationSettings(time_step=step),
    )
    simulation.set_state([0.2, 0.7, 0.1, 0.5, -1.2], [1.0, 2.0, 3.0, 0.0, 4.0])
    start = last = sum(simulation.energy()[:3])
    for _ in range(300):
        simulation.step()
        now = sum(simulation.energy()[:3])
        assert now <= last + 1e-10 * (1.0 + abs(start))
        last = now
    assert np.abs(simulation.position[:3]).max() < 0.95


@pytest.mark.slow
def test_a_spherical_pendulum_passes_its_singular_pose_without_gaining_energy():
    simulation = frs.Simulation(frs.load(hung('spherical')))
    simulation.set_state([0.3, 1.4, 0.2], [1.0, 2.5, 3.0])
    start, fastest = sum(simulation.energy()[:3]), 0.0
    for _ in range(400):
        simulation.step()
        fastest = max(fastest, np.abs(simulation.v).max())
        assert abs(sum(simulation.energy()[:3]) - start) < 1e-9
        assert np.abs(simulation.twist('rod')[:3]).max() < 20.0
    assert fastest > 50.0  # of the coordinates, near the singular pose
