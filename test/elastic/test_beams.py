"""Elastic beams: frequencies, statics and integrals of every discretisation."""

from math import pi

import numpy as np
import pytest
from scipy.integrate import quad, quad_vec
from scipy.linalg import eigh

from flex_robot_sim.elastic import NO_LOAD, Load, Section, cut_beam, make_beam
from flex_robot_sim.elastic.eigenmodes import bending_roots

LENGTH = 0.7
SLENDER = Section(
    mass_per_length=4.0, inertia=np.array([2e-3, 0.0, 0.0]), EIy=0.6, EIz=1.7, GJ=0.9, EA=3e4
)
THICK = SLENDER._replace(inertia=np.array([5e-3, 2e-3, 3e-3]))
TWO_BY_TWO = {'bending_y': 2, 'bending_z': 2, 'torsion': 1, 'stretch': 1}
TOOL = Load(1.3, np.array([0.1, 0.0, 0.0]), np.diag([0.02, 0.05, 0.03]))
MODULUS = {'bending_y': 1.7, 'bending_z': 0.6, 'torsion': 0.9, 'stretch': 3e4}
INERTIA = {'bending_y': 4.0, 'bending_z': 4.0, 'torsion': 2e-3, 'stretch': 4.0}


def beam(coordinates=None, section=SLENDER, **options):
    return make_beam(LENGTH, section, coordinates or TWO_BY_TWO, **options)


def elements(count, **reduced):
    """Return the arguments of a beam of finite elements, full unless reduced."""
    return {'elements': count, 'coordinates': {**dict.fromkeys(MODULUS, 'all'), **reduced}}


def modes(count, boundary='static'):
    return {'boundary': boundary, 'coordinates': dict.fromkeys(MODULUS, count)}


def inertia(a_beam, load=NO_LOAD):
    """Return the elastic inertia matrix at rest, with a rigid body at the tip."""
    tip = np.vstack([a_beam.turn(LENGTH), a_beam.shape(LENGTH)])
    hat = np.cross(np.eye(3), load.mass * load.centre)
    body = np.block([[load.inertia, hat], [hat.T, load.mass * np.eye(3)]])
    return a_beam.modal_mass + tip.T @ body @ tip


def mass_by_shape(a_beam):
    """Return the integral of Phi dm, (3, n): force on the coordinates by uniform acceleration."""
    return np.tensordot(a_beam.section.mass_per_length * a_beam.weights, a_beam.Phi, 1)


def angular_frequencies(a_beam, direction, load=NO_LOAD):
    part = a_beam.columns(direction)
    return np.sqrt(
        eigh(a_beam.stiffness[part, part], inertia(a_beam, load)[part, part], eigvals_only=True)
    )


def lambdas(a_beam, direction, load=NO_LOAD):
    """Return the frequencies as roots of the exact equations."""
    power = 2 if 'bending' in direction else 1
    unit = np.sqrt(MODULUS[direction] / INERTIA[direction]) / LENGTH**power
    return (angular_frequencies(a_beam, direction, load) / unit) ** (1 / power)


@pytest.mark.parametrize(
    'options', [modes(4, 'free'), modes(7), elements(20)], ids=['free', 'static', 'elements']
)
def test_frequencies_of_a_clamped_free_beam(options):
    a_beam = beam(**options)
    for direction in ('bending_y', 'bending_z'):
        np.testing.assert_allclose(
            lambdas(a_beam, direction)[:4], [1.875104, 4.694091, 7.854757, 10.995541], rtol=1e-4
        )
    exact = pi * np.array([0.5, 1.5, 2.5])
    if 'elements' in options:  # closed form for 20 linear elements
        exact = 20 * np.sqrt(6 * (1 - np.cos(exact / 20)) / (2 + np.cos(exact / 20)))
    for direction in ('torsion', 'stretch'):
        np.testing.assert_allclose(lambdas(a_beam, direction)[:3], exact, rtol=1e-6)


@pytest.mark.parametrize('mu', [0.1, 0.5, 1.0, 10.0])
@pytest.mark.parametrize(
    'options', [modes(3, 'mass'), modes(5), elements(20)], ids=['mass', 'static', 'elements']
)
def test_frequencies_with_a_mass_at_the_tip(options, mu):
    load = Load(mu * 4.0 * LENGTH, np.zeros(3), np.zeros((3, 3)))
    a_beam = beam(load=load, **options)
    exact = {
        0.1: [1.722742],
        0.5: [1.419964],
        1.0: [1.247917, 4.031139, 7.134132],
        10.0: [0.735782],
    }[mu]
    for direction in ('bending_y', 'bending_z'):
        np.testing.assert_allclose(
            lambdas(a_beam, direction, load)[: len(exact)], exact, rtol=1e-4
        )


