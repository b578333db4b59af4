"""Xacro is accepted wherever a URDF is, and cannot hang or print."""

from importlib.util import find_spec

import pytest
from arms import flexible_arm, joint, link, robot

from flex_robot_sim import DescriptionError, read_description
from flex_robot_sim.description import xacro_file

NAMESPACE = ' xmlns:xacro="http://www.ros.org/wiki/xacro"'


def write(path, text):
    path.write_text(text.replace('<robot name="test"', f'<robot name="test"{NAMESPACE}'), 'utf-8')
    return path


@pytest.mark.parametrize('name', ['arm.urdf.xacro', 'arm.xacro', 'arm.urdf'])
def test_macros_includes_and_arguments_are_expanded(tmp_path, name):
    (tmp_path / 'mass.xacro').write_text(
        f'<robot{NAMESPACE}><xacro:property name="m" value="${{2 * 1.5}}"/></robot>', 'utf-8')
    path = write(tmp_path / name, robot(
        '<xacro:include filename="mass.xacro"/><xacro:arg name="scale" default="1"/>',
        link().replace('2.0', '${m * $(arg scale)}'), joint()))
    assert read_description(path).link('arm').inertial.mass == 3
    assert read_description(path, {'scale': '2'}).link('arm').inertial.mass == 6


def test_messages_name_the_expanded_text(tmp_path):
    path = write(tmp_path / 'arm.xacro', flexible_arm('<lnk/>'))
    with pytest.raises(DescriptionError) as caught:
        read_description(path)
    # xacro writes a line of XML declaration and four lines of banner
    assert str(caught.value).startswith(f'{path} (expanded):')
    assert str(caught.value).endswith(': unknown element <lnk>. Did you mean "link".')


@pytest.mark.parametrize(('text', 'reason'), [
    ('<xacro:nothing/>', 'unknown macro name: xacro:nothing'),
    ('<xacro:include filename="no.xacro"/>', 'No such file or directory: '),
    ('<link name="${1 / 0}"/>', 'division by zero'),
    ('<link name="$(find no_such_package)"/>',
     'no_such_package' if find_spec('ament_index_python') else 'no ROS environment is sourced'),
])
def test_a_mistake_in_xacro_ends_in_one_line(tmp_path, text, reason):
    path = write(tmp_path / 'arm.xacro', robot(text))
    with pytest.raises(DescriptionError) as caught:
        read_description(path)
    message = str(caught.value)
    assert message.startswith(f'{path}: xacro failed: ')
    assert reason in message
    assert '\n' not in message


def test_xacro_without_an_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(xacro_file, 'PATIENCE', 2.0)
    path = write(tmp_path / 'arm.xacro', robot('<link name="${9 ** 9 ** 9}"/>'))
    with pytest.raises(DescriptionError) as caught:
        read_description(path)
    assert str(caught.value) == (
        f'{path}: xacro did not end within 2 s. Look for a macro or an expression without an end.')


def test_remains_of_macros_in_a_urdf_are_a_warning(tmp_path):
    path = write(tmp_path / 'arm.urdf', robot(link(), joint(), '<xacro:sensors_of_another/>'))
    description = read_description(path)
    assert description.joint_names == ['hinge']
    assert 'unknown macro name: xacro:sensors_of_another' in description.warnings[0]


def test_arguments_for_a_plain_urdf_are_refused(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(flexible_arm(), 'utf-8')
    with pytest.raises(DescriptionError) as caught:
        read_description(path, {'scale': '2'})
    assert str(caught.value) == (
        f'{path}: this is no xacro file and takes no arguments. Leave out scale.')
