"""hil.launch.py in ROS's own launch: an emulated bench that is driven, lost, and let go of."""

import math
import os
import signal

import launch_pytest
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from launch import LaunchDescription
from launch_processes import included
from launch_pytest.actions import ReadyToTest
from ros_observer import figures
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

import flex_robot_sim as frs
from flex_robot_sim.analysis.joint_space_inertia import joint_space_inertia
from flex_robot_sim.cli import main
from flex_robot_sim.model.friction import static_frictions
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.wire.vocabulary import Fault, State
from flex_robot_sim.util.share import share_folder

NAME = 'hil.launch.py'
DRIVEN = ['slide', 'turn']
TARGET = [0.165, 0.25]
# for a busy machine, and with a log
BENCH = """
/**/bridge:
  ros__parameters:
    telemetry_rate: 250
    validity: 100
    stale_after: 0.5
    command_timeout: 1.0
    estimator: kalman
    log_file: {log}
/**/controller:
  ros__parameters:
    damping_ratio: 1.0
    bandwidth: 1.5
    state_timeout: 1.0
"""


@pytest.fixture
def log(tmp_path):
    return tmp_path / 'run.csv'


@pytest.fixture
def settings(tmp_path, log):
    file = tmp_path / 'bench.yaml'
    file.write_text(BENCH.format(log=log))
    return file


@launch_pytest.fixture
def system(settings):
    return LaunchDescription(
        [
            included(NAME, namespace='lab', twin='true', params_file=settings, use_rviz='false'),
            ReadyToTest(),
        ]
    )


def board_of(emulator):
    """State and faults of the board, and whether it moves."""
    return emulator.call(lambda rig: (rig.board.state, rig.board.faults, rig.board.is_moving))


class Bench:
    """The bench as a person with a terminal has it."""

    def __init__(self, observer, namespace=''):
        """Talk to the nodes of a namespace."""
        self._observer, self.namespace = observer, namespace

    def call(self, service):
        """Call a service without arguments."""
        return self._observer.call(Trigger, f'{self.namespace}/{service}')

    def enable(self, is_on=True):
        """Arm or disarm, whatever comes of it."""
        return self._observer.call(
            SetBool, f'{self.namespace}/bridge/enable', SetBool.Request(data=is_on)
        )

    def set_off(self):
        """Arm, and return when both joints are on their way to a place far off."""
        assert self.call('bridge/zero').success
        self.enable_at_rest()
        self.hear_of_control()
        self.go_to([0.25, 1.0])
        self.hear_state(lambda state: state.velocity[0] > 0.01 and state.velocity[1] > 0.1)

    def enable_at_rest(self):
        """Let the controller hold the arm where it is, and arm; return the answer."""
        answers = []

        def is_armed():
            # the controller may not have heard of the arm, or of its new origin, yet
            if self.call('controller/hold').success:
                answers.append(self.enable())
            return answers and answers[-1].success

        self._observer.spin_until(is_armed, what='arming')
        return answers[-1].message

    def go_to(self, target):
        """Send the controller to a target."""
        self._observer.publisher(JointState, f'{self.namespace}/controller/reference').publish(
            JointState(name=DRIVEN, position=target)
        )

    def hear_state(self, condition):
        """Return the first joint state that fits."""
        return self._observer.hear(JointState, f'{self.namespace}/joint_states', condition)

    def hear_of_control(self):
        """Return when the controller moves the arm; it refuses targets before."""
        self._observer.hear(
            DiagnosticArray,
            '/diagnostics',
            lambda message: any(
                status.name.startswith(f'{self.namespace}/controller')
                and status.message
                not in ('no joint states: efforts are zero', 'the arm ignores efforts now')
                for status in message.status
            ),
        )

    def hear_of(self, line):
        """Return the first DiagnosticArray of the bridge that says so."""
        return self._observer.hear(
            DiagnosticArray,
            '/diagnostics',
            lambda message: (
                message.status[0].message == line
                and message.status[0].name == f'{self.namespace}/bridge: rig'
            ),
        )


