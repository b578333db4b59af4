"""Gauges on reduced links, against the strain of a cantilever and flex sensors of a beam."""

import numpy as np
import pytest
from reduced_bar import BEAM, HEIGHT, LENGTH, REDUCED, WIDTH, E, bar_robot, reduced_bar, write_bar

import flex_robot_sim as frs
from flex_robot_sim.reduction.surface_point import nearest_point
from flex_robot_sim.util.exceptions import DescriptionError

PLACES = 0.2, 0.47, 0.71
GAUGES = ''.join(
    f'<strain_gauge name="y{k}" at="{x} {-WIDTH / 2} 0" along="1 0 0" distance="{WIDTH / 2}"/>'
    f'<strain_gauge name="z{k}" at="{x} 0 {-HEIGHT / 2}" along="2 0 0" distance="1"/>'
    for k, x in enumerate(PLACES)
)
SENSORS = ''.join(
    f'<flex_sensor name="{axis}{k}" from="{x}" to="{x}" plane="x{axis}"/>'
    for k, x in enumerate(PLACES)
    for axis in 'yz'
)


@pytest.fixture(scope='module')
def path(tmp_path_factory):
    link = reduced_bar((40, 1, 1))
    return write_bar(tmp_path_factory.mktemp('bar'), '<reduced file="arm.npz"/>' + GAUGES, link)


@pytest.mark.parametrize('axis, thickness, across', [('y', WIDTH, HEIGHT), ('z', HEIGHT, WIDTH)])
def test_gauges_read_the_strain_under_a_force_at_the_tip(path, axis, thickness, across):
    arm = frs.load(path)
    (beam,) = arm.beams.values()
    q = np.zeros(arm.nq)
    q[arm.elastic_q] = np.linalg.solve(beam.stiffness, beam.at_end.U[:, 3 + 'xyz'.index(axis)])
    readings = frs.curvatures(arm, q)
    EI = E * across * thickness**3 / 12
    for k, x in enumerate(PLACES):
        expected = (LENGTH - x) / EI * (1.0 if axis == 'y' else HEIGHT / 2)
        # strains of an element of the length h are off by about (h / (L - x))^2 / 2
        assert readings[f'arm/{axis}{k}'] == pytest.approx(expected, rel=0.015)


def test_gauges_on_a_reduced_bar_follow_flex_sensors_of_a_beam(path):
    reduced, beam = frs.load(path), frs.load(bar_robot(BEAM + SENSORS))
    for position in (-1.0, 0.4, 2.0):
        found, expected = (
            np.array([*frs.curvatures(arm, frs.equilibrium(arm, [position]).q).values()])
            for arm in (reduced, beam)
        )
        found[1::2] /= HEIGHT / 2
        # few shapes carry the weight of the bar itself, in both models
        assert np.abs(found - expected).max() < 0.03 * np.abs(expected).max()


def test_the_scale_of_the_stiffness_divides_readings(tmp_path):
    scaled = REDUCED.replace('/>', ' stiffness_scale="4"/>')
    arms = [
        frs.load(write_bar(tmp_path, inside + GAUGES), gravity=(0, 0.05, 0))
        for inside in (REDUCED, scaled)
    ]
    soft, hard = (frs.curvatures(arm, frs.equilibrium(arm, [0.0]).q)['arm/y0'] for arm in arms)
    assert hard == pytest.approx(soft / 4, rel=1e-3)


def test_the_nearest_point_of_a_surface_is_that_of_a_search():
    link, rng = reduced_bar(), np.random.default_rng(3)
    points, triangles = link.surface_points.astype(float), link.surface_triangles
    u = rng.dirichlet([0.7, 0.7, 0.7], 4000)
    for place in rng.uniform([-0.1, -0.05, -0.05], [1.1, 0.05, 0.05], (20, 3)):
        found = nearest_point(points, triangles, place)
        assert found.position == pytest.approx(found.weights @ points[found.corners], abs=1e-12)
        distance = np.linalg.norm(found.position - place)
        samples = np.einsum('sc,tcd->tsd', u, points[triangles])
        nearest = np.linalg.norm(samples - place, axis=2).min()
        assert distance <= nearest + 1e-12
        assert nearest < distance + 0.01
        # of a box the nearest point is known
        box = np.clip(place, [0, -WIDTH / 2, -HEIGHT / 2], [1, WIDTH / 2, HEIGHT / 2])
        if not np.array_equal(box, place):
            assert found.position == pytest.approx(box, abs=1e-7)


@pytest.mark.parametrize(
    'gauge, problem',
    [
        (
            'at="0.2 -0.05 0" along="1 0 0" distance="1"',
            'strain gauge "g" is 0.035 m off the surface of the link. Correct its at; the '
            'nearest point of the surface is 0.2 -0.015 0 m.',
        ),
        (
            'at="0.2 -0.015 0" along="0 1 0.1" distance="1"',
            'strain gauge "g" points out of the surface. Correct its along; the surface is normal '
            'to 0 -1 0 there.',
        ),
        (
            'at="0.2 -0.015 0" along="1 0 0" distance="0"',
            'strain gauge "g" has the distance zero. Give its distance from the neutral axis [m], '
            'or 1.',
        ),
        (
            'at="0.2 -0.015 0" along="1 0 0"',
            '<strain_gauge> has no distance. Give distance [m]: distance of the gauge from the '
            'neutral axis: the reading is strain / distance, a curvature; `1`: the reading is the '
            'strain; negative: the opposite sign.',
        ),
    ],
)
def test_a_gauge_off_the_surface_is_refused_in_one_line(tmp_path, gauge, problem):
    path = write_bar(tmp_path, f'{REDUCED}<strain_gauge name="g" {gauge}/>')
    with pytest.raises(DescriptionError) as caught:
        frs.load(path)
    assert str(caught.value).partition(': ')[2] == problem


def test_gauges_and_flex_sensors_belong_to_links_of_their_kind(tmp_path):
    sensor = '<flex_sensor name="root" from="0.1" to="0.2" plane="xy"/>'
    with pytest.raises(DescriptionError, match='has a <reduced> and a <flex_sensor>. Give it a'):
        frs.load(write_bar(tmp_path, REDUCED + sensor))
    with pytest.raises(DescriptionError, match='has a <strain_gauge> and no <reduced>. Give a'):
        frs.load(bar_robot(BEAM + GAUGES))
