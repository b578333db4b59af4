"""Reading and writing of <imu> and <encoder>: values, messages, summaries, edited files."""

import numpy as np
import pytest
from arms import SECTION, beam, complaint, flexibility, flexible_arm, joint, link, robot

import flex_robot_sim as frs
from flex_robot_sim import read_description
from flex_robot_sim.description.rewriting import edits_of, rewritten
from flex_robot_sim.description.robot_summary import as_text, summarise

IMU = (
    '<imu name="tip" xyz="0.5 0 0.1" rpy="0 0 1.5707963267948966" rate="400" '
    'accelerometer_noise="0.002" gyroscope_noise="1e-4" accelerometer_bias="0.1 0 0" '
    'gyroscope_bias="0 0.02 0" accelerometer_range="40" gyroscope_range="5" bits="12"/>'
)
ENCODER = '<joint name="hinge"><encoder resolution="1e-3" noise="1e-5" delay="0.002"/></joint>'


def rigid_with(*inside):
    """Return a rigid arm; line 5 is its <flexibility>."""
    return robot(link(), joint(), flexibility(*inside))


def on_link(imu):
    return f'<link name="arm">{imu}</link>'


@pytest.mark.parametrize('text', [rigid_with(on_link(IMU)), flexible_arm(beam(SECTION + IMU))])
def test_an_imu_is_read_on_rigid_and_flexible_links(text):
    description = read_description(text)
    (imu,) = description.link('arm').imus
    assert description.warnings == ()
    assert (imu.name, imu.rate, imu.bits) == ('tip', 400.0, 12)
    assert (imu.accelerometer_noise, imu.gyroscope_noise) == (0.002, 1e-4)
    assert (imu.accelerometer_range, imu.gyroscope_range) == (40.0, 5.0)
    assert imu.position.tolist() == [0.5, 0.0, 0.1]
    assert imu.rotation.tolist() == [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    assert imu.accelerometer_bias.tolist() == [0.1, 0.0, 0.0]
    assert imu.gyroscope_bias.tolist() == [0.0, 0.02, 0.0]
    assert not imu.position.flags.writeable
    assert (description.link('arm').beam is None) == ('end=' not in text)


def test_an_encoder_is_read_and_may_be_all_that_a_joint_has():
    encoder = read_description(rigid_with(ENCODER)).joint('hinge').encoder
    assert (encoder.resolution, encoder.noise, encoder.delay) == (1e-3, 1e-5, 2e-3)


def test_an_ideal_imu_has_neither_noise_nor_limits():
    (imu,) = read_description(rigid_with(on_link('<imu name="i"/>'))).link('arm').imus
    assert imu.is_at_origin
    assert (imu.accelerometer_noise, imu.accelerometer_range, imu.bits) == (0.0, np.inf, None)


MESSAGES = {
    '<link> has no end. Give end [m]: far end of the beam, in the link frame.': rigid_with(
        '<link name="arm" y_axis="0 1 0"><imu name="i"/></link>'
    ),
    'IMU "i" has bits but no accelerometer_range. Give accelerometer_range [m/s2], or remove '
    'bits.': rigid_with(on_link('<imu name="i" bits="12" gyroscope_range="3"/>')),
    'IMU "i" has bits but no gyroscope_range. Give gyroscope_range [rad/s], or remove '
    'bits.': rigid_with(on_link('<imu name="i" bits="12" accelerometer_range="3"/>')),
    'bits = 1 is no whole number from 2 to 32. Give bits: word length of each axis: 2^bits '
    'steps from -range to range; needs both ranges; absent: no steps.': rigid_with(
        on_link('<imu name="i" bits="1"/>')
    ),
    'rate = 0 must be > 0. Give rate [Hz]: samples per second; rounded to whole time '
    'steps.': rigid_with(on_link('<imu name="i" rate="0"/>')),
    'the robot has two IMUs "i". Rename one of them.': rigid_with(
        on_link('<imu name="i"/>'), '<link name="base"><imu name="i"/></link>'
    ),
    'IMU "base" has the name of a link, whose frame is another one. Rename it.': rigid_with(
        on_link('<imu name="base"/>')
    ),
    'IMU "i" would ride at 1.2 m on the beam of link "arm", which ends at 1 m. Move its xyz '
    'between the ends of the beam, or correct the end of the beam.': flexible_arm(
        beam(f'{SECTION}<imu name="i" xyz="1.2 0 0"/>')
    ),
    'the <encoder> of joint "hinge" has no resolution, noise or delay. Give one of them, or '
    'remove the <encoder>.': rigid_with('<joint name="hinge"><encoder/></joint>'),
    'resolution = -1 must be >= 0. Give resolution [rad]: step of the measured position; 0: '
    'no steps.': rigid_with('<joint name="hinge"><encoder resolution="-1"/></joint>'),
    'delay = 2 must be <= 1. Give delay [s]: age of the measured position.': rigid_with(
        '<joint name="hinge"><encoder delay="2"/></joint>'
    ),
    'a second <encoder>, in the same line. Keep one of them.': rigid_with(
        '<joint name="hinge"><encoder noise="1"/><encoder noise="1"/></joint>'
    ),
    'unknown attribute "noise" of <imu>. Known here: name, xyz, rpy, rate, accelerometer_noise, '
    'gyroscope_noise, accelerometer_bias, gyroscope_bias, accelerometer_range, gyroscope_range, '
    'bits.': rigid_with(on_link('<imu name="i" noise="1"/>')),
}


@pytest.mark.parametrize('message, text', MESSAGES.items())
def test_a_mistake_is_reported_with_line_and_remedy(message, text):
    assert complaint(text) == f'<text>:5: {message}'


@pytest.mark.parametrize(
    'text, what',
    [
        ('<link name="l"><imu name="i"/></link>', 'element <imu> of link "l"'),
        (joint(inside='<encoder noise="1"/>'), 'element <encoder> of joint "hinge"'),
    ],
)
def test_a_sensor_outside_flexibility_is_reported(text, what):
    assert complaint(robot(link(), joint('other'), text)) == (
        f'<text>:5: the {what} stands outside <flexibility>. Move it into <flexibility>.'
    )


def test_check_lists_the_sensors():
    text = rigid_with(on_link(IMU), ENCODER)
    lines = [*as_text(summarise(read_description(text)))]
    assert lines[-4:] == [
        '  IMU tip on arm: at 0.5 0 0.1 m, 400 Hz, 12 bits',
        '    accelerometer: noise 0.002 m/s2/sqrt(Hz), bias 0.1 0 0 m/s2, range 40 m/s2',
        '    gyroscope: noise 0.0001 rad/s/sqrt(Hz), bias 0 0.02 0 rad/s, range 5 rad/s',
        '  encoder of hinge: resolution 0.001 rad, noise 1e-05 rad, delay 0.002 s',
    ]


@pytest.mark.parametrize('path, value', [('arm.mass', 3.0), ('hinge.viscous', 0.5)])
def test_an_edited_file_keeps_its_sensors(path, value):
    before = read_description(rigid_with(on_link(IMU), ENCODER))
    arm = frs.with_parameters(frs.load(before), {path: value})
    text = rewritten(before.text, edits_of(before, arm.description, path), {})
    assert on_link(IMU) in text
    assert ENCODER in text
    assert summarise(arm.description)['links'][1]['imus'] == [
        *summarise(read_description(text))['links'][1]['imus']
    ]


def test_an_imu_beyond_a_shortened_beam_moves_with_its_end():
    """
    A straight beam starts to fall as a(s) = -g (7.5 s^2 - 7 s^3), s = x / length.

    That is the least-squares fit of -g by x^2 and x^3. The IMU is a quarter of the length beyond
    the end, where a + a' / 4 = g.
    """
    text = flexible_arm(beam(SECTION + '<imu name="i" xyz="1 0 0"/>'))
    arm = frs.with_parameters(frs.load(text), {'arm.length': 0.8})
    force = frs.Simulation(arm).imu('i').specific_force
    assert force == pytest.approx([0.0, 0.0, 2 * 9.81], rel=1e-9)


def built():
    builder = frs.ArmBuilder()
    builder.add_beam('strip', length=0.5, material='steel', section=frs.Rectangle(0.002, 0.03))
    builder.add_joint('hinge', parent='base', child='strip', axis='z')
    builder.add_rigid('tool', mass=0.1, inertia=(1e-5, 1e-5, 1e-5)).attach('tool', parent='strip')
    return builder


@pytest.mark.parametrize('is_encoder_first', [True, False])
def test_a_builder_writes_sensors_that_the_reader_reads(is_encoder_first):
    builder = built()
    steps = [
        lambda: builder.add_encoder('hinge', resolution=1e-3, delay=2e-3),
        lambda: builder.add_gear('hinge', stiffness=100.0, rotor_inertia=1e-4),
    ]
    for step in steps if is_encoder_first else steps[::-1]:
        step()
    builder.add_imu('strip', 'middle', xyz=(0.25, 0.0, 0.01), rpy=(0.1, 0.2, 0.3))
    builder.add_imu('tool', 'end', accelerometer_range=40, gyroscope_range=5, bits=16)
    description = read_description(builder.to_urdf())
    assert [(link.name, [imu.name for imu in link.imus]) for link in description.links] == [
        ('base', []),
        ('strip', ['middle']),
        ('tool', ['end']),
    ]
    hinge = description.joint('hinge')
    assert (hinge.stiffness, hinge.encoder.resolution, hinge.encoder.delay) == (100.0, 1e-3, 2e-3)
    assert description.link('tool').imus[0].bits == 16


def test_an_attached_arm_has_a_prefix_to_its_imus():
    part = built().add_imu('tool', 'end')
    twins = frs.ArmBuilder('twins')
    twins.attach(part, parent='base', prefix='left_').attach(part, parent='base', prefix='right_')
    assert [imu.name for link in read_description(twins.to_urdf()).links for imu in link.imus] == [
        'left_end',
        'right_end',
    ]


WRONG_CALLS = {
    "link = 'arm' is unknown. Known: base, strip, tool": lambda b: b.add_imu('arm', 'x'),
    'name = "end": the arm has an IMU of this name. Give another one': lambda b: b.add_imu(
        'strip', 'end'
    ),
    'IMU "x" has bits but no accelerometer_range. Give accelerometer_range [m/s2], or remove '
    'bits.': lambda b: b.add_imu('tool', 'x', bits=3),
    'rate = 0 of IMU "x" must be a finite number > 0 [Hz]': lambda b: b.add_imu(
        'tool', 'x', rate=0
    ),
    "joint = 'x' is unknown. Known: hinge, tool_mount": lambda b: b.add_encoder('x', noise=1.0),
    'the encoder of joint "hinge" has no resolution, noise or delay. Give one of them, or remove '
    'the encoder.': lambda b: b.add_encoder('hinge'),
    'joint "tool_mount" is fixed, so it has no gear. Give it a type that moves.': (
        lambda b: b.add_encoder('tool_mount', noise=1.0)
    ),
}


@pytest.mark.parametrize('message, call', WRONG_CALLS.items())
def test_a_wrong_call_of_a_builder_changes_nothing(message, call):
    builder = built().add_imu('tool', 'end')
    before = builder.to_urdf()
    with pytest.raises(frs.SettingError) as caught:
        call(builder)
    assert str(caught.value) == message
    assert builder.to_urdf() == before
