"""Reduced links from code, against the URDF that they make and a file that is read."""

import numpy as np
import pytest
from reduced_bar import MASS, TOOL_MASS, reduced_bar, write_bar

import flex_robot_sim as frs
from flex_robot_sim.formulations import make
from flex_robot_sim.reduction.reduced_file import write_reduced


@pytest.fixture
def file(tmp_path):
    write_reduced(tmp_path / 'arm.npz', reduced_bar())
    return tmp_path / 'arm.npz'


def builder_of(file, name='arm', **options):
    builder = frs.ArmBuilder('bar').add_reduced(name, file=file, **options)
    builder.add_rigid(
        'tool', mass=TOOL_MASS, centre=(0.05, 0, 0.02), inertia=(0.001, 0.002, 0.0015)
    )
    builder.add_joint('hinge', parent='base', child=name, axis=(0, 0.8, 0.6))
    return builder.attach('tool', parent=name, name='tip')


def test_a_reduced_link_from_code_is_that_of_its_urdf(file, tmp_path):
    builder = builder_of(file, modes=8)
    gauge = {'at': (0.3, -0.015, 0), 'along': 'x', 'distance': 0.015}
    built = builder.add_strain_gauge('arm', 'root', **gauge).build()
    (tmp_path / 'built.urdf').write_text(builder.to_urdf())
    inside = (
        '<reduced file="arm.npz" modes="8"/>'
        '<strain_gauge name="root" at="0.3 -0.015 0" along="1 0 0" distance="0.015"/>'
    )
    read = frs.load(tmp_path / 'built.urdf')
    for name, value in built.arrays._asdict().items():
        assert np.array_equal(getattr(read.arrays, name), value), name
    by_hand = frs.load(write_bar(tmp_path, inside))
    q = np.linspace(0.1, 0.3, built.nq) * 1e-3
    assert frs.mass_matrix(built, q) == pytest.approx(frs.mass_matrix(by_hand, q), rel=1e-9)
    assert frs.curvatures(built, q) == pytest.approx(frs.curvatures(by_hand, q), rel=1e-6)
    assert built.description.links[1].inertial.mass == pytest.approx(MASS, rel=1e-9)


def test_a_formulation_of_straight_beams_refuses_a_reduced_link_by_its_name(file):
    with pytest.raises(frs.SettingError) as caught:
        make('stiffened', builder_of(file).build())
    assert str(caught.value) == (
        'formulation \'stiffened\' has straight beams without twist, and link "arm" is a reduced '
        'link: use Simulation'
    )


def test_arms_with_a_prefix_share_a_file(file):
    both = frs.ArmBuilder('both')
    for side in ('left_', 'right_'):
        both.attach(builder_of(file), parent='base', prefix=side)
    arm = both.build()
    assert {'left_arm', 'right_arm'} <= {link.name for link in arm.description.links}


@pytest.mark.parametrize(
    'name, options, problem',
    [
        ('forearm_2', {}, 'it is of link "arm", and not of "forearm_2"'),
        ('arm', {'modes': 99}, 'the file "{file}" has 12 modes, and not 99'),
        ('arm', {'stiffness_scale': 0.0}, 'stiffness_scale = 0.0 of link "arm" must be'),
        ('arm', {'file': 'none.npz'}, 'No such file'),
        ('arm', {'file': 3}, 'file = 3 of link "arm" must be the path'),
        ('arm', {'end': (1, 0)}, 'end = (1, 0) of link "arm" must be three finite numbers'),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(file, name, options, problem):
    with pytest.raises(frs.SettingError) as caught:
        frs.ArmBuilder().add_reduced(name, **{'file': file, **options})
    assert problem.format(file=file) in str(caught.value)
    assert '\n' not in str(caught.value)


def test_a_joint_at_no_station_is_refused(file):
    builder = frs.ArmBuilder().add_reduced('arm', file=file).add_rigid('tool', mass=0.1)
    with pytest.raises(frs.SettingError, match='is at no station of the reduced link'):
        builder.add_joint('tip', parent='arm', child='tool', xyz=(0.9, 0, 0))
    with pytest.raises(frs.SettingError, match='is a reduced link. Give xyz'):
        builder.add_joint('tip', parent='arm', child='tool', station=0.5)
