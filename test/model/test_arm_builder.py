"""Arms from code, compared with hand-written URDFs, Pinocchio and closed forms."""

import copy
import inspect
import io
import pickle
import re

import numpy as np
import pytest
from arms import flexibility, robot
from random_builders import DENSITY, RATIO, ROTOR, random_builder, random_parts
from reduced_bar import reduced_bar
from refusals import refusal
from scipy.integrate import quad
from scipy.optimize import brentq

import flex_robot_sim as frs
from flex_robot_sim.description.document import Document
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.display.visuals import read_visuals, section_of
from flex_robot_sim.reduction.reduced_file import write_reduced

SEEDS = range(4)


def pinocchio_model(pin, seed):
    """Return the Pinocchio model of `random_parts` without bending, by its own formulas."""
    model, places = pin.Model(), {'base': (0, pin.SE3.Identity())}
    for part in random_parts(seed):
        sizes = part['sizes']
        volume = {
            'Box': np.prod(sizes),
            'Sphere': 4 / 3 * np.pi * sizes[0] ** 3,
            'Cylinder': np.pi * sizes[0] ** 2 * sizes[-1],
        }[part['shape']]
        body = getattr(pin.Inertia, f'From{part["shape"]}')(DENSITY * volume, *sizes)
        row, frame = places[part['parent']]
        frame = frame * pin.SE3(pin.rpy.rpyToMatrix(part['rpy']), part['xyz'])
        if part['kind'] != 'fixed':
            axis = part['axis'] / np.linalg.norm(part['axis'])
            joint = (
                pin.JointModelPrismaticUnaligned
                if part['kind'] == 'prismatic'
                else pin.JointModelRevoluteUnaligned
            )(axis)
            row, frame = model.addJoint(row, joint, frame, part['joint']), pin.SE3.Identity()
        places[part['link']] = row, frame
        model.appendBodyToJoint(
            row, body, frame * pin.SE3(pin.rpy.rpyToMatrix(part['turn']), part['centre'])
        )
    return model


@pytest.mark.parametrize('gravity', [(0, 0, 0), (0.1, -0.2, -1.62), (0, 0, -9.81)])
def test_a_urdf_has_the_gravity_of_the_arm(gravity):
    builder = random_builder(SEEDS[0], bends=False)
    text = builder.to_urdf(gravity=gravity)
    found, expected = frs.load(text).arrays, builder.build(gravity=gravity).arrays
    assert np.array_equal(found.base_acceleration, expected.base_acceleration)
    assert ('<gravity' in text) == (gravity != (0, 0, -9.81))
    with pytest.raises(frs.SettingError, match='gravity = 3 of .* must be three finite numbers'):
        builder.to_urdf(gravity=3)


@pytest.mark.parametrize('seed', SEEDS)
def test_the_arm_is_bit_for_bit_that_of_its_urdf(seed):
    builder = random_builder(seed)
    built = builder.build()
    for arm in (frs.load(builder.to_urdf()), frs.load(frs.read_description(builder.to_urdf()))):
        for name, value in built.arrays._asdict().items():
            assert np.array_equal(getattr(arm.arrays, name), value), name
        assert arm.coordinate_names == built.coordinate_names
        assert arm.tool == built.tool


@pytest.mark.parametrize('seed', SEEDS)
def test_a_rigid_arm_has_the_mass_matrix_and_forces_of_pinocchio(seed):
    pin = pytest.importorskip('pinocchio')
    model = pinocchio_model(pin, seed)
    arm = random_builder(seed, bends=False, stiffness=None).build()
    rows = [arm.joint_names.index(name) for name in list(model.names)[1:]]
    rng, data = np.random.default_rng(seed), model.createData()
    for q, v, a in rng.uniform(-2, 2, (3, 3, model.nq)):
        own = np.empty((3, model.nq))
        own[:, rows] = q, v, a
        # crba needs joints depth first
        weight, still = pin.rnea(model, data, q, 0 * v, 0 * a).copy(), np.zeros(model.nq)
        M = np.array(
            [pin.rnea(model, data, q, still, unit) - weight for unit in np.eye(model.nq)]
        ) + RATIO**2 * ROTOR * np.eye(model.nq)
        found = frs.mass_matrix(arm, own[0])[np.ix_(rows, rows)]
        assert found == pytest.approx(M, rel=1e-9, abs=1e-11 * np.abs(M).max())
        force = pin.rnea(model, data, q, v, a) + RATIO**2 * ROTOR * a
        found = frs.inverse_dynamics(arm, *own)[rows]
        assert found == pytest.approx(force, rel=1e-9, abs=1e-11 * np.abs(force).max())


@pytest.mark.parametrize('seed', SEEDS)
def test_pinocchio_reads_the_robot_with_rigid_links_from_the_urdf(seed):
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromXML(random_builder(seed, stiffness=None).to_urdf())
    arm = random_builder(seed, stiffness=None).build()
    rows = [arm.joint_names.index(name) for name in list(model.names)[1:]]
    # continuous joints are a cosine and a sine there
    values = np.random.default_rng(seed).uniform(-2, 2, arm.nq)
    values[arm.elastic_q] = 0.0
    q = np.concatenate(
        [
            [value] if model.joints[k].nq == 1 else [np.cos(value), np.sin(value)]
            for k, value in enumerate(values[rows], 1)
        ]
    )
    M = pin.crba(model, model.createData(), q)
    M = np.triu(M) + np.triu(M, 1).T + RATIO**2 * ROTOR * np.eye(len(rows))
    # shapes of assumed modes and their integrals differ from a rigid body by rounding
    assert frs.mass_matrix(arm, values)[np.ix_(rows, rows)] == pytest.approx(
        M, rel=1e-7, abs=1e-7 * np.abs(M).max()
    )


