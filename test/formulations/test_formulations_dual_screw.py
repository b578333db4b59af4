"""
The dual screw equations are the nonlinear equations to first order in the elastic coordinates.

References: finite differences of the Lagrangian of test/reference.py, without truncation; the
recursion, which differs in second order; and the velocities of appendix B of the paper.
"""

import numpy as np
import pytest
from random_arms import every_feature, random_robot, random_state
from reference import Reference, along
from refusals import refusal

from flex_robot_sim.formulations import make, stiffened
from flex_robot_sim.formulations.dual_groups import g1_inverse
from flex_robot_sim.formulations.dual_numbers import hat
from flex_robot_sim.formulations.dual_projection import Projections
from flex_robot_sim.formulations.dual_screw import PAPER, DualScrew, Variant
from flex_robot_sim.model.assembly import load
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

COUPLINGS = 'zero_order', 'shortening'
LINEAR = Variant(keeps_energy=False)  # without products of elastic coordinates


def serial_arm(seed, coupling='zero_order', links=4, kinds=('rigid', 'modes', 'elements')):
    """Return a random, mostly serial arm with gears and prismatic joints."""
    return load(random_robot(seed, links=links, kinds=kinds), coupling=coupling)


def elastic(arm):
    return np.array(['/' in name and not name.endswith('/motor') for name in arm.coordinate_names])


def first_order(function, x, bends):
    """Return function(x) to first order in the elastic part of x: value and derivative."""
    small, stiff = np.where(bends, x, 0.0), np.where(bends, 0.0, x)
    # the states are of the size 0.1: steps of 0.02 truncate 1e-12 of the slope, and lose
    # 1e-16 / 0.02 to rounding if the function is exact to all digits
    return function(stiff) + along(lambda s: function(stiff + s * small), step=0.02)


@pytest.mark.parametrize(
    'seed, coupling', [(0, 'zero_order'), (1, 'shortening'), (2, 'zero_order')]
)
def test_mass_matrix_is_the_first_order_of_the_lagrangian_one(seed, coupling):
    arm = serial_arm(seed, coupling)
    q, qd = random_state(arm, seed)
    exact = first_order(Reference(arm).mass_matrix, q, elastic(arm))
    M = DualScrew(arm, LINEAR).system(q, qd).M
    assert np.allclose(M, exact, rtol=0, atol=1e-9 * abs(exact).max())
    assert np.allclose(M, M.T, rtol=0, atol=1e-13 * abs(M).max())  # rounding


@pytest.mark.long(after=4)
@pytest.mark.parametrize('coupling', COUPLINGS)
@pytest.mark.parametrize('seed', range(6))
def test_system_is_the_first_order_of_the_nonlinear_system(seed, coupling):
    # of trees with gears, slides and segments, and one with every feature; the stiffened arm is
    # nonlinear and independent of the dual screws; test_formulations_agreement.py tests it
    arm = load(random_robot(seed) if seed else every_feature(), coupling=coupling)
    (q, qd), n = random_state(arm, seed), arm.size
    exact, state = stiffened.make(arm), np.concatenate([q, qd])
    system = DualScrew(arm, LINEAR).system(q, qd)
    for part, found in enumerate((system.M, system.C @ qd - system.tau)):
        expected = first_order(
            lambda x, part=part: exact.mass_matrix_and_bias(x[:n], x[n:])[part],
            state,
            np.tile(elastic(arm), 2),
        )
        assert np.allclose(found, expected, rtol=0, atol=1e-9 * abs(expected).max())


@pytest.mark.long(after=1)
@pytest.mark.parametrize('seed, coupling', [(0, 'zero_order'), (2, 'shortening')])
def test_forces_are_the_first_order_of_the_lagrangian_ones(seed, coupling):
    arm = serial_arm(seed, coupling, links=2)
    q, qd = random_state(arm, seed)
    reference, n = Reference(arm), arm.size
    exact = first_order(
        lambda state: reference.bias(state[:n], state[n:]),
        np.concatenate([q, qd]),
        np.tile(elastic(arm), 2),
    )
    system = DualScrew(arm, LINEAR).system(q, qd)
    # velocities are complex steps; two more derivatives of the Lagrangian use differences of
    # sixth order, which are accurate to 1e-13 of it and 1e-11 of the slope
    assert np.allclose(system.C @ qd - system.tau, exact, rtol=0, atol=1e-9 * abs(exact).max())


