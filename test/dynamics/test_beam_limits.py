"""Beams of many elements: storage, limits, and robustness to extreme valid numbers."""

import numpy as np
import pytest
from arms import SECTION, beam, complaint, flexibility, flexible_arm, joint, link, robot
from beam_arms import LENGTH, as_beta_L, beam_arm, with_elements, with_modes
from refusals import refusal
from scipy.spatial.transform import Rotation

from flex_robot_sim import FlexRobotSimError, Simulation, frequencies, modes, read_description
from flex_robot_sim.elastic import make_beam
from flex_robot_sim.elastic.section import Section
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

STIFF = Section(4.0, np.array([1e-6, 0.0, 0.0]), 0.6, 1.7, 0.9, 3e4)
ALL = {'bending_y': 'all', 'bending_z': 'all', 'torsion': 'all'}


@pytest.mark.parametrize(
    'options',
    [
        {'coordinates': {'bending_y': 3, 'bending_z': 2, 'torsion': 1}},
        {'coordinates': ALL, 'elements': 5},
        {'coordinates': {**ALL, 'bending_z': 5}, 'elements': 4},
    ],
)
def test_the_band_of_the_shortening_matrix_contains_all_its_entries(options):
    a_beam = make_beam(LENGTH, STIFF, **options)
    x = np.random.default_rng(0).uniform(0.0, LENGTH, 9)
    band, whole = a_beam.shortening_band(x), a_beam.shortening(x)
    assert band.shape == (9, a_beam.size, a_beam.width)
    found = np.zeros_like(whole)
    for name in ('bending_y', 'bending_z'):
        part = a_beam.columns(name)
        for k in range(part.start, part.stop):
            first = max(part.start, k - a_beam.reach)
            last = min(part.stop, first + a_beam.width, k + a_beam.reach + 1)
            found[:, k, first:last] = band[:, k, : last - first]
    np.testing.assert_array_equal(found, whole)


def test_storage_of_elements_grows_with_their_number_and_not_with_its_cube():
    sizes = [
        sum(array.nbytes for array in beam_arm(with_elements(count, bending_y='all')).arrays)
        - 8 * 3 * (2 * count) ** 2
        for count in (8, 16)
    ]  # three dense matrices are needed
    # the arrays of points times coordinates grow by a factor of four
    assert sizes[1] < 4.2 * sizes[0]


def test_a_thousand_elements_reduced_to_modes_have_the_frequencies_of_the_beam():
    arm = beam_arm(with_elements(1000, bending_y=3))
    # the largest entry of the stiffness is 1e12 times the smallest
    np.testing.assert_allclose(
        as_beta_L(frequencies(arm))[:3], [1.875104, 4.694091, 7.854757], rtol=1e-4
    )


def test_a_description_that_exceeds_the_memory_limit_is_rejected_on_reading():
    assert complaint(flexible_arm(beam(SECTION + '<elements count="200"/>'))) == (
        '<text>:5: a segment of flexible link "arm" has 1000 elastic coordinates. Keep to 500, '
        "with more segments of fewer elements, or with a number of modes instead of 'all'."
    )
    crowd = [
        f'<link name="l{i}"/>' + joint(f'j{i}', 'fixed', 'arm', f'l{i}', '') for i in range(200)
    ]
    text = robot(link(), joint(), *crowd, flexibility(beam(SECTION + '<elements count="100"/>')))
    assert complaint(text).split(': ', 1)[1] == (
        'the elastic links of this robot need 3.3 GB. Keep to 1 GB, with fewer coordinates in a '
        'segment.'
    )
    two = [link('a'), joint('j', child='a'), link('b'), joint('k', child='b')]
    many = SECTION + '<modes bending_y="3" bending_z="0" torsion="0" segments="1000"/>'
    read = read_description(robot(*two, flexibility(beam(many, name='a'), beam(many, name='b'))))
    assert read.warnings[-1].split(': ', 1)[1] == (
        'this robot has 6000 elastic coordinates, more than can be simulated. Keep to 5000, with '
        'fewer segments, modes or elements.'
    )
    assert refusal(SettingError, build_arm, read) == (
        '<text> has 6000 elastic coordinates, and at most 5000 can be simulated: take fewer '
        'segments, modes or elements'
    )


