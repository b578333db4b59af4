"""The rviz settings name what exists: plugins, topics, frames."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from flex_robot_sim import load, read_description
from flex_robot_sim.display.description import display_description
from flex_robot_sim.display.places import places
from flex_robot_sim.share import share_folder, shipped_robots

# of rviz_default_plugins and rviz_common, from Humble on
DISPLAYS = {'Grid', 'RobotModel', 'MarkerArray', 'Pose', 'TF'}
TOOLS = {'Interact', 'MoveCamera', 'Select', 'FocusCamera', 'Measure'}
PANELS = {'Displays', 'Views', 'Time'}
TOPICS = {'RobotModel': 'robot_description', 'MarkerArray': 'bending_markers', 'Pose': 'tool_pose'}


@pytest.fixture(scope='module')
def manager():
    return settings()['Visualization Manager']


def settings():
    return yaml.safe_load(Path(share_folder(), 'config/simulation.rviz').read_text('utf-8'))


def kind(item):
    return item['Class'].split('/')[-1]


def test_plugins_are_those_of_every_rviz2(manager):
    assert {item['Class'] for item in settings()['Panels']} == {
        f'rviz_common/{name}' for name in PANELS}
    for part, names in (('Displays', DISPLAYS), ('Tools', TOOLS)):
        assert {item['Class'] for item in manager[part]} == {
            f'rviz_default_plugins/{name}' for name in names}
    assert kind(manager['Views']['Current']) == 'Orbit'


def test_displays_listen_to_the_topics_of_the_nodes_relative_to_their_namespace(manager):
    found = {kind(item): item.get('Topic', item.get('Description Topic'))
             for item in manager['Displays']}
    assert {name: topic['Value'] for name, topic in found.items() if topic} == TOPICS
    # a late subscriber gets a description only if it asks for it
    assert found['RobotModel']['Durability Policy'] == 'Transient Local'


def test_a_display_is_on_or_off_as_a_whole(manager):
    for item in manager['Displays']:
        assert item['Enabled'] is item['Value'] is (kind(item) != 'TF')


@pytest.mark.parametrize('name', shipped_robots())
def test_fixed_frame_is_the_base_of_the_shipped_robots(name, manager):
    assert manager['Global Options']['Fixed Frame'] == read_description(name).links[0].name


@pytest.mark.parametrize('name', ['two_link', 'canadarm2'])
def test_tf_hides_what_stands_between_virtual_joints_and_nothing_else(name, manager):
    tf, = (item for item in manager['Displays'] if kind(item) == 'TF')
    arm = load(name)
    root = ElementTree.fromstring(display_description(arm))
    shown = {element.get('name') for element in root.findall('link')
             if not re.search(tf['Filter (blacklist)'], element.get('name'))}
    assert shown == {*arm.frames, *(place.name for place in places(arm))}