@pytest.mark.slow
@pytest.mark.parametrize('seed', SEEDS)
def test_parsers_of_ros_and_python_read_the_same_masses_from_the_urdf(seed):
    text = random_builder(seed).to_urdf()
    masses = {
        link.name: link.inertial.mass for link in frs.read_description(text).links if link.inertial
    }
    assert len(masses) == 7
    parsers = pytest.importorskip('urdf_parser_py.urdf'), pytest.importorskip('yourdfpy')
    for robot_read in (
        parsers[0].URDF.from_xml_string(text.encode()),
        parsers[1].URDF.load(io.BytesIO(text.encode())).robot,
    ):
        assert {
            link.name: link.inertial.mass for link in robot_read.links if link.inertial
        } == masses


@pytest.mark.parametrize('seed', SEEDS)
def test_mujoco_reads_the_urdf(seed):
    mujoco = pytest.importorskip('mujoco')
    builder = random_builder(seed)
    model = mujoco.MjModel.from_xml_string(builder.to_urdf())
    assert model.nv == len(builder.build().joint_names)


def clamped(section, length=1.0, **counts):
    """Return the natural frequencies [Hz] of a beam of steel that is fixed to the base."""
    builder = frs.ArmBuilder().add_beam(
        'beam',
        section=section,
        material='steel',
        length=length,
        **{'bending_y': 0, 'bending_z': 0, 'torsion': 0} | counts,
    )
    arm = builder.attach('beam', parent='base').build(gravity=(0, 0, 0))
    return frs.frequencies(arm, [])


def test_a_cantilever_has_the_frequencies_of_euler_and_bernoulli():
    # roots of 1 + cos(x) cosh(x); the strip is so thin that rotary inertia is below 1e-5
    roots = [
        brentq(lambda x: 1 + np.cos(x) * np.cosh(x), k - 1, k + 1) for k in (1.875, 4.694, 7.855)
    ]
    width, height, E, density = 0.002, 0.03, 2.1e11, 7850.0
    strip = frs.Rectangle(width, height)
    expected = np.square(roots) / (2 * np.pi) * np.sqrt(E * width**2 / (12 * density))
    assert clamped(strip, bending_y=8)[:3] == pytest.approx(expected, rel=5e-5)
    expected = np.square(roots[:1]) / (2 * np.pi) * np.sqrt(E * height**2 / (12 * density))
    assert clamped(strip, bending_z=6)[:1] == pytest.approx(expected, rel=1e-3)


def test_waves_of_torsion_and_stretch_run_through_a_rod_at_the_speeds_of_its_material():
    rod = frs.Rod(0.01)
    odd, length = np.array([1, 3]), 0.8
    for counts, modulus in (({'torsion': 7}, 8.0e10), ({'stretch': 7}, 2.1e11)):
        expected = odd * np.sqrt(modulus / 7850) / (4 * length)
        assert clamped(rod, length, **counts)[:2] == pytest.approx(expected, rel=1e-6)


def test_a_tip_mass_lowers_the_frequency_of_a_cantilever_as_in_closed_form():
    width, height, length, mass = 0.003, 0.04, 0.7, 0.5
    beam_mass = 7850 * width * height * length
    builder = frs.ArmBuilder().add_beam(
        'beam',
        length=length,
        section=frs.Rectangle(width, height),
        material='steel',
        bending_y=6,
        bending_z=0,
        torsion=0,
    )
    builder.attach('beam', parent='base')
    builder.add_rigid('tip', mass=mass).attach('tip', parent='beam')
    root = brentq(
        lambda x: (
            1
            + np.cos(x) * np.cosh(x)
            + mass / beam_mass * x * (np.cos(x) * np.sinh(x) - np.sin(x) * np.cosh(x))
        ),
        0.1,
        1.87,
    )
    expected = root**2 / (2 * np.pi * length**2) * np.sqrt(2.1e11 * width**2 / 12 / 7850)
    arm = builder.build(gravity=(0, 0, 0))
    assert frs.frequencies(arm, [])[0] == pytest.approx(expected, rel=2e-5)


def capsule_by_slices(radius, length):
    """Mass at 2700 kg/m3, and moment about y over it, by an integral over discs."""

    def area(z):
        beyond = max(abs(z) - length / 2, 0.0)
        return np.pi * (radius**2 - beyond**2)

    edges = [-length / 2 - radius, -length / 2, length / 2, length / 2 + radius]
    volume, moment = (
        sum(quad(integrand, low, high)[0] for low, high in zip(edges, edges[1:]))
        for integrand in (area, lambda z: area(z) * (z**2 + area(z) / (4 * np.pi)))
    )
    return 2700 * volume, moment / volume


