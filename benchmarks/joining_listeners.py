"""
Whether listeners that join and leave delay the simulation or the control of the arm.

`python -m benchmarks.joining_listeners` (with rclpy; `--plain` starts the nodes as ROS would, with
shared memory and sockets that are open to the network; `--idle` leaves the processors alone)

An arm and its controller run as processes, while every processor is busy. Listeners with the
settings of ROS start as separate processes. Each joins, receives a joint state and ends; every
other one ends without notice. A control process measures the effect of the scheduler alone: it has
the same priority, and sleeps until each deadline of 1 ms.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
from typing import NamedTuple

from flex_robot_sim.realtime.loop_settings import LoopSettings
from flex_robot_sim.realtime.pacing import Pacer
from flex_robot_sim.realtime.priority import use_realtime_priority
from flex_robot_sim.ros.network import choose_domain, prepare_network
from flex_robot_sim.util.share import share_folder

PATIENCE = 60.0  # for the start of the nodes, and for a listener                  [s]
ORDINARY = '-p', 'thread_priority:=0', '-p', 'realtime_priority:=0'
SETTLE = 1.2  # longer than diagnostics cover: listeners do not cause the start  [s]


class System(NamedTuple):
    """System under test next to the controller, and the figures that measure it."""

    program: str
    settings: tuple  # of ROS
    status: str  # in /diagnostics
    worst: str  # of a second [ms]
    counts: tuple  # since the start


SYSTEMS = {
    'simulation': System(
        'dynamics',
        ('-p', 'robot:=two_link', '-p', 'wait_for_command:=true'),
        '/dynamics: simulation',
        'lateness, longest [ms]',
        ('deadlines missed by 5 ms', 'time dropped [s]', 'commands timed out'),
    ),
    'bench': System(
        'bridge',
        ('--params-file', str(share_folder() / 'config/rig.yaml'), '-p', 'robot:=rig'),
        '/bridge: rig',
        'dealing with a reading, longest [ms]',
        ('frames lost', 'commands timed out'),
    ),
}


def busy(begin, stop, seconds):
    """Keep a processor busy once the listeners begin, for so many seconds at most."""
    end = time.monotonic() + seconds
    while not stop.is_set() and time.monotonic() < end:
        begin.wait(0.1)
        for _ in range(100_000):
            pass


def control(stop, worst, is_ordinary):
    """Sleep until one deadline after the other, as the simulation does; note how late it was."""
    settings = LoopSettings()
    if not is_ordinary:
        use_realtime_priority(settings.realtime_priority)
    pacer = Pacer(settings.period)
    pacer.restart(time.monotonic())
    while not stop.is_set():
        time.sleep(max(0.0, pacer.deadline - time.monotonic()))
        worst.value = max(worst.value, pacer.lateness(time.monotonic()))
        pacer.count()


def come_and_go(count, together, ready, begin, heard):
    """Start and stop listeners, some together; count those that have received a joint state."""
    import rclpy  # noqa: F401  once for all of them: it takes longer than to join
    from sensor_msgs.msg import JointState  # noqa: F401

    context = multiprocessing.get_context('fork')
    ready.set()
    begin.wait()
    for first in range(0, count, together):
        listeners = [
            context.Process(target=listen, args=(number % 2 == 0, heard))
            for number in range(first, min(first + together, count))
        ]
        for listener in listeners:
            listener.start()
        for listener in listeners:
            listener.join()


def listen(says_goodbye, heard):
    """Join as a listener, hear one joint state and leave."""
    import rclpy
    from sensor_msgs.msg import JointState

    rclpy.init()
    node = rclpy.create_node(f'listener_{os.getpid()}')
    states: list[JointState] = []
    node.create_subscription(JointState, 'joint_states', states.append, 10)
    end = time.monotonic() + PATIENCE
    while not states and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    with heard.get_lock():
        heard.value += bool(states)
    if says_goodbye:
        node.destroy_node()
        rclpy.shutdown()
    os._exit(0)


class Watcher:
    """Figures of a System, by its diagnostics."""

    def __init__(self, system):
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray

        rclpy.init()
        self.worst, self.figures, self._system = 0.0, {}, system
        self.told_at = 0.0  # when the figures were sent                              [s]
        self._node, self._spin_once = rclpy.create_node('watcher'), rclpy.spin_once
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._on_figures, 10)

    def spin(self, seconds, until=lambda: False):
        """Listen for a while [s], or until a condition is true; return whether it is."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            self._spin_once(self._node, timeout_sec=0.1)
        return until()

    def _on_figures(self, message):
        for status in message.status:
            if status.name == self._system.status:
                stamp = message.header.stamp
                self.told_at = stamp.sec + 1e-9 * stamp.nanosec
                self.figures = {item.key: item.value for item in status.values}
                self.worst = max(self.worst, float(self.figures[self._system.worst]))

    def now(self):
        """Return the counts as they are now."""
        return {name: float(self.figures[name]) for name in self._system.counts}

    def commands(self):
        """Return how many commands have been accepted."""
        return int(self.figures.get('commands accepted', 0))

    def arm(self):
        """Enable the motors of the bench."""
        from std_srvs.srv import SetBool, Trigger

        for kind, name in ((Trigger, 'zero'), (SetBool, 'enable')):
            client = self._node.create_client(kind, f'bridge/{name}')
            request = SetBool.Request(data=True) if kind is SetBool else Trigger.Request()
            if not self.spin(PATIENCE, client.service_is_ready):
                sys.exit(f'no service {name}')
            future = client.call_async(request)
            if not self.spin(PATIENCE, future.done) or not future.result().success:
                sys.exit(f'{name}: {future.result()}')
            self.spin(0.5)  # the controller reads the present position of the bench


