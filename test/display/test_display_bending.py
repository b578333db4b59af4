"""Markers of bent links, their colours and the tool path."""

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot
from closed_loops import TREES
from random_arms import every_feature, random_robot, random_state
from refusals import refusal
from scipy.spatial.transform import Rotation

from flex_robot_sim import Simulation, load, read_description
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.display.bending import BendingShape
from flex_robot_sim.display.colours import colour_ramp
from flex_robot_sim.display.drawn_sections import drawn_sections
from flex_robot_sim.display.tool_path import ToolPath
from flex_robot_sim.dynamics.loads import Push
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.exceptions import SettingError

SHAPES = {
    'modes': '<modes bending_y="3" bending_z="2" torsion="2" stretch="1"/>',
    'segments': '<modes bending_y="2" bending_z="2" torsion="1" segments="3"/>',
    'elements': '<elements count="2" stretch="all"/>',
}
SECTION = '<section EIy="20" EIz="30" GJ="10" EA="1e6"/>'
STATIONS = np.linspace(0.0, 1.0, 7)


def framed_arm(shape, coupling='shortening'):
    """Return a beam of 1 m that does not lie along an axis, with a frame every sixth of it."""
    end = np.array([0.36, 0.48, 0.8])
    about = (np.eye(3) - np.outer(end, end)) / 6 + 1e-3 * np.outer(end, end)  # of 2 kg
    arm = link(
        centre='0.18 0.24 0.4',
        inertia=tuple(map(float, np.diag(about))),
        products=(float(about[0, 1]), float(about[0, 2]), float(about[1, 2])),
    )
    frames = [
        part
        for i, x in enumerate(STATIONS)
        for part in (
            f'<link name="at_{i}"/>',
            joint(
                f'to_{i}',
                'fixed',
                'arm',
                f'at_{i}',
                '<origin xyz="' + ' '.join(repr(float(p)) for p in x * end) + '"/>',
            ),
        )
    ]
    flexible = beam(SECTION + shape, '0.36 0.48 0.8', more=' y_axis="1 0 0"')
    return build_arm(
        read_description(robot(arm, joint(), *frames, flexibility(flexible))), coupling
    )


@pytest.mark.parametrize('coupling', ['shortening', 'zero_order'])
@pytest.mark.parametrize('shape', SHAPES)
def test_nodes_lie_on_the_frames_that_the_simulation_has_there(shape, coupling):
    arm = framed_arm(SHAPES[shape], coupling)
    simulation = Simulation(arm)
    q, _ = random_state(arm, 4)
    simulation.set_state(q=q)
    shape = BendingShape(arm, pieces=6)
    axis = shape.bent(q).axis
    if len(axis) == 9:  # three segments begin and end at nodes of their own
        axis = np.delete(axis, [3, 6], axis=0)
    expected = [simulation.pose(f'at_{i}')[:3, 3] for i in range(len(STATIONS))]
    np.testing.assert_allclose(axis, expected, atol=1e-12)  # rounding


@pytest.mark.parametrize(
    'source', [*TREES, 'four_bar', every_feature(), random_robot(2), random_robot(7)]
)
def test_pieces_run_along_the_chords_and_start_and_end_with_the_link(source):
    arm = load(source)
    simulation, shape = Simulation(arm), BendingShape(arm, pieces=7)
    simulation.set_state(q=random_state(arm, 1)[0])
    q = simulation.q
    bent = shape.bent(q)
    assert [row.link for row in shape.links] == list(arm.segments)
    assert np.isfinite(np.concatenate([array.ravel() for array in bent])).all()
    for row in shape.links:
        axis = nodes(bent, row)
        T, beam = simulation.pose(row.link), arm.description.beam(row.link)
        hidden = 0.0  # length of a sliding link in its guide
        if beam.guide:
            hidden = beam.mouth - q[arm.idx_q[beam.guide]]
        start = T[:3, 3] + hidden * T[:3, :3] @ beam.axes[:, 0]
        np.testing.assert_allclose(axis[0], start, atol=1e-12)
        begin, end, x = ends(bent, row)
        np.testing.assert_allclose(begin[0], axis[0], atol=1e-12)
        np.testing.assert_allclose(end[-1], axis[-1], atol=1e-12)
        chord = np.diff(axis, axis=0)
        length = np.linalg.norm(chord, axis=1)
        np.testing.assert_allclose(x, chord / length[:, None], atol=1e-12)
        # between the nodes they extend along their chord to the mitre
        for beyond, along in ((axis[1:-1] - begin[1:], x[1:]), (end[:-1] - axis[1:-1], x[:-1])):
            over = np.einsum('ka,ka->k', beyond, along)
            assert np.all(over >= -1e-12) and np.all(over < length.max() / 2)
            np.testing.assert_allclose(beyond, over[:, None] * along, atol=1e-12)