@pytest.mark.parametrize(
    'shape, mass, about_y',
    [
        (frs.Box(0.3, 0.1, 0.05), 2700 * 0.0015, (0.3**2 + 0.05**2) / 12),
        (frs.Sphere(0.1), 2700 * 4e-3 * np.pi / 3, 0.4 * 0.01),
        (frs.Cylinder(0.05, 0.4), 2700 * 1e-3 * np.pi, 0.05**2 / 4 + 0.4**2 / 12),
        (frs.Capsule(0.05, 0.4), *capsule_by_slices(0.05, 0.4)),
    ],
)
def test_a_pendulum_swings_as_its_shape_says(shape, mass, about_y):
    arm = (
        frs.ArmBuilder()
        .add_rigid('bob', shape=shape, density=2700, centre=(0, 0, -0.5))
        .add_joint('pivot', parent='base', child='bob', axis='y')
        .build()
    )
    inertia = mass * (about_y + 0.25)
    assert frs.mass_matrix(arm, [0.0]) == pytest.approx(np.array([[inertia]]), rel=1e-12)
    small = 1e-6
    acceleration = frs.forward_dynamics(arm, [small], [0.0], [0.0])[0]
    assert acceleration == pytest.approx(-mass * 9.81 * 0.5 * small / inertia, rel=1e-6)


@pytest.mark.parametrize('radius, length', [(0.05, 0.4), (0.2, 0.01), (0.1, 1e-9)])
def test_a_capsule_has_the_inertia_of_pinocchio(radius, length):
    pin = pytest.importorskip('pinocchio')
    shape = frs.Capsule(radius, length)
    expected = np.diag(pin.Inertia.FromCapsule(2.0, radius, length).inertia)
    assert 2.0 * shape.gyration == pytest.approx(expected, rel=1e-12)


def test_a_capsule_in_a_urdf_is_a_cylinder_and_two_spheres():
    builder = frs.ArmBuilder().add_rigid(
        'x', shape=frs.Capsule(0.1, 0.6), mass=1, centre=(0.3, 0, 0), rpy=(0, np.pi / 2, 0)
    )
    builder.add_joint('j', parent='base', child='x')
    root = Document('x', builder.to_urdf().encode()).root
    visuals = root.findall('link[@name="x"]/visual')
    assert [visual.find('geometry')[0].tag for visual in visuals] == [
        'cylinder',
        'sphere',
        'sphere',
    ]
    along = [float(visual.find('origin').get('xyz').split()[0]) for visual in visuals]
    assert along == pytest.approx([0.3, 0.6, 0.0], abs=1e-12)


def test_the_description_has_all_arguments_of_the_calls():
    builder = frs.ArmBuilder('every', base='floor')
    builder.add_beam(
        'boom',
        section=frs.SectionStiffness(11.1, 22.2, 33.3, 4e5),
        end=(0.1, 0.2, 0.7),
        y_axis=(1.0, 0.1, 0.2),
        mass=0.7,
        section_inertia=(3e-5, 1e-5, 2e-5),
        bending_y=3,
        bending_z=1,
        torsion=2,
        stretch=1,
        segments=3,
        boundary='free',
        damping_time=2e-4,
    )
    builder.add_beam(
        'arm',
        section=frs.Tube(0.031, 0.0023),
        length=0.37,
        elements=3,
        torsion=2,
        material=frs.Material(E=7.1e10, G=2.61e10),
        mass=0.123,
        damping_ratio=0.017,
    )
    builder.add_flex_sensor('arm', 'root', start=0.011, end=0.13, plane='xz')
    builder.add_flex_sensor('arm', 'tip', start=0.3, end=0.3, plane='xy')
    builder.add_rigid(
        'cart',
        mass=1.3,
        centre=(0.01, 0.02, 0.03),
        inertia=[[0.01, 1e-4, 2e-4], [1e-4, 0.02, 3e-4], [2e-4, 3e-4, 0.025]],
    )
    builder.attach('boom', parent='floor', xyz=(0.1, 0.2, 0.3), rpy=(0.4, 0.5, 0.6))
    builder.add_joint(
        'slide',
        parent='boom',
        child='cart',
        type='prismatic',
        axis=(1, 2, 3),
        station=0.3,
        lower=-0.11,
        upper=0.23,
        effort=17,
        velocity=1.9,
        viscous_friction=0.7,
        coulomb_friction=0.3,
        static_friction=0.4,
        stribeck_rate=0.02,
        presliding=1e-3,
        spring_stiffness=33,
        spring_reference=0.05,
    )
    builder.add_gear(
        'slide',
        gear_ratio=210,
        rotor_inertia=1.7e-5,
        stiffness=4.1e4,
        damping=3.3,
        hysteresis=0.03,
    )
    builder.add_joint(
        'elbow',
        parent='cart',
        child='arm',
        axis='-x',
        rpy=(0.1, -0.2, 0.3),
        velocity=3,
        coulomb_friction=0.5,
        creep_rate=0.06,
    )
    found = frs.read_description(builder.to_urdf())
    boom, arm, cart = found.beam('boom'), found.beam('arm'), found.link('cart').inertial

    assert [link.name for link in found.links] == ['floor', 'boom', 'cart', 'arm']
    assert (boom.EIy, boom.EIz, boom.GJ, boom.EA) == (11.1, 22.2, 33.3, 4e5)
    assert tuple(boom.end) == (0.1, 0.2, 0.7) and boom.mass_per_length == 0.7 / boom.length
    assert boom.section_inertia == pytest.approx([3e-5, 1e-5, 2e-5], rel=1e-9)
    assert boom.axes[:, 1] @ (1.0, 0.1, 0.2) > 0 == np.round(boom.axes[:, 2] @ (1, 0.1, 0.2), 15)
    assert boom.coordinates == {'bending_y': 3, 'bending_z': 1, 'torsion': 2, 'stretch': 1}
    assert (boom.segments, boom.boundary, boom.damping_time) == (3, 'free', 2e-4)

    E, G, outer, inner = 7.1e10, 2.61e10, 0.031, 0.031 - 2 * 0.0023
    I = np.pi / 64 * (outer**4 - inner**4)
    density = 0.123 / 0.37 / (np.pi / 4 * (outer**2 - inner**2))
    assert [arm.EIy, arm.EIz, arm.GJ] == pytest.approx([E * I, E * I, 2 * G * I], rel=1e-12)
    assert arm.section_inertia == pytest.approx(density * I * np.array([2, 1, 1]), rel=1e-9)
    assert (arm.elements, arm.segments, arm.damping_ratio) == (3, 1, 0.017)
    assert arm.coordinates == {'bending_y': 'all', 'bending_z': 'all', 'torsion': 2, 'stretch': 0}
    assert [(s.name, s.start, s.end, s.plane) for s in arm.sensors] == [
        ('root', 0.011, 0.13, 'xz'),
        ('tip', 0.3, 0.3, 'xy'),
    ]
    assert (cart.mass, tuple(cart.centre), cart.inertia[0, 1], cart.inertia[2, 2]) == (
        1.3,
        (0.01, 0.02, 0.03),
        1e-4,
        0.025,
    )

    slide, elbow, mount = found.joint('slide'), found.joint('elbow'), found.joint('boom_mount')
    assert (mount.kind, tuple(mount.position)) == ('fixed', (0.1, 0.2, 0.3))
    assert slide.position == pytest.approx(0.3 * boom.end / boom.length, rel=1e-14)
    assert slide.axis == pytest.approx(np.array([1, 2, 3]) / np.sqrt(14), rel=1e-14)
    assert (slide.lower, slide.upper, slide.effort, slide.velocity) == (-0.11, 0.23, 17, 1.9)
    assert tuple(slide.friction) == (0.7, 0.3, 0.4, 0.02, 1e-3, 0.0)
    assert slide.hysteresis == 0.03
    assert (slide.spring_stiffness, slide.spring_reference) == (33, 0.05)
    assert (slide.gear_ratio, slide.rotor_inertia, slide.stiffness, slide.damping) == (
        210,
        1.7e-5,
        4.1e4,
        3.3,
    )
    assert (elbow.kind, tuple(elbow.axis)) == ('continuous', (-1, 0, 0))
    assert tuple(elbow.friction) == (0.0, 0.5, 0.5, 0.01, 0.0, 0.06)
    assert (elbow.effort, elbow.velocity, elbow.lower) == (np.inf, 3, -np.inf)
    assert tuple(elbow.position) == (0, 0, 0)


