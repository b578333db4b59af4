"""config/shaper.yaml has every parameter of the node shaper, with its default and in its words."""

from dataclasses import fields

import yaml
from project_files import ROOT
from test_launch_files import about

from flex_robot_sim.nodes.settings import SHAPER_SETTINGS

TEXT = (ROOT / 'config' / 'shaper.yaml').read_text('utf-8')
ITEMS = [item for kind in SHAPER_SETTINGS for item in fields(kind)]


def test_the_file_has_the_defaults_of_the_node():
    (node,) = yaml.safe_load(TEXT).values()
    given = {
        item.name: list(item.default) if isinstance(item.default, tuple) else item.default
        for item in ITEMS
    }
    # ROS has no empty lists in files
    assert node['ros__parameters'] == {name: value for name, value in given.items() if value != []}
    for name, value in given.items():
        assert value != [] or f'# {name}: []' in TEXT


def test_the_file_says_what_each_parameter_is_and_which_choices_it_has():
    words = ' '.join(TEXT.replace('#', ' ').split())
    for item in ITEMS:
        assert ' '.join(about(item).split()) in words, item.name
