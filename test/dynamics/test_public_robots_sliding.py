"""A flexible mast under the torso of TIAGo, which its lift slides out: against finite elements."""

import re

import numpy as np
import pytest
from public_robots import plain_robot
from scipy.linalg import eigh

import flex_robot_sim as frs

pin = pytest.importorskip('pinocchio')

TIAGO = 'tiago_description/robots/tiago_no_hand.urdf'
LENGTH, MASS, MOUTH = 0.8, 4.0, 0.55  # of the mast; the lift is at zero
EIY, EIZ, GJ, POLAR = 6.0e3, 9.0e3, 4.0e3, 0.01  # POLAR: inertia about its axis per length


def tiago(torsion=1):
    """Return the robot with a mast between its lift and its torso, as text."""
    thin, text = MASS * LENGTH**2 / 12, plain_robot(TIAGO)
    text = text.replace('<child link="torso_lift_link"/>', '<child link="mast"/>')
    lift = text[text.index('<joint name="torso_lift_joint"') :].partition('</joint>')[0]
    limits = 'lower="-0.05" upper="0.5"'
    text = text.replace(lift, re.sub('lower="-9"(.*?)upper="9"', limits, lift))
    text = text.replace('xyz="0.0 0.0 0.597"', f'xyz="0 0 {0.597 - LENGTH}"')
    return text.replace(
        '</robot>',
        f"""<link name="mast"><inertial><origin xyz="0 0 {LENGTH / 2}"/><mass value="{MASS}"/>
<inertia ixx="{thin}" iyy="{thin}" izz="{POLAR * LENGTH}" ixy="0" ixz="0" iyz="0"/></inertial>
</link><joint name="top" type="fixed"><parent link="mast"/><child link="torso_lift_link"/>
<origin xyz="0 0 {LENGTH}"/></joint>
<flexibility><link name="mast" end="0 0 {LENGTH}" y_axis="0 1 0" guide="torso_lift_joint"
mouth="{MOUTH}"><section EIy="{EIY}" EIz="{EIZ}" GJ="{GJ}" EA="1e9"/>
<modes bending_y="4" bending_z="4" torsion="{3 * torsion}"/></link></flexibility></robot>""",
    )


def carried(position, names):
    """Inertia (6, 6) of what the mast carries, about its end and in its axes, turns first."""
    model = pin.buildModelFromXML(plain_robot(TIAGO))
    data, q = model.createData(), pin.neutral(model)
    for name, x in zip(names, position):
        joint = model.joints[model.getJointId(name)]
        values = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
        q[joint.idx_q : joint.idx_q + joint.nq] = values
    pin.crba(model, data, q)
    I = data.Ycrb[model.getJointId('torso_lift_joint')].matrix()
    # the axes x, y, z of the beam are z, y and -x of the link
    R = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    turn = np.kron(np.array([[0, 1], [1, 0]]), R)  # and linear before angular
    return turn @ I @ turn.T