@pytest.mark.parametrize('seed', SEEDS)
def test_viewers_draw_a_beam_with_its_section_along_its_axis(seed):
    description = frs.read_description(random_builder(seed).to_urdf())
    root = Document('text', description.text.encode()).root
    for beam in [link.beam for link in description.links if link.beam]:
        (name,) = (link.name for link in description.links if link.beam is beam)
        found = section_of(read_visuals(root, name, beam), beam)
        assert found
        size, is_round = found
        assert size == pytest.approx(beam.size, rel=1e-9) and is_round == beam.is_round


def test_calls_reach_all_words_of_flexibility(tmp_path):
    builder = frs.ArmBuilder()
    stiffness = frs.SectionStiffness(1, 1, 1, 1, 1, 1, mass_per_length=1)
    shearing = frs.Material(7e10, 2.6e10, 2700, shear_factor=0.8)
    for k, section in enumerate(
        (
            [(0, frs.Rod(0.01)), (1, frs.Rod(0.01))],
            [(0, stiffness), (1, stiffness)],
            [(0, frs.Tube(0.01, 0.001)), (1, frs.Tube(0.01, 0.001))],
            [(0, frs.Rectangle(0.01, 0.01)), (1, frs.Rectangle(0.01, 0.01))],
        )
    ):
        has_stiffness = k == 1
        builder.add_beam(
            f'beam_{k}',
            length=1,
            section=section,
            mass=1.0 if has_stiffness else None,
            material=None if has_stiffness else shearing if k == 3 else 'steel',
            section_inertia=(1e-4, 0, 0),
            bending_y=1,
            bending_z=1,
            torsion=1,
            stretch=1,
            elements=(1, None)[k % 2],
            boundary=(None, 'mass')[k % 2],
            **{('damping_ratio', 'damping_time')[k % 2]: 1e-3},
        )
        builder.add_joint(
            f'joint_{k}',
            parent=f'beam_{k - 1}' if k else 'base',
            child=f'beam_{k}',
            static_friction=1,
            stribeck_rate=1,
            **{('creep_rate', 'presliding')[k % 2]: 1},
            effort=1,
            spring_stiffness=1,
            spring_reference=1,
        )
        builder.add_gear(
            f'joint_{k}',
            gear_ratio=2,
            rotor_inertia=1,
            stiffness=[1, 2],
            at=[0.1],
            damping=1,
            backlash=0.01,
            kinematic_error=[(0.01, 2, 0)],
            cogging=[(0.1, 12, 0)],
            torque_ripple=[(0.1, 6, 0)],
            **({'hysteresis': 0.1} if k else {'slip': [(1, 2)]}),
        )
        builder.add_flex_sensor(f'beam_{k}', 'root', start=0, end=0.1, plane='xy')
        builder.add_imu(f'beam_{k}', f'imu_{k}', accelerometer_range=9, gyroscope_range=9, bits=8)
        builder.add_encoder(f'joint_{k}', resolution=0.1)
        builder.add_dc_motor(
            f'joint_{k}', motorconst=1, resistance=1, voltage=9, inductance=0.1, current=5
        )
    builder.add_rigid('rod', mass=1, inertia=(1, 1, 1)).add_joint(
        'wrist',
        parent='beam_1',
        child='rod',
        type='spherical',
        lower=-1,
        upper=1,
        viscous_friction=1,
        coulomb_friction=1,
    )
    builder.add_rigid('nut', mass=1, inertia=(1, 1, 1)).add_joint(
        'lead', parent='rod', child='nut', type='screw', pitch=0.1
    )
    builder.add_beam('slide', length=1, section=frs.Rod(0.01), material='steel').add_joint(
        'guide',
        parent='nut',
        child='slide',
        type='prismatic',
        axis='x',
        lower=0,
        upper=0.5,
        mouth=0.6,
    )
    curve = [(0, 0, 0), (0.5, 0.1, 0), (1, 0, 0)]
    builder.add_beam(
        'curve', axis=curve, section=frs.Rod(0.01), material='steel', twist_coupling=True, count=6
    )
    builder.add_joint('to_curve', parent='beam_3', child='curve', type='fixed')
    matrices = frs.CompositeSection(np.eye(6), mass=np.eye(6), twist=0.1)
    builder.add_beam('composite', length=1, section=matrices)
    builder.add_joint('to_composite', parent='beam_3', child='composite', type='fixed')
    strip = [(0, frs.Rectangle(0.01, 0.02, twist=0)), (1, frs.Rectangle(0.01, 0.02, twist=1))]
    builder.add_beam('strip', length=1, section=strip, material='steel')
    builder.add_joint('to_strip', parent='beam_3', child='strip', type='fixed')
    write_reduced(tmp_path / 'arm.npz', reduced_bar())
    builder.add_reduced('arm', file=tmp_path / 'arm.npz', modes=8, stiffness_scale=1.1)
    gauge = {'at': (0.3, -0.015, 0), 'along': 'x', 'distance': 0.015}
    builder.add_strain_gauge('arm', 'root', **gauge)
    builder.add_joint('to_arm', parent='beam_3', child='arm', type='fixed')
    builder.add_ground(height=0.1, friction=0.5)
    builder.add_obstacle('wall', shape=frs.Box(0.1, 0.1, 0.1), friction=0.5)
    law = {'friction': 0.5, 'stiffness': 1e4, 'damping': 1}
    builder.add_contact('floor', link='rod', shape=frs.Sphere(0.1), **law)
    builder.add_contact('touch', link='nut', against='rod', shape=frs.Sphere(0.1), **law)
    flexibility_element = Document('text', builder.to_urdf().encode()).root.find('flexibility')
    written: dict = {}
    for element in flexibility_element.iter('*'):
        written.setdefault(element.tag, set()).update(element.attrib)
    known = {tag: set(row.attributes) for tag, row in FLEXIBILITY.items()}
    assert known.pop('base') == {'motion'}  # from code: Simulation.move_base
    assert known.pop('gravity') == {
        'xyz'
    }  # from code: build(gravity=...) and to_urdf(gravity=...)
    for tag in ('geometry', 'origin', 'box'):  # of the obstacle, as in URDF
        del written[tag]
    # mimic joints move
    assert known.pop('flexibility') == {'mimic'} and not written.pop('flexibility')
    assert written == known


