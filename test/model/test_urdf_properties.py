"""Any arm from code survives its URDF, and the layout of a URDF changes nothing."""

import numpy as np
import pytest

pytest.importorskip('hypothesis')

from hypothesis import assume, given
from hypothesis import strategies as st
from random_arms import random_robot
from random_cases import cases
from urdf_layouts import relaid

import flex_robot_sim as frs
from flex_robot_sim.description.rewriting import edits_of, rewritten
from flex_robot_sim.description.robot_parameters import parameters_of, with_parameters

seeds = st.integers(0, 2**32 - 1)
names = st.text(
    st.characters(blacklist_categories=('C', 'Z')) | st.sampled_from(' "\'&<>/'),
    min_size=1,
    max_size=8,
).filter(lambda name: name == name.strip() and name.isprintable() and name != 'base')


def numbers(low, high):
    """Positive numbers of any magnitude between two, with all their digits."""
    return st.floats(np.log10(low), np.log10(high)).map(lambda power: float(10.0**power))


# numbers below 1e-30 are zero
signed = st.floats(-2.0, 2.0).map(lambda value: value if abs(value) > 1e-9 else 0.0)
vectors = st.tuples(signed, signed, signed)
axes = vectors.filter(lambda vector: np.linalg.norm(vector) > 0.1)


def maybe(strategy):
    return st.none() | strategy


@st.composite
def links(draw):
    """Draw the method and the arguments of a link."""
    if draw(st.booleans()):
        moments = np.array(draw(st.tuples(*3 * [numbers(1e-5, 1e-2)])))
        return 'add_rigid', {
            'mass': draw(numbers(1e-3, 1e3)),
            'centre': draw(vectors),
            'inertia': moments.sum() - moments,  # possible moments of a body
        }
    section = draw(
        st.builds(frs.SectionStiffness, *4 * [numbers(1.0, 1e7)])
        | st.builds(frs.Rod, numbers(1e-3, 0.05))
        | st.builds(frs.Tube, numbers(0.02, 0.1), numbers(1e-4, 5e-3))
        | st.builds(frs.Rectangle, numbers(1e-3, 0.05), numbers(1e-3, 0.05))
    )
    has_stiffness = isinstance(section, frs.SectionStiffness)
    elements = draw(maybe(st.integers(1, 3)))
    counts = st.integers(0, 3)
    return 'add_beam', {
        'end': draw(axes),
        'y_axis': draw(axes),
        'section': section,
        'material': None if has_stiffness else draw(st.sampled_from(['steel', 'aluminium'])),
        'mass': draw(numbers(0.1, 10.0)) if has_stiffness else None,
        'section_inertia': draw(st.tuples(numbers(1e-6, 1e-3))) + (0.0, 0.0),
        'elements': elements,
        'segments': draw(st.integers(1, 3)),
        'boundary': None if elements else draw(st.sampled_from(['static', 'free', 'mass'])),
        'bending_y': draw(maybe(counts)),
        'bending_z': draw(maybe(counts)),
        'torsion': draw(maybe(counts)),
        'stretch': draw(maybe(counts)),
        **draw(st.sampled_from([{}, {'damping_ratio': 0.013}, {'damping_time': 1.7e-4}])),
    }


@st.composite
def joints(draw):
    """Draw the arguments of a joint, and of its gear or None."""
    kind = draw(st.sampled_from(['revolute', 'prismatic', 'continuous', 'fixed']))
    if kind == 'fixed':
        return {'type': kind, 'rpy': draw(vectors)}, None
    coulomb = draw(maybe(numbers(1e-6, 10.0)))
    arguments = {
        'type': kind,
        'axis': draw(axes),
        'rpy': draw(vectors),
        'effort': draw(maybe(numbers(1e-3, 1e4))),
        'velocity': draw(maybe(numbers(1e-3, 1e4))),
        'acceleration': draw(maybe(numbers(1e-3, 1e4))),
        'deceleration': draw(maybe(numbers(1e-3, 1e4))),
        'jerk': draw(maybe(numbers(1e-3, 1e4))),
        'viscous_friction': draw(maybe(numbers(1e-6, 10.0))),
        'coulomb_friction': coulomb,
        'static_friction': None if coulomb is None else 1.5 * coulomb,
        'stribeck_rate': None if coulomb is None else draw(numbers(1e-3, 1.0)),
        'creep_rate': None if coulomb is None else draw(maybe(numbers(1e-4, 1.0))),
        'spring_stiffness': draw(maybe(numbers(1e-3, 1e4))),
    }
    if arguments['spring_stiffness']:
        arguments['spring_reference'] = draw(signed)
    if kind != 'continuous':
        arguments |= {'lower': -draw(numbers(1e-3, 10.0)), 'upper': draw(numbers(1e-3, 10.0))}
    gear = {'gear_ratio': draw(numbers(1.0, 1e3)), 'rotor_inertia': draw(numbers(1e-7, 1e-2))}
    if draw(st.booleans()):
        gear |= {'stiffness': draw(numbers(1.0, 1e6)), 'damping': draw(numbers(1e-4, 10.0))}
    return arguments, draw(st.none() | st.just(gear))


