"""Beams under dead loads: small and large bending, and buckling."""

from math import cosh, pi, sinh, sqrt

import numpy as np
import pytest
from beam_arms import EI, LENGTH, MASS_PER_LENGTH, beam_arm, with_elements, with_modes
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.natural_modes import frequencies, modes
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.dynamics.loads import Push
from flex_robot_sim.elastic.section import rectangle
from flex_robot_sim.util.exceptions import SettingError

# Two static shapes contain the deflection by a tip force. The tip deflection by own weight is
# exact, too, unlike that between root and tip. The same applies to nodes of cubic elements.
DISCRETISATIONS = pytest.mark.parametrize(
    'discretisation',
    [
        with_modes(bending_y=2, bending_z=2),
        with_modes(bending_y=2, bending_z=2, segments=4),
        with_elements(3, bending_y='all', bending_z='all'),
    ],
    ids=['modes', 'segments', 'elements'],
)


def tip(arm, **loads):
    """Return the static tip deflection and the motor torque."""
    rest = equilibrium(arm, **loads)
    return tip_deflection(arm, 'arm', rest.q), rest.effort


@DISCRETISATIONS
def test_a_force_at_the_tip(discretisation):
    force = 1e-5 * EI / LENGTH**2  # small enough that large bending contributes 1e-10
    deflection, effort = tip(beam_arm(discretisation), pushes=[Push('tool', (0, force, -force))])
    sag, slope = force * LENGTH**3 / (3 * EI), force * LENGTH**2 / (2 * EI)
    np.testing.assert_allclose(
        deflection[1:], [sag, -sag, 0, slope, slope], rtol=1e-6, atol=1e-9 * sag
    )
    # bending in each plane shortens the beam by int v'^2 / 2; segments are exact to second order
    assert deflection[0] == pytest.approx(-2 * force**2 * LENGTH**5 / (15 * EI**2), rel=1e-4)
    np.testing.assert_allclose(effort, -force * LENGTH, rtol=1e-9)


@DISCRETISATIONS
def test_own_weight(discretisation):
    gravity = 1e-5 * EI / (MASS_PER_LENGTH * LENGTH**3)
    deflection, effort = tip(beam_arm(discretisation, gravity=(0, -gravity, 0)))
    sag = MASS_PER_LENGTH * gravity * LENGTH**4 / (8 * EI)
    assert deflection[1] == pytest.approx(-sag, rel=1e-6)
    np.testing.assert_allclose(effort, MASS_PER_LENGTH * gravity * LENGTH**2 / 2, rtol=1e-9)


EULER = pi**2 * EI / (4 * LENGTH**2)

# The buckling shape is a cosine. Ritz: two polynomials are 7.5e-3 too stiff, three shapes
# 1.1e-3, four 1.2e-4, and four segments of two polynomials 5e-5.
BUCKLING = pytest.mark.parametrize(
    'discretisation',
    [
        with_modes(bending_y=4),
        with_modes(bending_y=2, segments=4),
        with_elements(4, bending_y='all'),
    ],
    ids=['modes', 'segments', 'elements'],
)


def squared_rate(arm, force):
    """Return the squared first natural frequency under an axial tip force [rad2/s2]."""
    return (2 * pi * frequencies(arm, pushes=[Push('tool', (force, 0, 0))])[0]) ** 2


@BUCKLING
def test_the_first_frequency_falls_to_zero_at_the_buckling_load(discretisation):
    arm = beam_arm(discretisation)
    before, nearer = (squared_rate(arm, -share * EULER) for share in (0.98, 0.99))
    root = 0.99 + 0.01 * nearer / (before - nearer)
    assert root == pytest.approx(1.0, rel=1e-3)
    with pytest.raises(SettingError, match='it buckles at about 99.[89]%'):
        equilibrium(arm, pushes=[Push('tool', (-1.0016 * EULER, 0, 0))])


@BUCKLING
def test_an_axial_pull_raises_the_squared_frequency_in_proportion(discretisation):
    # perturbation: d(rate^2)/dP = int w'^2 / int rho A w^2 with the first mode w of the free beam
    def shape(z, order):
        sigma = (sinh(lam) - np.sin(lam)) / (cosh(lam) + np.cos(lam))
        if order:
            return lam * (sinh(z) + np.sin(z) - sigma * (cosh(z) - np.cos(z)))
        return cosh(z) - np.cos(z) - sigma * (sinh(z) - np.sin(z))

    lam = 1.8751040687119611
    slope = (
        quad(lambda xi: shape(lam * xi, 1) ** 2, 0, 1)[0]
        / quad(lambda xi: shape(lam * xi, 0) ** 2, 0, 1)[0]
        / (MASS_PER_LENGTH * LENGTH**2)
    )
    arm = beam_arm(discretisation)
    rest = squared_rate(arm, 0.0)
    for force in (-1e-3 * EULER, 1e-3 * EULER):
        assert squared_rate(arm, force) - rest == pytest.approx(slope * force, rel=5e-3)
    assert squared_rate(arm, EULER) > rest > squared_rate(arm, -EULER / 2)