def nodes(bent, row):
    """Nodes (k + 1, 3) of a BentLink, those between segments once."""
    axis = bent.axis[row.nodes]
    again = np.linalg.norm(np.diff(axis, axis=0, prepend=np.nan), axis=1) < 1e-9
    return axis[~again]


def ends(bent, row):
    """Both ends (k, 3) of the pieces of a BentLink, and their axes (k, 3)."""
    along = 'xyz'.index('z' if row.shape == 'cylinder' else 'x')
    x = Rotation.from_quat(bent.orientation[row.pieces]).as_matrix()[:, :, along]
    half = x * bent.scale[row.pieces, along, None] / 2
    return bent.position[row.pieces] - half, bent.position[row.pieces] + half, x


def is_inside(bent, row, piece, points):
    """Whether `points` (m, 3) lie in a piece of a BentLink, by the rules of rviz's shapes."""
    k = row.pieces.start + piece
    turn = Rotation.from_quat(bent.orientation[k]).as_matrix()
    local = 2 * (points - bent.position[k]) @ turn / bent.scale[k]  # unit shape
    if row.shape == 'box':
        return np.abs(local).max(axis=1) <= 1 + 1e-9
    return (np.abs(local[:, 2]) <= 1 + 1e-9) & (np.hypot(local[:, 0], local[:, 1]) <= 1 + 1e-9)


@pytest.mark.parametrize(
    'source, seed, bend',
    [
        ('two_link', 1, 0.3),
        ('two_link', 2, 0.3),
        ('rig', 3, 0.3),
        ('ella', 4, 0.3),
        (random_robot(2), 5, 0.1),
    ],
)
def test_bent_pieces_leave_no_wedge_between_them(source, seed, bend):
    arm = load(source)
    shape = BendingShape(arm, pieces=8)
    q, _ = random_state(arm, seed, bend=bend)  # strongly: the wedges would be wide
    # twisted boxes have steps between them, but no wedges
    q[['/torsion' in name for name in arm.coordinate_names]] = 0.0
    bent = shape.bent(q)
    rng = np.random.default_rng(seed)
    for row in shape.links:
        axis = nodes(bent, row)
        sections = Rotation.from_quat(bent.orientation[row.pieces]).as_matrix()
        # bending in both planes twists it
        size = 0.98 * np.array(drawn_sections(arm)[row.link].size)
        if row.shape == 'cylinder':
            sections = np.roll(sections, 1, axis=2)
        for node in range(1, len(axis) - 1):
            # points between the faces in which two bare chords would end: the same point of both
            # sections, joined by a straight line
            at = rng.uniform(-0.5, 0.5, (200, 2)) * size
            if row.shape == 'cylinder':
                at = at[np.hypot(*(at / size).T) < 0.5]
            t = rng.uniform(0.0, 1.0, (len(at), 1))
            faces = [axis[node] + at @ sections[k][:, 1:].T for k in (node - 1, node)]
            between = (1 - t) * faces[0] + t * faces[1]
            found = is_inside(bent, row, node - 1, between) | is_inside(bent, row, node, between)
            assert found.all()


@pytest.mark.parametrize('source', ['two_link', 'rig', every_feature(), random_robot(2)])
def test_pieces_in_their_links_are_those_of_the_base_seen_from_there(source):
    arm = load(source)
    simulation, shape = Simulation(arm), BendingShape(arm)
    q, _ = random_state(arm, 6)
    simulation.set_state(q=q)
    base, local = shape.bent(q), shape.bent(q, in_links=True)
    np.testing.assert_allclose(local.scale, base.scale, rtol=1e-9)
    for row in shape.links:
        T = simulation.pose(row.link)
        position = local.position[row.pieces] @ T[:3, :3].T + T[:3, 3]
        np.testing.assert_allclose(position, base.position[row.pieces], atol=1e-12)
        turn = Rotation.from_matrix(T[:3, :3]) * Rotation.from_quat(local.orientation[row.pieces])
        off = turn.inv() * Rotation.from_quat(base.orientation[row.pieces])
        assert off.magnitude().max() < 1e-7  # arccos of 1 less rounding


def test_a_box_twists_with_its_section():
    arm = framed_arm('<modes bending_y="0" bending_z="1" torsion="1"/>')
    shape, simulation = BendingShape(arm, pieces=3), Simulation(arm)
    q = np.array([0.0, 0.0, 0.4])  # of the hinge, bending_z and torsion
    simulation.set_state(q=q)
    turn = Rotation.from_quat(shape.bent(q).orientation).as_matrix()
    axes = arm.description.link('arm').beam.axes
    for piece, frame in enumerate(('at_1', 'at_3', 'at_5')):  # in the middle of a piece
        np.testing.assert_allclose(turn[piece], simulation.pose(frame)[:3, :3] @ axes, atol=1e-12)