def test_the_same_arm_written_by_hand_has_the_same_mass_matrix():
    width, height, length, density = 0.006, 0.03, 0.5, 2700.0
    area = width * height
    mass = density * area * length
    about_x = density * length * area * (width**2 + height**2) / 12
    about_y = mass * length**2 / 12 + density * length * area * height**2 / 12
    about_z = mass * length**2 / 12 + density * length * area * width**2 / 12
    limit = '<limit lower="-1.5" upper="1.5" effort="40" velocity="3"/>'
    by_hand = frs.load(
        robot(
            f'<link name="arm"><inertial><origin xyz="0.25 0 0"/><mass value="{mass!r}"/><inertia '
            f'ixx="{about_x!r}" iyy="{about_y!r}" izz="{about_z!r}" ixy="0" ixz="0" iyz="0"/>'
            '</inertial></link>',
            '<link name="tool"><inertial><mass value="0.2"/><inertia ixx="1e-4" iyy="1e-4" '
            'izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>',
            '<joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/>'
            f'<axis xyz="0 1 0"/>{limit}</joint>',
            '<joint name="mount" type="fixed"><parent link="arm"/><child link="tool"/>'
            '<origin xyz="0.5 0 0"/></joint>',
            flexibility(
                '<link name="arm" end="0.5 0 0"><rectangle width="0.006" height="0.03"/>'
                '<material E="7.0e10" G="2.6e10" density="2700"/><damping ratio="0.005"/>'
                '</link><joint name="shoulder" stiffness="900" damping="0.5" '
                'rotor_inertia="2e-5" gear_ratio="80"/>'
            ),
        )
    )
    arm = (
        frs.ArmBuilder()
        .add_beam(
            'arm',
            length=0.5,
            section=frs.Rectangle(width, height),
            material='aluminium',
            damping_ratio=0.005,
        )
        .add_rigid('tool', mass=0.2, inertia=(1e-4, 1e-4, 1e-4))
        .add_joint(
            'shoulder',
            parent='base',
            child='arm',
            axis='y',
            lower=-1.5,
            upper=1.5,
            effort=40,
            velocity=3,
        )
        .attach('tool', parent='arm', name='mount')
        .add_gear('shoulder', gear_ratio=80, rotor_inertia=2e-5, stiffness=900, damping=0.5)
        .build()
    )
    assert arm.coordinate_names == by_hand.coordinate_names
    q = np.random.default_rng(0).normal(size=arm.nq) / 100
    v = np.ones(arm.nv)
    assert frs.mass_matrix(arm, q) == pytest.approx(frs.mass_matrix(by_hand, q), rel=1e-9)
    assert frs.forward_dynamics(arm, q, v, [1.0]) == pytest.approx(
        frs.forward_dynamics(by_hand, q, v, [1.0]), rel=1e-7
    )


