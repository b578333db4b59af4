"""The node `view` as its users meet it: a real browser on one side, real DDS on the other."""

import os
import socket
import sys

import numpy as np
import pytest
from bridge_bench import CALM
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from node_processes import NodeProcess
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from waiting import eventually

pytest.importorskip('viser', reason='pip install ".[view]"')

from page_client import PageClient

# browsers draw by software here, in parallel with other tests
FEW = {'view_rate': 2.0, 'view_browser': 'false', 'view_span': 3.0}


@pytest.fixture
def view(start):
    """Return a function that starts a view in a namespace; its process and its address."""

    def start_view(space, robot='two_link', **parameters):
        process = start('view', '-r', f'__ns:={space}', robot=robot, **{**FEW, **parameters})
        line = process.wait_for_line('/?token=')
        return process, line.split()[-1]

    return start_view


def simulated(start, space, robot='two_link', **parameters):
    """Start dynamics in a namespace; the arm hangs there until a command arrives."""
    process = start(
        'dynamics',
        '-r',
        f'__ns:={space}',
        robot=robot,
        display_rate=1.0,
        **{'wait_for_command': 'true', **parameters},
    )
    process.wait_for_line('coordinates, real_time')
    return process


def state_of(message):
    return {item.key: item.value for status in message.status for item in status.values}.get(
        'state'
    )


@pytest.mark.long
def test_three_browsers_stay_live_and_show_that_a_robot_stops_and_returns(start, view, browsers):
    arm = simulated(start, '/three')
    _, address = view('/three')
    three = [browsers(address) for _ in range(3)]
    for browser in three:
        browser.wait_for(lambda browser=browser: 'state\tpaused' in browser.text, 'the state')
    arm.close()
    for browser in three:
        browser.wait_for(lambda browser=browser: 'no joint_states' in browser.text, 'silence')
    arm = simulated(start, '/three')
    for browser in three:
        browser.wait_for(lambda browser=browser: 'state\tpaused' in browser.text, 'the robot')
    # each browser may press, and all browsers show the result
    three[1].wait_for(lambda: not three[1].is_grey('reset'), 'the services')
    three[1].press('resume')
    for browser in three:
        browser.wait_for(lambda browser=browser: 'state\tlive' in browser.text, 'the motion')


@pytest.mark.long
def test_a_shaper_is_chosen_and_the_controller_has_it(start, view, observer, browsers):
    simulated(start, '/shaped', robot='single_link')
    start('controller', '-r', '__ns:=/shaped', robot='single_link', state_timeout=5.0)
    _, address = view('/shaped', robot='single_link')
    browser = browsers(address)
    browser.choose('shaper', 'zvd')
    browser.wait_for(
        lambda: parameter(observer, '/shaped/controller', 'shaper') == 'zvd', 'the shaper'
    )
    # gains are those of the controller, found by the same fit
    browser.wait_for(lambda: 'held by the controller' in browser.text, 'predicted frequencies')


@pytest.mark.long
def test_a_bench_can_be_looked_at_and_disarmed_and_nothing_else(start, view, browsers):
    bench = start('bridge', '-r', '__ns:=/bench', **CALM)
    bench.wait_for_line('disarmed')
    _, address = view('/bench', robot='rig')
    browser = browsers(address)
    browser.wait_for(lambda: 'commands do not move it' in browser.text, 'the bench')
    browser.wait_for(lambda: 'disarm the bench' in browser.text, 'the button to disarm')
    assert browser.is_grey('pause') and browser.is_grey('push')
    assert 'a bench cannot be stopped like a simulation' in browser.text


@pytest.mark.long
def test_states_of_another_robot_are_reported(start, view, browsers):
    simulated(start, '/other', robot='single_link')
    _, address = view('/other')
    browser = browsers(address)
    browser.wait_for(lambda: 'is it another robot' in browser.text, 'the reason')


@pytest.mark.long
def test_a_robot_without_moving_joints_is_shown(start, view, tmp_path):
    robot = tmp_path / 'still.urdf'
    robot.write_text(
        '<robot name="still"><link name="base"/><link name="tool"/>'
        '<joint name="weld" type="fixed"><parent link="base"/><child link="tool"/>'
        '</joint></robot>'
    )
    process, address = view('/still', robot=robot)
    client = PageClient(address)
    assert client.hear(lambda: client.count > 10)
    client.close()
    assert process.stop()[0] == 0 and process.count('Traceback') == 0


@pytest.mark.long
def test_the_token_is_in_no_log_and_on_no_topic(start, observer, tmp_path):
    lines = observer.listen(Log, '/rosout')
    process = start(
        'view',
        '-r',
        '__ns:=/secret',
        robot='two_link',
        environment={**os.environ, 'ROS_LOG_DIR': str(tmp_path)},
        **FEW,
    )
    token = process.wait_for_line('/?token=').partition('token=')[2]
    observer.spin_until(
        lambda: any('at http://127.0.0.1:' in it.msg for it in lines),
        what='the address without a token',
    )
    assert not any(token in it.msg for it in lines)
    # ROS writes its file every few seconds, and not at the end
    assert eventually(
        lambda: any('at http://127.0.0.1:' in path.read_text() for path in tmp_path.iterdir())
    )
    assert process.stop()[0] == 0
    assert not any(token in path.read_text() for path in tmp_path.iterdir())


