"""The element sum, the wrench DAE and the stiffened arm against the recursion and each other."""

import numpy as np
import pytest
from random_arms import every_feature, random_robot, random_state
from reference import along
from refusals import refusal
from scipy.integrate import solve_ivp

import flex_robot_sim as frs
from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics
from flex_robot_sim.formulations import element_sum, stiffened, wrench_dae
from flex_robot_sim.formulations.sliding_link import SlidingLink
from flex_robot_sim.formulations.wrench_motion import WrenchMotion
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError, SimulationError

pytestmark = pytest.mark.slow

SEEDS = range(4)
couplings = pytest.mark.parametrize('coupling', ['zero_order', 'shortening'])


def robots():
    """Random trees, and one with every feature."""
    return [*(random_robot(seed) for seed in SEEDS), every_feature()]


def in_motion(text, coupling, seed):
    """Return an arm in a random state: arm, q, qd, generalised forces, and accelerations."""
    arm = frs.load(text, coupling=coupling, gravity=(1.0, -2.0, -9.0))
    q, qd = random_state(arm, seed)
    work, qdd = make_workspace(arm.arrays), np.zeros(arm.size)
    effort = np.random.default_rng(seed).normal(size=len(arm.joint_names))
    implicit_dynamics(arm.arrays, q, qd, effort, 0.0, qdd, work, qdd)
    return arm, q, qd, work.force.copy(), qdd


def relative_error(found, expected):
    """Return the largest difference relative to the largest value."""
    return abs(found - expected).max() / abs(expected).max()


@couplings
@pytest.mark.parametrize('make', [wrench_dae.make, stiffened.make])
def test_accelerations_equal_those_of_the_recursion(make, coupling):
    for seed, text in enumerate(robots()):
        arm, q, qd, force, expected = in_motion(text, coupling, seed)
        # both solve systems with condition numbers above 1e6
        assert relative_error(make(arm).accelerations(q, qd, force), expected) < 1e-9


@couplings
def test_the_element_sum_converges_with_the_square_of_the_elements(coupling):
    for seed, text in enumerate(robots()):
        arm, q, qd, force, expected = in_motion(text, coupling, seed)
        # 48 and 96, so beams of 1, 2 or 3 finite elements get exactly twice as many
        errors = [
            relative_error(element_sum.make(arm, count).accelerations(q, qd, force), expected)
            for count in (48, 96)
        ]
        assert errors[1] < 0.02
        # the remainder is of fourth order
        assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_a_rigid_arm_needs_no_elements():
    arm, q, qd, force, expected = in_motion(random_robot(7, kinds=('rigid',)), 'zero_order', 7)
    assert relative_error(element_sum.make(arm, 1).accelerations(q, qd, force), expected) < 1e-9


@pytest.mark.parametrize('seed', [1, 2])
def test_wrenches_equal_those_of_the_simulation(seed):
    arm = frs.load(random_robot(seed, gears=False))
    q, qd = random_state(arm, seed)
    simulation = Simulation(arm)
    simulation.effort = np.random.default_rng(seed).normal(size=len(arm.joint_names))
    simulation.set_state(q=q, v=qd)
    work, qdd = make_workspace(arm.arrays), np.zeros(arm.size)
    implicit_dynamics(arm.arrays, q, qd, simulation.effort, 0.0, qdd, work, qdd)
    solution = wrench_dae.make(arm).solve(q, qd, work.force.copy())
    scale = abs(solution.wrenches).max()
    for joint, (body, frame) in arm.carried_bodies.items():
        moment, pull = solution.wrenches[body, :3], solution.wrenches[body, 3:]
        found = np.concatenate([frame.R.T @ (moment - np.cross(frame.p, pull)), frame.R.T @ pull])
        assert abs(found - simulation.wrench(joint)).max() < 1e-9 * scale


def test_a_further_link_leaves_the_previous_matrix_unchanged():
    # rigid, because the modes of a link depend on its end load
    rigid = [frs.load(random_robot(3, links=links, kinds=('rigid',))) for links in (4, 5)]
    small, large = [
        wrench_dae.make(arm).solve(*np.zeros((3, arm.size))).matrix.toarray() for arm in rigid
    ]
    assert len(large) == len(small) + 12
    np.testing.assert_array_equal(large[: len(small), : len(small)], small)


def test_link_ends_without_rotation_change_nothing_in_a_rigid_arm():
    arm, q, qd, force, expected = in_motion(random_robot(5, kinds=('rigid',)), 'zero_order', 5)
    found = wrench_dae.make(arm, sections_turn=False).accelerations(q, qd, force)
    assert relative_error(found, expected) < 1e-9


