"""`flexsim demo` as its users meet it: processes, figures, signals, and nothing left behind."""

import functools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
import rclpy
from arms import joint, link, robot
from geometry_msgs.msg import WrenchStamped
from node_processes import PATIENCE
from project_files import ROOT
from small_disk import small_disk

from flex_robot_sim.recording.mcap_file import RecordingReader

LINE = 'moves in ROS_DOMAIN_ID'
# from a signal to the end [s]: 0.9 on a free processor, where half of it is three processes' work,
# which machines that share their processors do at half the speed or less, unseen by any load
QUICK = 4.0


class Demo:
    """A demo in a process of its own; its session identifies its child processes."""

    def __init__(self, *words, folder):
        """Start it; it writes into `folder`, and takes a sitecustomize.py from there."""
        environment = {key: value for key, value in os.environ.items() if key != 'ROS_DOMAIN_ID'}
        environment.update(DISPLAY='', WAYLAND_DISPLAY='')  # no browser opens
        paths = str(folder), str(ROOT), environment.get('PYTHONPATH')
        environment['PYTHONPATH'] = os.pathsep.join(filter(None, paths))
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'flex_robot_sim', 'demo', *words],
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        self.errors, self._news = [], threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            with self._news:
                self.errors.append(line.rstrip())
                self._news.notify_all()

    def wait_for_line(self, part):
        """Return when an error line contains `part`."""
        with self._news:
            assert self._news.wait_for(
                lambda: any(part in line for line in self.errors), PATIENCE
            ), self.errors

    def wait_for_programs(self, count):
        """Return the ids of its programs as soon as there are `count` of them."""
        return wait_for(
            lambda: (found := children(self.process.pid))[count - 1 :] and found,
            f'{count} programs',
        )

    def end(self):
        """Return exit code, standard output and error lines."""
        output = self.process.stdout.read()
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code, output, self.errors

    def close(self):
        """Make sure that it is gone."""
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()


def is_quick(seconds):
    """Whether it took no longer than promised, if each process in line got its share."""
    return seconds < QUICK * crowd()


