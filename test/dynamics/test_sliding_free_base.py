"""Sliding links on free bases: mass points, Pinocchio, momentum, energy, derivatives."""

import pickle

import numpy as np
import pytest
from compare import GRAVITY, WEIGHTLESS, arm_of, assert_same
from free_arms import freed, largest_rise, violent
from scipy.linalg import expm
from sliding_arms import EI, LENGTH, MASS, MOUTH, sliding_arm, telescope

import flex_robot_sim as frs

WEIGHTS = 3 / 4, -3 / 20, 1 / 60  # of a central difference of sixth order
SECOND_WEIGHTS = 3 / 2, -3 / 20, 1 / 90  # of that of the second derivative
ARMS = {
    'boom': sliding_arm(inertia=(2e-3, 3e-3)),
    'gear': sliding_arm(
        gear='<joint name="out" stiffness="1e5" rotor_inertia="1e-3" gear_ratio="30"/>',
        damping='<damping time_constant="1e-3"/>',
    ),
    'telescope': telescope(),
}
KINDS = 'floating', 'planar'


def slope(function, step):
    """Return the derivative of a function of one number at zero."""
    values = [w * (function(k * step) - function(-k * step)) for k, w in enumerate(WEIGHTS, 1)]
    return sum(values) / step


def second_slope(function, step):
    """Return the second derivative of a function of one number at zero."""
    middle = 2 * function(0.0)
    pairs = [function(k * step) + function(-k * step) - middle for k in (1, 2, 3)]
    return sum(w * pair for w, pair in zip(SECOND_WEIGHTS, pairs)) / step**2


def state_of(arm, seed=0, bend=0.02, rate=1.0):
    """Return random q and v with small deflections, within the range of the slides."""
    rng = np.random.default_rng(seed)
    q, v = bend * rng.normal(size=arm.nq), rate * rng.normal(size=arm.nv)
    arm.set_joints(q, rng.uniform(0.1, 0.4, size=len(arm.joint_names)))
    q[arm.base_q] = 0.0
    return q, v


def screw_matrix(x):
    """Matrix (4, 4) of a screw (6,)."""
    X = np.zeros((4, 4))
    X[:3, :3], X[:3, 3] = np.cross(np.eye(3), x[:3]), x[3:]
    return X


def pose(rotation=(0, 0, 0), translation=(0, 0, 0)):
    """Pose (4, 4) of the exponential of a screw, in two parts."""
    return expm(screw_matrix(np.array([*rotation, *translation])))


def points_of(mass, centre, inertia):
    """Masses (6,) and positions (6, 3) of points with the inertia of a body about its centre."""
    moments, axes = np.linalg.eigh(np.array(inertia, float))
    ways = (np.sqrt(3 * (moments.sum() / 2 - moments) / mass) * axes).T
    return np.full(6, mass / 6), centre + np.vstack([ways, -ways])


