"""simulation.launch.py in ROS's own launch: what starts, holds still, and ends."""

import launch_pytest
import pytest
from launch import LaunchDescription
from launch_processes import included
from launch_pytest.actions import ReadyToTest
from sensor_msgs.msg import JointState

NAME = 'simulation.launch.py'


@launch_pytest.fixture(params=['true', 'inside'])
def system(request, calm):
    return LaunchDescription(
        [
            included(
                NAME,
                namespace='left',
                use_controller=request.param,
                use_rviz='false',
                params_file=calm,
            ),
            ReadyToTest(),
        ]
    )


@pytest.mark.launch(fixture=system)
def test_the_arm_is_held_where_it_starts_in_its_namespace(system, observer):
    state = observer.hear(
        JointState, '/left/joint_states', lambda state: any(state.effort) and any(state.velocity)
    )
    # it sags by less than a degree when the controller takes over
    assert max(map(abs, state.position)) < 0.02
    assert set(state.name) < set(observer.hear(JointState, '/left/display_joint_states').name)


XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="joint" default="hinge"/>
  <xacro:arg name="place" default="0"/>
  <link name="base"/>
  <joint name="$(arg joint)" type="revolute">
    <origin xyz="0 0 $(arg place)"/>
    <parent link="base"/>
    <child link="arm"/>
    <axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
  </joint>
  <link name="arm">
    <inertial>
      <origin xyz="0.5 0 0"/>
      <mass value="1"/>
      <inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
</robot>
"""


def test_arguments_of_a_xacro_file_reach_every_node(launch, observer, calm, tmp_path):
    """They are written as for `flexsim check`: NAME:=VALUE, with spaces between."""
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(XACRO)
    process = launch(
        NAME,
        robot=path,
        xacro_arguments='joint:=wrist place:=0.3',
        namespace='xacro',
        params_file=calm,
    )
    state = observer.hear(JointState, '/xacro/joint_states')
    target = observer.hear(JointState, '/xacro/controller/target')
    assert list(state.name) == list(target.name) == ['wrist']
    assert not process.count('Traceback')


@pytest.mark.parametrize(
    'arguments, line',
    [
        ({'robot': 'no_such_robot'}, 'no_such_robot'),
        (
            {'record_file': '/no/such/folder/run.mcap'},
            'record_file = "/no/such/folder/run.mcap" cannot be written: No such file or '
            'directory. Name a file in a folder of yours',
        ),
        (
            {'xacro_arguments': 'joint=wrist'},
            '"joint=wrist" is no argument for xacro. Write NAME:=VALUE',
        ),
        ({'params_file': 'no_such.yaml'}, 'params_file = "no_such.yaml" is no file'),
        (
            {'use_controller': 'maybe'},
            'Argument "use_controller" provided value "maybe" is not valid',
        ),
    ],
)
def test_a_wrong_argument_ends_the_launch_with_a_line(launched, arguments, line):
    code, said = launched(NAME, **arguments)
    assert code == 1 and line in said and 'Traceback' not in said


@pytest.mark.parametrize(
    'name, argument, line',
    [
        (NAME, 'robto', 'there is no launch argument "robto". Did you mean "robot"?'),
        (
            'hil.launch.py',
            'serialport',
            'there is no launch argument "serialport". Did you mean "serial_port"?',
        ),
        (
            'shaper.launch.py',
            'shapper',
            'there is no launch argument "shapper". Did you mean "shaper"?',
        ),
    ],
)
def test_a_misspelt_argument_ends_every_launch_file_with_a_line(launched, name, argument, line):
    code, said = launched(name, **{argument: 'x'})
    assert code == 1 and line in said and 'Traceback' not in said


def test_the_system_ends_with_the_dynamics_which_say_why(launched, tmp_path):
    settings = tmp_path / 'wrong.yaml'
    settings.write_text('/**:\n  ros__parameters:\n    time_step: -1.0\n')
    code, said = launched(NAME, params_file=settings)
    assert code == 1 and 'Parameter time_step out of range' in said and 'Traceback' not in said
    assert 'dynamics-1 has failed, and without it the others are of no use' in said
    assert '[controller-2]: process has finished cleanly' in said