def test_link_ends_without_rotation_overestimate_the_frequency_of_two_links():
    # without the slope at its end, the first link has too little of the inertia of the second
    frequencies = []
    for turns in (True, False):
        arm = frs.load('ella', coupling='zero_order', gravity=(0, 0, 0))
        system = wrench_dae.make(arm, sections_turn=turns)
        zero, elastic = np.zeros(arm.size), np.arange(3, arm.size)
        inverse = np.array([system.accelerations(zero, zero, row) for row in np.eye(arm.size)])
        M = np.linalg.inv(inverse)[np.ix_(elastic, elastic)]
        K = np.zeros((arm.size, arm.size))
        for i in arm.beams:
            part = slice(arm.arrays.first[i], arm.arrays.first[i] + arm.arrays.modes[i])
            K[part, part] = arm.beams[i].stiffness
        squares = np.linalg.eigvals(np.linalg.solve(M, K[np.ix_(elastic, elastic)])).real
        frequencies.append(np.sqrt(squares.min()) / (2 * np.pi))
    # a damping ratio of half a percent lowers the frequencies by 1 / 80,000
    assert frequencies[0] == pytest.approx(frs.frequencies(arm)[0], rel=2e-5)
    assert frequencies[1] > 1.1 * frequencies[0]


@couplings
def test_first_order_link_ends_differ_in_first_order(coupling):
    arm, q, qd, *_ = in_motion(random_robot(0), coupling, 0)
    elastic = arm.size - arm.arrays.modes.sum()
    found = []
    for scale in (1 / 16, 1 / 32):
        q_part, qd_part = q.copy(), qd.copy()
        q_part[elastic:] *= scale
        qd_part[elastic:] *= scale
        whole, first = [
            stiffened.make(arm, exact).mass_matrix_and_bias(q_part, qd_part)[1]
            for exact in (True, False)
        ]
        found.append(abs(whole - first).max())
    assert found[0] / found[1] == pytest.approx(2.0, rel=0.05)


def spring_forces(arm):
    """Return the spring forces of an arm without gears, as a function."""
    K = np.zeros((arm.size, arm.size))
    for i in arm.beams:
        part = slice(arm.arrays.first[i], arm.arrays.first[i] + arm.arrays.modes[i])
        K[part, part] = arm.beams[i].stiffness
    return lambda q, qd, time: -K @ q


def test_the_gap_between_links_grows_with_the_square_of_the_step():
    arm = frs.load(random_robot(11, links=3, kinds=('rigid', 'modes'), gears=False))
    q, qd = random_state(arm, 1, bend=0.01)
    drifts = []
    for step in (4e-5, 2e-5):
        motion = WrenchMotion(arm, q, 0.1 * qd)
        assert max(motion.drift()) < 1e-12
        for _ in range(round(4e-3 / step)):
            motion.step(step, spring_forces(arm))
        drifts.append(motion.drift())
    assert drifts[0].rate / drifts[1].rate == pytest.approx(4.0, rel=0.1)
    assert 0 < drifts[1].rate < 1e-3


def test_diverging_links_are_reported():
    arm = frs.load('ella')
    motion = WrenchMotion(arm, np.full(arm.size, 0.01))
    with pytest.raises(SimulationError) as caught:
        for _ in range(1000):
            motion.step(1e-3, spring_forces(arm), 'forward_euler')
    assert str(caught.value) == (
        f'the links fly apart after {motion.time:.6g} s. Take a shorter step'
    )
    with pytest.raises(SettingError) as caught:
        motion.step(1e-3, spring_forces(arm), 'euler')
    assert str(caught.value) == "scheme = 'euler' must be one of: forward_euler, midpoint"


ROOTS = np.array([1.8751040687, 4.6940911330, 7.8547574382])  # of a clamped-free beam


@pytest.mark.parametrize('free', [0.3, 0.57, 1.2])
def test_a_sliding_link_at_standstill_is_a_cantilever_of_its_free_length(free):
    errors = []
    for elements in (400, 800):
        link = SlidingLink(1.2, 0.5, 8.0, count=3, elements=elements)
        expected = ROOTS**2 * np.sqrt(8.0 / 0.5) / free**2 / (2 * np.pi)
        errors.append(abs(link.frequencies(free) / expected - 1).max())
    assert errors[1] < 3e-4
    assert errors[1] < 0.3 * errors[0] or errors[0] < 1e-6


def test_a_sliding_link_with_a_tip_mass_has_its_frequency():
    # mu = 1: beta L = 1.247917 (exact); three shapes of a free end are within 1 %
    link = SlidingLink(1.0, 0.5, 8.0, count=6, tip=0.5)
    expected = 1.247917**2 * np.sqrt(8.0 / 0.5) / (2 * np.pi)
    assert link.frequencies(1.0)[0] == pytest.approx(expected, rel=2e-3)


def in_free_motion(link, start, force):
    """Return the states of a sliding link over 0.15 s, one column for each step."""
    n = link.size

    def rates(_, state):
        return np.concatenate([state[n:], link.accelerations(state[:n], state[n:], force)])

    return solve_ivp(rates, (0.0, 0.15), start, rtol=1e-7, atol=1e-9).y


def test_a_sliding_and_rotating_link_conserves_its_energy():
    link = SlidingLink(1.0, 0.7, 14.0, count=2, elements=50, guide=0.1, tip=0.2)
    found = in_free_motion(link, [0.0, 0.5, 0.02, 0.001, 1.0, 0.4, 0.0, 0.0], np.zeros(4))
    energies = np.array([link.energy(*np.split(state, 2)) for state in found.T])
    assert found[1, -1] > 0.54  # it has moved out by a tenth
    assert np.ptp(energies[:, 0]) > 0.02  # strain energy has become kinetic energy
    # 1e-7 in each step; a kink when an element leaves the guide
    assert np.ptp(energies.sum(axis=1)) < 1e-5 * energies[0].sum()