class MassPoints:
    """The freed `sliding_arm` as mass points; it shares shape functions with the arm."""

    xi, weights = (np.polynomial.legendre.leggauss(16) + np.array([[1.0], [0.0]])) / 2
    bodies = (  # base, turret, tool
        points_of(3.0, [0.1, -0.2, 0.05], [[0.1, 0.01, 0], [0.01, 0.15, 0], [0, 0, 0.2]]),
        points_of(5.0, [0.1, 0, 0.2], np.diag([0.3, 0.3, 0.2])),
        points_of(0.7, [0.05, 0.02, -0.01], np.diag([2e-3, 3e-3, 2.5e-3])),
    )

    def __init__(self, arm, q):
        (beam,) = arm.beams.values()
        self.arm, self.q = arm, q
        self.shapes = beam.shapes['bending_y'], beam.shapes['bending_z']
        s = self.free_length(q)
        # points of the material: in the guide, outside, and the tip
        self.hidden, self.X = (LENGTH - s) * self.xi, np.append(LENGTH - s + s * self.xi, LENGTH)
        density = MASS / LENGTH * self.weights
        self.mass = np.concatenate(
            [density * (LENGTH - s), density * s, *(mass for mass, _ in self.bodies)]
        )

    def free_length(self, q):
        """Free length of the boom [m]."""
        return LENGTH - MOUTH + q[1]

    def positions(self, change):
        """Positions (p, 3) after a change (n,) of the coordinates, of the base in its own axes."""
        q, x = self.q + change, np.zeros(6)
        x[self.arm.arrays.base[:, 1]] = change[self.arm.base_q]
        base = pose(x[:3], x[3:])
        turret = base @ pose(rotation=(0, 0, q[0]))
        mouth = turret @ pose(translation=(MOUTH - 1, 0.05, 0.4))
        s = self.free_length(q)
        xi = 1 - (LENGTH - self.X) / s
        line, turn = np.stack([s * xi, 0 * xi, 0 * xi]), np.zeros(3)
        for axis, sign, shapes, e in zip((1, 2), (1, -1), self.shapes, self.bends(q)):
            line[axis] = shapes.at(LENGTH * xi) @ e
            slopes = LENGTH * shapes.at(LENGTH * np.outer(xi, self.xi).ravel(), 1) @ e
            line[0] -= xi * (slopes.reshape(xi.size, -1) ** 2 @ self.weights) / (2 * s)
            turn[3 - axis] = sign * LENGTH / s * (shapes.at([LENGTH], 1)[0] @ e)
        hidden = np.zeros((self.xi.size, 3))
        hidden[:, 0] = self.hidden + s - LENGTH
        tip = mouth @ pose(translation=line[:, -1]) @ pose(rotation=turn)
        places = (
            (mouth, hidden),
            (mouth, line[:, :-1].T),
            *zip((base, turret, tip), (points for _, points in self.bodies)),
        )
        return np.concatenate([r @ T[:3, :3].T + T[:3, 3] for T, r in places])

    def bends(self, q):
        """Coordinates of bending in y and in z."""
        return np.split(q[self.arm.elastic_q], 2)

    def strain_energy(self, change):
        """Energy of bending after a change (n,) of the coordinates."""
        q, energy = self.q + change, 0.0
        for stiffness, shapes, e in zip((2 * EI, EI), self.shapes, self.bends(q)):
            curvature = LENGTH**2 * shapes.at(LENGTH * self.xi, 2) @ e
            energy += stiffness / 2 / self.free_length(q) ** 3 * self.weights @ curvature**2
        return energy


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('seed', range(3))
def test_accelerations_are_those_of_mass_points(kind, seed):
    """By the virtual power of all points, with differences of their positions."""
    text = sliding_arm(modes='bending_y="2" bending_z="2" torsion="0"', inertia=(0.0, 0.0))
    arm = arm_of(freed(text, kind), gravity=GRAVITY)
    q, v = state_of(arm, seed)
    points, effort = MassPoints(arm, q), np.random.default_rng(seed).normal(size=2)
    units = np.eye(arm.nq)
    N = np.array([slope(lambda t, k=k: points.positions(t * k), 1e-3) for k in units])
    strain = [slope(lambda t, k=k: points.strain_energy(t * k), 1e-3) for k in units]
    bias = second_slope(lambda t: points.positions(t * v), 2e-3) - GRAVITY
    M = np.einsum('kpx,p,lpx->kl', N, points.mass, N)
    force = np.einsum('kpx,p,px->k', N, points.mass, bias) + strain
    force[:2] -= effort
    scale = np.sqrt(np.diag(M))
    assert_same(frs.mass_matrix(arm, q), M, np.outer(scale, scale), 1e-10)
    # second differences round to 1e-10
    found = frs.forward_dynamics(arm, q, v, effort)
    assert_same(found, -np.linalg.solve(M, force), 1 / scale, 1e-8)
    sim = frs.Simulation(arm)
    sim.set_state(q, v)
    place, rate = points.positions(0 * q), np.einsum('kpx,k->px', N, v)
    centre = points.mass @ place / points.mass.sum()
    angular = points.mass @ np.cross(place - centre, rate)
    momentum = np.concatenate([angular, points.mass @ rate])
    assert_same(sim.momentum(), momentum, tolerance=1e-10)
    assert_same(sim.centre_of_mass, centre, tolerance=1e-12)


@pytest.mark.parametrize('name', ARMS)
@pytest.mark.parametrize('steps', [1000, pytest.param(100_000, marks=pytest.mark.long)])
def test_a_sliding_link_in_flight_keeps_momentum_and_energy(name, steps):
    """It strikes the stops of its guide."""
    arm = arm_of(freed(ARMS[name]), gravity=WEIGHTLESS)
    sim = violent(arm, 1.0)
    momentum, centre, start = sim.momentum(), sim.centre_of_mass, sim.energy()
    sim.step(steps)
    # each step rounds once; the bound is that for 1e5 steps
    assert abs(sim.momentum() - momentum).max() <= 1e-12 * abs(momentum).max()
    mass = sum(link.inertial.mass for link in arm.description.links if link.inertial)
    travel = momentum[3:] / mass * steps * 1e-3
    np.testing.assert_allclose(sim.centre_of_mass - centre, travel, rtol=1e-11)
    assert abs(sim.energy().balance) <= 1e-12 * start.kinetic