class Beam:
    """
    Cubic elements of Euler and Bernoulli on a unit length, clamped at zero.

    Coordinates: v and v' along y, w and w' along z, then turns about x.
    """

    def __init__(self, count=12):
        self.count, size = count, 2 * count + 2
        e, points = 1 / count, np.polynomial.legendre.leggauss(5)
        # products of shapes N and slopes, weighted by powers of 1 - x
        self.mass, self.once, self.twice, self.bend = np.zeros((4, size, size))
        self.slope, self.short = np.zeros((2, size, size))
        self.turn_mass, self.turn_slope = np.zeros((2, count + 1, count + 1))
        for k in range(count):
            part, short = np.ix_(*[range(2 * k, 2 * k + 4)] * 2), np.ix_(*[range(k, k + 2)] * 2)
            for t, weight in zip((points[0] + 1) / 2, points[1] * e / 2):
                x = (k + t) * e
                N = np.array([1 - 3 * t**2 + 2 * t**3, e * (t - 2 * t**2 + t**3),
                              3 * t**2 - 2 * t**3, e * (t**3 - t**2)])  # fmt: skip
                slope = np.array([6 * t**2 - 6 * t, e * (1 - 4 * t + 3 * t**2),
                                  6 * t - 6 * t**2, e * (3 * t**2 - 2 * t)]) / e  # fmt: skip
                curve = np.array([12 * t - 6, e * (6 * t - 4), 6 - 12 * t, e * (6 * t - 2)]) / e**2
                self.mass[part] += weight * np.outer(N, N)
                self.once[part] += weight * (1 - x) * np.outer(N, slope)
                self.twice[part] += weight * (1 - x) ** 2 * np.outer(slope, slope)
                self.slope[part] += weight * np.outer(slope, slope)
                self.short[part] += weight * (1 - x) * np.outer(slope, slope)
                self.bend[part] += weight * np.outer(curve, curve)
                self.turn_mass[short] += weight * np.outer([1 - t, t], [1 - t, t])
                self.turn_slope[short] += weight * np.outer([-1, 1], [-1, 1]) / e**2
        for name in ('mass', 'once', 'twice', 'bend', 'slope', 'short'):
            setattr(self, name, getattr(self, name)[2:, 2:])
        self.turn_mass, self.turn_slope = self.turn_mass[1:, 1:], self.turn_slope[1:, 1:]

    def tip(self, s, size):
        """Turns and translations (6, size) of the end, per coordinate, at the free length s."""
        n = 2 * self.count
        P = np.zeros((6, size))
        P[4, n - 2], P[2, n - 1] = 1, 1 / s  # v, and the turn about z
        P[5, 2 * n - 2], P[1, 2 * n - 1] = 1, -1 / s  # w, and the turn about y
        if size > 2 * n:
            P[0, -1] = 1
        return P


def two_planes(matrix, y, z):
    """Return a matrix for bending along y and z, which have factors."""
    n = len(matrix)
    out = np.zeros((2 * n, 2 * n))
    out[:n, :n], out[n:, n:] = y * matrix, z * matrix
    return out


def element_frequencies(s, inertia):
    """Frequencies [Hz] of a mast of the free length s that carries a body."""
    beam, density = Beam(), MASS / LENGTH
    bending = 4 * beam.count
    size = bending + beam.count
    M, K = np.zeros((2, size, size))
    M[:bending, :bending] = two_planes(density * s * beam.mass, 1, 1)
    K[:bending, :bending] = two_planes(beam.bend / s**3, EIZ, EIY)
    M[bending:, bending:] = POLAR * s * beam.turn_mass
    K[bending:, bending:] = GJ / s * beam.turn_slope
    P = beam.tip(s, size)
    M += P.T @ inertia @ P
    return np.sqrt(eigh(K, M, eigvals_only=True)) / (2 * np.pi)


@pytest.mark.parametrize('seed', range(3))
def test_frequencies_of_a_lifted_robot_are_those_of_finite_elements(seed):
    arm, rng = frs.load(tiago(), gravity=(0, 0, 0)), np.random.default_rng(seed)
    q = rng.uniform(-1.0, 1.0, len(arm.joint_names))
    lift = arm.joint_names.index('torso_lift_joint')
    for q[lift] in (0.0, 0.2, 0.4):
        found = frs.frequencies(arm, q)
        s = LENGTH - MOUTH + q[lift]
        expected = element_frequencies(s, carried(q, arm.joint_names))
        np.testing.assert_allclose(found[:5], expected[:5], rtol=1e-4)