@pytest.mark.parametrize('coupling', COUPLINGS)
def test_products_that_conserve_energy_are_of_second_order(coupling):
    arm = serial_arm(1, coupling)
    q, qd = random_state(arm, 1)
    off = []
    for scale in (0.02, 0.01):
        s = np.where(elastic(arm), scale, 1.0)
        kept, linear = (
            DualScrew(arm, variant).mass_matrix_and_bias(q * s, qd * s)
            for variant in (Variant(), LINEAR)
        )
        off.append([np.linalg.norm(a - b) for a, b in zip(kept, linear)])
    assert np.divide(off[0], off[1]) == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize('seed', range(3))
def test_stiffness_is_the_second_derivative_of_the_strain_energy(seed):
    arm = serial_arm(seed)
    reference = Reference(arm)
    q = random_state(arm, seed)[0]
    bending = np.where(elastic(arm), q, 0.0)
    force = reference.potential_force(
        lambda x: sum(piece.strain_energy(x) for piece in reference.pieces.values()), bending
    )
    K = DualScrew(arm).K
    assert np.allclose(-K @ bending, force, rtol=0, atol=1e-9 * abs(force).max())


@pytest.mark.parametrize('coupling', COUPLINGS)
@pytest.mark.parametrize('seed', range(6))
def test_difference_from_the_recursion_falls_by_four_when_elastic_states_are_halved(
    seed, coupling
):
    arm = serial_arm(seed, coupling, links=5, kinds=('rigid', 'modes', 'segments'))
    q, qd = random_state(arm, seed)
    force = np.random.default_rng(seed).normal(size=arm.size)
    dual, recursion, bends = DualScrew(arm), make('recursion', arm), elastic(arm)
    difference = []
    for scale in (0.02, 0.01, 0.0):
        s = np.where(bends, scale, 1.0)
        exact = recursion.accelerations(q * s, qd * s, force)
        off = dual.accelerations(q * s, qd * s, force) - exact
        difference.append(np.linalg.norm(off) / np.linalg.norm(exact))
    if bends.any():
        assert difference[0] / difference[1] == pytest.approx(4.0, rel=0.15)  # third order
    assert difference[2] < 1e-11  # rigid arm: rounding, ill conditioned


@pytest.mark.parametrize('seed', range(4))
def test_geometric_rule_gives_the_rate_of_the_projection_matrices(seed):
    arm = serial_arm(seed)
    q, qd = random_state(arm, seed)
    projections = Projections(arm)
    count = arm.arrays.parent.size
    rigid = projections.rigid_points(range(count), np.full((count, 3), 0.2))
    for points in (
        rigid,
        *(projections.beam_points(i, beam.stations[:2]) for i, beam in arm.beams.items()),
    ):

        def jacobians(x, points=points):
            return projections.project_points(projections.links(x), points, x, qd).jacobian

        rate = projections.project_points(projections.links(q), points, q, qd).jacobian_rate
        difference = along(lambda s, of=jacobians: of(q + s * qd), step=2e-3)
        assert np.allclose(rate, difference, rtol=0, atol=1e-9 * abs(difference).max())


