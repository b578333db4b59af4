"""Tools of public robots that press and slide on a plate: against the statics of Pinocchio."""

import re

import numpy as np
import pytest
from public_robots import plain_robot, public_robot
from rigid_robot import RigidRobot
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs

pin = pytest.importorskip('pinocchio')

GRAVITY = (0.5, -1.0, -9.0)
RADIUS, STIFFNESS, FRICTION = 0.03, 2e4, 0.4
ROBOTS = {  # file, the link that touches
    'ur10': ('ur_description/urdf/ur10_robot.urdf', 'ball'),
    'so101': ('so_arm_description/urdf/so101.urdf', 'ball'),
    'panda': ('panda_description/urdf/panda_collision.urdf', 'panda_hand'),  # own shapes
}
BALL = """<link name="ball"><inertial><mass value="0.2"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4"
ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><sphere radius="{radius}"/></geometry>
</collision></link><joint name="grip" type="fixed"><parent link="{parent}"/><child link="ball"/>
<origin xyz="0.02 0.01 0.03"/></joint>"""


class Pressing(RigidRobot):
    """A robot whose tool touches a tilted plate, in both libraries."""

    def __init__(self, name, seed, contact=''):
        path, self.link = ROBOTS[name]
        text = re.sub('<mimic[^>]*/>', '', plain_robot(path))
        if self.link == 'ball':
            last = re.findall(r'<link\s+name="([^"]*)"', text)
            parent = frs.load(text).tool
            assert parent in last
            text = text.replace('</robot>', BALL.format(radius=RADIUS, parent=parent) + '</robot>')
        else:  # shapes of one link, without the meshes of others
            shapes = re.findall(
                f'<link name="{self.link}">.*?</link>', public_robot(path).read_text(), re.DOTALL
            )[0]
            shapes = ''.join(re.findall('<collision>.*?</collision>', shapes, re.DOTALL))
            text = text.replace(f'<link name="{self.link}">', f'<link name="{self.link}">{shapes}')
        arm = frs.load(text)
        self.rng = rng = np.random.default_rng(seed)
        self.q = rng.uniform(-1.0, 1.0, len(arm.joint_names))
        T = frs.pose(arm, self.q, link=self.link)
        self.turn = Rotation.from_rotvec(rng.normal(0.0, 0.4, 3))
        self.normal = self.turn.apply([0.0, 0.0, 1.0])
        # a plate 2 mm into the lowest point of the shapes along its normal
        points, radii = spheres(text, self.link)
        lowest = min((T[:3, :3] @ p + T[:3, 3]) @ self.normal - r for p, r in zip(points, radii))
        top = T[:3, 3] + (lowest + 2e-3 - T[:3, 3] @ self.normal) * self.normal
        middle, rpy = top - 0.5 * self.normal, self.turn.as_euler('xyz')
        plate = (
            f'<contact name="tool" link="{self.link}" stiffness="{STIFFNESS}" '
            f'friction="{FRICTION}" {contact}/><obstacle name="plate">'
            f'<origin xyz="{" ".join(map(str, middle))}" rpy="{" ".join(map(str, rpy))}"/>'
            '<geometry><box size="9 9 1"/></geometry></obstacle>'
        )
        whole = text.replace('</robot>', f'<flexibility>{plate}</flexibility></robot>')
        self.arm, self.top = frs.load(whole, gravity=GRAVITY), top
        self.points = points, radii
        super().__init__(pin, text, arm.joint_names, GRAVITY)
        self.frame = self.model.getFrameId(self.link, pin.FrameType.BODY)

    def needed_effort(self, position, rate, acceleration, force, point):
        """Efforts of a motion under a force on the tool at a point of the world."""
        v, a = np.zeros((2, self.model.nv))
        v[self.rows], a[self.rows] = rate, acceleration
        q = self.configuration(position)
        tau = pin.rnea(self.model, self.data, q, v, a)
        J = pin.computeFrameJacobian(
            self.model, self.data, q, self.frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        pin.framesForwardKinematics(self.model, self.data, q)
        lever = point - self.data.oMf[self.frame].translation
        return (tau - J.T @ [*force, *np.cross(lever, force)])[self.rows]

    def gaps(self, position):
        """Gaps of all spheres to the plate."""
        q = self.configuration(position)
        pin.framesForwardKinematics(self.model, self.data, q)
        T = self.data.oMf[self.frame]
        return np.array([(T.act(p) - self.top) @ self.normal - r for p, r in zip(*self.points)])


def spheres(text, link):
    """Return centres (k, 3) and radii (k,) of the spheres, and ends of capsules, of a link."""
    part = re.findall(f'<link name="{link}">.*?</link>', text, re.DOTALL)[0]
    centres, radii = [], []
    for shape in re.findall('<collision>.*?</collision>', part, re.DOTALL):
        numbers = {
            key: [float(x) for x in value.split()]
            for key, value in re.findall('(xyz|rpy|radius|length)="([^"]*)"', shape)
        }
        xyz, radius = np.array(numbers.get('xyz', [0, 0, 0])), numbers['radius'][0]
        ends = [0.0]
        if 'length' in numbers:
            half = numbers['length'][0] / 2 - radius
            ends = [-half, half]
        turn = Rotation.from_euler('xyz', numbers.get('rpy', [0, 0, 0]))
        for end in ends:
            centres.append(xyz + turn.apply([0.0, 0.0, end]))
            radii.append(radius)
    return centres, radii


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('name', ROBOTS)
def test_a_pressed_tool_rests_where_statics_say(name, seed):
    case = Pressing(name, seed, 'damping="300"')
    arm, J = case.arm, case.inertias(case.q)
    sim = frs.Simulation(arm, frs.SimulationSettings(drive_limits=False))
    sim.set_state(case.q)
    servo = 900.0 * J, 60.0 * J
    sim.hold(case.q, *servo)
    sim.advance_to(2.0)
    contact = sim.contact('tool')
    N = contact.force @ case.normal
    friction = contact.force - N * case.normal
    assert N > 0.1 and abs(sim.v).max() < 1e-6 and not contact.is_sliding
    assert np.linalg.norm(friction) < FRICTION * N * (1 + 1e-9)
    effort = servo[0] * (case.q - sim.q)
    needed = case.needed_effort(sim.q, 0 * J, 0 * J, contact.force, contact.point)
    # the rounding of the energy stops a motion of less kinetic energy, E: sqrt(2 k E) are left
    np.testing.assert_allclose(effort, needed, rtol=0, atol=1e-5 * abs(needed).max())
    gaps = case.gaps(sim.q)
    np.testing.assert_allclose(N, -STIFFNESS * gaps[gaps < 0].sum(), rtol=1e-8)
    assert contact.gap == pytest.approx(gaps.min(), abs=1e-12)
    # without friction, an equilibrium has the same statics
    rest = frs.equilibrium(arm, case.q, gains=servo)
    depth = case.gaps(rest.q)
    at = case.points[0][int(np.argmin(depth))]
    point = case.data.oMf[case.frame].act(np.array(at)) - case.points[1][0] * case.normal
    if (depth < 0).sum() == 1:
        force = -STIFFNESS * depth.min() * case.normal
        needed = case.needed_effort(rest.q, 0 * J, 0 * J, force, point)
        held = servo[0] * (case.q - rest.q)
        np.testing.assert_allclose(held, needed, rtol=0, atol=1e-7 * abs(needed).max())


@pytest.mark.parametrize('name', ROBOTS)
def test_a_sliding_tool_obeys_newton_and_coulomb(name):
    errors = []
    for h in (4e-4, 2e-4):
        case = Pressing(name, 3, 'damping="20"')
        arm, J, gain = case.arm, case.inertias(case.q), 900.0
        sim = frs.Simulation(arm, frs.SimulationSettings(drive_limits=False, time_step=h))
        sim.set_state(case.q)
        sim.hold(case.q, gain * J, 60.0 * J)
        sim.advance_to(0.5)
        # push along the plate with three times the friction
        contact, tangent = sim.contact('tool'), case.turn.apply([1.0, 0.0, 0.0])
        force = 3.0 * FRICTION * contact.normal_force * tangent
        still, none = np.zeros(J.size), np.zeros(3)
        push = case.needed_effort(sim.q, still, still, none, contact.point)
        push -= case.needed_effort(sim.q, still, still, force, contact.point)
        sim.effort = push
        worst = slides = 0
        sim.advance_to(0.52)
        for _ in range(round(0.02 / h)):
            q, v = sim.q, sim.v
            sim.step()
            contact = sim.contact('tool')
            middle, mean = (q + sim.q) / 2, (v + sim.v) / 2
            effort = push + gain * J * (case.q - middle) - 60.0 * J * mean
            # the point is that at the end of the step, the force the mean of the step
            point = contact.point - h / 2 * velocity(sim, case.link, contact.point)
            needed = case.needed_effort(middle, mean, (sim.v - v) / h, contact.force, point)
            worst = max(worst, abs(effort - needed).max() / abs(needed).max())
            if contact.is_sliding:
                slides += 1
                N = contact.force @ case.normal
                friction = contact.force - N * case.normal
                assert np.linalg.norm(friction) == pytest.approx(FRICTION * N, rel=1e-6)
                if case.link == 'ball':  # one point, whose friction opposes its rate
                    rate = velocity(sim, case.link, contact.point)
                    rate -= rate @ case.normal * case.normal
                    cosine = friction @ rate / np.linalg.norm(friction) / np.linalg.norm(rate)
                    assert cosine < -1 + 1e-6
        errors.append(worst)
        assert slides > 10
    assert errors[1] < 1e-3 and errors[1] < 0.6 * errors[0]


def velocity(sim, link, point):
    """Velocity of the point of a link at a place in the world."""
    twist = sim.twist(link, representation='hybrid')
    return twist[3:] + np.cross(twist[:3], point - sim.pose(link)[:3, 3])
