"""Bounds of parameters: what physics and the reader of descriptions allow."""

import math

import pytest
from arms import beam, flexibility, joint, link, robot

import flex_robot_sim as frs
from flex_robot_sim.util.share import shipped_robots

INF = math.inf
# by word: smallest value, largest value, and whether the smallest is excluded
PHYSICAL = {
    **dict.fromkeys(('EIy', 'EIz', 'GJ', 'EA', 'stiffness'), (0.0, INF, True)),
    'damping_ratio': (0.0, 0.9, False),
    **dict.fromkeys(('damping', 'damping_time', 'viscous', 'coulomb'), (0.0, INF, False)),
    **dict.fromkeys(('effort', 'velocity', 'spring_stiffness'), (0.0, INF, False)),
    **dict.fromkeys(('acceleration', 'deceleration', 'jerk'), (0.0, INF, True)),
    **dict.fromkeys(('ixx', 'iyy', 'izz'), (0.0, INF, False)),
    **dict.fromkeys(('ixy', 'ixz', 'iyz', 'spring_reference'), (-INF, INF, False)),
    **{f'{word}_{axis}': (-INF, INF, False) for word in ('origin', 'centre') for axis in 'xyz'},
}
INERTIAL = ('mass', 'inertia', 'geometry', 'position')  # groups with further conditions


@pytest.mark.parametrize('name', shipped_robots())
def test_bounds_are_those_of_the_physical_quantity(name):
    arm, checked = frs.load(name), set()
    known = frs.parameters(arm)
    for path, parameter in known.items():
        item, _, word = path.removeprefix('joint:').rpartition('.')
        bounds = parameter.lower, parameter.upper, parameter.excludes_lower
        assert parameter.lower <= parameter.value <= parameter.upper
        if word in PHYSICAL:
            assert bounds == PHYSICAL[word], path
            checked.add(word)
        elif word == 'static_friction':
            assert bounds == (known[f'{item}.coulomb'].value, INF, False)
        elif word in ('lower', 'upper'):
            stops = known[f'{item}.lower'].value, known[f'{item}.upper'].value
            assert bounds == (
                (-INF, stops[1], False) if word == 'lower' else (stops[0], INF, False)
            )
        elif word == 'mass':
            assert bounds == (0.0, INF, item in arm.segments)
        elif word == 'rotor_inertia':
            assert bounds == (0.0, INF, f'{item}.stiffness' in known)
    assert {'viscous', 'effort', 'origin_x'} <= checked


@pytest.mark.parametrize('name', ['two_link', 'rig', 'rcm'])
def test_a_bound_is_accepted_and_the_next_number_beyond_is_refused(name):
    arm, tried = frs.load(name), 0

    def is_accepted(path, value):
        try:
            frs.with_parameters(arm, {path: value})
        except frs.SettingError as error:
            assert str(error).startswith(f'{path} = ')
            return False
        return True

    for path, parameter in frs.parameters(arm).items():
        if parameter.group in INERTIAL or path.endswith('.coulomb'):
            continue
        for bound, outwards in ((parameter.lower, -INF), (parameter.upper, INF)):
            if abs(bound) < INF:
                excludes = parameter.excludes_lower and outwards < 0
                assert is_accepted(path, bound) != excludes, (path, bound)
                assert not is_accepted(path, math.nextafter(bound, outwards)), (path, bound)
                tried += 1
    assert tried > 10


def described(section='EIz="21"', ratio='0.02', friction='0.1', limit='lower="-1" upper="2"'):
    return robot(
        joint(
            'hinge',
            inside=f'<axis xyz="0 0 1"/><dynamics damping="{friction}"/>'
            f'<limit {limit} effort="3" velocity="1"/>',
        ).replace('continuous', 'revolute'),
        link(mass=0.3, centre='0.2 0 0', inertia=(1e-5, 0.004, 0.004)),
        flexibility(
            beam(
                f'<section EIy="17" {section} GJ="5"/><modes bending_y="2"/>'
                f'<damping ratio="{ratio}"/>',
                '0.4 0 0',
            )
        ),
    )


@pytest.mark.parametrize(
    'path, words, values',
    [
        ('arm.EIz', 'section=EIz="{}"', (0.0, -1.0, 1e-9, 1e9)),
        ('arm.damping_ratio', 'ratio={}', (-0.1, 0.0, 0.9)),  # a fit ends before 1
        ('hinge.viscous', 'friction={}', (-0.1, 0.0, 1e6)),
        ('hinge.lower', 'limit=lower="{}" upper="2"', (-1e3, 2.0, 2.1)),
        ('hinge.upper', 'limit=lower="-1" upper="{}"', (-1.1, -1.0, 1e3)),
    ],
)
def test_a_description_accepts_the_numbers_that_a_parameter_may_have(path, words, values):
    keyword, _, text = words.partition('=')
    arm = frs.load(described())
    for value in values:
        try:
            changed = frs.with_parameters(arm, {path: value})
        except frs.SettingError:
            changed = None
        try:
            written = frs.load(described(**{keyword: text.format(value)}))
        except frs.DescriptionError:
            written = None
        assert (changed is None) == (written is None), value