def test_pieces_of_a_curved_box_look_along_the_middle_of_the_curve():
    arm = framed_arm(SHAPES['modes'])
    simulation, shape = Simulation(arm), BendingShape(arm, pieces=3)
    q, _ = random_state(arm, 3, bend=0.01)
    simulation.set_state(q=q)
    turn = Rotation.from_quat(shape.bent(q).orientation).as_matrix()
    axes = arm.description.link('arm').beam.axes
    for piece, frame in enumerate(('at_1', 'at_3', 'at_5')):
        off = Rotation.from_matrix(turn[piece].T @ simulation.pose(frame)[:3, :3] @ axes)
        # a chord and the tangent in its middle differ by v''' dx^2 / 24, some 60 v / 200
        assert off.magnitude() < 0.02


def rectangle_arm(more=''):
    """Return a hinged strip of 1 m, 4 mm along y and 10 mm along z, E = 70 GPa."""
    area, E = 0.004 * 0.010, 7e10
    mass = 2700 * area
    arm = link(mass=mass, inertia=(mass * 1e-5, mass / 12, mass / 12))
    section = '<rectangle width="0.004" height="0.01"/><material E="7e10" G="2.6e10"/>'
    return (
        load(
            robot(
                arm,
                joint(),
                '<link name="tool"/>',
                joint('mount', 'fixed', 'arm', 'tool', '<origin xyz="1 0 0"/>'),
                flexibility(beam(section + more)),
            )
        ),
        E * 0.01 * 0.004**3 / 12,
        E * 0.004 * 0.01**3 / 12,
    )


@pytest.mark.parametrize('plane', [0, 1])
def test_colour_shows_the_surface_strain_of_a_loaded_cantilever(plane):
    arm, EIz, EIy = rectangle_arm()
    arm = build_arm(arm.description, gravity=(0.0, 0.0, 0.0))
    force, EI, thickness = 0.01, (EIz, EIy)[plane], (0.004, 0.010)[plane]
    push = Push('tool', (0.0, force, 0.0) if plane == 0 else (0.0, 0.0, force))
    bent = BendingShape(arm, pieces=10, full_scale=1e-3).bent(equilibrium(arm, pushes=[push]).q)
    x = (np.arange(10) + 0.5) / 10
    strain = force * (1.0 - x) / EI * thickness / 2
    # the static shapes hold a force at the tip; its large bending is (F L2 / EI)^2 / 2 = 3e-5
    np.testing.assert_allclose(bent.load, strain / 1e-3, rtol=1e-3)


def test_full_colour_is_the_root_of_a_link_whose_tip_moved_by_a_tenth():
    arm, EIz, _ = rectangle_arm()
    arm = build_arm(arm.description, gravity=(0.0, 0.0, 0.0), coupling='zero_order')
    force = 0.1 * 3 * EIz / 1e3  # a thousandth of a tenth
    bent = BendingShape(arm, pieces=100).bent(
        equilibrium(arm, pushes=[Push('tool', (0.0, force, 0.0))]).q
    )
    assert 1e3 * bent.load[0] == pytest.approx(1.0 - 0.005, rel=1e-3)  # middle of a piece


@pytest.mark.parametrize('full_scale', [1e-9, 1e-300])
def test_beyond_full_scale_the_last_colour_stays(full_scale):
    arm, *_ = rectangle_arm()
    shape = BendingShape(arm, full_scale=full_scale)
    q, _ = random_state(arm, 1)
    assert np.all(shape.bent(q).rgba == colour_ramp()[-1])
    assert np.all(shape.bent(np.zeros(arm.size)).rgba == colour_ramp()[0])


def test_a_section_is_drawn_as_it_is_described():
    sections = drawn_sections(load('two_link'))
    assert sections['upper_arm'] == ((0.014, 0.014), True, True, ())
    assert sections['forearm'] == ((0.004, 0.006), False, True, ())


def test_stiffnesses_alone_are_drawn_like_the_visual_along_the_beam():
    sections = drawn_sections(load('canadarm2'))
    for boom in ('upper_boom', 'lower_boom'):
        assert sections[boom].size == pytest.approx((0.35, 0.35), rel=1e-6)  # rpy has 8 digits
        assert sections[boom].is_round and not sections[boom].is_known
    assert drawn_sections(load('ella'))['link_1'].size == pytest.approx((0.026, 0.0188))