def test_a_mast_that_extends_swings_as_finite_elements_do():
    # the lift rises by 0.15 m in 0.3 s; arm and head are off its axis, so that they bend the mast
    arm = frs.load(tiago(torsion=0), gravity=(0, 0, 0))
    names, rng = arm.joint_names, np.random.default_rng(5)
    q = rng.uniform(-1.0, 1.0, len(names))
    lift, duration, way = names.index('torso_lift_joint'), 0.3, 0.15
    q[lift] = 0.0
    inertia = carried(q, names)
    beam, density, start = Beam(), MASS / LENGTH, LENGTH - MOUTH

    def place(t):
        x = np.clip(t / duration, 0, 1)
        return (
            way * x**3 * (10 - 15 * x + 6 * x**2),
            way * 30 * x**2 * (1 - x) ** 2 / duration,
            way * 60 * x * (1 - x) * (1 - 2 * x) / duration**2,
        )

    size, count = 4 * beam.count, 6
    bend = two_planes(beam.bend, EIZ, EIY)
    body = beam.tip(start, size).T @ inertia @ beam.tip(start, size)
    shapes = eigh(bend / start**3, density * start * two_planes(beam.mass, 1, 1) + body)[1]
    shapes = shapes[:, :count]  # of the mast at the start, on this mesh
    bend = shapes.T @ bend @ shapes
    fields = 'mass', 'once', 'twice', 'slope', 'short'
    parts = [shapes.T @ two_planes(getattr(beam, name), 1, 1) @ shapes for name in fields]

    def tip(s):
        return beam.tip(s, size) @ shapes

    def terms(t):
        """A, B, D, g, h of T = x'.A x'/2 + x'.B x + x.D x/2 + x'.g + x.h, and the stiffness."""
        s, u, rise = np.add(place(t), (start, 0, 0))
        (mass, once, twice, slope, short), P, Q = parts, tip(s), np.zeros((6, count))
        Q[1:3] = -u / s * P[1:3]  # the slope falls as the free length grows
        A = density * s * mass + P.T @ inertia @ P
        B = density * u * once + P.T @ inertia @ Q
        D = density * u**2 / s * twice + Q.T @ inertia @ Q
        # bending lowers what accelerates along the axis: the mast, the body, and its turned lever
        D += rise * (inertia[3, 3] / s * slope + density * short)
        D += rise * inertia[2, 4] * P[1:3].T @ P[1:3]
        return A, B, D, P.T @ inertia[:, 3] * u, Q.T @ inertia[:, 3] * u, bend / s**3

    def acceleration(t, x, v, h):
        """Mean acceleration of a step of the midpoint rule, whose middle is t."""
        A, B, D, _, force, K = terms(t)
        pairs = zip(terms(t + 1e-5), terms(t - 1e-5))
        dA, dB, _, dg, *_ = (np.subtract(*pair) / 2e-5 for pair in pairs)
        K, C = K - D + dB, B + dA - B.T
        right = force - dg - C @ v - K @ (x + h / 2 * v)
        return np.linalg.solve(A + h / 2 * C + h**2 / 4 * K, right)

    h, x, v, work = 2e-4, *np.zeros((2, count)), 0.0
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=h))
    sim.set_state(q)
    for name, still in zip(names, q):
        sim.prescribe(name, lambda t, still=still: (still, 0.0))
    sim.prescribe('torso_lift_joint', lambda t: place(t)[:2])
    expected, found = [], []
    for k in range(1500):
        last = sim.position[lift]
        sim.step()
        work += sim.mean_effort[lift] * (sim.position[lift] - last)
        a = acceleration((k + 0.5) * h, x, v, h)
        x, v = x + h * (v + h / 2 * a), v + h * a
        if k % 100 == 99:
            expected.append(tip(start + place((k + 1) * h)[0]) @ x)
            found.append(sim.deflection['mast'][[3, 4, 5, 0, 1, 2]])
    expected, found = np.array(expected)[:, [1, 2, 4, 5]], np.array(found)[:, [1, 2, 4, 5]]
    largest = abs(expected).max(axis=0)
    assert largest.min() > 1e-4
    assert (abs(found - expected).max(axis=0) < 1e-3 * largest).all()
    # what the lift does is in the motion and in the bent mast
    energy = sim.energy()
    assert energy.kinetic + energy.strain == pytest.approx(work, rel=1e-3)
