"""Public robots on a ship: against Pinocchio and MuJoCo, where six driven joints move the base."""

import re

import numpy as np
import pytest
from moved_bases import ship
from mujoco_robot import MujocoRobot
from public_robots import plain_robot
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.simulation import queries

pin = pytest.importorskip('pinocchio')

ROBOTS = {
    'ur5': 'ur_description/urdf/ur5_robot.urdf',
    'panda': 'panda_description/urdf/panda.urdf',
    'kinova': 'kinova_description/robots/kinova.urdf',
}
# x, y, z, then yaw, pitch and roll about axes that move: the same as fixed axes in reverse
DRIVES = ('x', 'prismatic'), ('y', 'prismatic'), ('z', 'prismatic')
DRIVES += ('z', 'continuous'), ('y', 'continuous'), ('x', 'continuous')
TINY = 1e-9  # mass and inertia of links between these joints, which MuJoCo needs
GRAVITY = (0.0, 0.0, -9.81)


def robot(name):
    """Return a robot with independent joints, as text; MuJoCo reserves the name "world"."""
    return re.sub('<mimic[^>]*/>', '', plain_robot(ROBOTS[name])).replace('"world"', '"ground"')


def on_six_joints(text):
    """Return the robot on six joints that move its base, whose inertia no joint of it moves."""
    children = re.findall(r'<child\s+link="([^"]*)"', text)
    (root,) = {*re.findall(r'<link\s+name="([^"]*)"', text)}.difference(children)
    start, parts, parent = re.findall('<robot[^>]*>', text)[0], '<link name="water"/>', 'water'
    for k, (axis, kind) in enumerate(DRIVES):
        child = root if k == 5 else f'stage_{k}'
        xyz = ' '.join(str(int(axis == one)) for one in 'xyz')
        parts += (
            f'<joint name="drive_{k}" type="{kind}">'
            f'<parent link="{parent}"/><child link="{child}"/>'
            f'<axis xyz="{xyz}"/><limit lower="-9" upper="9" effort="9" velocity="9"/></joint>'
        )
        parts += (
            f'<link name="{child}"><inertial><mass value="{TINY}"/><inertia ixx="{TINY}" '
            f'iyy="{TINY}" izz="{TINY}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        parent = child
    old = rf'<link\s+name="{root}"\s*/>|<link\s+name="{root}"\s*>.*?</link>'
    text = re.sub(old, '', text, count=1, flags=re.DOTALL)
    return text.replace(start, start + parts, 1)


def drives(time):
    """Positions, rates and accelerations (6,) of the six joints."""
    h = 2e-2  # differences of order eight: 1e-13
    weights = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5])
    first = np.array([*weights, 0, *-weights[::-1]]) / h
    weights = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5])
    second = np.array([*weights, -205 / 72, *weights[::-1]]) / h**2
    table = np.array([motion(time + k * h) for k in range(-4, 5)])[:, [0, 1, 2, 5, 4, 3]]
    return table[4], first @ table, second @ table


def motion(time):
    """A rough sea: the ship of `moved_bases` at four times the speed."""
    return np.array(ship(4.0 * time + 1.0))


def pose(time):
    x, y, z, *turn = motion(time)
    return [x, y, z, *Rotation.from_euler('xyz', turn).as_quat()]