@pytest.mark.slow
@cases(12)
@given(st.lists(st.tuples(links(), joints()), min_size=1, max_size=4), st.data())
def test_every_argument_of_an_arm_from_code_is_in_the_description_of_its_urdf(parts, data):
    known = data.draw(
        st.lists(names, min_size=2 * len(parts), max_size=2 * len(parts), unique=True)
    )
    builder = frs.ArmBuilder('any')
    calls: list = []
    ends: dict = {}
    for k, ((method, link), (joint, gear)) in enumerate(parts):
        name, joint_name = known[2 * k], known[2 * k + 1]
        parent = data.draw(st.sampled_from(['base', *(call[0] for call in calls)]))
        place = {'xyz': data.draw(vectors)}
        if parent in ends:
            place = {'station': data.draw(st.floats(0.0, 1.0)) * np.linalg.norm(ends[parent])}
        try:
            getattr(builder, method)(name, **link)
            builder.add_joint(joint_name, parent=parent, child=name, **place, **joint)
            if gear:
                builder.add_gear(joint_name, **gear)
        except frs.SettingError:  # such as more modes than the elements have
            assume(False)
        calls.append((name, joint_name, parent, place.get('xyz')))
        if method == 'add_beam':
            ends[name] = link['end']
    try:
        found = frs.read_description(builder.to_urdf())
    except frs.SettingError:  # such as a motor that moves nothing
        assume(False)
    for ((method, link), (joint, gear)), (name, joint_name, parent, xyz) in zip(parts, calls):
        one, that = found.joint(joint_name), found.link(name)
        assert (one.parent, one.child, one.kind) == (parent, name, joint['type'])
        assert xyz is None or tuple(one.position) == xyz
        if joint['type'] != 'fixed':
            axis = np.array(joint['axis'])
            np.testing.assert_allclose(one.axis, axis / np.linalg.norm(axis), atol=1e-15)
            for word in ('effort', 'velocity', 'acceleration', 'deceleration', 'jerk'):
                assert getattr(one, word) == (joint[word] or np.inf)
            for word in ('viscous_friction', 'coulomb_friction', 'static_friction'):
                assert getattr(one.friction, word) == (joint[word] or 0.0)
            for word in ('lower', 'upper'):
                assert word not in joint or getattr(one, word) == joint[word]
            for word in ('spring_stiffness', 'spring_reference'):
                assert getattr(one, word) == (joint.get(word) or 0.0)
        if gear:
            for word, value in gear.items():
                assert getattr(one, word) == value
        if method == 'add_rigid':
            assert that.inertial.mass == link['mass']
            assert tuple(that.inertial.centre) == link['centre']
            assert (np.diag(that.inertial.inertia) == link['inertia']).all()
            continue
        beam = that.beam
        assert tuple(beam.end) == link['end']
        assert beam.segments == link['segments'] and beam.elements == (link['elements'] or 0)
        for word in ('bending_y', 'bending_z', 'torsion', 'stretch'):
            assert link[word] is None or beam.coordinates[word] == link[word]
        if link['mass'] is not None:
            section = link['section']
            assert that.inertial.mass == link['mass']
            for word, direction in zip(('EIy', 'EIz', 'GJ', 'EA'), section):
                assert getattr(beam, word) == direction or not beam.freedom
    again = frs.load(builder.to_urdf())
    for value, other in zip(builder.build().arrays, again.arrays):
        assert np.array_equal(value, other, equal_nan=True)


@pytest.mark.slow
@cases(15)
@given(seeds, seeds)
def test_the_layout_of_a_urdf_changes_nothing(seed, layout):
    text = random_robot(seed, 3, damping=True)
    relaid_text = relaid(text, np.random.default_rng(layout))
    for value, other in zip(frs.load(text).arrays, frs.load(relaid_text).arrays):
        assert np.array_equal(value, other, equal_nan=True)


@pytest.mark.slow
@cases(30)
@given(seeds, seeds, st.floats(0.9, 1.1), st.data())
def test_a_parameter_is_written_into_a_urdf_of_any_layout(seed, layout, factor, data):
    text = relaid(random_robot(seed, 3, damping=True), np.random.default_rng(layout))
    before = frs.read_description(text)
    geared = {joint.name for joint in before.joints if joint.rotor_inertia > 0.0}
    known = parameters_of(before)
    paths = [
        path
        for path, one in known.items()
        if one.value
        and np.isfinite(one.value)
        and not (one.group == 'drive' and path.rpartition('.')[0] not in geared)  # no effect
        and not (path.startswith('link_') and path.endswith('.stiffness'))  # a factor
    ]
    path = data.draw(st.sampled_from(paths))
    try:
        after = with_parameters(before, {path: known[path].value * factor})
    except frs.FlexRobotSimError:  # out of range, or an impossible body
        assume(False)
    read = frs.read_description(rewritten(text, edits_of(before, after, path), {}))
    value = parameters_of(after)[path].value
    assert parameters_of(read)[path].value == pytest.approx(value, rel=1e-5)  # six digits
