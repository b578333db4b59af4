"""Xacro is accepted instead of a URDF, and cannot hang or print."""

import os

import pytest
from arms import complaint, flexible_arm, joint, link, robot
from refusals import refusal

from flex_robot_sim import DescriptionError, read_description
from flex_robot_sim.description import xacro_file

pytestmark = pytest.mark.slow

NAMESPACE = ' xmlns:xacro="http://www.ros.org/wiki/xacro"'


def write(path, text):
    path.write_text(text.replace('<robot name="test"', f'<robot name="test"{NAMESPACE}'), 'utf-8')
    return path


@pytest.mark.parametrize('name', ['arm.urdf.xacro', 'arm.xacro', 'arm.urdf'])
def test_macros_includes_and_arguments_are_expanded(tmp_path, name):
    (tmp_path / 'mass.xacro').write_text(
        f'<robot{NAMESPACE}><xacro:property name="m" value="${{2 * 1.5}}"/></robot>', 'utf-8'
    )
    path = write(
        tmp_path / name,
        robot(
            '<xacro:include filename="mass.xacro"/><xacro:arg name="scale" default="1"/>',
            link().replace('2.0', '${m * $(arg scale)}'),
            joint(),
        ),
    )
    assert read_description(path).link('arm').inertial.mass == 3
    assert read_description(path, xacro_arguments={'scale': '2'}).link('arm').inertial.mass == 6


def test_messages_refer_to_the_expanded_text(tmp_path):
    path = write(tmp_path / 'arm.xacro', flexible_arm('<lnk/>'))
    with pytest.raises(DescriptionError) as caught:
        read_description(path)
    # xacro writes one line of XML declaration and a banner of four lines
    assert str(caught.value).startswith(f'{path} (expanded):')
    assert str(caught.value).endswith(': unknown element <lnk>. Did you mean "link"?')


@pytest.mark.parametrize(
    ('text', 'reason', 'remedy'),
    [
        (
            '<xacro:nothing/>',
            'unknown macro name: xacro:nothing; when processing file: {path}',
            'Mend the file; `xacro {path}` shows the same',
        ),
        (
            '<link name="${1 / 0}"/>',
            "division by zero; when evaluating expression '1 / 0'; when processing file: {path}",
            'Mend the file; `xacro {path}` shows the same',
        ),
        (
            '<link name="$(arg side)"/>',
            'Undefined substitution argument side; when processing file: {path}',
            'Give side:=VALUE',
        ),
    ],
)
def test_a_mistake_in_xacro_is_a_one_line_error(tmp_path, text, reason, remedy):
    path = write(tmp_path / 'arm.xacro', robot(text))
    assert complaint(path) == f'{path}: xacro failed: {reason}. {remedy}.'.format(path=path)


def test_the_cause_is_printed_before_the_macro_calls(tmp_path):
    macros = ''.join(f'<xacro:macro name="m{i}"><xacro:m{i + 1}/></xacro:macro>' for i in range(9))
    path = write(
        tmp_path / 'arm.xacro',
        robot(macros, '<xacro:macro name="m9"><link name="${no}"/></xacro:macro><xacro:m0/>'),
    )
    assert complaint(path) == (
        f"{path}: xacro failed: name 'no' is not defined; when evaluating expression 'no'; when "
        f'instantiating macro: m9 ({path}). Mend the file; `xacro {path}` shows the same.'
    )


def test_the_suggested_command_has_the_arguments_of_the_user(tmp_path):
    path = write(
        tmp_path / 'arm.xacro', robot('<xacro:arg name="side" default=""/><xacro:nothing/>')
    )
    with pytest.raises(DescriptionError) as caught:
        read_description(path, xacro_arguments={'side': 'left or right'})
    assert str(caught.value).endswith(f"`xacro {path} 'side:=left or right'` shows the same.")


