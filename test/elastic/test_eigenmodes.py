"""Natural modes of clamped beams with a body at the end."""

from math import pi

import numpy as np
import pytest
from scipy.linalg import eigh

from flex_robot_sim.elastic.eigenmodes import (
    bending_modes,
    bending_roots,
    clamped_bending,
    rod_modes,
    rod_roots,
)

LOADS = [
    (0.0, 0.0, 0.0),
    (1.0, 0.0, 0.0),
    (10.0, 1.0, 0.2),
    (0.01, 0.0, 1.0),
    (0.0, 0.0, 3.0),
    (1e4, -300.0, 20.0),
]


@pytest.mark.parametrize(
    ('mu', 'exact'),
    [
        (0.0, [1.875104, 4.694091, 7.854757, 10.995541]),
        (0.1, [1.722742]),
        (0.5, [1.419964]),
        (1.0, [1.247917, 4.031139, 7.134132]),
        (10.0, [0.735782]),
    ],
)
def test_cantilever_with_a_mass_at_its_tip(mu, exact):
    roots, _ = bending_roots(len(exact), mu)
    np.testing.assert_allclose(roots, exact, rtol=0, atol=6e-7)  # digits of the table


@pytest.mark.parametrize('load', LOADS)
def test_modes_satisfy_the_clamp_the_equation_and_the_end(load):
    mu, sigma, j = load
    roots, factors = bending_roots(8, *load)
    assert (np.diff(roots) > 0).all()
    xi = np.linspace(0.0, 1.0, 7)
    v0, v1, v2, v3, v4 = (bending_modes(roots, factors, xi, order) for order in range(5))
    size = abs(v0).max(axis=0)
    np.testing.assert_allclose(v0[0] / size, 0.0, atol=1e-13)
    np.testing.assert_allclose(v1[0] / (size * roots), 0.0, atol=1e-13)
    np.testing.assert_allclose(v4 / (size * roots**4), v0 / size, atol=1e-12)
    # the accuracy of lambda (1e-15) limits that of the end conditions
    bound = 1e-11 * size * np.maximum(roots, 1.0) ** 3 * (1 + roots * mu + roots**3 * j)
    assert (abs(v2[-1] - roots**4 * (sigma * v0[-1] + j * v1[-1])) < bound).all()
    assert (abs(v3[-1] + roots**4 * (mu * v0[-1] + sigma * v1[-1])) < bound).all()


@pytest.mark.parametrize('load', LOADS)
def test_the_search_finds_every_root(load):
    roots, _ = bending_roots(12, *load)
    # a body takes one or two degrees of freedom from the clamped-clamped beam, whose roots
    # lie at (k + 1/2) pi: far up, the roots of all loads come once per pi
    np.testing.assert_allclose(np.diff(roots[4:]), pi, rtol=0.15)
    for k, lam in enumerate(roots[3:], 3):
        assert (k - 2) * pi < lam < (k + 1) * pi


@pytest.mark.parametrize('mu', [1e5, 1e8])
def test_a_heavy_mass_oscillates_on_a_massless_spring(mu):
    (lam,), _ = bending_roots(1, mu)
    assert lam**4 == pytest.approx(3 / (mu + 33 / 140), rel=1e-9)  # Rayleigh's 33/140


def test_fiftieth_mode_does_not_overflow():
    roots, factors = bending_roots(50)
    assert roots[-1] == pytest.approx(49.5 * pi, rel=1e-14)
    v = bending_modes(roots, factors, np.linspace(0, 1, 1001), 0)
    assert abs(v[-1]) == pytest.approx(np.sqrt(np.mean(v**2, axis=0)) * 2, rel=0.01)


def test_the_two_forms_of_a_clamped_solution_span_the_same_space():
    xi = np.linspace(0.0, 1.0, 9)
    series, exponentials = clamped_bending(1 - 1e-12, xi, 0), clamped_bending(1.0, xi, 0)
    factors, _, _, _ = np.linalg.lstsq(series, exponentials, rcond=None)
    np.testing.assert_allclose(series @ factors, exponentials, rtol=0, atol=1e-11)


def test_free_rods():
    np.testing.assert_allclose(rod_roots(4), (np.arange(4) + 0.5) * pi, rtol=1e-15)


@pytest.mark.parametrize('mu', [1e-3, 1.0, 50.0])
def test_rod_with_a_body(mu):
    roots = rod_roots(5, mu)
    one = np.ones(1)
    slope, value = rod_modes(roots, one, 1)[0], rod_modes(roots, one, 0)[0]
    np.testing.assert_allclose(slope, mu * roots**2 * value, rtol=0, atol=1e-12 * (1 + mu))
    assert (np.floor(roots / pi) == np.arange(5)).all()  # one root in every interval


def test_a_cantilever_of_hermite_elements_has_the_wavenumbers_of_its_frequencies():
    # (88) of the wrench DAE paper, beta^2 = 2 pi f sqrt(rho A / EI), is correct as printed
    length, EI, rho_A, count = 0.93, 3.67e3, 7800.0 * 2.09e-4, 40
    h, n = length / count, 2 * count + 2
    K, M = np.zeros((2, n, n))
    for k in range(count):
        part = np.s_[2 * k : 2 * k + 4, 2 * k : 2 * k + 4]
        K[part] += (
            EI
            / h**3
            * np.array(
                [
                    [12, 6 * h, -12, 6 * h],
                    [6 * h, 4 * h**2, -6 * h, 2 * h**2],
                    [-12, -6 * h, 12, -6 * h],
                    [6 * h, 2 * h**2, -6 * h, 4 * h**2],
                ]
            )
        )
        M[part] += (
            rho_A
            * h
            / 420
            * np.array(
                [
                    [156, 22 * h, 54, -13 * h],
                    [22 * h, 4 * h**2, 13 * h, -3 * h**2],
                    [54, 13 * h, 156, -22 * h],
                    [-13 * h, -3 * h**2, -22 * h, 4 * h**2],
                ]
            )
        )
    frequencies = np.sqrt(eigh(K[2:, 2:], M[2:, 2:], eigvals_only=True)[:3]) / (2 * pi)
    beta = np.sqrt(2 * pi * frequencies * np.sqrt(rho_A / EI))
    # cos x cosh x = -1; the error falls with the fourth power of the element length
    assert beta * length == pytest.approx([1.875104, 4.694091, 7.854757], rel=1e-6)