def test_numbers_and_names_of_any_kind_survive_the_text():
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=3), rng.uniform(-3, 3, 3), 10 ** rng.uniform(-20, 20)
    name = 'link <"1"> & \'two\' µ'
    builder = frs.ArmBuilder('a "b" & <c>').add_rigid(name, mass=numbers[2], centre=numbers[0])
    builder.add_joint('j', parent='base', child=name, xyz=numbers[1])
    found = frs.read_description(builder.to_urdf())
    assert found.name == 'a "b" & <c>'
    assert found.link(name).inertial.mass == numbers[2]
    assert tuple(found.link(name).inertial.centre) == tuple(numbers[0])
    assert tuple(found.joint('j').position) == tuple(numbers[1])


def two_links():
    """Return a builder with a flexible arm on a geared joint, and loose rigid links."""
    return (
        frs.ArmBuilder('lamp')
        .add_beam('arm', length=0.5, section=frs.Tube(0.03, 0.002), material='aluminium')
        .add_rigid('tool', mass=0.2)
        .add_rigid('post', mass=0.3)
        .add_joint('shoulder', parent='base', child='arm', axis='y')
    )


def test_another_arm_is_attached_with_a_prefix_and_stays_as_it_is():
    arm, torso = (
        two_links().attach('tool', parent='arm').attach('post', parent='tool'),
        (frs.ArmBuilder('torso').add_rigid('chest', mass=5.0, inertia=(0.1, 0.1, 0.1))),
    )
    arm.add_gear('shoulder', gear_ratio=80, rotor_inertia=2e-5, stiffness=900)
    before = arm.to_urdf()
    torso.add_joint('waist', parent='base', child='chest')
    for side, y in (('left_', 0.2), ('right_', -0.2)):
        torso.attach(arm, parent='chest', prefix=side, xyz=(0, y, 0))
    both = torso.build()
    assert both.joint_names == ('waist', 'left_shoulder', 'right_shoulder')
    assert both.motor_names == ('left_shoulder', 'right_shoulder')
    assert list(both.segments) == ['left_arm', 'right_arm']
    assert arm.to_urdf() == before
    # each of them moves as on its own base
    q = np.zeros(both.nq)
    one = arm.build()
    rows = [both.coordinate_names.index(f'left_{name}') for name in one.coordinate_names]
    assert frs.mass_matrix(both, q)[np.ix_(rows, rows)] == pytest.approx(
        frs.mass_matrix(one, np.zeros(one.nq)), rel=1e-12, abs=1e-15
    )


def test_a_beam_without_a_motor_may_carry_joints_along_it():
    builder = frs.ArmBuilder().add_beam(
        'rail', end=(0, 0.8, 0), y_axis='z', material='steel', section=frs.Rod(0.01), torsion=0
    )
    builder.attach('rail', parent='base')
    for k, station in enumerate((0.0, 0.2, 0.8)):
        builder.add_rigid(f'cart_{k}', mass=0.1).attach(
            f'cart_{k}', parent='rail', station=station
        )
    arm = builder.build()
    for k, station in enumerate((0.0, 0.2, 0.8)):
        assert frs.pose(arm, np.zeros(arm.nq), link=f'cart_{k}')[:3, 3] == pytest.approx(
            [0, station, 0], abs=1e-14
        )


def test_a_copy_and_a_pickle_of_a_builder_are_independent():
    builder = two_links()
    text = builder.attach('tool', parent='arm').attach('post', parent='tool').to_urdf()
    for other in (copy.deepcopy(builder), pickle.loads(pickle.dumps(builder))):
        assert other.to_urdf() == text
        other.add_flex_sensor('arm', 'root', start=0.0, end=0.1, plane='xy')
        assert builder.to_urdf() == text != other.to_urdf()


def test_a_builder_names_its_links_and_joints_in_an_interpreter():
    assert repr(two_links()).splitlines()[0] == 'ArmBuilder of "lamp": 4 links, 1 joint'


def test_load_takes_a_description_with_another_tool():
    found = frs.read_description('two_link')
    assert frs.load(found).tool == frs.load('two_link').tool
    assert frs.load(found, tool='forearm').tool == 'forearm'
    message = refusal(frs.SettingError, frs.load, found, xacro_arguments={'length': '1'})
    assert message == 'xacro_arguments belong to a file: read_description takes them'


