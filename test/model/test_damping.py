"""The modes of an arm have the damping ratios of its description."""

import numpy as np
import pytest
from arms import SECTION, beam, flexibility, joint, link, robot
from beam_arms import beam_arm, with_elements, with_modes
from compare import arm_of
from random_arms import every_feature, random_robot
from reference import Reference
from scipy.linalg import eig, eigh

from flex_robot_sim import load
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.dynamics.forces import add_powers, set_forces
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.model.workspace import make_workspace

pytestmark = pytest.mark.slow

RATIO = 0.02
DISCRETISATION = with_modes(3, 2, 2)
DAMPED = f'<damping ratio="{RATIO}"/>'


def elastic(arm):
    """Mask of the elastic coordinates."""
    return np.arange(arm.size - arm.arrays.modes.sum(), arm.size)


def ratios(arm):
    """Return damping ratios of modes with locked joints, from first principles."""
    reference, rest, rows = Reference(arm), np.zeros(arm.size), elastic(arm)
    M = reference.mass_matrix(rest)[np.ix_(rows, rows)]
    units = np.eye(arm.size)[rows]
    single_energies = np.array([reference.spring_energy(e) for e in units])
    K = np.array([[reference.spring_energy(a + b) for b in units] for a in units])
    K += -single_energies - single_energies[:, None]  # the energy is quadratic
    n, D = rows.size, spring_matrices(arm.arrays)[1][np.ix_(rows, rows)]
    # scaled by mass, so metres and radians are comparable
    scale = np.sqrt(np.diag(M))
    M, K, D = (matrix / np.outer(scale, scale) for matrix in (M, K, D))
    rates, shapes = eigh(K, M)
    assert np.linalg.eigvalsh(D)[0] > -1e-12 * np.linalg.eigvalsh(D)[-1]
    rates = np.sqrt(rates)
    # in (omega x, x') of the modes, including their coupling
    block = np.block(
        [[np.zeros((n, n)), np.diag(rates)], [-np.diag(rates), -shapes.T @ D @ shapes]]
    )
    found = eig(block, right=False)
    return -found.real / np.abs(found)


def loaded(places, discretisation=DISCRETISATION, mass=1.0):
    """Return a beam of 1 m and 2 kg with eccentric bodies at some positions along it."""
    parts = []
    for i, x in enumerate(places):
        parts += [
            link(f'load_{i}', mass, '0.02 0.05 -0.03', (0.01, 0.02, 0.02)),
            joint(f'to_{i}', 'fixed', 'arm', f'load_{i}', f'<origin xyz="{x} 0 0.04"/>'),
        ]
    return arm_of(
        robot(link(), joint(), *parts, flexibility(beam(SECTION + discretisation + DAMPED)))
    )


def chain(first, second):
    """Return two beams on hinges, the second across the first."""
    return arm_of(
        robot(
            link('one'),
            joint('shoulder', child='one'),
            link('two'),
            joint(
                'elbow',
                parent='one',
                child='two',
                inside='<origin xyz="1 0 0" rpy="0 0.4 1.2"/><axis xyz="0 0 1"/>',
            ),
            link('tool', 0.5, '0.1 0 0', (0.01, 0.01, 0.01)),
            joint('grip', 'fixed', 'two', 'tool', '<origin xyz="1 0.1 0"/>'),
            flexibility(beam(SECTION + first, name='one'), beam(SECTION + second, name='two')),
        )
    )


@pytest.mark.parametrize(
    'discretisation',
    [
        with_modes(3, 2, 2, 1),
        with_modes(3, 2, boundary='free'),
        with_modes(2, 2, boundary='mass'),
        with_elements(4, bending_y='all', torsion='all'),
    ],
)
@pytest.mark.parametrize('tip_mass', [0.0, 0.3])
def test_every_mode_of_a_beam_in_one_segment_has_the_ratio(discretisation, tip_mass):
    arm = beam_arm(f'{discretisation}{DAMPED}', tip_mass=tip_mass)
    # the tip is the end load of the damping, so only rounding remains
    np.testing.assert_allclose(modes(arm).damping_ratios, RATIO, rtol=1e-6)


