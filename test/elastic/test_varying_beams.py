"""
Beams whose section varies or shears.

References: Bessel functions, transfer matrices of uniform pieces, and integrals of the strain.
"""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import eigh, expm
from scipy.optimize import brentq
from scipy.special import iv, jv, kv, yv

from flex_robot_sim.elastic import Load, Section, cut_beam, make_beam
from flex_robot_sim.elastic.section_profile import (
    PROFILE_QUANTITIES,
    interpolated_profile,
    slender_moments,
    uniform_profile,
)
from flex_robot_sim.elastic.strain_basis import StrainBasis

UNIT = Section(1.0, np.zeros(3), 1.0, 1.0, 1.0, 1.0)
LENGTH = 1.3


def profile(breaks=(0.0, 1.0), **factors):
    """Return the profile with factors by quantity: functions of the share of the length."""

    def values(piece, share):
        s = breaks[piece] + share * (breaks[piece + 1] - breaks[piece])
        out = np.ones((len(s), len(PROFILE_QUANTITIES)))
        for name, factor in factors.items():
            value = factor[piece] if isinstance(factor, list) else factor(s)
            out[:, PROFILE_QUANTITIES.index(name)] = value
        return out

    return interpolated_profile(np.array(breaks, float), values)


def rates(beam, direction='bending_y'):
    part = beam.columns(direction)
    squares = eigh(beam.stiffness[part, part], beam.modal_mass[part, part], eigvals_only=True)
    return np.sqrt(squares)


@pytest.mark.parametrize(
    ('power', 'known'), [(1, [5.3151, 15.207]), (2, [8.719, 21.146])], ids=['wedge', 'cone']
)
def test_a_pointed_beam_has_the_rates_of_bessel_functions(power, known):
    def characteristic(z):
        # Kirchhoff (1879): the deflection is x^(-power/2) J_power, I_power(z sqrt(x))
        return jv(power, z) * iv(power + 1, z) + iv(power, z) * jv(power + 1, z)

    exact = [
        brentq(characteristic, 2 * w**0.5 - 0.2, 2 * w**0.5 + 0.2, xtol=1e-14) ** 2 / 4
        for w in known
    ]
    shape = profile(
        mass_per_length=lambda s: (1 - s) ** power, EIz=lambda s: (1 - s) ** (power + 2)
    )
    beam = make_beam(1.0, UNIT, {'bending_y': 6}, profile=shape)
    assert rates(beam)[:2] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize('ratio', [0.5, 0.2, 0.7])
def test_a_truncated_wedge_has_the_rates_of_bessel_functions(ratio):
    def fields(x, w):
        """Rows of deflection, slope, moment and shear force of the four solutions at x."""
        z = 2 * np.sqrt(w * x)
        # by the recurrences of f(z) / z and f(z) z^n
        signs = ((jv, -1, 1), (yv, -1, 1), (iv, 1, 1), (kv, -1, -1))
        return np.array(
            [
                (
                    f(1, z) / np.sqrt(x),
                    up * np.sqrt(w) * f(2, z) / x,
                    w * f(3, z) * x**1.5,
                    down * w**1.5 * f(2, z) * x,
                )
                for f, up, down in signs
            ]
        ).T

    def determinant(w):
        # clamped where it is thick, at 1; free where it is thin
        return np.linalg.det(np.vstack([fields(1.0, w)[:2], fields(ratio, w)[2:]]))

    start = np.linspace(0.5, 70.0 / (1 - ratio) ** 2, 300)
    values = [determinant(w) for w in start]
    signs = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))[:3]
    exact = [brentq(determinant, start[k], start[k + 1], xtol=1e-13) for k in signs]
    taper = profile(
        mass_per_length=lambda s: 1 - (1 - ratio) * s, EIz=lambda s: (1 - (1 - ratio) * s) ** 3
    )
    beam = make_beam(1 - ratio, UNIT, {'bending_y': 7}, profile=taper)
    assert rates(beam)[:3] == pytest.approx(exact, rel=1e-7)


def transfer_rates(pieces, count):
    """
    Rates of a clamped-free beam of uniform pieces that shear, by transfer matrices.

    :param pieces: (length, EI, kGA, mass per length, rotary inertia per length).
    """

    def determinant(w):
        state = np.eye(4)
        for length, EI, kGA, mass, rotary in pieces:
            # rates along x of deflection, turn, moment and shear force
            A = np.zeros((4, 4))
            A[0] = [0.0, 1.0, 0.0, 1.0 / kGA]
            A[1, 2] = 1.0 / EI
            A[2] = [0.0, -(w**2) * rotary, 0.0, -1.0]
            A[3, 0] = -(w**2) * mass
            state = expm(A * length) @ state
        return np.linalg.det(state[2:, 2:])

    found: list = []
    step, w = 0.5, 0.1
    while len(found) < count:
        if np.sign(determinant(w)) != np.sign(determinant(w + step)):
            found.append(brentq(determinant, w, w + step, xtol=1e-12))
        w += step
    return found