def test_the_force_on_the_slide_does_work():
    link, force = SlidingLink(1.0, 0.7, 14.0, count=2, elements=50), np.array([0.3, -0.5, 0, 0])
    ends = in_free_motion(link, [0.0, 0.8, 0.02, 0.0, 0.5, -0.3, 0.0, 0.0], force).T[[0, -1]]
    gained = np.diff([sum(link.energy(*np.split(state, 2))) for state in ends])
    assert gained == pytest.approx(force @ np.diff(ends, axis=0)[0, :4], rel=1e-4)


@pytest.mark.parametrize('free', [0.0, -0.1, 1.3, np.nan])
def test_an_impossible_free_length_is_rejected(free):
    link = SlidingLink(1.2, 0.5, 8.0)
    q, qd = np.array([0.0, free, 0.0, 0.0, 0.0]), np.zeros(5)
    for ask in (
        lambda: link.accelerations(q, qd, qd),
        lambda: link.energy(q, qd),
        lambda: link.strain_energy_gradient(q),
        lambda: link.frequencies(free),
    ):
        assert refusal(SettingError, ask) == (
            f'free length = {free:g} m must be between 0.0012 and 1.2 m, the length of the link'
        )


def test_invalid_parameters_are_rejected():
    assert refusal(SettingError, SlidingLink, 1.2, 0.5, -8.0) == 'EI = -8.0 must be > 0'


def test_gravity_bends_a_sliding_link_like_a_cantilever():
    # rho A g L^4 / (8 EI) at the tip, guide and slide fixed; the shapes are accurate to 1e-4
    link, free = SlidingLink(1.0, 0.5, 8.0, count=4, gravity=(0.0, -9.81)), 0.8
    q = np.array([0.0, free, 0.0, 0.0, 0.0, 0.0])
    _, h = link.mass_matrix_and_bias(q, 0 * q)
    e = np.linalg.solve(link._stiffness / free**3, -h[2:])
    assert link._shapes.at(np.array([1.0]), 0) @ e == pytest.approx(
        -0.5 * 9.81 * free**4 / (8 * 8.0), rel=1e-3
    )


def test_gravity_of_a_sliding_link_is_the_gradient_of_its_height():
    link = SlidingLink(1.0, 0.5, 8.0, count=3, tip=0.2, gravity=(1.0, -9.81))
    q, still = np.array([0.4, 0.6, 0.02, 0.003, -0.001]), np.zeros(5)
    slope = [
        along(lambda s, k=k: link.energy(q + s * np.eye(5)[k], still)[2], 1e-4) for k in range(5)
    ]
    assert link.mass_matrix_and_bias(q, still)[1] == pytest.approx(slope, rel=1e-7, abs=1e-9)


def test_damping_of_a_sliding_link_accounts_for_its_energy_loss():
    # with a moving slide, too: the motion bends and straightens the material
    link = SlidingLink(
        1.0,
        0.7,
        14.0,
        count=2,
        elements=50,
        gravity=(0.0, -9.81),
        damping=2e-3,
        joint_damping=(0.05, 0.4),
    )
    q, qd = np.array([0.3, 0.7, 0.02, 0.004]), np.array([0.5, 0.6, 0.3, -0.1])
    qdd = link.accelerations(q, qd, np.zeros(4))
    rate = along(lambda t: sum(link.energy(q + t * qd + 0.5 * t * t * qdd, qd + t * qdd)), 1e-6)
    assert rate == pytest.approx(-qd @ link.damping_matrix(q) @ qd, rel=1e-4)
    # derived by hand: EI tau times the squared rate of the curvature of the material
    x, weights = np.polynomial.legendre.leggauss(40)
    xi, weights = (1 + x) / 2, weights / 2

    def curvature(t):
        s, e = q[1] + t * qd[1], q[2:] + t * qd[2:]
        place = 1.0 - (q[1] - q[1] * xi) / s  # of the same material
        return link._shapes.at(place, 2) @ e / s**2

    lost = 14.0 * 2e-3 * q[1] * weights @ along(curvature, 1e-4) ** 2
    lost += 0.05 * qd[0] ** 2 + 0.4 * qd[1] ** 2
    assert qd @ link.damping_matrix(q) @ qd == pytest.approx(lost, rel=1e-8)


def test_material_damping_is_half_its_time_constant_times_the_rate():
    link, tau = SlidingLink(1.0, 0.5, 8.0, count=1, damping=1e-3), 1e-3
    q = np.array([0.0, 0.6, 0.0])
    M, K = link.mass_matrix_and_bias(q, 0 * q)[0][2, 2], link._stiffness[0, 0] / 0.6**3
    ratio = link.damping_matrix(q)[2, 2] / (2 * np.sqrt(K * M))
    assert ratio == pytest.approx(0.5 * tau * np.sqrt(K / M), rel=1e-12)