def test_auxiliary_velocity_is_the_sum_of_the_paper():
    # (78), link by link, for the line of joint 1 seen from link 4: algorithm 2 of the paper
    arm = load('dual_screw_arm', coupling='zero_order')
    q, qd = random_state(arm, 3)
    projections = Projections(arm)
    links = projections.links(q)
    centre = np.array([0.2, 0.0, 0.0])
    last = projections.project_points(links, projections.rigid_points([3], [centre]), q, qd)

    def dual(real, bent=(0.0, 0.0, 0.0)):
        return np.concatenate([real, bent])

    X = [link.pose[:6, :6] for link in links]
    to_4 = [g1_inverse(X[3]) @ x for x in X]
    attachments = [projections.attachments[i] for i in (2, 3)]
    theta = [dual(np.zeros(3), s.Theta[0] @ qd) for s in attachments]
    shift = [dual(np.zeros(3), s.Phi[0] @ qd) for s in attachments]
    p = [dual([length, 0, 0], s.Phi[0] @ q) for length, s in zip((1.2, 1.0), attachments)]
    line = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    w21 = -to_4[1] @ line * qd[1]  # of link 1 against link 2, in 4
    w2d1 = w21 - to_4[1] @ theta[0]  # against the end of link 2
    w31 = w2d1 - to_4[2] @ line * qd[2]
    w3d1 = w31 - to_4[2] @ theta[1]
    w41 = w3d1 - line * qd[3]
    y = (
        _dual_product(w41, dual(-centre))
        + _dual_product(w31, -to_4[2] @ p[1])
        + _dual_product(w21, -to_4[1] @ p[0])
        + to_4[2] @ shift[1]
        + to_4[1] @ shift[0]
    )

    carrier, point = last.jacobian[0, :, 0] * qd[0], last.point_twist[0]
    assert np.allclose(carrier[:6] - point[:6], w41, rtol=0, atol=1e-12)
    assert np.allclose(point[6:] - carrier[6:], y, rtol=0, atol=1e-12)


def _dual_product(a, b):
    return np.concatenate([hat(a[:3]) @ b[:3], hat(a[:3]) @ b[3:] + hat(a[3:]) @ b[:3]])