@pytest.mark.parametrize('name', ARMS)
@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize(
    ('seeds', 'steps'), [((1,), 200), pytest.param(range(20), 1000, marks=pytest.mark.long)]
)
def test_energy_of_a_sliding_link_in_flight_never_rises(name, kind, seeds, steps):
    arm = arm_of(freed(ARMS[name], kind), gravity=WEIGHTLESS)
    for seed in seeds:
        rise, change = largest_rise(violent(arm, 20.0, 4e-3, seed), steps)
        assert rise < 1e-12
        assert kind == 'planar' or change < 1e-12  # the plane takes momentum


@pytest.mark.parametrize('name', ARMS)
def test_a_prescribed_slide_exchanges_no_momentum(name):
    arm = arm_of(freed(ARMS[name]), gravity=WEIGHTLESS)
    sim = violent(arm, 0.1)
    momentum = sim.momentum()
    sim.prescribe('out', lambda t: (0.3 - 0.3 * np.cos(6 * t), 1.8 * np.sin(6 * t)))
    sim.step(500)
    assert sim.position[arm.joint_names.index('out')] > 0.5
    assert abs(sim.momentum() - momentum).max() <= 1e-12 * abs(momentum).max()


@pytest.mark.parametrize('name', ARMS)
def test_the_implicit_scheme_converges_to_the_reference_with_order_two(name):
    arm = arm_of(freed(ARMS[name]), gravity=WEIGHTLESS)
    q, v = state_of(arm, 2, bend=1e-4, rate=0.3)
    v[arm.elastic_q] = 0.0

    def end(step, scheme='implicit_midpoint'):
        sim = frs.Simulation(arm, frs.SimulationSettings(time_step=step, scheme=scheme))
        sim.set_state(q, v)
        sim.step(round(0.02 / step))
        return np.concatenate([sim.base_pose, sim.base_twist, sim.position])

    exact = end(1e-4, 'reference')
    errors = [abs(end(step) - exact).max() for step in (1e-4, 5e-5)]
    assert errors[1] < 1e-4 and errors[1] < 0.3 * errors[0]


@pytest.mark.slow
@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('name', ['gear', 'telescope'])
def test_derivatives_are_differences_of_the_accelerations(kind, name):
    """At any coordinates of the base, its columns are by small motions in its own axes."""
    arm = arm_of(freed(ARMS[name], kind, '0.6 0 0.8'), gravity=GRAVITY)
    q, v = state_of(arm, 3, rate=0.5)
    rng = np.random.default_rng(3)
    q[arm.base_q] = rng.normal(size=len(arm.arrays.base))
    effort = rng.normal(size=len(arm.joint_names))
    pushes = [frs.Push('tool', (1.0, 2.0, -3.0), (0.1, 0.2, 0.3))]
    found = frs.derivatives(arm, q, v, effort, pushes=pushes)
    # rates of the base coordinates x for each component of the twist (T111)
    moves, x, columns = np.eye(arm.nq), np.zeros(6), arm.arrays.base[:, 1]
    x[columns] = q[arm.base_q]
    half = screw_matrix(x) / 2
    for k, component in arm.arrays.base:
        rate = (np.eye(4) + half) @ screw_matrix(np.eye(6)[component]) @ (np.eye(4) - half)
        moves[k, arm.base_q] = np.array([rate[2, 1], rate[0, 2], rate[1, 0], *rate[:3, 3]])[
            columns
        ]

    def acceleration(q, v):
        return frs.forward_dynamics(arm, q, v, effort, pushes=pushes)

    by_q = [slope(lambda t, k=k: acceleration(q + t * k, v), 5e-4) for k in moves]
    by_v = [slope(lambda t, k=k: acceleration(q, v + t * k), 0.1) for k in np.eye(arm.nv)]
    for exact, rows in ((found.da_dq, by_q), (found.da_dv, by_v)):
        difference = np.array(rows).T
        scale = np.maximum(abs(difference).max(axis=1, keepdims=True), 1.0)
        assert_same(exact, difference, scale, 1e-7)


def test_a_batch_and_a_saved_state_take_sliding_links_in_flight():
    arm = arm_of(freed(ARMS['gear']), gravity=WEIGHTLESS)
    sim, batch = violent(arm, 1.0), frs.Batch(arm, 2)
    batch.set_state(np.tile(sim.q, (2, 1)), np.tile(sim.v, (2, 1)))
    sim.effort[:] = batch.effort[:] = [1.0, 50.0]
    sim.step(20)
    state = pickle.loads(pickle.dumps(sim.save_state()))
    batch.step(20)
    for name in ('q', 'v', 'base_pose', 'base_twist'):
        np.testing.assert_array_equal(getattr(batch, name)[1], getattr(sim, name))
    np.testing.assert_array_equal(batch.momentum()[1], sim.momentum())
    sim.step(5)
    end = sim.q
    sim.restore_state(state)
    sim.step(5)
    np.testing.assert_array_equal(sim.q, end)
