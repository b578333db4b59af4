"""Outlines of sections, compared with tables and independent integrals."""

import math

import pytest
from scipy.integrate import dblquad

from flex_robot_sim.elastic.eigenmodes import first_bending_frequency, first_wave_frequency
from flex_robot_sim.elastic.section import rectangle, rod, tube


def series(long, short, terms=20000):
    """Return the torsion constant of a rectangle by the textbook series."""
    odd = range(1, 2 * terms, 2)
    total = sum(math.tanh(n * math.pi * long / (2 * short)) / n**5 for n in odd)
    return long * short**3 / 3 * (1 - 192 / math.pi**5 * short / long * total)


@pytest.mark.parametrize('ratio', [1, 1.3, 7, 40])
def test_torsion_constant_of_a_rectangle_equals_its_series(ratio):
    assert rectangle(ratio * 0.02, 0.02).J == pytest.approx(series(ratio * 0.02, 0.02), rel=1e-13)


@pytest.mark.parametrize(
    ('ratio', 'factor'),
    [(1, 0.1406), (1.5, 0.1958), (2, 0.2287), (3, 0.2633), (5, 0.2913), (10, 0.3123)],
)
def test_torsion_constant_of_a_rectangle_agrees_with_tables(ratio, factor):
    # Timoshenko & Goodier print four digits
    assert rectangle(ratio * 0.02, 0.02).J == pytest.approx(factor * ratio * 0.02**4, rel=3e-4)
    assert rectangle(0.02, ratio * 0.02).J == pytest.approx(factor * ratio * 0.02**4, rel=3e-4)


def test_moments_of_a_rectangle_equal_its_area_integrals():
    section, half_width, half_height = rectangle(0.03, 0.004), 0.015, 0.002

    def integral(f):
        return dblquad(f, -half_height, half_height, -half_width, half_width)[0]

    assert section.area == pytest.approx(integral(lambda y, z: 1.0))
    assert section.Iy == pytest.approx(integral(lambda y, z: z**2))
    assert section.Iz == pytest.approx(integral(lambda y, z: y**2))


def test_a_thin_tube_has_the_moments_of_a_thin_ring():
    radius, wall = 0.05, 1e-5
    thin = tube(2 * radius + wall, wall)
    assert thin.Iy == pytest.approx(math.pi * radius**3 * wall, rel=1e-6)
    assert thin.J == pytest.approx(2 * math.pi * radius**3 * wall, rel=1e-6)


def test_a_tube_without_a_hole_is_a_rod():
    assert tube(0.02, 0.01) == pytest.approx(rod(0.02))


def test_first_frequency_of_the_spin_up_beam():
    # printed in the paper on stiffened manipulators, section 4.1: 0.464 Hz; exact: 0.4633
    frequency = first_bending_frequency(8, 6.8952e10 * 8.2189e-9, 2766.7 * 7.2968e-5)
    assert frequency == pytest.approx(0.4633, abs=5e-5)


def test_first_wave_takes_four_lengths():
    speed_of_sound, length = 5000.0, 2.0
    assert first_wave_frequency(length, speed_of_sound**2, 1.0) == pytest.approx(
        speed_of_sound / (4 * length)
    )