TUBE = {'length': 1.0, 'section': frs.Tube(0.03, 0.002)}
STIFF = {'length': 1.0, 'section': frs.SectionStiffness(EIy=1, EIz=1), 'mass': 1.0}
TO_TOOL = {'parent': 'arm', 'child': 'tool'}
CURVE = {'start': 0.1, 'end': 0.2, 'plane': 'xy'}
MISTAKES = {
    "name = '' must be a printable text without spaces at its ends": lambda b: b.add_rigid(''),
    'name = "tool": the arm has a link of this name. Give another one': lambda b: b.add_rigid(
        'tool'
    ),
    'mass = -1 of link "x" must be a finite number > 0 [kg]': lambda b: b.add_rigid('x', mass=-1),
    'mass = nan of link "x" must be a finite number > 0 [kg]': lambda b: b.add_rigid(
        'x', mass=np.nan
    ),
    'mass and density of link "x": give one of them': lambda b: b.add_rigid(
        'x', mass=1, density=1, shape=frs.Sphere(0.1)
    ),
    'link "x" has no mass: give mass [kg] or density [kg/m3]': lambda b: b.add_rigid(
        'x', shape=frs.Sphere(0.1)
    ),
    'shape = \'ball\' of link "x" must be a Box, a Cylinder, a Sphere or a Capsule': lambda b: (
        b.add_rigid('x', shape='ball', mass=1)
    ),
    'radius = -0.1 of the shape of link "x" must be a finite number > 0 [m]': lambda b: (
        b.add_rigid('x', shape=frs.Sphere(-0.1), mass=1)
    ),
    'centre = (0, 1) of link "x" must be three finite numbers [m]': lambda b: b.add_rigid(
        'x', mass=1, centre=(0, 1)
    ),
    'inertia of link "x" breaks the '
    'triangle inequality (principal moments 1 + 1 < 3 kg m2): no body has it': lambda b: (
        b.add_rigid('x', mass=1, inertia=(1, 1, 3))
    ),
    'inertia of link "x" must be a symmetric inertia (3, 3), or its '
    'diagonal (3,) [kg m2]': lambda b: b.add_rigid('x', mass=1, inertia=(1, 1)),
    'section_inertia of link "x": torsion needs a moment of '
    'inertia about the beam. Give three moments [kg m], or torsion=0': lambda b: b.add_beam(
        'x', **STIFF
    ),
    'flexible link "x" has coordinates of bending_y but no EIz. Give its section EIz [N m2], '
    'or set bending_y=0.': lambda b: b.add_beam(
        'x', **STIFF | {'section': frs.SectionStiffness(1)}, torsion=0
    ),
    'material of link "x" is missing: give one of aluminium, '
    'steel, titanium, or Material(E, G, density)': lambda b: b.add_beam('x', **TUBE),
    'material = \'aluminum\' of link "x" is unknown. Did you mean "aluminium"?': lambda b: (
        b.add_beam('x', **TUBE, material='aluminum')
    ),
    'flexible link "x" has coordinates of torsion but no GJ. Give its material G [Pa], or set '
    'torsion=0.': lambda b: b.add_beam('x', **TUBE, material=frs.Material(1e10, density=1e3)),
    'mass of link "x": the density of its material determines it. Leave '
    'one of them out': lambda b: b.add_beam('x', **TUBE, material='steel', mass=1),
    'length = -1 of link "x" must be a finite number > 0 [m]': lambda b: b.add_beam(
        'x', length=-1, section=frs.Rod(0.1), material='steel'
    ),
    'the wall of "x" is thicker than half its diameter. Give wall [m] '
    'below outer / 2.': lambda b: b.add_beam(
        'x', length=1, section=frs.Tube(0.03, 0.02), material='steel'
    ),
    'y_axis lies along the beam '
    'of "x". Give a y_axis across the beam, for instance y_axis=(0, 1, 0).': lambda b: b.add_beam(
        'x', **TUBE, material='steel', y_axis='x'
    ),
    'bending_y = -1 of link "x" must be a whole number from 0 to 50': lambda b: b.add_beam(
        'x', **TUBE, material='steel', bending_y=-1
    ),
    'flexible link "x" has no elastic coordinates. Give it at least one.': lambda b: b.add_beam(
        'x', **TUBE, material='steel', bending_y=0, bending_z=0, torsion=0
    ),
    'boundary of link "x" belongs to assumed modes: leave out elements or boundary': lambda b: (
        b.add_beam('x', **TUBE, material='steel', elements=2, boundary='free')
    ),
    'damping_ratio = 1.0 of link "x" must be a finite number >= 0 and < 1': lambda b: b.add_beam(
        'x', **TUBE, material='steel', damping_ratio=1.0
    ),
    'parent = \'am\' is unknown. Did you mean "arm"?': lambda b: b.add_joint(
        'x', parent='am', child='tool'
    ),
    "child = 'hand' is unknown. Known: base, arm, tool, post": lambda b: b.add_joint(
        'x', parent='arm', child='hand'
    ),
    'child = "base" is the fixed base: give a link that moves, or exchange '
    'parent and child': lambda b: b.add_joint('x', parent='tool', child='base'),
    'child = "arm" has the parent "base": links form a tree, so give another child': lambda b: (
        b.add_joint('x', parent='tool', child='arm')
    ),
    'child = "tool" carries the parent "tool": links form a tree, so give '
    'another child': lambda b: b.add_joint('x', parent='tool', child='tool'),
    'name = "shoulder": the arm has a joint of this name. Give another one': lambda b: b.add_joint(
        'shoulder', **TO_TOOL
    ),
    'type = \'hinge\' of joint "x" is unknown. Known: revolute, '
    'continuous, prismatic, fixed, floating, planar, universal, spherical, '
    'screw': lambda b: b.add_joint('x', **TO_TOOL, type='hinge'),
    'axis = (0, 0, 0) of joint "x" must be a direction other than zero': lambda b: b.add_joint(
        'x', **TO_TOOL, axis=(0, 0, 0)
    ),
    'station = 2 of joint "x" must be from 0 to 0.5 m, the length of link "arm"': lambda b: (
        b.add_joint('x', **TO_TOOL, station=2)
    ),
    'joint "x" would ride at 2 m on the '
    'beam of link "arm", which ends at 0.5 m. Move its xyz between the ends of the beam, or '
    'correct the end of the beam.': lambda b: b.add_joint('x', **TO_TOOL, xyz=(2, 0, 0)),
    'joint "x" has its lower limit 1 above its upper limit 0. Exchange them.': lambda b: (
        b.add_joint('x', **TO_TOOL, lower=1, upper=0)
    ),
    'lower and upper of joint "x" are missing: a prismatic joint needs both [m]': lambda b: (
        b.add_joint('x', **TO_TOOL, type='prismatic')
    ),
    'effort = -1 of joint "x" must be a finite number >= 0 [N m or N]': lambda b: b.add_joint(
        'x', **TO_TOOL, effort=-1
    ),
    'joint "x" has a static_friction of 0.1, less than the friction of 0.2. Correct one of '
    'them.': lambda b: b.add_joint('x', **TO_TOOL, static_friction=0.1, coulomb_friction=0.2),
    'flexible joint "shoulder" has no '
    'rotor_inertia, so that its motor side has no mass. Give rotor_inertia [kg m2].': lambda b: (
        b.add_gear('shoulder', stiffness=100)
    ),
    'joint = \'sholder\' is unknown. Did you mean "shoulder"?': lambda b: b.add_gear('sholder'),
    "link = 'tool' is unknown. Known: arm": lambda b: b.add_flex_sensor('tool', 'x', **CURVE),
    'flex sensor "x" reaches '
    'from 0.1 to 0.9 m on a beam of 0.5 m. Give 0 <= start <= end <= length.': lambda b: (
        b.add_flex_sensor('arm', 'x', **CURVE | {'end': 0.9})
    ),
    'the section of link "x" is out of all proportion: give its sizes in m': lambda b: b.add_beam(
        'x', length=1, section=frs.Rod(1e-200), material='steel'
    ),
    'name = "base": the arm has a link of this name. Give another one': lambda b: b.attach(
        two_links(), parent='arm'
    ),
    'ArmBuilder("lamp"): the robot has several bases: "base", "tool", '
    '"post". Connect them with joints, or remove the links that are not used.': lambda b: (
        b.build()
    ),
    'ArmBuilder("lamp"): joint "x" moves nothing that has inertia about its axis. Give link '
    '"tool" or one beyond it mass and inertia, or fix the joint.': lambda b: (
        b.add_joint('x', **TO_TOOL).attach('post', parent='arm').to_urdf()
    ),
}