def crowd():
    """How many processes are in line for each processor, and at least one."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, f'{what} did not come within {PATIENCE:g} s'
        time.sleep(0.01)
    return found


def children(pid):
    """Ids of the node processes that a process has started."""
    try:
        found = Path(f'/proc/{pid}/task/{pid}/children').read_text().split()
    except FileNotFoundError:
        return []
    return [int(child) for child in found if b'flex_robot_sim.nodes' in command_line(child)]


def command_line(pid):
    try:
        return Path(f'/proc/{pid}/cmdline').read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b''


def is_gone(pid):
    return b'flex_robot_sim.nodes' not in command_line(pid)


@pytest.fixture
def demo(tmp_path):
    started = []

    def start_demo(*words):
        started.append(Demo(*words, folder=tmp_path))
        return started[-1]

    yield start_demo
    for each in started:
        each.close()


@pytest.mark.long
def test_a_simulation_that_stops_ends_the_demo_with_a_line_and_code_1(demo, no_observer):
    running = demo('--seconds', '60', '--no-view', '--inside', '--plot', 'run.png')
    running.wait_for_line(LINE)
    domain = re.findall(rf'{LINE}=(\d+)', '\n'.join(running.errors))[0]
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=int(domain))
    node = rclpy.create_node('pusher', context=context)
    publisher = node.create_publisher(WrenchStamped, '/push', 10)
    message = WrenchStamped()
    message.header.frame_id = 'tool'
    message.wrench.force.y = 9.9e5  # as strong as it may be; no step follows that
    end = time.monotonic() + PATIENCE
    while running.process.poll() is None and time.monotonic() < end:
        publisher.publish(message)
        time.sleep(0.2)
    node.destroy_node()
    rclpy.try_shutdown(context=context)
    code, _, errors = running.end()
    assert code == 1
    assert errors[-1] == (
        'flexsim demo: the simulation has stopped: its state is not finite any more'
    )


@pytest.fixture(scope='module')
def ended(tmp_path_factory):
    """Return a function that runs a demo to its end, once for each command line."""

    @functools.cache
    def run(*words):
        folder = tmp_path_factory.mktemp('demo')
        running = Demo(
            *shlex.split('--seconds 4 --json --plot run.png --record run.mcap'),
            *words,
            folder=folder,
        )
        try:
            code, output, errors = running.end()
        finally:
            running.close()
        assert code == 0, errors
        return folder, json.loads(output)

    return run


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize('place', [(), ('--inside',)], ids=['two processes', 'inside'])
def test_json_is_one_object_with_the_figures_of_the_run(ended, place):
    folder, figures = ended(*place)
    assert set(figures) == {
        *('robot', 'sim_time', 'wall_time', 'realtime_factor', 'steps', 'deadline_misses'),
        *('time_dropped', 'lateness_ms_max', 'latency_ms_median', 'latency_ms_p99'),
        *('max_tip_deflection', 'commands', 'refused', 'recording', 'plot'),
    }
    # it ends by simulated time, which arrives once a second, and late if processes wait for a
    # processor; a slow machine also drops some time
    assert 3.0 < figures['sim_time'] < 4.0 + crowd() and figures['time_dropped'] >= 0.0
    assert figures['sim_time'] + figures['time_dropped'] > 3.5
    assert figures['steps'] == pytest.approx(figures['sim_time'] / 1e-3, abs=1.0)
    # all wall time is simulated or dropped, but for lags of up to 50 ms at both ends
    assert figures['wall_time'] == pytest.approx(
        figures['sim_time'] + figures['time_dropped'], abs=0.1
    )
    assert figures['realtime_factor'] == pytest.approx(figures['sim_time'] / figures['wall_time'])
    # it bends; commands come late on a busy machine, so the bound is the length of a link: 0.5 m
    assert 1e-3 < figures['max_tip_deflection'] < 0.5
    assert figures['refused'] == 0 and figures['lateness_ms_max'] >= 0.0
    if place:
        assert figures['commands'] == 0 and figures['latency_ms_median'] is None
    else:
        assert 0 < figures['commands'] <= figures['steps'] / 2 + 100  # one for each joint state
        assert 0.0 < figures['latency_ms_median'] <= figures['latency_ms_p99']
    assert (folder / 'run.png').read_bytes().startswith(b'\x89PNG')


@pytest.mark.long
def test_a_demo_with_its_controller_inside_is_recorded(ended):
    folder, _ = ended('--inside')
    topics = {message.topic.name for message in RecordingReader(folder / 'run.mcap')}
    assert '/joint_states' in topics and '/joint_commands' not in topics


@pytest.mark.long
def test_a_comparison_runs_both_and_the_shaped_arm_vibrates_less(demo, tmp_path):
    # in each run, two motions and their residual vibration take 7 s; 1 s is for a busy machine
    code, output, _ = demo(
        '--compare', '--shaper', 'ei', '--seconds', '8', '--json', '--plot', 'both.png'
    ).end()
    figures = json.loads(output)
    assert (
        code == 0 and figures['shaper'] == 'ei' and figures['residual_vibration_link'] == 'forearm'
    )
    # a tenth on a free machine; on a busy one commands that come late shake the arm
    assert (
        figures['residual_vibration']
        == figures['residual_vibration_ratio'] * figures['residual_vibration_without']
    )
    assert figures['residual_vibration_ratio'] < 0.5
    assert (tmp_path / 'both.png').read_bytes().startswith(b'\x89PNG')


@pytest.mark.slow
def test_a_recorded_demo_leaves_a_file_with_all_that_was_sent(ended):
    reader_of = pytest.importorskip('rosbags.highlevel')
    folder, figures = ended()
    assert figures['recording'] == 'run.mcap'
    with reader_of.AnyReader([folder / 'run.mcap']) as reader:
        counts = {item.topic: item.msgcount for item in reader.connections}
        tips = [
            reader.deserialize(data, item.msgtype).pose.position
            for item, _, data in reader.messages()
            if item.topic.endswith('tip_deflection')
        ]
    # the recorder begins before the arm and ends after it; commands answer every other step. Of
    # what ten places at the sender do not keep, a recorder on a busy machine misses a part
    assert counts['/joint_commands'] > 0.3 * figures['commands'] > 0
    assert counts['/joint_states'] > 0.3 * figures['steps'] / 2
    assert {
        '/robot_description',
        '/flex_states',
        '/strain',
        '/controller/target',
        '/diagnostics',
        '/bending_markers',
        '/tool_pose',
    } < set(counts)
    largest = max((tip.x**2 + tip.y**2 + tip.z**2) ** 0.5 for tip in tips)
    assert largest >= 0.8 * figures['max_tip_deflection']  # the rest: peaks that it missed


@pytest.mark.long
@pytest.mark.parametrize(
    'size',
    [
        pytest.param('4k', marks=pytest.mark.long, id='before it moves'),
        pytest.param('256k', id='while it moves'),
    ],
)
def test_a_demo_goes_on_where_its_recording_does_not(demo, tmp_path, size):
    with small_disk(tmp_path / 'disk', size):
        code, output, errors = demo(
            '--seconds', '3', '--inside', '--json', '--record', 'disk/run.mcap'
        ).end()
    assert code == 0 and json.loads(output)['sim_time'] > 2.0
    lines = [line for line in errors if 'cannot be written' in line]
    assert len(lines) == 1 and lines[0].startswith(
        'recorder: disk/run.mcap: cannot be written: No space left on device'
    ), errors


@pytest.mark.long
@pytest.mark.parametrize(
    'number, times',
    [
        (signal.SIGTERM, 1),
        pytest.param(signal.SIGHUP, 1, marks=pytest.mark.long),
        pytest.param(signal.SIGINT, 1, marks=pytest.mark.long),
        pytest.param(signal.SIGINT, 2, marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, 2, marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, 2, marks=pytest.mark.long),
    ],
)
def test_a_signal_ends_everything_within_seconds(demo, number, times):
    running = demo('--json')
    programs = running.wait_for_programs(2)
    began = time.monotonic()
    for _ in range(times):
        running.process.send_signal(number)
    code, output, errors = running.end()
    assert is_quick(time.monotonic() - began)
    assert code == 0
    figures = json.loads(output)
    assert 'sim_time' in figures and not {'recording', 'plot'} & {*figures}
    assert not any('Traceback' in line for line in errors), errors
    assert all(is_gone(pid) for pid in programs)


@pytest.mark.long(after=1)
@pytest.mark.parametrize('times', [1, pytest.param(2, marks=pytest.mark.long)])
def test_ctrl_c_in_motion_ends_everything_within_seconds(demo, tmp_path, times):
    running = demo('--no-view')
    running.wait_for_line(LINE)
    programs = children(running.process.pid)
    assert len(programs) == 2
    began = time.monotonic()
    for _ in range(times):
        running.process.send_signal(signal.SIGINT)
    code, output, errors = running.end()
    assert is_quick(time.monotonic() - began)
    assert code == 0 and output.startswith('two_link: ')
    assert all(is_gone(pid) for pid in programs)
    gains = [line for line in errors if line.startswith('gains: ')]
    assert len(gains) == 1 and gains[0].endswith(' (stiff, to show vibration; default: 1 Hz)')
    if times == 1:
        assert output.splitlines()[-1] == '  picture: demo_two_link.png'
        assert (tmp_path / 'demo_two_link.png').stat().st_size > 0


@pytest.mark.long
def test_the_view_has_an_address_is_not_needed_and_ends_with_the_demo(demo):
    pytest.importorskip('viser')
    running = demo()
    programs = running.wait_for_programs(3)
    running.wait_for_line('view: [INFO] two_link at http://127.0.0.1:')
    running.wait_for_line(LINE)
    running.wait_for_line('view: open http://127.0.0.1:')
    address = next(line for line in running.errors if 'token=' in line).split()[-1]
    with urllib.request.urlopen(address, timeout=PATIENCE) as page:
        assert page.status == 200
    view = next(pid for pid in programs if b'\0view\0' in command_line(pid))
    os.kill(view, signal.SIGKILL)
    wait_for(lambda: is_gone(view), 'its end')
    running.process.send_signal(signal.SIGINT)
    code, output, errors = running.end()
    assert code == 0 and output.startswith('two_link: ')
    assert not any('SIGKILL' in line or 'Traceback' in line for line in errors), errors
    assert all(is_gone(pid) for pid in programs)


@pytest.mark.long
def test_without_viser_one_line_says_what_to_install_and_the_arm_moves(demo, tmp_path):
    (tmp_path / 'sitecustomize.py').write_text('import sys; sys.modules["viser"] = None')
    # inside: there is one program less that starts by itself
    running = demo('--seconds', '0.5', '--inside')
    running.wait_for_line('the browser view needs viser, which is not installed. Install it by ')
    code, output, _ = running.end()
    assert code == 0 and output.startswith('two_link: ')


@pytest.mark.long
def test_a_signal_while_it_gets_ready_ends_it_at_once(demo):
    running = demo('--seconds', '60')
    # rclpy is there before the robot is
    wait_for(lambda: 'rclpy' in Path(f'/proc/{running.process.pid}/maps').read_text(), 'rclpy')
    began = time.monotonic()
    running.process.send_signal(signal.SIGINT)
    code, output, _ = running.end()
    assert code == 130 and output == '' and is_quick(time.monotonic() - began)


@pytest.mark.long
def test_a_signal_before_there_are_programs_ends_it_too(demo):
    running = demo('--json', '--seconds', '60')
    wait_for(lambda: children(running.process.pid), 'a program')
    running.process.send_signal(signal.SIGINT)
    code, _, errors = running.end()
    assert code == 130 and errors == []


@pytest.mark.long
def test_killing_the_demo_leaves_no_program_behind(demo):
    running = demo('--no-view')
    programs = running.wait_for_programs(2)
    running.process.kill()
    running.process.wait()
    wait_for(lambda: all(is_gone(pid) for pid in programs), 'their end')


def program(running, name):
    """Return the id of a program of a demo that has begun."""
    running.wait_for_line(LINE)
    return next(pid for pid in children(running.process.pid) if name in command_line(pid))


@pytest.mark.long
def test_a_simulation_that_hangs_ends_the_demo_with_one_line(demo, tmp_path):
    (tmp_path / 'sitecustomize.py').write_text(
        'import flex_robot_sim.demo.demo_session as session; session.FIGURES_TIMEOUT = 3.0'
    )
    running = demo('--json', '--seconds', '4')
    os.kill(program(running, b'dynamics'), signal.SIGSTOP)
    code, output, errors = running.end()
    assert code == 1 and output == ''
    assert re.fullmatch(
        r'flexsim demo: the dynamics sent no diagnostics for 3 s, the last ones '
        r'after [0-3]\.\d\d s of simulated time',
        errors[-1],
    )


@pytest.mark.long
def test_a_program_that_dies_ends_the_demo_with_one_line(demo):
    running = demo('--json')
    programs = running.wait_for_programs(2)
    victim = next(pid for pid in programs if b'dynamics' in command_line(pid))
    os.kill(victim, signal.SIGKILL)
    code, output, errors = running.end()
    assert code == 1 and output == ''
    assert errors == ['flexsim demo: dynamics was ended by SIGKILL']
    assert all(is_gone(pid) for pid in programs)


@pytest.mark.parametrize(
    'words, line',
    [
        (('--robot', 'no_such_robot'), 'no_such_robot'),
        (('--seconds', '0'), '--seconds must be above 0 and below 1e+09.'),
        (('--seconds', 'nan'), '--seconds must be above 0 and below 1e+09.'),
        (('--plot', 'run.txt'), 'run.txt: a figure ends in one of .png, .pdf, .svg'),
        (('--shaper', 'round'), 'invalid choice'),
        (('--plot', 'no_folder/run.png'), 'no_folder/run.png: cannot be written: No such file'),
    ],
    ids=str,
)
def test_a_useless_call_ends_with_one_line_and_code_2(flexsim, tmp_path, words, line):
    done = flexsim('demo', *words, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ''
    assert done.stderr.count('\n') == 1 and line in done.stderr


def test_a_robot_that_does_not_vibrate_needs_no_shaper(flexsim, tmp_path):
    (tmp_path / 'stiff.urdf').write_text(
        robot(joint('hinge', inside='<axis xyz="0 0 1"/>'), link('arm', 1.0, '0 0 0', (0.4,) * 3))
    )
    done = flexsim('demo', '--robot', 'stiff.urdf', '--shaper', 'zvd', cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ''
    assert done.stderr.count('\n') == 1
    assert 'vibrates in this pose: it needs no shaper' in done.stderr


@pytest.mark.long
def test_the_robots_of_a_space_station_move_without_gravity_or_not_at_all(demo):
    code, output, errors = demo(
        '--robot', 'canadarm2', '--seconds', '0.3', '--inside', '--json'
    ).end()
    assert 'do not carry its weight' in errors[0]
    assert code == 0 and json.loads(output)['steps'] > 0