def environment_of_nodes(is_plain):
    """Environment of the nodes: that of our programs, or one that leaves the defaults of ROS."""
    environment = dict(os.environ)
    if is_plain:
        environment.update(ROS_STATIC_PEERS='127.0.0.1', FASTDDS_BUILTIN_TRANSPORTS='DEFAULT')
    else:
        prepare_network(environment)
    return environment


def run(count, together=4, what='simulation', is_plain=False, is_ordinary=False, is_idle=False):
    """Start and stop listeners while one of SYSTEMS is held; return figures."""
    system = SYSTEMS[what]
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    choose_domain()
    spawn = multiprocessing.get_context('spawn')
    stop, ready, begin, over = (spawn.Event() for _ in range(4))
    heard, worst = spawn.Value('i', 0), spawn.Value('d', 0.0)
    nursery = spawn.Process(target=come_and_go, args=(count, together, ready, begin, heard))
    others = [spawn.Process(target=control, args=(stop, worst, is_ordinary))]
    others += [
        spawn.Process(target=busy, args=(begin, over, 2 * PATIENCE + count))
        for _ in range(0 if is_idle else os.cpu_count() or 1)
    ]
    nodes = []
    try:
        for name in ('controller', system.program):
            nodes.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        '-m',
                        'flex_robot_sim.nodes',
                        name,
                        '--ros-args',
                        *system.settings,
                        *ORDINARY * is_ordinary,
                        '--log-level',
                        'warn',
                    ],
                    env=environment_of_nodes(is_plain),
                )
            )
        watcher = Watcher(system)
        if not watcher.spin(PATIENCE, lambda: watcher.commands() > 100):
            sys.exit('the arm is not commanded')
        if what == 'bench':
            watcher.arm()
        for process in (nursery, *others):
            process.start()
        watcher.spin(PATIENCE, ready.is_set)
        watcher.spin(SETTLE)
        before, watcher.worst, worst.value = watcher.now(), 0.0, 0.0
        began = time.monotonic()
        begin.set()
        watcher.spin(PATIENCE + count, lambda: not nursery.is_alive())
        seconds, end = time.monotonic() - began, time.time()
        over.set()
        watcher.spin(PATIENCE, lambda: watcher.told_at > end)  # by the last diagnostics
        return {
            'listeners': count,
            'that heard the arm': heard.value,
            'seconds': round(seconds, 1),
            system.worst: round(watcher.worst, 2),
            'control [ms]': round(1e3 * worst.value, 2),
            **{name: value - before[name] for name, value in watcher.now().items()},
            **(
                {name: watcher.figures.get(name) for name in ('board', 'faults')}
                if what == 'bench'
                else {}
            ),
        }
    finally:
        stop.set()
        over.set()
        for process in others:
            if process.pid is not None:
                process.join(5.0)
                process.kill()
        if nursery.pid is not None:
            nursery.kill()
        for node in nodes:
            node.terminate()
        for node in nodes:
            node.wait(10.0)


def main():
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--listeners', type=int, default=200, metavar='N')
    parser.add_argument('--together', type=int, default=4, metavar='N')
    parser.add_argument('--what', choices=sorted(SYSTEMS), default='simulation')
    parser.add_argument('--plain', action='store_true', help='the transports of ROS')
    parser.add_argument('--ordinary', action='store_true', help='without real-time priority')
    parser.add_argument('--idle', action='store_true', help='nothing else keeps the processors')
    words = parser.parse_args()
    print(
        json.dumps(
            run(
                words.listeners,
                words.together,
                words.what,
                words.plain,
                words.ordinary,
                words.idle,
            ),
            indent=2,
        )
    )


if __name__ == '__main__':
    main()
