"""Rows of the tables of topics and services."""

import ast

import pytest
from project_files import ROOT

from flex_robot_sim.ros import services, topics
from flex_robot_sim.ros.topics import Quality

PACKAGE = ROOT / 'flex_robot_sim'
# names of topics that are also words of a description or ordinary ones
WORDS = {'base_motion', 'joint_trajectory', 'push', 'strain'}


def test_no_name_is_given_twice():
    for table in (topics.TOPICS, services.SERVICES):
        names = [row.name for row in table]
        assert len(names) == len(set(names)) > 5


@pytest.mark.slow
def test_no_other_module_spells_the_name_of_a_topic_or_service():
    rows: list = [*topics.TOPICS, *services.SERVICES]
    names = {row.name for row in rows} - WORDS
    found = [
        (path.name, node.value)
        for path in PACKAGE.rglob('*.py')
        if path.name not in ('topics.py', 'services.py')
        for node in ast.walk(ast.parse(path.read_text('utf-8')))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []


def test_private_names_are_those_below_the_node():
    assert topics.TARGET.private.name == '~/target'
    assert topics.SHAPER_SET_POINTS.private.name == '~/set_points'
    assert services.START_PROFILE.private.name == '~/start_profile'
    assert services.START_PROFILE.node == 'bridge'


def test_a_topic_of_one_link_or_joint_has_its_word():
    assert topics.TIP_DEFLECTION.with_word('arm_2').name == 'arm_2/tip_deflection'
    assert topics.JOINT_WRENCH.with_word('elbow').name == 'joint_wrenches/elbow'
    assert topics.TIP_DEFLECTION.last_word == 'tip_deflection'


def test_words_of_links_are_unique_names_of_ros():
    assert topics.topic_words(['arm 2', 'arm-2', '2', '']) == {
        'arm 2': 'arm_2',
        'arm-2': 'arm_2_',
        '2': '_2',
        '': '_',
    }


@pytest.mark.parametrize(
    'quality, text',
    [
        (topics.RELIABLE, 'reliable 10'),
        (topics.LATCHED, 'latched'),
        (Quality(1), 'reliable 1'),
        (topics.NEWEST, 'best effort 1'),
        (topics.SAMPLES, 'best effort 100'),
    ],
)
def test_quality_is_written_as_on_the_page(quality, text):
    assert str(quality) == text


def test_a_subscriber_has_its_own_quality():
    assert topics.JOINT_STATES.quality_for('view') == topics.NEWEST
    assert topics.JOINT_STATES.quality_for('controller') == topics.RELIABLE