@pytest.mark.launch(fixture=system)
def test_the_controller_moves_the_bench_to_a_target_up_to_its_friction(
    system, observer, log, capsys
):
    bench = Bench(observer, '/lab')
    bench.hear_of('disarmed and not homed: call zero, then enable to arm')
    answer = bench.enable()
    assert answer.success and 'Not homed: slide and turn' in answer.message
    bench.hear_of('armed, not homed: slide and turn. Disarm and call zero')
    assert bench.enable(False).success
    assert bench.call('bridge/zero').success
    assert bench.enable_at_rest() == 'armed: commands move the motors'
    bench.hear_of('armed')
    bench.go_to(TARGET)
    residuals = observer.listen(JointState, '/lab/twin/residual')
    moving = observer.listen(JointState, '/lab/joint_states')
    observer.spin_until(lambda: moving and moving[-1].velocity[1] > 0.1, what='motion')
    # the joints rest where stiffness times error falls short of Coulomb friction
    arm, parts = frs.load('rig'), BenchParts()
    stiffness = joint_space_inertia(arm).largest * (2 * math.pi * 1.5) ** 2
    friction = static_frictions(arm.arrays.friction)[:2]
    bounds = friction / stiffness + (0.0, 1.0 / parts.counts_per_radian)

    def has_arrived():
        last = moving[-100:]
        return len(moving) > 500 and all(
            abs(state.velocity[0]) < 1e-3 and abs(state.velocity[1]) < 1e-2 for state in last
        )

    observer.spin_until(has_arrived, what='rest')
    for place, target, bound in zip(moving[-1].position, TARGET, bounds):
        assert abs(place - target) < bound
    assert list(residuals[-1].name)[:2] == DRIVEN
    assert bench.enable(False).success
    status = bench.hear_of('disarmed: call enable to arm')
    assert figures(status)['inputs'] == 'slide_homed turn_homed'
    # the log may be read while it grows
    assert main(['rig', 'compare', str(log)]) == 0
    assert 'with the motors on' in capsys.readouterr().out


def test_ctrl_c_in_motion_disarms_the_board_and_ends_everything(
    launch, observer, emulator, settings, patient_board
):
    process = launch(NAME, serial_port=emulator.link, params_file=settings)
    bench = Bench(observer)
    bench.set_off()
    process.interrupt()
    assert process.wait() == 0 and not process.count('Traceback')
    for program in ('bridge-1', 'controller-2'):
        assert process.count(f'[{program}]: process has finished cleanly') == 1
    # the board reads its last frame, and stops its motors, a moment later
    end = (State.DISARMED, 0, False)
    observer.spin_until(lambda: board_of(emulator) == end, what='a disarmed board at rest')


def test_killed_bridge_ends_the_launch_with_code_1_and_the_watchdog_stops_the_board(
    launch, observer, emulator, settings, patient_board
):
    process = launch(NAME, serial_port=emulator.link, params_file=settings)
    bench = Bench(observer)
    bench.set_off()
    patient_board.undo()
    os.kill(process.process_id('bridge'), signal.SIGKILL)
    assert process.wait() == 1
    assert process.count('bridge-1 has failed, and without it the others are of no use') == 1
    assert process.count('[controller-2]: process has finished cleanly') == 1
    end = (State.FAULT, Fault.WATCHDOG, False)
    observer.spin_until(lambda: board_of(emulator) == end, what='the watchdog of the board')


def test_unplugged_bench_comes_back_disarmed_and_goes_on_when_it_is_enabled(
    launch, observer, emulator, settings
):
    process = launch(NAME, serial_port=emulator.link, params_file=settings)
    bench = Bench(observer)
    assert bench.call('bridge/zero').success
    bench.enable_at_rest()
    emulator.inject('unplug=1')
    process.wait_for_line('link: the port is gone; looking for it; nothing is sent meanwhile')
    process.wait_for_line('link: connected')
    # the watchdog has latched
    assert bench.call('bridge/clear').success
    bench.hear_of('disarmed: call enable to arm')
    bench.enable_at_rest()
    bench.hear_of_control()
    bench.go_to(TARGET)
    bench.hear_state(lambda state: state.velocity[0] > 0.01)


@pytest.mark.parametrize(
    'arguments, line',
    [
        ({'serial_port': '/dev/no_such_port'}, 'bridge: /dev/no_such_port: there is no such port'),
        ({'robot': 'two_link'}, 'is no bench: it needs a prismatic joint, then a revolute one'),
        ({'robot': 'no_such_robot'}, 'no_such_robot'),
        ({'params_file': 'no_such.yaml'}, 'params_file = "no_such.yaml" is no file'),
        ({'baud': 'fast'}, "baud = 'fast' must be a number: baud rate of the port [baud]"),
        ({'twin': 'maybe'}, 'Argument "twin" provided value "maybe" is not valid'),
    ],
    ids=str,
)
def test_a_wrong_argument_ends_the_launch_with_a_line(launched, arguments, line):
    code, said = launched(NAME, **arguments)
    assert code == 1 and line in said and 'Traceback' not in said


def test_bench_with_a_flexible_joint_ends_the_launch_with_the_reason(launched, tmp_path):
    file = tmp_path / 'bench.urdf'
    file.write_text(
        (share_folder() / 'urdf' / 'rig.urdf')
        .read_text('utf-8')
        .replace('<joint name="turn" rotor', '<joint name="turn" stiffness="40" rotor'),
        'utf-8',
    )
    code, said = launched(NAME, robot=file)
    assert code == 1 and 'Traceback' not in said
    assert 'is no bench: joint "turn" is flexible' in said