def turn_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def turn_x(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def test_velocities_are_those_of_appendix_b():
    # (147) and (149), derived by hand; every term in the base frame at q1 = 0
    arm = load('dual_screw_arm', coupling='zero_order')
    q, u = random_state(arm, 11)
    q[0] = 0.0
    projections = Projections(arm)
    links = projections.links(q)
    x, L2 = 0.37, 1.2
    section3 = projections.beam_points(2, np.array([x]))
    attachment = projections.attachments[2]
    _, r2, r3 = attachment.Phi[0] @ q
    _, dr2, dr3 = attachment.Phi[0] @ u
    th1, th2, th3 = attachment.Theta[0] @ q
    d1, d2, d3 = attachment.Theta[0] @ u
    _, k2, k3 = section3.Phi[0] @ q
    _, dk2, dk3 = section3.Phi[0] @ u
    u1, u2, u3 = u[:3]
    c2, s2, c3, s3 = np.cos(q[1]), np.sin(q[1]), np.cos(q[2]), np.sin(q[2])

    R1 = np.eye(3)
    R2 = R1 @ turn_x(-np.pi / 2) @ turn_z(-np.pi / 2) @ turn_z(q[1])
    bent = hat([th1, th2, th3])
    real3, dual3 = R2 @ turn_z(q[2]), R2 @ bent @ turn_z(q[2])  # frame 3, as a dual rotation
    (x1, y1, _), (x2, y2, z2) = R1.T, R2.T
    # zero order, then first order: basis vectors of frame 3 have both
    v03 = (
        dr2 * y2
        + dr3 * z2
        - u1 * r3 * x1
        + u1 * (L2 * s2 + r2 * c2) * z2
        + u2 * (L2 * y2 - r2 * x2)
    )
    tail = (
        dk2 * real3[:, 1]
        + dk3 * real3[:, 2]
        + u1 * x * (-s3 * th1 + c3 * th2) * x1
        + u1 * x * (c3 * (c2 * th3 + s2) + s3 * (c2 - th3 * s2)) * y1
        + u1 * k2 * (c3 * c2 - s3 * s2) * y1
        - u1 * k3 * x1
        + u2 * x * (-s3 - c3 * th3) * x2
        + u2 * x * (c3 - th3 * s3) * y2
        - u2 * k2 * c3 * x2
        - u2 * k2 * s3 * y2
        + u3 * x * (real3 + dual3)[:, 1]
        - u3 * k2 * real3[:, 0]
        + d1 * x * s3 * z2
        - d2 * x * c3 * z2
        - d3 * x * s3 * x2
        + d3 * x * c3 * y2
    )
    velocity = projections.project_points(links, section3, q, u).section_twist[0, 6:]
    X = links[2].pose[:6, :6]
    real, dual = np.split(X @ velocity, 2)  # into the base frame
    assert np.allclose(real + dual, v03 + tail, rtol=0, atol=1e-12)
    assert np.allclose(X[:3, :3], real3, rtol=0, atol=1e-12)
    assert np.allclose(X[3:, :3], dual3, rtol=0, atol=1e-12)


def test_the_paper_omits_the_second_order_rotation_of_a_link_end():
    # M and gravity lose terms of first order, which are halved with the elastic coordinates
    arm = serial_arm(1, links=5, kinds=('modes',))
    q, qd = random_state(arm, 1)
    full, paper = DualScrew(arm, LINEAR), DualScrew(arm, LINEAR._replace(exact_end_rotation=False))
    lost = []
    for scale in (0.02, 0.01):
        s = np.where(elastic(arm), scale, 1.0)
        lost.append(
            [
                np.linalg.norm(a - b)
                for a, b in zip(full.system(q * s, qd * s), paper.system(q * s, qd * s))
            ]
        )
    for part in (0, 3):  # M and tau
        assert lost[1][part] > 0.0
        assert lost[0][part] / lost[1][part] == pytest.approx(2.0, rel=1e-6)


def test_sections_of_the_paper_have_gyroscopic_moments():
    # a section with unequal inertias, rotating about an oblique axis: omega x J omega by (104)
    arm = load('element_sum_arm_2', coupling='zero_order')
    beam = arm.beams[0]
    q, qd = np.zeros(arm.size), np.zeros(arm.size)
    qd[0] = 2.0
    omega = arm.arrays.screw[0, :3] * qd[0]
    moment = np.cross(omega, beam.section.inertia * omega)
    held, paper = DualScrew(arm, LINEAR), DualScrew(arm, PAPER)
    modes = arm.elastic_coordinates(0)
    found = (paper.system(q, qd).C @ qd - held.system(q, qd).C @ qd)[modes]
    expected = np.einsum('g,gai,a->i', beam.weights, beam.Theta, moment)
    assert np.allclose(found, expected, rtol=0, atol=1e-12)


def test_an_unknown_formulation_is_rejected():
    assert refusal(SettingError, make, 'recursive', None) == (
        "formulation = 'recursive' must be one of recursion, dual_screw, "
        'element_sum, wrench_dae, stiffened'
    )


@pytest.mark.parametrize('variant', [Variant(), LINEAR, PAPER])
@pytest.mark.parametrize('seed', range(3))
def test_accelerations_equal_those_of_the_matrices(seed, variant):
    # the compiled code sums over the speeds before it projects
    arm = serial_arm(seed, 'shortening', kinds=('rigid', 'modes', 'segments'))
    q, qd = random_state(arm, seed)
    force = np.random.default_rng(seed).normal(size=arm.size)
    dual = DualScrew(arm, variant)
    M, C, _, tau = dual.system(q, qd)
    expected = np.linalg.solve(M, force + tau - C @ qd)
    assert np.allclose(
        dual.accelerations(q, qd, force), expected, rtol=0, atol=1e-10 * abs(expected).max()
    )


def test_linearised_inertia_becomes_indefinite_for_large_bending():
    # torsion of a link that is bent by v moves the inertia m v^2, which is of second order
    arm = load('dual_screw_arm', coupling='zero_order')
    linear, default, exact = DualScrew(arm, LINEAR), DualScrew(arm), Reference(arm)
    bent = arm.coordinate_names.index('link_2/bending_y_1')
    signs = []
    for v in (0.002, 0.05):
        q = np.zeros(arm.size)
        q[1:4], q[bent] = 1.0, v
        signs.append(np.linalg.eigvalsh(linear.system(q, np.zeros(arm.size)).M)[0] > 0.0)
        # a sum of squares is never negative
        assert np.linalg.eigvalsh(default.system(q, np.zeros(arm.size)).M)[0] > 0.0
        assert np.linalg.eigvalsh(exact.mass_matrix(q))[0] > 0.0
    assert signs == [True, False]
