"""The layouts for viewers name what is recorded."""

import json
import re

import pytest
from project_files import ROOT

pytest.importorskip('mcap')

from flex_robot_sim.cli import main
from flex_robot_sim.recording.mcap_file import RecordingReader
from flex_robot_sim.ros.cdr import decode
from flex_robot_sim.ros.definitions import message_type

pytestmark = pytest.mark.slow

FOLDER = ROOT / 'config' / 'layouts'
PAGE = (ROOT / 'docs' / 'ros.md').read_text('utf-8')
# what a simulation does not send, of the type of what it does
ELSEWHERE = {'/controller/target': '/joint_states'}
DRAWN = {'/bending_markers', '/diagnostics'}  # by panels that take whole topics


@pytest.fixture(scope='module')
def messages(tmp_path_factory):
    """{topic: a message} of a simulation of two_link."""
    path = tmp_path_factory.mktemp('layouts') / 'run.mcap'
    assert main(['simulate', 'two_link', '--seconds', '0.02', '--output', str(path)]) == 0
    found = {}
    for topic, _, data in RecordingReader(path):
        found[topic.name] = decode(message_type(topic.kind, topic.text), data)
    for name, other in ELSEWHERE.items():
        found[name] = found[other]
    return found


def test_every_path_of_foxglove_leads_to_a_number(messages):
    layout = json.loads((FOLDER / 'foxglove.json').read_text())
    paths = [
        item['value'] for panel in layout['configById'].values() for item in panel.get('paths', ())
    ]
    assert len(paths) > 10
    for path in paths:
        topic, _, rest = path.partition('.')
        value = messages[topic]
        for word in re.findall(r'\w+', rest):
            value = value[int(word)] if word.isdigit() else value[word]
        float(value)


def test_every_panel_of_foxglove_is_placed_once():
    layout = json.loads((FOLDER / 'foxglove.json').read_text())

    def leaves(part):
        return [part] if isinstance(part, str) else leaves(part['first']) + leaves(part['second'])

    assert sorted(leaves(layout['layout'])) == sorted(layout['configById'])


def test_every_curve_of_plotjuggler_is_a_number_of_a_joint_or_of_a_field(messages):
    from xml.etree import ElementTree

    curves = [
        curve.attrib['name']
        for curve in ElementTree.parse(FOLDER / 'plotjuggler.xml').iter('curve')
    ]
    assert len(curves) > 10
    for curve in curves:
        topic = next(name for name in messages if curve.startswith(f'{name}/'))
        value, rest = messages[topic], curve[len(topic) + 1 :]
        if 'name' in value:  # joint states are split by the names in them
            name, _, field = rest.rpartition('/')
            value = value[field][value['name'].index(name)]
        else:
            for word in rest.split('/'):
                value = value[word]
        float(value)


def test_topics_of_both_are_on_the_page():
    text = ''.join(path.read_text() for path in FOLDER.iterdir())
    topics = {name for name in DRAWN | set(ELSEWHERE) if name in text}
    assert topics == DRAWN | set(ELSEWHERE)
    assert all(f'| `{name.lstrip("/")}` |' in PAGE or f'| `{name}` |' in PAGE for name in topics)