ARMS = {
    'load at mid-span': lambda: loaded([0.5]),
    'loads at both ends and between': lambda: loaded([0.0, 0.3, 1.0]),
    'heavy load at mid-span': lambda: loaded([0.5], mass=200.0),
    'elements': lambda: loaded(
        [0.5, 1.0], with_elements(3, bending_y='all', bending_z='all', torsion='all')
    ),
    'segments': lambda: loaded([0.5, 1.0], with_modes(2, 2, 1, segments=3)),
    'chain': lambda: chain(with_modes(2, 2, 1) + DAMPED, with_modes(3, 1, 1, 1) + DAMPED),
    'chain of segments': lambda: chain(
        with_modes(2, 1, 1, segments=2) + DAMPED, with_modes(2, 1, segments=3) + DAMPED
    ),
    'every feature': lambda: arm_of(every_feature(damping=True)),
}


@pytest.mark.parametrize('name', ARMS)
def test_every_mode_of_an_arm_with_locked_joints_has_the_ratio(name):
    # quadrature of the reference and energies of the stiffest modes: some 1e-7
    np.testing.assert_allclose(ratios(ARMS[name]()), RATIO, rtol=1e-5)


@pytest.mark.parametrize('name', ['two_link', 'ella'])
def test_every_mode_of_a_shipped_arm_has_the_described_ratio(name):
    arm = load(name)
    expected = arm.description.links[-3].beam or next(
        item.beam for item in arm.description.links if item.beam
    )
    np.testing.assert_allclose(ratios(arm), expected.damping_ratio, rtol=1e-5)


def test_an_undamped_link_next_to_a_damped_one_stays_undamped():
    arm = chain(with_modes(2, 1), with_modes(2, 1) + DAMPED)
    D = spring_matrices(arm.arrays)[1]
    one = [k for k, name in enumerate(arm.coordinate_names) if name.startswith('one/')]
    assert not D[one].any() and D.any()
    assert np.linalg.eigvalsh(D)[0] >= -1e-12 * np.linalg.eigvalsh(D)[-1]


@pytest.mark.parametrize('seed', range(12))
def test_damping_only_dissipates_energy(seed):
    arm = arm_of(random_robot(seed, 5, damping=True))
    D = spring_matrices(arm.arrays)[1]
    scale = np.sqrt(np.maximum(np.diag(D), 1e-300))
    assert np.linalg.eigvalsh(D / np.outer(scale, scale))[0] > -1e-12


def test_forces_and_losses_agree_with_the_damping_matrix():
    arm = chain(with_modes(2, 2, 1) + DAMPED, with_modes(2, segments=2) + DAMPED)
    work, elastic_rows = make_workspace(arm.arrays), elastic(arm)
    qd = np.random.default_rng(0).normal(size=arm.size)
    qd[:2] = 0.0
    still, flow = np.zeros(arm.size), np.zeros(2)
    D = spring_matrices(arm.arrays)[1]
    set_forces(arm.arrays, still, qd, np.zeros(2), 0.0, still, work)
    np.testing.assert_allclose(
        work.force[elastic_rows],
        -(D @ qd)[elastic_rows],
        rtol=1e-12,
        atol=1e-12 * abs(D @ qd).max(),
    )
    add_powers(arm.arrays, still, qd, still, np.zeros(2), 0.0, 0.5, work, flow)
    assert flow[1] == pytest.approx(0.5 * qd @ D @ qd, rel=1e-12)


def test_of_many_modes_the_slowest_have_the_ratio_and_faster_ones_more():
    found = np.sort(ratios(loaded([1.0], with_modes(2, 2, 1, segments=10))))
    # 50 modes with two rates each: 40 have the ratio, the last by the stiffness term
    assert (np.abs(found[:80] / RATIO - 1) < 0.05).all()
    assert (found[82:] > RATIO).all()


def test_a_time_constant_damps_a_mode_by_half_its_rate():
    time = 1e-4
    found = modes(beam_arm(f'{with_modes(3, 2)}<damping time_constant="{time}"/>'))
    np.testing.assert_allclose(found.damping_ratios, np.pi * found.frequencies * time, rtol=1e-6)


def test_modes_of_many_coordinates_by_lanczos_are_those_of_the_dense_matrix(monkeypatch):
    from flex_robot_sim.model import damping

    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(2, 40, 40))
    M, blocks = A @ A.T + np.eye(40), [(B @ B.T + np.eye(40))[:15, :15], 3.0 * np.eye(25)]
    dense = damping._modes(M, blocks, 5)
    monkeypatch.setattr(damping, 'MAX_DENSE_COORDINATES', 10)
    for found, expected in zip(damping._modes(M, blocks, 5), dense):
        np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-8, atol=1e-10)
