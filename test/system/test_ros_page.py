"""The pages of ROS and the security policy follow from the code; test/nodes/ compares topics."""

import re
import sys

import pytest
from project_files import ROOT

sys.path.insert(0, str(ROOT / 'docs'))
from reference_tables import (
    ARGUMENTS,
    MARK,
    OWN_SETTINGS,
    PAGES,
    POLICY,
    SETTINGS,
    fill_page,
    fill_policy,
)

from flex_robot_sim.nodes.settings import RECORDER_SETTINGS
from flex_robot_sim.ros.topics import RELIABLE, TOPICS

COMMAND = 'run `python docs/reference_tables.py`'


@pytest.mark.parametrize('path', PAGES, ids=lambda path: path.stem)
def test_tables_of_a_page_are_those_of_the_code(path):
    page = path.read_text('utf-8')
    assert fill_page(page) == page, COMMAND


def test_topics_of_the_security_policy_are_those_of_the_code():
    policy = POLICY.read_text('utf-8')
    assert fill_policy(policy) == policy, COMMAND
    for topic in TOPICS:
        assert f'<topic>{re.sub("LINK|JOINT|NAME", "*", topic.name)}</topic>' in policy


def test_pages_have_every_table_once():
    found = [mark[1:3] for path in PAGES for mark in MARK.findall(path.read_text('utf-8'))]
    assert sorted(found) == sorted(
        [
            *((what, node) for what in ('published', 'subscribed') for node in SETTINGS),
            *(('parameters', group) for group in OWN_SETTINGS),
            *(('arguments', name) for name in ARGUMENTS),
            ('services', 'simulation'),
            ('services', 'bridge'),
        ]
    )


def test_every_settings_class_has_a_table():
    listed = {kind for kinds in OWN_SETTINGS.values() for kind in kinds}
    used = {kind for kinds in SETTINGS.values() for kind in kinds}
    assert used == listed and not listed & {RECORDER_SETTINGS[0]}  # docs/recording.md


def test_nodes_of_the_table_of_topics_exist():
    for topic in TOPICS:
        uses: list = [*topic.publishers, *topic.subscribers]
        nodes = [use.node for use in uses]
        assert nodes and set(nodes) <= set(SETTINGS), topic.name
        # a subscription that asks for more than the publishers offer gets nothing
        for use in topic.subscribers:
            assert use.quality.is_latched == topic.quality.is_latched
            assert topic.quality.is_reliable or use.quality != RELIABLE