def test_a_slow_mode_of_a_fine_mesh_with_a_heavy_tip_is_not_a_free_motion():
    tip, EI = 2e6, 0.6
    arm = beam_arm(with_elements(16, bending_y='all', torsion='all'), tip_mass=tip)
    # Rayleigh: 33/140 of the beam mass of 2.8 kg adds to the tip mass
    expected = np.sqrt(3 * EI / LENGTH**3 / (tip + 33 / 140 * 2.8)) / (2 * np.pi)
    assert frequencies(arm)[0] == pytest.approx(expected, rel=1e-6)
    free = modes(arm, joints='free')
    assert free.frequencies[0] == 0.0 and free.frequencies[1] > 0.0


@pytest.mark.parametrize('boundary', ['mass', 'inertia'])
def test_a_point_mass_at_the_tip_of_a_beam_in_any_direction_is_accepted(boundary):
    random = np.random.default_rng(0)
    for _ in range(15):
        end = random.normal(size=3)
        end *= 0.7 / np.linalg.norm(end)
        text = oblique(
            random,
            end,
            with_modes(2, 2, 2, 2, boundary=boundary),
            float(10 ** random.uniform(-3, 3)),
        )
        found = frequencies(build_arm(read_description(text), gravity=(0, 0, 0)))
        assert np.isfinite(found).all() and (found > 0).all()


def oblique(random, end, inside, tip):
    """Return a beam of 2 kg with a point mass at its tip."""
    length = np.linalg.norm(end)
    R = Rotation.align_vectors([end], [[1.0, 0.0, 0.0]])[0].as_matrix()
    about = R @ np.diag([1e-3, length**2 / 6, length**2 / 6]) @ R.T
    numbers = ' '.join(repr(float(x)) for x in end)
    return robot(
        link(
            centre=' '.join(repr(float(x) / 2) for x in end),
            inertia=tuple(float(x) for x in np.diag(about)),
            products=(float(about[0, 1]), float(about[0, 2]), float(about[1, 2])),
        ),
        joint(),
        link('tool', tip, '0 0 0', (0.0, 0.0, 0.0)),
        joint('grip', 'fixed', 'arm', 'tool', f'<origin xyz="{numbers}"/>'),
        flexibility(
            beam(
                SECTION + inside,
                end=numbers,
                more=' y_axis="{} {} {}"'.format(*random.normal(size=3)),
            )
        ),
    )


def test_valid_numbers_of_any_magnitude_give_frequencies_or_a_one_line_error():
    random, refused = np.random.default_rng(1), 0
    for _ in range(25):
        end = random.normal(size=3) * 10 ** random.uniform(-2, 2)
        inside = random.choice(
            [
                with_modes(
                    *random.integers(0, 7, 4),
                    boundary=random.choice(['static', 'free', 'mass', 'inertia']),
                    segments=random.integers(1, 3),
                ),
                with_elements(random.integers(1, 5), bending_y='all', torsion='all'),
            ]
        )
        inside += random.choice(['', '<damping ratio="0.3"/>', '<damping time_constant="1e-3"/>'])
        section = ' '.join(
            f'{name}="{10 ** random.uniform(-6, 9)!r}"' for name in ('EIy', 'EIz', 'GJ', 'EA')
        )
        text = oblique(random, end, inside, float(10 ** random.uniform(-9, 9))).replace(
            SECTION, f'<section {section}/>'
        )
        try:
            arm = build_arm(read_description(text), gravity=(0, 0, 0))
            Simulation(arm)
            assert np.isfinite(frequencies(arm)).all()
        except FlexRobotSimError as error:
            assert len(str(error).splitlines()) == 1
            refused += 1
    assert refused < 13
