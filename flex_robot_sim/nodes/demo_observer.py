"""The node that observes the arm of `flexsim demo` through its public topics."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import rclpy
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import SetBool, Trigger

from flex_robot_sim.demo.record import RunRecord
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.nodes.settings import OutputSettings
from flex_robot_sim.realtime.loop import FAILED
from flex_robot_sim.ros import services, topics
from flex_robot_sim.ros.conversions import SECOND, stamp_of, vector_of
from flex_robot_sim.ros.endpoints import make_client, subscribe
from flex_robot_sim.ros.joint_state_reader import listen_to_joint_states
from flex_robot_sim.ros.node_runner import make_executor, spin_once
from flex_robot_sim.ros.topics import topic_words
from flex_robot_sim.util.exceptions import CommandError

RETRY_PERIOD_S = 0.5  # time until a service without a response is called again
MAX_EXTRAPOLATION_S = 2.0  # extrapolated time after the newest diagnostics


@contextmanager
def demo_observer(arm: ArmModel, needs_commands: bool) -> Iterator[DemoObserver]:
    """Yield a DemoObserver for the block; signal handlers remain those of the caller."""
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    observer = None
    try:
        observer = DemoObserver(arm, needs_commands)
        yield observer
    finally:
        if observer is not None:
            observer.destroy_node()
        rclpy.try_shutdown()


class DemoObserver(Node):
    """Records the motion of an arm and the diagnostics of its nodes."""

    def __init__(self, arm: ArmModel, needs_commands: bool) -> None:
        """Make the node; `needs_commands`: the controller commands the arm by a topic."""
        super().__init__('demo')
        self._needs_commands = needs_commands
        self._arm = arm
        self.record = self._new_record()
        self.figures: dict[str, str] = {}  # of the newest diagnostics
        self.first_figures: dict[str, str] = {}  # at the start of the run
        self.shaper = ''  # status of the shaper from the diagnostics
        self._figures_received_at = 0.0  # arrival of the newest figures       [s]
        self._target = np.full(len(arm.joint_names), np.nan)
        self._is_driven = arm.actuated if arm.closed_loops else np.ones(self._target.size, bool)
        self._first_stamp: int | None = None  # of the run [ns]
        self._is_recording = False
        self._pause_client = make_client(self, services.PAUSE)
        self._reset_client = make_client(self, services.RESET)
        self._hold_client = make_client(self, services.HOLD)
        self._parameter_client = self.create_client(SetParameters, 'controller/set_parameters')
        listen_to_joint_states(self, topics.JOINT_STATES, self._on_joints)
        listen_to_joint_states(self, topics.TARGET, self._on_target)
        subscribe(self, topics.DIAGNOSTICS, self._on_diagnostics)
        for link, word in topic_words(arm.tips).items():
            subscribe(self, topics.TIP_DEFLECTION.with_word(word), partial(self._on_tip, link))
        self._executor = make_executor('auto')
        self._executor.add_node(self)

    def spin(self, seconds: float) -> None:
        """Process messages for a while [s]."""
        end = time.monotonic() + seconds
        while (remaining := end - time.monotonic()) > 0.0:
            spin_once(self._executor, remaining, self)

    def start_run(self, shaper: str = '') -> Iterator[None]:
        """
        Start a run from rest, once the controller answers the arm; iterate over it.

        The run gets a new record. DDS discovery takes a second or two, during which the arm would
        fall. So the simulation is paused and reset, and resumes when the controller holds the arm.

        :param shaper: set before the run; '': the present one.
        """
        self.record, self.first_figures, self._is_recording = self._new_record(), {}, False
        yield from self._call_until_answered(self._pause_client, SetBool.Request(data=True))
        yield from self._call_until_answered(self._reset_client, Trigger.Request())
        while (
            not self.is_paused
            or self._needs_commands
            and not int(self.figures['commands accepted'])
        ):
            yield
        yield from self._call_until_answered(self._hold_client, Trigger.Request())
        if shaper:
            yield from self._set_shaper(shaper)
        yield from self._call_until_answered(
            self._parameter_client,
            SetParameters.Request(
                parameters=[Parameter('profile', value='swing').to_parameter_msg()]
            ),
        )
        self.first_figures, self._first_stamp, self._is_recording = self.figures, None, True
        yield from self._call_until_answered(self._pause_client, SetBool.Request(data=False))
        while self.is_paused:
            yield

    def _set_shaper(self, shaper):
        """Set the shaper of the controller, and wait until it is computed."""
        answer = yield from self._call_until_answered(
            self._parameter_client,
            SetParameters.Request(
                parameters=[Parameter('shaper', value=shaper).to_parameter_msg()]
            ),
        )
        if not answer.results[0].successful:
            raise CommandError(
                f'the controller takes no shaper {shaper}: {answer.results[0].reason}'
            )
        self.shaper = ''
        while self.shaper != shaper:
            if ': ' in self.shaper:
                raise CommandError(self.shaper.partition(': ')[2])
            yield

    def _new_record(self):
        return RunRecord(self._arm.joint_names, self._arm.tips, OutputSettings().joint_state_rate)

    def _call_until_answered(self, client, request):
        """Call a service until it answers: early requests of a new client may get lost."""
        while not client.service_is_ready():
            yield
        is_answered = False
        while not is_answered:
            future, deadline = client.call_async(request), time.monotonic() + RETRY_PERIOD_S
            while time.monotonic() < deadline and not is_answered:
                yield
                is_answered = future.done()
            if not is_answered:
                client.remove_pending_request(future)
        return future.result()

    @property
    def has_begun(self) -> bool:
        """Whether a run has begun."""
        return bool(self.first_figures)

    @property
    def has_other_subscribers(self) -> bool:
        """Whether another node subscribes to joint states."""
        return self.count_subscribers(topics.JOINT_STATES.name) > 1

    @property
    def is_recorded(self) -> bool:
        """Whether a recorder subscribes to joint states."""
        return any(
            listener.node_name == '_recorder'
            for listener in self.get_subscriptions_info_by_topic(topics.JOINT_STATES.name)
        )

    @property
    def failure(self) -> str:
        """Reason why the simulation has stopped; '' while it runs."""
        if self.figures.get('state') == FAILED:
            return 'the simulation has stopped: its state is not finite any more'
        return ''

    @property
    def is_paused(self) -> bool:
        """Whether the simulation is paused, from the newest diagnostics."""
        return self.figures.get('state') == 'paused'

    @property
    def simulated_time(self) -> float:
        """Estimate of the simulated time since the beginning [s], exact while paused."""
        if self.is_paused:
            return self.known_time
        factor = float(self.figures['real-time factor'])
        return self.known_time + min(self.silence, MAX_EXTRAPOLATION_S) * min(
            1.0, factor if factor > 0.0 else 1.0
        )

    @property
    def known_time(self) -> float:
        """Simulated time from the beginning to the newest diagnostics [s]."""
        newest, first = (
            float(figures['simulated time [s]']) for figures in (self.figures, self.first_figures)
        )
        return newest - first

    @property
    def silence(self) -> float:
        """Wall time since the newest diagnostics [s]."""
        return time.monotonic() - self._figures_received_at

    def pause_run(self) -> Iterator[None]:
        """Pause simulation and recording; iterate over it until the last diagnostics arrive."""
        self._is_recording = False
        yield from self._call_until_answered(self._pause_client, SetBool.Request(data=True))
        while not self.is_paused:
            yield

    def resume_run(self) -> Iterator[None]:
        """Continue the run after `pause_run`; iterate over it."""
        self._is_recording = True
        yield from self._call_until_answered(self._pause_client, SetBool.Request(data=False))
        while self.is_paused:
            yield

    def _on_target(self, message):
        rows = [self._arm.idx_q[name] for name in message.name]
        self._target[rows] = message.position

    def _on_joints(self, message):
        if self._is_recording:
            position = np.array(message.position)
            self.record.add_joints(
                self._time_of(message.header),
                position,
                # passive joints have no target
                np.where(self._is_driven, self._target, position),
                np.array(message.effort),
            )

    def _on_tip(self, link, message):
        if self._is_recording:
            self.record.add_tip(
                self._time_of(message.header), link, np.array(vector_of(message.pose.position))
            )

    def _on_diagnostics(self, message):
        for status in message.status:
            if status.name.endswith('/dynamics: simulation'):
                self.figures = {item.key: item.value for item in status.values}
                self._figures_received_at = time.monotonic()
                if self.first_figures:
                    lateness = 1e-3 * float(self.figures['lateness, longest [ms]'])
                    self.record.worst_lateness = max(self.record.worst_lateness, lateness)
                delays = [
                    1e-3 * float(self.figures[f'state to command, {which} [ms]'])
                    for which in ('median', '99 %')
                ]
                if delays[0] == delays[0]:
                    self.record.add_delays(self._time_of(message.header), *delays)
            elif status.name.endswith('/controller: control'):
                self.shaper = {item.key: item.value for item in status.values}['shaper']

    def _time_of(self, header):
        """Time since the first stamp [s]."""
        stamp = stamp_of(header) or 0
        if self._first_stamp is None:
            self._first_stamp = stamp
        return (stamp - self._first_stamp) / SECOND