class Carried:
    """A robot in Pinocchio on six joints whose motion is prescribed."""

    def __init__(self, text, names):
        self.model = pin.buildModelFromXML(on_six_joints(text))
        self.model.gravity.linear = np.array(GRAVITY)
        self.data = self.model.createData()
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in names]
        self.rows = [joint.idx_v for joint in self.joints]
        self.drives = [self.model.joints[self.model.getJointId(f'drive_{k}')] for k in range(6)]

    def whole(self, time, position, rate):
        """Configuration, rates, and accelerations with zero for those of the robot."""
        q, (v, a) = pin.neutral(self.model), np.zeros((2, self.model.nv))
        places, speeds, changes = drives(time)
        for joint, x in [*zip(self.drives, places), *zip(self.joints, position)]:
            values = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
            q[joint.idx_q : joint.idx_q + joint.nq] = values
        v[self.rows] = rate
        for joint, x, y in zip(self.drives, speeds, changes):
            v[joint.idx_v], a[joint.idx_v] = x, y
        return q, v, a

    def accelerations(self, time, position, rate, effort):
        """Accelerations of the robot, and the power of its base, which carries the first joint."""
        q, v, a = self.whole(time, position, rate)
        M = pin.crba(self.model, self.data, q)
        M = np.triu(M) + np.triu(M, 1).T
        needed = pin.rnea(self.model, self.data, q, v, a)[self.rows]
        found = np.linalg.solve(M[np.ix_(self.rows, self.rows)], effort - needed)
        a[self.rows] = found
        pin.rnea(self.model, self.data, q, v, a)
        base, data = self.drives[-1].id, self.data
        power = 0.0
        for k, parent in enumerate(self.model.parents):
            if k and parent == base:
                power += data.f[k].vector @ data.liMi[k].actInv(data.v[base]).vector
        return found, power

    def motion(self, position, rate, effort, times):
        """Return position, rate and work of the base at the end of two times."""
        n = len(position)

        def slope(time, y):
            a, power = self.accelerations(time, y[:n], y[n : 2 * n], effort)
            return [*y[n : 2 * n], *a, power]

        start = [*position, *rate, 0.0]
        return solve_ivp(slope, times, start, 'DOP853', rtol=1e-10, atol=1e-11).y[:, -1]


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('name', ROBOTS)
def test_accelerations_and_reactions_on_a_ship_are_those_on_six_driven_joints(name, seed):
    text = robot(name)
    arm, rng = frs.load(text, gravity=GRAVITY), np.random.default_rng(seed)
    n, start = len(arm.joint_names), rng.uniform(0.0, 5.0)
    sim = frs.Simulation(arm)
    sim.move_base(lambda time: pose(start + time))
    q, v, effort = rng.uniform(-1.5, 1.5, (3, n))
    sim.set_state(q, v)
    sim.effort = effort
    found = queries.accelerations(sim._simulated)
    carried = Carried(text, arm.joint_names)
    expected, _ = carried.accelerations(start, q, v, effort)
    # a pose alone gives its rates by differences
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * abs(expected).max())
    *state, a = carried.whole(start, q, v)
    a[carried.rows] = found
    pin.rnea(carried.model, carried.data, *state, a)
    first = carried.model.getJointId(arm.joint_names[0])
    wrench = carried.data.f[first]
    theirs = np.concatenate([wrench.angular, wrench.linear])
    bound = 1e-6 * abs(theirs).max()
    np.testing.assert_allclose(sim.wrench(arm.joint_names[0]), theirs, rtol=0, atol=bound)
    # MuJoCo, by its own reading of the same joints
    names = [f'drive_{k}' for k in range(6)] + list(arm.joint_names)
    peer = MujocoRobot(on_six_joints(text), names, GRAVITY)
    places, speeds, changes = drives(start)
    M, bias = peer.mass_matrix_and_bias([*places, *q], [*speeds, *v])
    force = M @ [*changes, *found] + bias
    np.testing.assert_allclose(force[6:], effort, rtol=0, atol=1e-6 * abs(bias).max())


@pytest.mark.parametrize('name', ROBOTS)
def test_a_swinging_robot_on_a_ship_moves_as_in_another_integrator(name):
    text = robot(name)
    arm, rng = frs.load(text, gravity=GRAVITY), np.random.default_rng(7)
    n = len(arm.joint_names)
    q, v, effort = rng.uniform(-1.0, 1.0, n), np.zeros(n), np.zeros(n)
    *end, work = Carried(text, arm.joint_names).motion(q, v, effort, (0.0, 0.1))
    errors = []
    for h in (1e-3, 5e-4):
        sim = frs.Simulation(arm, frs.SimulationSettings(time_step=h))
        sim.move_base(pose)
        sim.set_state(q, v)
        sim.step(round(0.1 / h))
        assert not sim.reports
        found = [*(sim.q - end[:n]), *((sim.v - end[n:]) / 10)]
        errors.append([abs(np.array(found)).max(), abs(sim.energy().work - work)])
    assert abs(sim.q - q).max() > 0.05 and abs(work) > 0.1
    state, of_work = np.array(errors).T
    assert state[1] < 1e-4 and state[1] < 0.3 * state[0]
    assert of_work[1] < 1e-4 * abs(work) + 1e-6 and of_work[1] < 0.3 * of_work[0]