def test_a_stepped_beam_that_shears_has_the_rates_of_transfer_matrices():
    random = np.random.default_rng(3)
    for _ in range(3):
        cuts = np.sort(random.uniform(0.15, 0.85, 2))
        breaks = [0.0, *cuts, 1.0]
        # the first piece is the reference
        names = ('EIz', 'kGAy', 'mass_per_length', 'inertia_z')
        factors = {name: [1.0, *random.uniform(0.3, 3.0, 2)] for name in names}
        section = Section(2.0, np.array([1.0, 1.0, 2e-2]), 7.0, 7.0, 1.0, 1.0, kGAy=300.0)
        beam = make_beam(LENGTH, section, {'bending_y': 8}, profile=profile(breaks, **factors))
        values = (7.0, 300.0, 2.0, 2e-2)
        pieces = [
            (LENGTH * size, *(v * factors[name][k] for name, v in zip(names, values)))
            for k, size in enumerate(np.diff(breaks))
        ]
        assert rates(beam)[:3] == pytest.approx(transfer_rates(pieces, 3), rel=1e-6)


def test_a_uniform_beam_that_shears_has_the_rates_of_timoshenko():
    section = Section(1.0, np.array([0.0, 0.0, 1e-2]), 1.0, 1.0, 1.0, 1.0, kGAy=30.0)
    beam = make_beam(1.0, section, {'bending_y': 8})
    assert rates(beam)[:4] == pytest.approx(
        transfer_rates([(1.0, 1.0, 30.0, 1.0, 1e-2)], 4), rel=1e-6
    )


@pytest.mark.parametrize('direction', ['torsion', 'stretch'])
def test_a_stepped_bar_has_the_rates_of_two_waves(direction):
    stiffness, inertia, cut = [1.0, 4.0], [1.0, 2.5], 0.4
    names = {'torsion': ('GJ', 'inertia_x'), 'stretch': ('EA', 'mass_per_length')}[direction]
    shape = profile((0.0, cut, 1.0), **dict(zip(names, (stiffness, inertia))))
    beam = make_beam(1.0, UNIT._replace(inertia=np.ones(3)), {direction: 7}, profile=shape)

    def mismatch(w):
        a, b = (w * np.sqrt(m / k) for m, k in zip(inertia, stiffness))
        first, second = stiffness[0] * a, stiffness[1] * b
        return first * np.cos(a * cut) * np.cos(b * (1 - cut)) - second * np.sin(a * cut) * np.sin(
            b * (1 - cut)
        )

    exact = [brentq(mismatch, low, high, xtol=1e-14) for low, high in ((1.0, 2.8), (4.0, 6.0))]
    assert rates(beam, direction)[:2] == pytest.approx(exact, rel=1e-9)


def test_two_shapes_carry_a_force_and_a_moment_at_the_tip_of_any_beam():
    random = np.random.default_rng(4)
    for _ in range(4):
        a, b, c = random.uniform(0.2, 1.0, 3)
        EI: list = [lambda s, a=a: (1 + a * s) ** 3, lambda s, b=b, c=c: b * (1 + c * s) ** -1.0]
        breaks = (0.0, random.uniform(0.2, 0.8), 1.0)

        def factor(s, EI=EI, cut=breaks[1]):
            return np.where(np.max(s) <= cut + 1e-12, EI[0](s), EI[1](s))

        section = UNIT._replace(EIz=3.0, kGAy=40.0)
        shape = profile(breaks, EIz=factor)
        beam = make_beam(LENGTH, section, {'bending_y': 2}, profile=shape)
        tip = np.array([beam.shape(LENGTH)[1], beam.turn(LENGTH)[2]])

        def integral(lever, breaks=breaks, EI=EI):
            return sum(
                quad(lambda s, one=one: LENGTH * lever(s) / (3.0 * one(s)), start, end)[0]
                for one, start, end in zip(EI, breaks[:-1], breaks[1:])
            )

        compliance = tip @ np.linalg.solve(beam.stiffness, tip.T)
        exact = [
            [
                integral(lambda s: (LENGTH * (1 - s)) ** 2) + LENGTH / 40.0,
                integral(lambda s: LENGTH * (1 - s)),
            ],
            [integral(lambda s: LENGTH * (1 - s)), integral(lambda s: 1.0)],
        ]
        assert compliance == pytest.approx(np.array(exact), rel=1e-7)