@pytest.mark.parametrize('message, call', MISTAKES.items())
def test_a_mistake_is_one_line_that_names_the_argument(message, call):
    assert refusal(frs.SettingError, call, two_links()) == message


@pytest.mark.slow
def test_a_refused_call_leaves_the_builder_as_it_is():
    for call in [*MISTAKES.values()][:-1]:
        builder = two_links()
        refusal(frs.SettingError, call, builder)
        assert {k: list(v) for k, v in vars(builder).items() if isinstance(v, dict)} == {
            k: list(v) for k, v in vars(two_links()).items() if isinstance(v, dict)
        }
        builder.attach('tool', parent='arm').attach('post', parent='tool')
        assert builder.to_urdf() == (
            two_links().attach('tool', parent='arm').attach('post', parent='tool').to_urdf()
        )


VALID: dict[str, dict] = {
    'add_rigid': {'name': 'x', 'shape': frs.Sphere(0.1), 'mass': 1.0},
    'add_beam': {'name': 'x', 'length': 0.3, 'section': frs.Rod(0.01), 'material': 'steel'},
    'add_joint': {'name': 'x', **TO_TOOL},
    'attach': TO_TOOL,
    'add_gear': {'joint': 'shoulder', 'rotor_inertia': 1e-5},
    'add_flex_sensor': {'link': 'arm', 'name': 'x', **CURVE},
    'add_imu': {'link': 'arm', 'name': 'x', 'accelerometer_range': 9.0, 'gyroscope_range': 9.0},
    'add_encoder': {'joint': 'shoulder', 'noise': 1.0},
}
# fmt: off
WILD: tuple = (None, True, -1, 0, 1.5, np.nan, np.inf, 1e31, 10**400, '', 'tool', b'x', {}, (1, 2),
        (np.nan, 0, 0), (1e300, 0, 0), -np.eye(3), 1j, frs.Tube(None, 'x'), frs.Material(None),
        frs.Rod(1e-200), frs.Rod(1e20), frs.Box(1, 'x', np.nan), np.array(['x', 1], object))
# fmt: on


@pytest.mark.long(after=2)
@pytest.mark.slow
@pytest.mark.parametrize('method', VALID)
def test_any_value_of_any_argument_is_used_or_refused_in_one_line(method):
    for argument in list(inspect.signature(getattr(frs.ArmBuilder, method)).parameters)[1:]:
        for value in WILD:
            builder = two_links()
            try:
                getattr(builder, method)(**VALID[method] | {argument: value})
            except frs.SettingError as error:
                assert len(str(error)) < 300 and not re.search(r'\n|</?\w|:\d+:', str(error))


def test_warnings_name_no_line_of_a_file():
    arm = two_links().attach('tool', parent='arm').attach('post', parent='tool').build()
    assert arm.description.warnings == tuple(
        f'ArmBuilder("lamp"): link "{name}" has no moments of inertia and counts as a point mass. '
        'Give its inertia [kg m2].'
        for name in ('tool', 'post')
    )