def test_without_viser_one_line_says_what_to_install(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, 'viser', None)
    monkeypatch.delitem(sys.modules, 'flex_robot_sim.viewer.browser', raising=False)
    assert refused('view', robot='two_link').startswith(
        'view: the browser view needs viser, which is not installed. Install it by '
    )


def test_a_port_that_is_taken_is_one_line(refused):
    with socket.create_server(('127.0.0.1', 0)) as server:
        port = server.getsockname()[1]
        line = refused('view', robot='two_link', view_port=port, **FEW)
    assert line.startswith(f'view: port {port} is taken.')


@pytest.fixture(scope='module')
def seen():
    """Return the view of an arm without weight, and its address."""
    started = []

    def start(*words, **parameters):
        started.append(NodeProcess(*words, **parameters))
        return started[-1]

    simulated(start, '/seen', gravity='[0.0, 0.0, 0.0]', wait_for_command='false')
    process = start(
        'view', '-r', '__ns:=/seen', robot='two_link', gravity='[0.0, 0.0, 0.0]', **FEW
    )
    yield process, process.wait_for_line('/?token=').split()[-1]
    for each in started:
        each.close()


@pytest.mark.long
def test_messages_that_the_page_does_not_offer_do_not_end_it(seen, observer):
    process, address = seen
    pushes = observer.listen(WrenchStamped, '/seen/push')
    client = PageClient(address)
    assert client.hear(lambda: client.updates('push').get('disabled') is False)
    client.set('direction', 'evil')
    for value in (float('nan'), 1e308, -1.0, '3', None):
        client.set('force [N]', value)
        client.set('for [s]', value)
    client.set('direction', '-y')
    client.set('force [N]', client.widgets['force [N]']['props']['max'])
    client.set('push', True)
    observer.spin_until(lambda: len(pushes) > 1, what='a push and its end')
    largest = client.widgets['force [N]']['props']['max']
    assert max(
        it.wrench.force.y**2 + it.wrench.force.x**2 + it.wrench.force.z**2 for it in pushes
    ) ** 0.5 == pytest.approx(largest)
    client.close()
    assert process.process.poll() is None and process.count('Traceback') == 0
    assert observer.call(Trigger, '/seen/dynamics/reset').success


def test_what_is_pressed_and_typed_arrives_on_the_topics(seen, observer, browsers):
    process, address = seen
    pushes = observer.listen(WrenchStamped, '/seen/push')
    targets = observer.listen(JointState, '/seen/controller/reference')
    states = observer.listen(JointState, '/seen/joint_states')
    browser = browsers(address)
    browser.wait_for(lambda: 'state\tlive' in browser.text, 'the state of the arm')

    browser.press('pause')
    observer.hear(DiagnosticArray, '/diagnostics', lambda it: state_of(it) == 'paused')
    browser.wait_for(lambda: 'resume' in browser.text, 'the resume button')
    browser.press('resume')
    observer.hear(DiagnosticArray, '/diagnostics', lambda it: state_of(it) == 'running')

    browser.wait_for(lambda: not browser.is_grey('push'), 'the button to push')
    browser.type('force [N]', 3)
    browser.press('push')
    # the push arrives on the topic, and its end
    observer.spin_until(lambda: len(pushes) > 1, what='a push and its end')
    forces = [np.array([it.wrench.force.x, it.wrench.force.y, it.wrench.force.z]) for it in pushes]
    assert {it.header.frame_id for it in pushes} == {'tool'}
    assert np.linalg.norm(forces[0]) == pytest.approx(3.0) and not forces[-1].any()
    # the arm was at rest before: there is no gravity, and no other program moves it
    observer.spin_until(
        lambda: states and np.abs(states[-1].velocity).max() > 1e-3, what='a motion'
    )
    assert len(states[-1].name) == 3

    browser.open_folder('Targets')
    browser.wait_for(lambda: not browser.is_grey_number('elbow [rad]'), 'the sliders of targets')
    browser.type('elbow [rad]', 0.4)
    observer.spin_until(lambda: targets, what='a target')
    assert list(targets[-1].name) == ['elbow'] and targets[-1].position[0] == pytest.approx(0.4)

    browser.open_folder('Payload')
    browser.type('mass [kg]', 0.1)
    browser.wait_for(
        lambda: parameter(observer, '/seen/dynamics', 'payload_mass') == pytest.approx(0.1),
        'the payload',
    )
    assert parameter(observer, '/seen/dynamics', 'payload_link') == 'tool'

    browser.type('deflections x', 20)
    browser.wait_for(lambda: 'deflections x 20' in browser.text, 'the factor')
    browser.press('reset')
    # at zero, where it started, or on its way from there: no controller holds it
    observer.hear(JointState, '/seen/joint_states', lambda it: np.abs(it.position).max() < 1e-9)
    # without a controller, the choice of a shaper is grey and shows the reason
    assert browser.is_grey_choice('shaper') and 'there is no controller' in browser.text
    site = address.partition('?')[0]
    assert all(url.startswith((site, f'blob:{site}')) for url in browser.requests())
    assert process.stop()[0] == 0 and process.count('Traceback') == 0


def parameter(observer, node, name):
    """Return the value of a parameter of a node."""
    (value,) = observer.call(
        GetParameters, f'{node}/get_parameters', GetParameters.Request(names=[name])
    ).values
    return value.string_value or value.double_value
