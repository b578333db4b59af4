"""The tool link: its choice in public descriptions, and the names that decide."""

import json

import pytest
from project_files import ROOT
from public_robots import public_robot
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.description import read_description
from flex_robot_sim.util.exceptions import SettingError

# the frame that the manufacturer's driver or the MoveIt configuration moves
TOOLS = {
    'a1_description/urdf/a1.urdf': 'FR_foot',
    'alex_description/urdf/alex_nub_hands.urdf': 'LeftWristRollLink',
    'alex_description/urdf/alex_sake_hands.urdf': 'LeftWristRollLink',
    'anymal_b_simple_description/robots/anymal-kinova.urdf': 'j2s6s200_end_effector',
    'asr_twodof_description/urdf/TwoDofs.urdf': 'Tip',
    'b1_description/urdf/b1-z1.urdf': 'gripperStator',
    'baxter_description/urdf/baxter.urdf': 'right_gripper',
    'borinot_description/urdf/borinot_flying_arm_2.urdf': 'flying_arm_2__ee',
    'double_pendulum_description/urdf/double_pendulum.urdf': 'link2',
    'finger_edu_description/robots/finger_edu.urdf': 'finger_tip_link',
    'hextilt_description/urdf/hextilt_flying_arm_5.urdf': 'flying_arm_5__gripper',
    'kinova_description/robots/kinova.urdf': 'j2s6s200_end_effector',
    'panda_description/urdf/panda.urdf': 'panda_hand_tcp',
    'panda_description/urdf/panda_collision.urdf': 'panda_hand_tcp',
    'pr2_description/urdf/pr2.urdf': 'r_gripper_tool_frame',
    'so_arm_description/urdf/so100.urdf': 'gripper',
    'so_arm_description/urdf/so101.urdf': 'gripper_frame_link',
    'solo_description/robots/solo12.urdf': 'FL_FOOT',
    'talos_data/robots/talos_full_v2.urdf': 'wrist_left_ft_tool_link',
    'talos_data/robots/talos_left_arm.urdf': 'wrist_left_ft_tool_link',
    'tiago_description/robots/tiago.urdf': 'arm_tool_link',
    'tiago_description/robots/tiago_dual.urdf': 'arm_left_tool_link',
    'tiago_description/robots/tiago_no_hand.urdf': 'arm_tool_link',
    'tiago_pro_description/robots/tiago_pro.urdf': 'arm_left_tool_link',
    'ur_description/urdf/ur10_robot.urdf': 'tool0',
    'ur_description/urdf/ur3_gripper.urdf': 'tool0',
    'ur_description/urdf/ur3_robot.urdf': 'tool0',
    'ur_description/urdf/ur5_gripper.urdf': 'tool0',
    'ur_description/urdf/ur5_robot.urdf': 'tool0',
    'xarm_description/urdf/xarm7.urdf': 'link_eef',
    'z1_description/urdf/z1.urdf': 'gripperStator',
}


def chain(*links, extra=''):
    """Return the URDF of a base and two hinges, followed by links on fixed joints."""
    inertial = """<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
        izz="1"/></inertial>"""
    hinge = '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="9" velocity="9"/>'
    text = f"""<link name="base"/><link name="upper">{inertial}</link>
        <link name="lower">{inertial}</link>
        <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
        {hinge}</joint>
        <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
        {hinge}</joint>"""
    for parent, child in zip(('lower', *links), links):
        text += f"""<link name="{child}"/><joint name="{child}_mount" type="fixed">
            <parent link="{parent}"/><child link="{child}"/></joint>"""
    extra = extra.replace('INERTIAL', inertial).replace('HINGE', hinge)
    return f'<robot name="arm">{text}{extra}</robot>'


FINGERS = """<link name="claw">INERTIAL</link><joint name="drive" type="revolute">
    <parent link="palm"/><child link="claw"/>HINGE</joint>
    <link name="other_claw">INERTIAL</link><joint name="left_finger" type="revolute">
    <parent link="palm"/><child link="other_claw"/>HINGE<mimic joint="drive"/></joint>"""


SKELETONS = {
    'fr3': 'fr3_hand_tcp',
    'gen3': 'end_effector_link',
    'lbr_iiwa14': 'lbr_link_ee',
    'ur20': 'tool0',
    'ur5e': 'tool0',
}