def test_a_push_along_the_tip_makes_the_beam_flutter_and_never_buckle():
    # Beck's column: flutter at 20.0509 EI/L^2 (Beck 1952; Bolotin 1963)
    arm = beam_arm(with_elements(8, bending_y='all'))
    for force, flutters in ((19.5, False), (20.03, False), (20.07, True), (25.0, True)):
        push = Push('tool', (-force * EI / LENGTH**2, 0, 0), follows=True)
        ratios = modes(arm, pushes=[push]).damping_ratios
        assert (ratios.min() < -1e-3) == flutters
        assert flutters or np.abs(ratios).max() < 1e-8


def elastica(alpha):
    """Return the tip under a transverse P = alpha EI/L^2: axial and transverse over L, slope."""

    def ends(curvature):
        return solve_ivp(
            lambda s, y: [y[1], -alpha * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])],
            (0, 1),
            [0, curvature, 0, 0],
            rtol=1e-12,
            atol=1e-14,
        ).y[:, -1]

    slope, _, x, y = ends(brentq(lambda curvature: ends(curvature)[1], 0, alpha, xtol=1e-14))
    return np.array([1 - x, y, slope])


@pytest.mark.parametrize(
    'alpha, table', [(1.0, [0.05643, 0.30172, 0.46135]), (5.0, [0.38763, 0.71379, 1.21537])]
)
@pytest.mark.parametrize('across', ['y', 'z'])
def test_elastica(alpha, table, across):
    exact = elastica(alpha)
    np.testing.assert_allclose(exact, table, atol=6e-6)
    errors = []
    for segments in (4, 8, 16):
        arm = beam_arm(with_modes(**{f'bending_{across}': 2}, segments=segments))
        force = alpha * EI / LENGTH**2 * np.array([0, across == 'y', across == 'z'])
        (x, y, z, *turn), _ = tip(arm, pushes=[Push('tool', tuple(force))])
        bent = y if across == 'y' else z
        turned = turn[2] if across == 'y' else -turn[1]
        errors.append(np.array([-x / LENGTH, bent / LENGTH, turned]) / exact - 1)
    # each segment includes the cube of its bending and neglects higher orders
    assert np.abs(errors[-1]).max() < 1e-5
    assert (np.abs(errors[1:]) < 0.2 * np.abs(errors[:-1])).all()


@pytest.mark.parametrize('angle', [0.0, 0.7])
def test_eight_segments_are_accurate_for_a_bending_of_82_degrees(angle):
    # a round beam bends in the plane of its load, for any axes of its coordinates
    alpha, (across, up) = 10.0, (np.cos(angle), np.sin(angle))
    arm = beam_arm(with_modes(bending_y=2, bending_z=2, segments=8))
    force = alpha * EI / LENGTH**2
    (x, y, z, *turn), _ = tip(arm, pushes=[Push('tool', (0, force * across, force * up))])
    found = [-x / LENGTH, (y * across + z * up) / LENGTH, turn[2] * across - turn[1] * up]
    # 6e-5 is of fifth order in the bending of a segment; without the setback it is 3e-3
    np.testing.assert_allclose(found, elastica(alpha), rtol=1e-4)
    assert abs(y * up - z * across) < 1e-9 * LENGTH


@pytest.mark.parametrize('segments, within', [(4, 0.02), (8, 0.02), (16, 0.005)])
def test_princeton_beam(segments, within):
    # the load acts outside the soft plane, and the beam twists
    E, G, form = 71.7e9, 71.7e9 / 2.62, rectangle(3.2024e-3, 12.3777e-3)
    arm = beam_arm(
        with_modes(2, 2, 1, segments=segments),
        length=0.508,
        mass_per_length=2700.0 * form.area,
        EIy=E * form.Iy,
        EIz=E * form.Iz,
        GJ=G * form.J,
        EA=E * form.area,
    )
    force = 8.896 / sqrt(2)
    (_, soft, stiff, *_), _ = tip(arm, pushes=[Push('tool', (0, force, force))])
    assert stiff == pytest.approx(8.84e-3, rel=within)
    assert soft == pytest.approx(108.99e-3, rel=within)
