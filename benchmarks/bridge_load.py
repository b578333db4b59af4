"""
CPU load and latency of the bridge, with an emulated bench in a separate process.

`python -m benchmarks.bridge_load` (with rclpy; `--seconds 60` for the figures of the documents)

Telemetry arrives at 500 Hz. First the board is disarmed, then another node commands efforts at
200 Hz. The latency, by the stamps, is the time from the reading of the encoders to the arrival of
joint_states.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

import flex_robot_sim as frs
from flex_robot_sim.ros.conversions import JointStateBuffer, stamp_of
from flex_robot_sim.ros.node_runner import make_executor

COMMAND_RATE = 200.0  # [Hz]
EFFORTS = 1.0, 0.01  # of slide and turn [N, N m]
PATIENCE = 60.0  # for the start of the bridge [s]


class Stranger:
    """A node that listens to the bridge and commands it."""

    def __init__(self):
        self.node = rclpy.create_node('stranger')
        self._executor = make_executor()
        self._executor.add_node(self.node)
        self.latencies, self.figures = [], {}
        names = frs.load('rig').joint_names
        self._command = JointStateBuffer(names, ('effort',))
        self._publisher = self.node.create_publisher(JointState, 'joint_commands', 10)
        self.node.create_subscription(JointState, 'joint_states', self._on_joints, 10)
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_figures, 10)

    def call(self, kind, name, request):
        """Call a service of the bridge; end the program if it refuses."""
        client = self.node.create_client(kind, f'bridge/{name}')
        self.spin_until(client.service_is_ready)
        future = client.call_async(request)
        self.spin_until(future.done)
        if not future.result().success:
            sys.exit(f'{name}: {future.result().message}')

    def spin_until(self, condition):
        """Process messages until a condition is true."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                sys.exit('the bridge does not answer')
            self._executor.spin_once(timeout_sec=0.1)

    def spin(self, seconds, is_commanding):
        """Process messages for a while [s], and send commands."""
        begun = due = time.monotonic()
        while (now := time.monotonic()) < begun + seconds:
            if is_commanding and now >= due:
                due += 1.0 / COMMAND_RATE
                self._publisher.publish(self._command.fill(time.time_ns(), EFFORTS))
            self._executor.spin_once(timeout_sec=max(0.0, due - now) if is_commanding else 0.01)

    def _on_joints(self, message):
        stamp = stamp_of(message.header)
        assert stamp is not None
        self.latencies.append(1e-6 * (time.time_ns() - stamp))

    def _on_figures(self, message):
        if message.status[0].name == '/bridge: rig':
            self.figures = {item.key: item.value for item in message.status[0].values}


def processor_time(process):
    """Time that a process has used, with all its threads [s]."""
    fields = Path(f'/proc/{process.pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def measure(stranger, process, seconds, is_commanding):
    """Figures of one interval."""
    stranger.latencies.clear()
    used, begun = processor_time(process), time.monotonic()
    stranger.spin(seconds, is_commanding)
    span, latencies = time.monotonic() - begun, sorted(stranger.latencies)
    return {
        'core_percent': round(100 * (processor_time(process) - used) / span, 1),
        'joint_states_hz': round(len(latencies) / span, 1),
        'latency_ms_median': round(statistics.median(latencies), 3),
        'latency_ms_p99': round(latencies[int(0.99 * len(latencies))], 3),
    }


def run(seconds):
    """Figures of a bridge, disarmed and armed for `seconds` each."""
    words = [
        sys.executable,
        '-m',
        'flex_robot_sim.nodes',
        'bridge',
        '--ros-args',
        '-p',
        'robot:=rig',
        '--log-level',
        'warn',
    ]
    with subprocess.Popen(words) as process:
        rclpy.init()
        try:
            stranger = Stranger()
            stranger.spin_until(lambda: len(stranger.latencies) > 100)
            result = {'disarmed': measure(stranger, process, seconds, False)}
            stranger.call(Trigger, 'zero', Trigger.Request())
            stranger.call(SetBool, 'enable', SetBool.Request(data=True))
            stranger.spin(0.5, True)  # states pause while the counts get another origin
            result['armed'] = measure(stranger, process, seconds, True)
            stranger.figures = {}
            stranger.spin_until(lambda: stranger.figures)
            return {
                **result,
                'frames_lost': int(stranger.figures['frames lost']),
                'crc_errors': int(stranger.figures['CRC errors']),
            }
        finally:
            process.terminate()
            rclpy.try_shutdown()


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description='load and latency of the bridge')
    parser.add_argument('--seconds', type=float, default=10.0, help='of each stretch')
    print(json.dumps(run(parser.parse_args().seconds), indent=2))
