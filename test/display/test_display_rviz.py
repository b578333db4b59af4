"""The rviz settings contain only existing plugins, topics and frames."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from flex_robot_sim import Simulation, load, read_description
from flex_robot_sim.display.base_frames import is_base_shown
from flex_robot_sim.display.description import display_description, undeformed_tip
from flex_robot_sim.display.extent import reach
from flex_robot_sim.display.places import places
from flex_robot_sim.display.rviz_layout import fitted_layout, round_length
from flex_robot_sim.system.processes import simulation_system
from flex_robot_sim.util.share import share_folder, shipped_robots

# of rviz_default_plugins and rviz_common, from Humble on
DISPLAYS = {'Grid', 'RobotModel', 'MarkerArray', 'Axes', 'TF'}
TOOLS = {'Interact', 'MoveCamera', 'Select', 'FocusCamera', 'Measure'}
PANELS = {'Displays', 'Views'}  # the Time panel takes three quarters of the window
TOPICS = {'RobotModel': 'display_description', 'MarkerArray': 'bending_markers'}


@pytest.fixture(scope='module')
def manager():
    return settings()['Visualization Manager']


def settings():
    return yaml.safe_load(Path(share_folder(), 'config/simulation.rviz').read_text('utf-8'))


def kind(item):
    return item['Class'].split('/')[-1]


def test_plugins_are_those_of_every_rviz2(manager):
    assert {item['Class'] for item in settings()['Panels']} == {
        f'rviz_common/{name}' for name in PANELS
    }
    for part, names in (('Displays', DISPLAYS), ('Tools', TOOLS)):
        assert {item['Class'] for item in manager[part]} == {
            f'rviz_default_plugins/{name}' for name in names
        }
    assert kind(manager['Views']['Current']) == 'Orbit'


def test_displays_listen_to_the_topics_of_the_nodes_relative_to_their_namespace(manager):
    found = {
        kind(item): item.get('Topic', item.get('Description Topic'))
        for item in manager['Displays']
    }
    assert {name: topic['Value'] for name, topic in found.items() if topic} == TOPICS
    # a late subscriber receives a description only with transient-local durability
    assert found['RobotModel']['Durability Policy'] == 'Transient Local'


def test_a_display_is_on_or_off_as_a_whole(manager):
    for item in manager['Displays']:
        assert item['Enabled'] is item['Value'] is (kind(item) != 'TF')


@pytest.mark.parametrize('name', shipped_robots())
def test_fixed_frame_is_the_base_of_the_shipped_robots(name, manager):
    description = read_description(name)
    if description.free_joint is None:  # a fitted layout has the frame of a free base
        assert manager['Global Options']['Fixed Frame'] == description.links[0].name


@pytest.mark.parametrize('name', ['two_link', 'canadarm2'])
def test_tf_hides_what_stands_between_virtual_joints_and_nothing_else(name, manager):
    (tf,) = (item for item in manager['Displays'] if kind(item) == 'TF')
    arm = load(name)
    root = ElementTree.fromstring(display_description(arm))
    shown = {
        element.get('name')
        for element in root.findall('link')
        if not re.search(tf['Filter (blacklist)'], element.get('name'))
    }
    assert shown == {
        *arm.frames,
        *(place.name for place in places(arm)),
        *map(undeformed_tip, arm.tips),
    }


@pytest.fixture(scope='module', params=shipped_robots())
def fitted(request):
    """An arm and its settings, parsed as YAML."""
    arm = load(request.param)
    return arm, yaml.safe_load(fitted_layout(settings(), arm))


def test_fitted_settings_differ_from_the_shipped_ones_in_sizes_and_frames_only(fitted):
    def compare(old, new, path=''):
        assert type(old) is type(new) or isinstance(old, (int, float)), path
        if isinstance(old, dict):
            assert list(old) == list(new)
            for key in old:
                yield from compare(old[key], new[key], f'{path}/{key}')
        elif isinstance(old, list):
            assert len(old) == len(new)
            for i, pair in enumerate(zip(old, new)):
                yield from compare(*pair, f'{path}/{i}')
        elif old != new:
            yield path.rpartition('/')[2]

    arm, tree = fitted
    is_moved = is_base_shown(arm.description)
    assert set(compare(settings(), tree)) <= {
        *(['Fixed Frame'] * is_moved),
        'Cell Size',
        'Length',
        'Radius',
        'Reference Frame',
        'Marker Scale',
        'Distance',
        'X',
        'Y',
        'Z',
        'Near Clip Distance',
    }


@pytest.mark.parametrize(('name', 'frame'), [('ship_boom', 'world'), ('space_station', 'orbit')])
def test_the_fixed_frame_of_a_ship_or_a_station_does_not_move(name, frame):
    tree = yaml.safe_load(fitted_layout(settings(), load(name)))
    assert tree['Visualization Manager']['Global Options']['Fixed Frame'] == frame
    programs = simulation_system(name, rviz=True)
    (rviz,) = (one for one in programs if one.executable == 'rviz2')
    assert rviz.arguments[-2:] == ('-f', frame)  # the option replaces that of the layout


def test_camera_sees_the_whole_arm_and_the_arm_fills_a_good_part_of_the_picture(fitted):
    arm, tree = fitted
    view = tree['Visualization Manager']['Views']['Current']
    focus = np.array([view['Focal Point'][axis] for axis in 'XYZ'])
    pitch, yaw = view['Pitch'], view['Yaw']
    back = np.array([np.cos(pitch) * np.cos(yaw), np.cos(pitch) * np.sin(yaw), np.sin(pitch)])
    right = np.cross([0.0, 0.0, 1.0], back)
    right /= np.linalg.norm(right)
    up = np.cross(back, right)
    simulation = Simulation(arm)
    points = np.array([simulation.pose(frame)[:3, 3] for frame in arm.frames]) - focus
    away = view['Distance'] - points @ back
    assert away.min() > view['Near Clip Distance']
    # the field of view is 45 degrees high, and the window wider than high
    seen = (
        np.abs(np.column_stack([points @ right, points @ up])) / away[:, None] / np.tan(np.pi / 8)
    )
    assert 0.25 < seen.max() < 1.0


def test_reach_is_that_of_the_longest_straight_line_through_an_arm():
    assert reach(read_description('spin_up_8m')) == pytest.approx(8.0)
    # pedestal 0.25 + 0.0 and two links of half a metre with their loads
    offsets = [np.linalg.norm(joint.position) for joint in read_description('two_link').joints]
    assert reach(read_description('two_link')) == pytest.approx(sum(offsets))
    rng = np.random.default_rng(1)
    for name in shipped_robots():
        arm = load(name)
        simulation, distances = Simulation(arm), []
        joints = [arm.description.joint(name) for name in arm.joint_names]
        lower = [max(joint.lower, -np.pi) for joint in joints]
        upper = [min(joint.upper, np.pi) for joint in joints]
        for _ in range(50):
            if arm.closed_loops:  # random positions do not close them
                simulation.step(10)
            else:
                simulation.set_state(q=rng.uniform(lower, upper))
            distances += [np.linalg.norm(simulation.pose(frame)[:3, 3]) for frame in arm.frames]
        least = (0.4 if arm.closed_loops else 0.5) * reach(arm.description)
        assert least < max(distances) <= reach(arm.description) + 1e-9


@pytest.mark.parametrize(
    'length, rounded',
    [
        (0.37, 0.5),
        (1.0, 1.0),
        (1.4, 1.0),
        (1.5, 2.0),
        (3.1, 2.0),
        (3.2, 5.0),
        (7.2, 10.0),
        (0.012, 0.01),
    ],
)
def test_a_grid_cell_is_one_two_or_five_times_a_power_of_ten(length, rounded):
    assert round_length(length) == rounded
