"""What others send is data: a description from a topic or a recording never runs a program."""

import json

import pytest
from hostile_files import write_recording, xacro_robot
from ros_observer import LATCHED
from std_msgs.msg import String

from flex_robot_sim.ros.message_types import type_of

REFUSED = (
    '<text>:1: the text holds xacro, which needs its files. Give the path of the xacro '
    'file, or the expanded text.'
)


@pytest.mark.long(after=3)
@pytest.mark.parametrize(
    'name', ['dynamics', 'controller', 'simulation', 'shaper', 'view', 'drift', 'bridge']
)
def test_a_node_does_not_run_the_xacro_of_a_topic(start, observer, tmp_path, name):
    mark, space = tmp_path / 'created', f'hostile_{name}'
    if name == 'view':
        pytest.importorskip('viser')
    observer.node.create_publisher(String, f'/{space}/robot_description', LATCHED).publish(
        String(data=xacro_robot(mark))
    )
    process = start(name, '-r', f'__ns:=/{space}')
    assert process.wait() == 2 and process.lines[-1].endswith(REFUSED)
    assert not mark.exists()


def test_a_replay_with_a_view_does_not_run_the_xacro_of_the_recording(flexsim, tmp_path):
    pytest.importorskip('mcap')
    pytest.importorskip('viser')
    mark = tmp_path / 'created'
    path = write_recording(tmp_path / 'run.mcap', xacro_robot(mark))
    done = flexsim('replay', path, '--view')
    assert done.returncode == 2 and not mark.exists()
    assert done.stderr.splitlines()[-1] == (
        f'flexsim replay: {path}: the robot in it cannot be shown: {REFUSED} Or leave --view out.'
    )


@pytest.mark.parametrize(
    'name',
    [
        'hostile_package/msg/Thing',
        'hostile_package.inner/msg/Thing',
        '.hostile_package/msg/Thing',
        'hostile_package/Thing',
    ],
)
def test_the_name_of_a_type_imports_only_packages_of_messages(tmp_path, monkeypatch, name):
    mark = tmp_path / 'created'
    package = tmp_path / 'hostile_package'
    (package / 'inner').mkdir(parents=True)
    for folder in (package, package / 'inner'):
        (folder / '__init__.py').write_text(f'open({json.dumps(str(mark))}, "w").close()\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    assert type_of(name) is None and not mark.exists()