@pytest.mark.parametrize(
    'visual, size, is_round',
    [
        # a beam of 1 m; EI / EA = size^2 / 12, EIz along y
        ('', (np.sqrt(12 * 30 / 1e6), np.sqrt(12 * 20 / 1e6)), False),
        (
            '<origin xyz="0.5 0 0"/><geometry><mesh filename="a.stl"/></geometry>',
            (np.sqrt(12 * 30 / 1e6), np.sqrt(12 * 20 / 1e6)),
            False,
        ),
        (
            '<origin xyz="0.5 0 0"/><geometry><box size="1 0.02 0.03"/></geometry>',
            (0.02, 0.03),
            False,
        ),
        (
            '<origin xyz="0.5 0 0" rpy="1.5707963 0 0"/><geometry><box size="0.9 0.02 '
            '0.03"/></geometry>',
            (0.03, 0.02),
            False,
        ),
        (
            '<geometry><box size="0.2 0.2 0.3"/></geometry>',
            (np.sqrt(12 * 30 / 1e6), np.sqrt(12 * 20 / 1e6)),
            False,
        ),
    ],
)
def test_size_of_stiffnesses(visual, size, is_round):
    text = link().replace('</link>', f'<visual>{visual}</visual></link>' if visual else '</link>')
    section = drawn_sections(load(robot(text, joint(), flexibility(beam(SECTION)))))['arm']
    assert section.size == pytest.approx(size, rel=1e-6)  # of a turn with 8 digits
    assert (section.is_round, section.is_known) == (is_round, False)


def test_a_beam_of_which_nothing_is_known_is_a_rod_of_a_fortieth_of_its_length():
    text = robot(link(), joint(), flexibility(beam('<section EIy="20" EIz="30" GJ="1"/>')))
    assert drawn_sections(load(text))['arm'] == ((0.025, 0.025), True, False, ())


def lightness_and_distance(rgb):
    """CIE 1976 lightness L*, and the distance between neighbours in L*a*b*, of sRGB colours."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [
            [0.4124, 0.3576, 0.1805],
            [0.2126, 0.7152, 0.0722],  # IEC 61966-2-1
            [0.0193, 0.1192, 0.9505],
        ]
    )
    ratio = linear @ to_xyz.T / to_xyz.sum(axis=1)
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    lab = np.column_stack(
        [116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])]
    )
    return lab[:, 0], np.linalg.norm(np.diff(lab, axis=0), axis=1)


def test_more_strain_is_darker_in_even_steps():
    ramp = colour_ramp()
    lightness, steps = lightness_and_distance(ramp[:, :3])
    assert ramp.min() >= 0.0 and ramp.max() <= 1.0
    assert np.all(np.diff(lightness) < 0.0)
    # Oklab, which has equal steps here, and CIELAB differ by this much for vivid colours
    assert steps.max() / steps.min() < 3.0
    background = lightness_and_distance(np.array([[48, 48, 48]] * 2) / 255)[0][0]  # of rviz
    assert lightness.min() > background + 15 and lightness[0] > 90


def test_tool_path_keeps_the_last_positions_oldest_first():
    path = ToolPath(capacity=4)
    assert path.points.shape == (0, 3)
    for i in range(6):
        assert path.add([i, 0.0, -i])
    assert path.points[:, 0].tolist() == [2, 3, 4, 5]
    path.clear()
    assert path.points.shape == (0, 3)
    path.add([7.0, 0.0, 0.0])
    assert path.points.tolist() == [[7.0, 0.0, 0.0]]


def test_a_tool_at_rest_and_one_that_is_nowhere_leave_no_trail():
    path = ToolPath(capacity=9, spacing=0.01)
    assert [
        path.add([x, 0.0, 0.0]) for x in (0.0, 0.009, 0.0101, 0.02, np.nan, np.inf, 0.0202)
    ] == [True, False, True, False, False, False, True]


@pytest.mark.parametrize(
    'message, wrong',
    {
        'pieces = 0 must be a whole number >= 1: markers per flexible link': lambda: BendingShape(
            load('rig'), pieces=0
        ),
        'pieces = 2.5 must be a whole number >= 1: markers per flexible link': lambda: (
            BendingShape(load('rig'), pieces=2.5)
        ),
        'full_scale = 0.0 must be > 0 and finite: surface strain that has the '
        'last colour': lambda: BendingShape(load('rig'), full_scale=0.0),
        'capacity = 0 must be a whole number >= 1: positions of a tool path': lambda: ToolPath(0),
        'spacing = nan must be >= 0 and finite: between positions of a tool path [m]': lambda: (
            ToolPath(5, np.nan)
        ),
    }.items(),
)
def test_wrong_arguments_are_refused(wrong, message):
    assert refusal(SettingError, wrong) == message
