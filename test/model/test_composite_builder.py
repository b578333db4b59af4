"""Pretwist and section matrices from ArmBuilder, against BeamDyn and a hand-written URDF."""

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs

# composite beam of Wang et al. 2017, BeamDyn; lb and inch
COMPOSITE = 1e3 * np.diag([1368.17, 88.56, 38.78, 16.96, 59.12, 141.47])
COMPOSITE[3, 4] = COMPOSITE[4, 3] = 17610.0
COMPOSITE[3, 5] = COMPOSITE[5, 3] = -351.0
COMPOSITE[4, 5] = COMPOSITE[5, 4] = -370.0
# twisted beam of the same paper; stiffness and load over 1000
TWISTED = np.diag([2.5e7, 8.2604167e6, 8.2604167e6, 141872.656, 520833.0, 130208.333])
UPPER = np.triu_indices(6)


def rigid_section(mass, y, z, moments):
    """Return the mass matrix of a section whose centre is at y, z, with moments about it."""
    lever = np.array([0.0, y, z])
    hat = np.array([[0, -z, y], [z, 0, 0], [-y, 0, 0]])
    first = -mass * hat
    second = np.diag(moments) + mass * (lever @ lever * np.eye(3) - np.outer(lever, lever))
    return np.block([[mass * np.eye(3), first], [first.T, second]])


def cantilever(**options):
    builder = frs.ArmBuilder('cantilever').add_rigid('stand', mass=1.0, inertia=(1, 1, 1))
    builder.add_beam('beam', **{'length': 10.0, **options})
    builder.add_rigid('tool')
    builder.add_joint('hinge', parent='base', child='stand')
    builder.attach('beam', parent='stand')
    return builder.attach('tool', parent='beam')


@pytest.mark.parametrize(
    ('section', 'force', 'expected'),
    [
        (frs.CompositeSection(COMPOSITE), 150.0, [-0.0902727, -0.0647488, 1.2297365]),
        (
            [(at, frs.CompositeSection(TWISTED[UPPER], twist=at * np.pi / 2)) for at in (0, 1)],
            -4000.0,
            [-1.1415260, -1.7180533, -3.5932132],
        ),
        (
            [
                (
                    at,
                    frs.SectionStiffness(
                        EIy=TWISTED[4, 4],
                        EIz=TWISTED[5, 5],
                        GJ=TWISTED[3, 3],
                        EA=TWISTED[0, 0],
                        kGAy=TWISTED[1, 1],
                        kGAz=TWISTED[2, 2],
                        twist=at * np.pi / 2,
                    ),
                )
                for at in (0, 1)
            ],
            -4000.0,
            [-1.1415260, -1.7180533, -3.5932132],
        ),
    ],
)
def test_tips_of_composite_and_twisted_beams_are_those_of_beamdyn(section, force, expected):
    builder = cantilever(section=section, mass=10.0, segments=8, count=6)
    arm = builder.build(gravity=(0, 0, 0), tool='tool')
    rest = frs.equilibrium(arm, pushes=[frs.Push('tool', force=(0, 0, force))])
    found = frs.pose(arm, rest.q)[:3, 3] - (10, 0, 0)
    assert np.linalg.norm(found - expected) < 1e-3 * np.linalg.norm(expected)  # as published


def test_a_mass_off_the_axis_is_in_the_inertial_and_makes_no_warning():
    mass = rigid_section(2.0, 0.1, -0.05, (0.12, 0.05, 0.07))
    arm = cantilever(section=frs.CompositeSection(COMPOSITE, mass, twist=0.0)).build()
    inertial = arm.description.link('beam').inertial
    assert inertial.mass == pytest.approx(20.0, rel=1e-12)
    assert inertial.centre == pytest.approx([5.0, 0.1, -0.05], rel=1e-12)
    assert inertial.inertia[1, 1] == pytest.approx(10 * 0.05 + 20 * 100 / 12, rel=1e-12)
    assert arm.description.warnings == ()