@pytest.mark.parametrize('boundary', ['static', 'inertia'])
def test_a_profile_of_ones_is_the_uniform_beam(boundary):
    section = Section(4.0, np.array([2e-3, 0.0, 0.0]), 0.6, 1.7, 0.9, 3e4)
    counts = {'bending_y': 4, 'bending_z': 3, 'torsion': 2, 'stretch': 2}
    load = Load(1.3, np.array([0.1, 0.0, 0.0]), np.diag([0.02, 0.05, 0.03]))
    options = {'boundary': boundary, 'load': load}
    varying, uniform = (
        make_beam(LENGTH, section, counts, **options, profile=one)
        for one in (uniform_profile(), None)
    )
    # the sampled maximum, to which shapes are scaled, is at other stations
    scale = varying.shape(LENGTH).sum(axis=0) + varying.turn(LENGTH)[0]
    scale /= uniform.shape(LENGTH).sum(axis=0) + uniform.turn(LENGTH)[0]
    pairs = np.outer(scale, scale)
    x = np.linspace(0.0, LENGTH, 7)
    assert varying.shape(x) == pytest.approx(scale * uniform.shape(x), abs=1e-7)
    assert varying.turn(x) == pytest.approx(scale * uniform.turn(x), abs=1e-6)
    assert varying.shortening(x) == pytest.approx(pairs * uniform.shortening(x), abs=1e-6)
    assert varying.modal_mass == pytest.approx(pairs * uniform.modal_mass, abs=1e-7)
    assert varying.stiffness == pytest.approx(pairs * uniform.stiffness, rel=1e-6)
    assert varying.rotary == pytest.approx(scale * uniform.rotary, abs=1e-9)
    assert varying.section_moments == pytest.approx(uniform.section_moments, rel=1e-12)


def test_the_axis_of_a_beam_that_shears_shortens_by_its_slope():
    section = UNIT._replace(kGAy=20.0)
    beam = make_beam(LENGTH, section, {'bending_y': 3}, profile=profile(EIz=lambda s: 1 + s))
    x, weights = np.polynomial.legendre.leggauss(30)
    x, weights, h = 0.5 * (x + 1), weights / 2, 1e-4
    slope = (beam.shape(x + h)[:, 1] - beam.shape(x - h)[:, 1]) / (2 * h)
    assert abs(slope - beam.turn(x)[:, 2]).max() > 0.01
    assert beam.shortening(1.0) == pytest.approx(slope.T @ (weights[:, None] * slope), rel=1e-6)


def test_segments_of_a_beam_have_its_mass_and_their_loads_the_remainder():
    shape = profile(
        (0.0, 0.45, 1.0),
        mass_per_length=lambda s: 1.5 - s,
        inertia_x=lambda s: 1 + s**2,
        EIz=lambda s: 2 - s,
    )
    section = Section(3.0, np.array([0.2, 0.1, 0.1]), 1.0, 1.0, 1.0, 1.0)
    load = Load(1.0, np.array([0.1, 0.0, 0.0]), np.diag([0.1, 0.2, 0.2]))
    pieces = cut_beam(LENGTH, section, {'bending_y': 2}, 3, load=load, profile=shape)
    assert sum(piece.station_mass.sum() for piece in pieces) == pytest.approx(3.0 * LENGTH)
    assert sum(piece.section_moments[0] for piece in pieces) == pytest.approx(0.2 * LENGTH * 4 / 3)
    for k, piece in enumerate(pieces):
        share = np.linspace(0.01, 0.99, 9)
        assert piece.profile.factor('EIz', share) == pytest.approx(2 - (k + share) / 3)


def test_a_step_at_the_end_of_a_segment_belongs_to_one_of_them():
    shape = profile((0.0, 0.1 + 0.2, 1.0), EIz=[1.0, 4.0])  # 0.1 + 0.2 > 3 / 10
    pieces = cut_beam(1.0, UNIT, {'bending_y': 2}, 10, profile=shape)
    assert [len(piece.profile.breaks) for piece in pieces] == [2] * 10
    EI = [piece.profile.factor('EIz', 0.5)[0] for piece in pieces]
    assert EI == pytest.approx([1.0] * 3 + [4.0] * 7)


def test_the_slender_moments_are_those_of_the_mass_distribution():
    centre, divisor = slender_moments(profile(mass_per_length=lambda s: 2 * (1 - s)))
    # of a triangle: at a third, and m L^2 / 18
    assert (centre, divisor) == (pytest.approx(1 / 3), pytest.approx(18.0))
    assert slender_moments(None) == (0.5, 12.0)


def test_the_strain_of_a_shape_is_its_derivative():
    basis = StrainBasis(np.array([0.0, 0.4, 1.3]), 2, 5, has_shear=True)
    x, h = np.array([0.1, 0.35, 0.41, 0.9, 1.25]), 1e-5

    def slope(order):
        return (basis(x + h, order) - basis(x - h, order)) / (2 * h)

    assert slope(0) == pytest.approx(basis(x, 1) + basis.shear(x), abs=1e-8)
    assert slope(1) == pytest.approx(basis(x, 2), abs=1e-8)