@pytest.mark.parametrize(
    'options', [modes(3, 'inertia'), modes(6), elements(20)], ids=['inertia', 'static', 'elements']
)
def test_frequencies_with_a_tool_at_the_tip(options):
    a_beam = beam(load=TOOL, **options)
    rho_a = 4.0 * LENGTH
    for direction, j in (('bending_y', 0.03), ('bending_z', 0.05)):
        exact, _ = bending_roots(3, 1.3 / rho_a, 0.13 / (rho_a * LENGTH), j / (rho_a * LENGTH**2))
        np.testing.assert_allclose(lambdas(a_beam, direction, TOOL)[:3], exact, rtol=1e-4)


def test_natural_modes_with_a_tool_are_exact():
    a_beam = beam(load=TOOL, **modes(4, 'inertia'))
    rho_a = 4.0 * LENGTH
    exact, _ = bending_roots(4, 1.3 / rho_a, 0.13 / (rho_a * LENGTH), 0.03 / (rho_a * LENGTH**2))
    np.testing.assert_allclose(lambdas(a_beam, 'bending_y', TOOL), exact, rtol=1e-12)
    for direction, load in (('torsion', 0.02 / (2e-3 * LENGTH)), ('stretch', 1.3 / rho_a)):
        found = lambdas(a_beam, direction, TOOL)
        np.testing.assert_allclose(
            np.cos(found) / (load * found), np.sin(found), rtol=0, atol=1e-11
        )


def test_elements_converge_with_the_fourth_power_of_their_size():
    error = [
        lambdas(beam(**elements(count)), 'bending_y')[1] ** 2 - bending_roots(2)[0][1] ** 2
        for count in (10, 20, 40)
    ]
    assert error[0] / error[1] == pytest.approx(16, rel=0.05)
    assert error[1] / error[2] == pytest.approx(16, rel=0.05)


def test_reduced_elements_keep_the_lowest_modes_of_the_full_beam():
    full = beam(load=TOOL, **elements(8))
    some = beam(load=TOOL, **elements(8, bending_y=3, bending_z=2, torsion=2, stretch=1))
    for direction, count in (('bending_y', 3), ('bending_z', 2), ('torsion', 2), ('stretch', 1)):
        np.testing.assert_allclose(
            angular_frequencies(some, direction, TOOL),
            angular_frequencies(full, direction, TOOL)[:count],
            rtol=1e-10,
        )


@pytest.mark.parametrize(
    'options', [modes(2), modes(5), elements(1), elements(4), {**modes(2), 'load': TOOL}]
)
def test_deflections_by_tip_forces_agree_with_formulas(options):
    a_beam, force = beam(**options), 0.3
    # static shapes and cubic elements contain the exact solution
    for row, direction in ((1, 'bending_y'), (2, 'bending_z')):
        e = np.linalg.solve(a_beam.stiffness, a_beam.shape(LENGTH)[row] * force)
        tip, turn = a_beam.shape(LENGTH) @ e, a_beam.turn(LENGTH) @ e
        assert tip[row] == pytest.approx(force * LENGTH**3 / (3 * MODULUS[direction]), rel=1e-9)
        slope = turn[2] if row == 1 else -turn[1]
        assert slope == pytest.approx(force * LENGTH**2 / (2 * MODULUS[direction]), rel=1e-9)
    for row, direction in ((0, 'torsion'), (2, 'bending_y')):
        e = np.linalg.solve(a_beam.stiffness, a_beam.turn(LENGTH)[row] * force)
        slope = a_beam.turn(LENGTH)[row] @ e
        assert slope == pytest.approx(force * LENGTH / MODULUS[direction], rel=1e-9)
    e = np.linalg.solve(a_beam.stiffness, a_beam.shape(LENGTH)[0] * force)
    assert a_beam.shape(LENGTH)[0] @ e == pytest.approx(force * LENGTH / 3e4, rel=1e-9)


@pytest.mark.parametrize('options', [elements(1), elements(6), *map(modes, (2, 3, 4, 6))])
def test_own_weight_of_a_horizontal_cantilever(options):
    a_beam = beam(**options)
    # elements are exact at their nodes; x^2 and x^3 are exact at the tip for any load, and
    # further shapes must not change this
    for row, EI in ((1, 1.7), (2, 0.6)):
        e = np.linalg.solve(a_beam.stiffness, 9.81 * mass_by_shape(a_beam)[row])
        exact = 4.0 * 9.81 * LENGTH**4 / (8 * EI)
        assert a_beam.shape(LENGTH)[row] @ e == pytest.approx(exact, rel=1e-9)


