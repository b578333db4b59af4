"""Nodes of an arm with a reduced link: recordings and the view compare its file."""

import json
import os
import sys
from html import unescape

import pytest
from node_processes import Process
from project_files import ROOT
from reduced_bar import REDUCED, reduced_bar, write_bar

from flex_robot_sim.recording.mcap_file import RecordingReader
from flex_robot_sim.reduction.reduced_file import content_hash, write_reduced
from flex_robot_sim.reports.recorded_run import read_run

pytest.importorskip('mcap')
pytest.importorskip('viser', reason='pip install ".[view]"')

from page_client import PageClient

FILE = 'package://my_arm/arm.npz'
RIGID = 'link "arm" is shown as a rigid one: '
ANOTHER = (14, 1, 1)  # elements of another mesh of the bar


def installed(folder):
    """Make a package in a folder; return its folder and the environment that finds it."""
    package = folder / 'share' / 'my_arm'
    package.mkdir(parents=True)
    return package, {**os.environ, 'PYTHONPATH': str(ROOT), 'AMENT_PREFIX_PATH': str(folder)}


def shown(client):
    """Return the text of a page, without the place in the URDF."""
    return unescape(client.text).replace('<text>:8: ', '')


@pytest.mark.long
def test_the_view_and_recordings_compare_the_file_of_a_reduced_link(
    start, observer, tmp_path, monkeypatch
):
    here, environment = installed(tmp_path / 'here')
    robot = write_bar(here, REDUCED.replace('arm.npz', FILE))
    node = start('dynamics', robot=robot, display_rate=1.0, environment=environment)
    node.wait_for_line('coordinates, real_time')
    path = tmp_path / 'run.mcap'
    words = [sys.executable, '-m', 'flex_robot_sim', 'record', '--output', str(path)]
    record = Process(words, environment, cwd=tmp_path)

    # three computers with the file, without it, and with another one
    absent, no_file = installed(tmp_path / 'absent')
    other, other_file = installed(tmp_path / 'other')
    write_reduced(other / 'arm.npz', reduced_bar(ANOTHER))
    expected = {
        'here': (environment, ''),
        'absent': (no_file, f'the file "{FILE}" of <reduced> is not found'),
        'other': (other_file, 'its reduced file is not the one of the node dynamics'),
    }
    for name, (place, reason) in expected.items():
        view = start('view', view_rate=2.0, view_browser='false', environment=place)
        client = PageClient(view.wait_for_line('/?token=').split()[-1])
        line = reason and RIGID + reason
        assert client.hear(lambda c=client, line=line: line in shown(c)), name
        assert client.hear(lambda c=client: '>live<' in c.text), client.text
        assert (RIGID in shown(client)) == bool(reason), client.text
        client.close()
        assert view.stop()[0] == 0 and view.count('Traceback') == 0

    reader = RecordingReader(path)

    def is_noted():
        list(reader)
        return 'parameters /dynamics' in reader.facts

    observer.spin_until(is_noted, what='the parameters in the file')
    assert record.stop()[0] == 0
    stored = json.loads(json.loads(reader.facts['parameters /dynamics']['reduced_files']))
    assert stored == {'arm': content_hash(here / 'arm.npz')}
    for name, problem in (('here', ''), ('other', 'is not the one of the recording')):
        monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / name))
        notes = [note for note in read_run(path).notes if RIGID in note]
        assert [problem in note for note in notes] == [True] * bool(problem), notes
    assert not absent.joinpath('arm.npz').exists()
