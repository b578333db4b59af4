"""
CPU load of the browser view: share of a core that its server takes, and its effect on the loop.

`python -m benchmarks.view_load` (with rclpy and viser; `--seconds 60` for the figures of the
documents)

Dynamics, controller and view are separate processes, as in the demo, and the arm swings all the
time. Clients in place of browsers receive all data of the server and draw nothing, because drawing
on the same machine would be measured, too. Without a client the view still updates its scene.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import time
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray

import flex_robot_sim as frs
from benchmarks.bridge_load import processor_time
from flex_robot_sim.demo.swing import fitting_swing
from flex_robot_sim.ros.network import choose_domain, prepare_network
from flex_robot_sim.ros.node_runner import make_executor
from flex_robot_sim.system.processes import CONTROLLER, VIEW, command, simulation_system

PATIENCE = 120.0  # for the start of the programs                                      [s]
SETTLE = 3.0  # after which the initial data has been sent                    [s]
MISSED = 'deadlines missed by 5 ms'
BROWSER = """
import asyncio, sys, importlib.metadata, urllib.request, websockets
async def take(address):
    with urllib.request.urlopen(address) as page:
        cookie = page.headers['Set-Cookie'].partition(';')[0]
    site = address.partition('/?')[0]
    # as the page of viser introduces itself
    word = 'viser-v' + importlib.metadata.version('viser')
    async with websockets.connect(site.replace('http', 'ws'), origin=site, subprotocols=[word],
                                  additional_headers={'Cookie': cookie}, max_size=None) as socket:
        count = 0
        async for message in socket:
            count += 1
            if count == 3:
                print('taken', flush=True)
asyncio.run(take(sys.argv[1]))
"""


class Listener:
    """A node that receives the diagnostics of the dynamics."""

    def __init__(self):
        self.node = rclpy.create_node('stranger')
        self.figures = {}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_figures, 10)
        self._executor = make_executor()
        self._executor.add_node(self.node)

    def spin(self, seconds, until=lambda: False):
        """Process messages for a while [s], or until a condition is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            self._executor.spin_once(timeout_sec=0.1)
        return until()

    def count(self):
        """Number of missed steps so far, from the next diagnostics."""
        self.figures = {}
        if not self.spin(PATIENCE, lambda: MISSED in self.figures):
            sys.exit('the dynamics say nothing')
        return int(self.figures[MISSED])

    def _on_figures(self, message):
        for status in message.status:
            if status.name == '/dynamics: simulation':
                self.figures = {item.key: item.value for item in status.values}


@contextlib.contextmanager
def running(words, **options):
    """Run a program for the time of a block."""
    with subprocess.Popen(words, **options) as process:
        try:
            yield process
        finally:
            process.terminate()


def measure(robot, seconds, counts):
    """Return {browsers: figures} of a robot that swings."""
    swing = {**fitting_swing(frs.load(robot)).parameters, 'profile': 'swing'}
    programs = simulation_system(
        robot,
        display=False,
        view=True,
        log_level='error',
        settings={CONTROLLER: swing, VIEW: {'view_browser': False}},
    )
    found = {}
    with contextlib.ExitStack() as stack:
        processes = {
            program.executable: stack.enter_context(
                running(
                    command(program),
                    text=True,
                    stderr=subprocess.PIPE if program.executable == VIEW else None,
                )
            )
            for program in programs
        }
        listener = Listener()
        browsers: list[Any] = []
        address = _address_of(processes[VIEW])
        for count in counts:
            while len(browsers) < count:
                browsers.append(
                    stack.enter_context(
                        running([sys.executable, '-c', BROWSER, address], stdout=subprocess.PIPE)
                    )
                )
                browsers[-1].stdout.readline()  # it is being served
            listener.spin(min(SETTLE, seconds))
            missed = listener.count()
            used, begun = processor_time(processes[VIEW]), time.monotonic()
            listener.spin(seconds)
            span = time.monotonic() - begun
            found[count] = {
                'core_percent': round(100 * (processor_time(processes[VIEW]) - used) / span, 1),
                'missed': listener.count() - missed,
            }
        listener.node.destroy_node()
    return found


def _address_of(process):
    """Return the address of the page with its token, as the view prints it."""
    for line in process.stderr:
        if '?token=' in line:
            return line.split()[-1]
    sys.exit('the view does not print an address')


def as_text(found):
    """Yield (what, figures) of {robot: {browsers: figures}}."""
    for robot, counts in found.items():
        for count, figures in counts.items():
            yield (
                f'{robot}, browsers: {count}',
                f'{figures["core_percent"]:.1f} % of a core, {figures["missed"]} steps missed',
            )


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description='load of the browser view')
    parser.add_argument('--seconds', type=float, default=10.0, help='of each stretch')
    parser.add_argument('--robots', nargs='+', default=['single_link', 'two_link'])
    parser.add_argument('--browsers', nargs='+', type=int, default=[0, 1, 3])
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    prepare_network()
    choose_domain()
    rclpy.init()
    try:
        result = {
            robot: measure(robot, arguments.seconds, arguments.browsers)
            for robot in arguments.robots
        }
    finally:
        rclpy.try_shutdown()
    print(
        json.dumps(result, indent=2)
        if arguments.json
        else '\n'.join(f'{what:30} {figures}' for what, figures in as_text(result))
    )