@pytest.mark.long(after=3)
@pytest.mark.slow
@pytest.mark.parametrize(
    'options',
    [
        modes(1),
        modes(2),
        modes(4),
        modes(3, 'free'),
        {**modes(3, 'inertia'), 'load': TOOL},
        elements(3),
        elements(4, bending_y=2, bending_z=2),
    ],
)
def test_integrals_agree_with_adaptive_quadrature(options):
    a_beam = beam(section=THICK, **options)
    rho, J = THICK.mass_per_length, THICK.inertia
    stiffness = np.array([THICK.EA, THICK.GJ, THICK.EIy, THICK.EIz])
    Phi, Theta, H, strain = a_beam.shape, a_beam.turn, a_beam.shortening, a_beam.strain
    kinks = np.linspace(0, LENGTH, options.get('elements', 1) + 1)

    for found, function in [
        (mass_by_shape(a_beam), lambda x: rho * Phi(x)),
        (a_beam.rotary, lambda x: J[:, None] * Theta(x)),
        (
            a_beam.modal_mass,
            lambda x: rho * Phi(x).T @ Phi(x) + Theta(x).T @ (J[:, None] * Theta(x)),
        ),
        (a_beam.stiffness, lambda x: strain(x).T @ (stiffness[:, None] * strain(x))),
        # the squared shortening, which the dynamics sums over the stations
        (np.tensordot(a_beam.weights, H(a_beam.stations) ** 2, 1), lambda x: H(x) ** 2),
    ]:
        expected = sum(
            quad_vec(function, start, end, epsabs=0, epsrel=1e-12, norm='max')[0]
            for start, end in zip(kinks[:-1], kinks[1:])
        )
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-12 * abs(expected).max())


@pytest.mark.parametrize('options', [modes(2), modes(3, 'free'), elements(3)])
def test_shortening_is_the_integral_of_squared_slopes(options):
    a_beam = beam(**options)
    e = np.random.default_rng(2).normal(size=len(a_beam.names))
    kinks = np.linspace(0, LENGTH, 4)[1:-1]
    for x in (0.0, 0.2, 0.5, LENGTH):
        expected, _ = quad(
            lambda s: ((a_beam.turn(s) @ e)[1:] ** 2).sum(), 0, x, points=kinks, epsabs=1e-13
        )
        assert e @ a_beam.shortening(x) @ e == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize('options', [modes(3), modes(3, 'free'), elements(3)])
def test_rows_are_derivatives_of_each_other(options):
    a_beam, h = beam(**options), 1e-5
    x = np.array([0.1, 0.3, 0.6])
    dPhi, dTheta = ((f(x + h) - f(x - h)) / (2 * h) for f in (a_beam.shape, a_beam.turn))
    scale = abs(a_beam.strain(x)).max()
    close = {'rtol': 0.0, 'atol': 1e-6 * scale}  # central differences
    turn, strain = a_beam.turn(x), a_beam.strain(x)
    np.testing.assert_allclose(turn[:, 2], dPhi[:, 1], **close)
    np.testing.assert_allclose(turn[:, 1], -dPhi[:, 2], **close)
    np.testing.assert_allclose(strain[:, 0], dPhi[:, 0], **close)
    np.testing.assert_allclose(strain[:, 1:], dTheta, **close)


@pytest.mark.parametrize('options', [modes(1), modes(2), modes(5), modes(3, 'free'), elements(4)])
def test_the_root_is_clamped_and_the_first_motion_is_positive(options):
    a_beam = beam(load=TOOL, **options)
    np.testing.assert_allclose(a_beam.shape(0.0), 0.0, atol=1e-14)
    np.testing.assert_allclose(a_beam.turn(0.0), 0.0, atol=1e-13 / LENGTH)
    if 'elements' not in options:
        root = a_beam.strain(0.0)
        assert (abs(root).max(axis=0) == abs(root.sum(axis=0))).all()
        for row, name, sign in (
            (0, 'stretch', 1),
            (1, 'torsion', 1),
            (2, 'bending_z', -1),
            (3, 'bending_y', 1),
        ):
            assert (sign * root[row, a_beam.columns(name)] > 0).all()


@pytest.mark.parametrize('options', [modes(2), modes(6), elements(6, bending_y=3, bending_z=3)])
def test_modes_with_their_load_are_uncoupled(options):
    a_beam = beam(load=TOOL, section=THICK, **options)
    for direction in ('bending_y', 'bending_z'):
        part = a_beam.columns(direction)
        K, M = a_beam.stiffness[part, part], inertia(a_beam, TOOL)[part, part]
        for A in (K, M):
            unit = 1 / np.sqrt(np.diag(A))
            np.testing.assert_allclose(
                unit[:, None] * A * unit, np.eye(len(A)), rtol=0, atol=1e-8
            )  # six shapes are nearly dependent