@pytest.mark.parametrize('name, tool', SKELETONS.items())
def test_a_skeleton_of_a_public_robot_has_the_tool_of_its_manufacturer(name, tool):
    assert read_description(ROOT / 'test' / 'data' / 'robots' / f'{name}.urdf').tool.link == tool


@pytest.mark.parametrize('path, tool', TOOLS.items(), ids=[path.split('/')[-1] for path in TOOLS])
def test_a_public_robot_has_the_tool_of_its_manufacturer(path, tool):
    assert read_description(public_robot(path)).tool.link == tool


@pytest.mark.parametrize(
    'links, tool',
    [
        (('ee_link', 'tool0'), 'tool0'),  # the more specific name wins, at any position
        (('tool0', 'ee_link'), 'tool0'),
        (('left_flange', 'left_tool0', 'wrist_camera'), 'left_tool0'),
        (('flange', 'camera_optical_frame'), 'flange'),
        (('adapter', 'wrist_camera', 'force_sensor'), 'adapter'),
        (('gripper_tcp', 'flange'), 'gripper_tcp'),
        (('Tool0',), 'Tool0'),
        ((), 'lower'),
    ],
)
def test_the_most_specific_name_at_the_end_of_the_chain_is_the_tool(links, tool):
    assert read_description(chain(*links)).tool.link == tool


def test_a_frame_at_the_base_is_never_the_tool():
    extra = """<link name="tool0"/><joint name="base_mount" type="fixed">
        <parent link="base"/><child link="tool0"/></joint>"""
    assert read_description(chain('flange', extra=extra)).tool.link == 'flange'


def test_an_arm_ends_before_a_gripper_with_an_unusual_motor_name():
    assert read_description(chain('palm', extra=FINGERS)).tool.link == 'palm'


def test_a_body_on_a_flexible_link_is_distal_to_it():
    flexible = """<flexibility><link name="lower" end="1 0 0"><section EIy="9" EIz="9" GJ="9"
        EA="9e5"/></link></flexibility>"""
    heavy = (
        chain('cap')
        .replace('izz="1"', 'izz="0.4"')
        .replace('iyy="1"', 'iyy="0.4"')
        .replace('ixx="1"', 'ixx="0.01"')
        .replace('<inertial><mass', '<inertial><origin xyz="0.5 0 0"/><mass')
    )
    text = heavy.replace('</robot>', f'{flexible}</robot>').replace(
        '<parent link="lower"/>', '<origin xyz="1 0 0"/><parent link="lower"/>'
    )
    assert read_description(text).tool.link == 'cap'


def test_of_two_equal_arms_the_first_is_chosen_and_the_other_is_listed():
    second = chain('flange').replace('"base"', '"torso"')
    links = second[second.index('<link') : second.index('</robot>')]
    for name in ('upper', 'lower', 'flange', 'shoulder', 'elbow'):
        links = links.replace(f'"{name}', f'"right_{name}')
    links = links.replace('<link name="torso"/>', '').replace('"torso"', '"base"')
    choice = read_description(chain('flange', extra=links)).tool
    assert (choice.link, choice.other_ends) == ('flange', ('right_flange',))


def test_the_user_chooses_another_link_in_python():
    arm = frs.load('two_link', tool='forearm')
    assert arm.tool == 'forearm'
    assert refusal(SettingError, frs.load, chain('flange'), tool='hand') == (
        'tool = "hand" is no link of arm. Known: base, upper, lower, flange'
    )


def test_check_says_which_link_is_the_tool_and_why(tmp_path, capsys):
    path = tmp_path / 'arm.urdf'
    path.write_text(chain('ee_link', 'tool0'), 'utf-8')
    assert main(['check', str(path)]) == 0
    assert '  tool: tool0 (its name matches "tool0")\n' in capsys.readouterr().out
    assert main(['check', '--json', str(path)]) == 0
    tool = json.loads(capsys.readouterr().out)['tool']
    assert (tool['link'], tool['candidates']) == ('tool0', ['lower', 'ee_link', 'tool0'])


@pytest.mark.parametrize(
    'words', [['simulate', '--seconds', '0.01'], ['modes'], ['shape', '--pose', '0,0']]
)
def test_a_command_rejects_a_tool_that_is_not_a_link(words, tmp_path, capsys):
    path = tmp_path / 'arm.urdf'
    path.write_text(chain('flange'), 'utf-8')
    command, *options = words
    assert main([command, str(path), '--tool', 'hand', *options]) == 2
    assert 'tool = "hand" is no link of arm.' in capsys.readouterr().err