def test_a_twisted_rectangle_from_code_is_the_one_of_a_hand_written_urdf():
    section = [(at, frs.Rectangle(0.03, 0.006, twist=0.8 * at)) for at in (0, 1)]
    built = cantilever(section=section, material='steel', end=(0, 0.6, 0.8), length=None).build()
    density, area = 7850.0, 0.03 * 0.006
    # slender: the moments of the sections are 1e-4 of those of the beam
    moment = density * area / 12
    text = f"""<robot name="hand"><link name="base"/><link name="beam"><inertial>
<origin xyz="0 0.3 0.4"/><mass value="{density * area!r}"/><inertia ixx="{moment!r}"
 iyy="{moment * 0.64!r}" izz="{moment * 0.36!r}" ixy="0" ixz="0" iyz="{-moment * 0.48!r}"/>
</inertial></link><link name="tool"/>
<link name="stand"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
 iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="stand"/><axis xyz="0 0 1"/>
<limit effort="1" velocity="1" lower="-1" upper="1"/></joint>
<joint name="beam_mount" type="fixed"><parent link="stand"/><child link="beam"/></joint>
<joint name="tool_mount" type="fixed"><origin xyz="0 0.6 0.8"/><parent link="beam"/>
<child link="tool"/></joint>
<flexibility><link name="beam" end="0 0.6 0.8" y_axis="0 1 0">
<rectangle width="0.03" height="0.006" at="0" twist="0"/>
<rectangle width="0.03" height="0.006" at="1" twist="0.8"/>
<material E="2.1e11" G="8e10"/></link></flexibility></robot>"""
    by_hand = frs.load(text)
    assert built.coordinate_names == by_hand.coordinate_names
    q = 1e-3 * np.linspace(0.5, 1.0, built.nq)
    expected = frs.mass_matrix(by_hand, q)
    # the same arithmetic, but for the rounding of length and mass
    assert np.abs(frs.mass_matrix(built, q) - expected).max() < 1e-9 * np.abs(expected).max()


NOT_RIGID = np.eye(6) + np.diag([1.0, 0, 0, 0, 0, 0])
LOW = rigid_section(2.0, 0.1, 0.0, (0.1, 0.1, -0.01))
SKEW = np.eye(6)
SKEW[0, 1] = 0.5


@pytest.mark.parametrize(
    ('section', 'options', 'message'),
    [
        (
            frs.CompositeSection(np.eye(5)),
            {},
            'of the section of link "x" must be a matrix (6, 6) of finite numbers, or the 21 of '
            'its upper triangle, by rows [N, N m, N m2]',
        ),
        (frs.CompositeSection(SKEW), {}, 'of the section of link "x" must be symmetric'),
        (
            frs.CompositeSection(-np.eye(6)),
            {'mass': 1.0},
            'the stiffness matrix of a section of "x" is not positive definite',
        ),
        (
            frs.CompositeSection(np.eye(6), NOT_RIGID),
            {},
            'mass of the section of link "x" is not the mass matrix of a rigid section',
        ),
        (
            frs.CompositeSection(np.eye(6), LOW),
            {},
            'is not positive definite: a moment of inertia about its centre of mass is -0.01 kg m',
        ),
        (frs.CompositeSection(np.eye(6)), {}, 'mass of link "x" is missing [kg]: give it, or'),
        (
            frs.CompositeSection(np.eye(6), np.eye(6)),
            {'mass': 1.0},
            'mass of link "x": leave it out, its sections have mass matrices',
        ),
        (
            frs.CompositeSection(np.eye(6)),
            {'mass': 1.0, 'section_inertia': (1, 1, 1)},
            'section_inertia of link "x": leave it out',
        ),
        (
            frs.CompositeSection(np.eye(6)),
            {'mass': 1.0, 'material': 'steel'},
            'material of link "x": CompositeSection needs none',
        ),
        (
            [(0, frs.Rectangle(0.1, 0.1, twist=0.0)), (1, frs.Rectangle(0.1, 0.1))],
            {'material': 'steel'},
            'twist of the section of link "x": give it at every station [rad]',
        ),
        (
            [
                (0, frs.CompositeSection(np.eye(6))),
                (1, frs.CompositeSection(np.eye(6), np.eye(6))),
            ],
            {},
            'mass of the section of link "x": give it at every station, or at none',
        ),
        (
            frs.CompositeSection(np.eye(6)),
            {'mass': 1.0, 'bending_y': 2},
            'is a spatial beam, whose shapes combine all directions',
        ),
    ],
)
def test_wrong_matrices_and_twists_are_refused_in_one_line(section, options, message):
    call = frs.ArmBuilder().add_beam
    text = refusal(frs.SettingError, call, 'x', length=1.0, section=section, **options)
    assert message in text and '\n' not in text