def test_one_static_mode_is_the_optimal_shape_for_its_load():
    heavy = Load(1e4, np.zeros(3), np.zeros((3, 3)))
    a_beam = beam(load=heavy, **modes(1))
    # with a heavy tip it is the deflection by a tip force, 3 x^2 - x^3
    xi = np.linspace(0, 1, 5)
    shape = a_beam.shape(xi * LENGTH)[:, 1, a_beam.columns('bending_y')][:, 0]
    np.testing.assert_allclose(shape, (3 * xi**2 - xi**3) / 2, rtol=0, atol=1e-3)


def test_coordinates_are_the_largest_displacement_and_named_in_order():
    a_beam = beam({'stretch': 1, 'torsion': 1, 'bending_z': 1, 'bending_y': 2})
    assert a_beam.names == ('bending_y_1', 'bending_y_2', 'bending_z_1', 'torsion_1', 'stretch_1')
    x = np.linspace(0, LENGTH, 201)
    largest = abs(a_beam.shape(x)).max(axis=(0, 1))
    np.testing.assert_allclose(largest[[0, 1, 2, 4]], 1.0, rtol=1e-2)
    assert abs(a_beam.turn(x)[:, 0, 3]).max() == pytest.approx(1.0, rel=1e-12)


def test_a_rigid_beam_has_no_coordinates():
    a_beam = beam({'bending_y': 0})
    assert a_beam.names == () and a_beam.stiffness.shape == (0, 0)
    assert a_beam.Phi.shape[1:] == (3, 0) and a_beam.modal_mass.shape == (0, 0)


def test_a_beam_without_polar_inertia_still_twists():
    section = SLENDER._replace(inertia=np.zeros(3))
    for boundary in ('static', 'free', 'mass', 'inertia'):
        a_beam = make_beam(LENGTH, section, {'torsion': 2}, boundary=boundary, load=TOOL)
        assert np.isfinite(a_beam.Theta).all() and (np.diag(a_beam.stiffness) > 0).all()


def chain_tip(beams, force):
    """Return the tip deflection along y of beams fixed end to end, for a small tip force."""
    tip = slope = 0.0
    for i, part in enumerate(beams):
        beyond = LENGTH - (i + 1) * part.length
        K = part.stiffness
        work = part.shape(part.length)[1] + beyond * part.turn(part.length)[2]
        e = np.linalg.solve(K, work * force)
        tip += slope * part.length + part.shape(part.length)[1] @ e
        slope += part.turn(part.length)[2] @ e
    return tip


@pytest.mark.parametrize('segments', [1, 3])
def test_segments_end_to_end_are_equivalent_to_the_whole_beam(segments):
    beams = cut_beam(LENGTH, SLENDER, {'bending_y': 2}, segments, load=TOOL)
    assert sum(part.length for part in beams) == pytest.approx(LENGTH, rel=1e-14)
    assert chain_tip(beams, 0.2) == pytest.approx(0.2 * LENGTH**3 / (3 * 1.7), rel=1e-10)


def test_the_first_segment_carries_the_remaining_beam():
    # the first of two segments moves with the other as a rigid load
    first, second = cut_beam(LENGTH, THICK, {'bending_y': 2, 'torsion': 1}, 2, load=TOOL)
    rest = Load(1.3 + 2.0 * LENGTH, None, None)
    arm = LENGTH / 2
    centre = (1.3 * (arm + 0.1) + 2.0 * LENGTH * arm / 2) / rest.mass
    Jz = 2.0 * LENGTH * arm**2 / 3 + 3e-3 * arm + 0.03 + 1.3 * ((arm + 0.1) ** 2 - 0.1**2)
    Jx = 5e-3 * arm + 0.02
    direct = make_beam(
        arm,
        THICK,
        {'bending_y': 2, 'torsion': 1},
        load=Load(rest.mass, np.array([centre, 0.0, 0.0]), np.diag([Jx, 0.0, Jz])),
    )
    np.testing.assert_allclose(first.Phi, direct.Phi, rtol=0, atol=1e-12)
    assert second.length == arm


def test_a_beam_rebuilt_with_new_parameters_bends_by_F_L3_over_3EI():
    load = Load(0.3, np.array([0.1, 0.0, 0.0]), 0.01 * np.eye(3))
    for factor, mass in [(1.0, 0.3), (0.5, 0.3), (1.0, 3.0), (1.0, 0.3)]:
        section = SLENDER._replace(EIz=factor * SLENDER.EIz)
        a_beam = make_beam(LENGTH, section, TWO_BY_TWO, load=load._replace(mass=mass))
        tip = a_beam.shape(LENGTH)[1]
        # exact, as x^2 and x^3 are among the shapes
        assert tip @ np.linalg.solve(a_beam.stiffness, tip) == pytest.approx(
            LENGTH**3 / (3 * section.EIz), rel=1e-9
        )
        assert a_beam.section.EIz == section.EIz