def test_a_missing_package_is_reported_with_its_remedy(tmp_path, monkeypatch):
    path = write(
        tmp_path / 'arm.xacro',
        robot('<xacro:include filename="$(find ur_description)/arm.xacro"/>'),
    )
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    assert complaint(path) == (
        f'{path}: xacro failed: it looks for the ROS package "ur_description", and no ROS '
        'environment is sourced. Source a ROS environment that has it.'
    )
    # behaviour of ament_index_python in a sourced ROS environment
    stub = tmp_path / 'ament_index_python'
    stub.mkdir()
    (stub / '__init__.py').touch()
    (stub / 'packages.py').write_text(
        'def get_package_share_directory(name):\n'
        "    raise KeyError(f\"package '{name}' not found, searching: ['/opt/ros/jazzy']\")\n"
    )
    monkeypatch.setenv('PYTHONPATH', str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv('AMENT_PREFIX_PATH', '/opt/ros/jazzy')
    assert complaint(path) == (
        f'{path}: xacro failed: package "ur_description" not found. Build '
        'it and source its workspace.'
    )


@pytest.mark.parametrize('address', ['http://www.ros.org/wiki/xacro', 'http://wiki.ros.org/xacro'])
def test_a_file_that_only_defines_macros_is_reported_as_such(tmp_path, address):
    path = tmp_path / 'arm.xacro'
    path.write_text(
        f'<robot xmlns:xacro="{address}"><xacro:macro name="arm">{link()}</xacro:macro></robot>',
        'utf-8',
    )
    assert complaint(path) == (
        f'{path}: this file only defines macros. Give the file that uses them.'
    )


@pytest.mark.parametrize(
    ('known', 'given', 'remedy'),
    [('scale', 'scal', 'Did you mean "scale"?'), ('scale', 'colour', 'It has: scale, side.')],
)
def test_an_unknown_argument_is_rejected(tmp_path, known, given, remedy):
    (tmp_path / 'side.xacro').write_text(
        f'<robot{NAMESPACE}><xacro:arg default="l" name="side"/></robot>', 'utf-8'
    )
    path = write(
        tmp_path / 'arm.xacro',
        robot(
            f'<xacro:include filename="side.xacro"/><xacro:arg name="{known}" default="1"/>',
            link(),
            joint(),
        ),
    )
    read_description(path, xacro_arguments={'side': 'r'})
    with pytest.raises(DescriptionError) as caught:
        read_description(path, xacro_arguments={'side': 'r', given: '2'})
    assert str(caught.value) == f'{path}: this xacro file has no argument "{given}". {remedy}'


def test_a_misspelt_argument_is_named_if_xacro_fails_without_it(tmp_path):
    path = write(
        tmp_path / 'arm.xacro',
        robot('<xacro:arg name="kind" default=""/><xacro:include filename="$(arg kind).xacro"/>'),
    )
    assert refusal(DescriptionError, read_description, path, xacro_arguments={'knd': 'left'}) == (
        f'{path}: this xacro file has no argument "knd". Did you mean "kind"?'
    )


def test_endless_xacro_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(xacro_file, 'TIMEOUT_S', 2.0)
    path = write(tmp_path / 'arm.xacro', robot('<link name="${9 ** 9 ** 9}"/>'))
    assert refusal(DescriptionError, read_description, path) == (
        f'{path}: xacro did not end within 2 s. Look for a macro or an expression without an end.'
    )


def test_unexpanded_macros_in_a_urdf_are_a_warning(tmp_path):
    path = write(tmp_path / 'arm.urdf', robot(link(), joint(), '<xacro:sensors_of_another/>'))
    description = read_description(path)
    assert description.joint_names == ['hinge']
    assert 'unknown macro name: xacro:sensors_of_another' in description.warnings[0]


def test_xacro_in_a_urdf_is_named_as_cause_if_the_text_is_not_a_robot(tmp_path):
    path = write(tmp_path / 'arm.urdf', robot(link(), joint(parent='${base}'), '<xacro:arms/>'))
    assert complaint(path) == (
        f"{path}: xacro failed: name 'base' is not defined; when evaluating expression 'base'; "
        f'when processing file: {path}. Mend the file; `xacro {path}` shows the same.'
    )


def test_arguments_for_a_plain_urdf_are_rejected(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(flexible_arm(), 'utf-8')
    assert refusal(DescriptionError, read_description, path, xacro_arguments={'scale': '2'}) == (
        f'{path}: this is no xacro file and takes no arguments. Leave out scale.'
    )
