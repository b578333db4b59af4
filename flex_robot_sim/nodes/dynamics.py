"""The dynamics node: efforts in, joint states out, in real time."""

from collections.abc import Callable

from rclpy.node import Node

import flex_robot_sim as frs
from flex_robot_sim.jit.compiled import must_compile, why_compiling
from flex_robot_sim.motion.limits import command_limits
from flex_robot_sim.nodes.base_motion_inbox import BaseMotionInbox
from flex_robot_sim.nodes.dynamics_diagnostics import DynamicsDiagnostics
from flex_robot_sim.nodes.dynamics_outputs import DynamicsOutputs
from flex_robot_sim.nodes.push_inbox import PushInbox
from flex_robot_sim.nodes.settings import DYNAMICS_SETTINGS, KNOWN_PARAMETERS, OutputSettings
from flex_robot_sim.nodes.simulation_interfaces import offer_simulation_interfaces
from flex_robot_sim.realtime.loop import SimulationLoop
from flex_robot_sim.realtime.loop_settings import LoopSettings, PayloadSettings
from flex_robot_sim.ros import services
from flex_robot_sim.ros.conversions import effort_command
from flex_robot_sim.ros.endpoints import offer
from flex_robot_sim.ros.joint_state_reader import listen_to_joint_states
from flex_robot_sim.ros.message_limits import reserve_message_memory, subscribe_short
from flex_robot_sim.ros.node_parameters import Parameters
from flex_robot_sim.ros.node_settings import MessageSettings, RobotSettings
from flex_robot_sim.ros.reporting import carry_out
from flex_robot_sim.ros.robot_source import offer_description, when_arm_is_known
from flex_robot_sim.ros.topics import EFFORT_COMMANDS, EFFORT_TOPICS, JOINT_COMMANDS
from flex_robot_sim.util.exceptions import plain
from flex_robot_sim.util.settings import SimulationSettings

AttachController = Callable[[SimulationLoop, Callable[[frs.Simulation], int]], object]


class DynamicsNode(Node):
    """Simulates an arm in real time."""

    loop: SimulationLoop  # once the arm is known

    def __init__(self, attach_controller: AttachController | None = None) -> None:
        """
        Load the robot and start the simulation.

        :param attach_controller: called with the SimulationLoop before it starts, and with a
            function that returns the stamps of its states; it replaces the command topics.
        """
        super().__init__('dynamics')
        self._attach_controller = attach_controller
        if must_compile():
            self.get_logger().info(why_compiling())
        self.parameters = Parameters(self, *DYNAMICS_SETTINGS, known=KNOWN_PARAMETERS)
        when_arm_is_known(self, self.parameters[RobotSettings], self._start)

    def _start(self, arm):
        """Simulate `arm`."""
        parameters = self.parameters
        simulation = frs.Simulation(arm, parameters[SimulationSettings])
        loop = SimulationLoop(simulation, parameters[LoopSettings], command_limits(arm))
        loop.warm_up()
        loop.set_payload(parameters[PayloadSettings])
        offer_description(self, parameters[RobotSettings], arm)
        self._outputs = DynamicsOutputs(self, loop, parameters[OutputSettings])
        self._commands = []
        self._offer_services(loop)
        offer_simulation_interfaces(self, loop, self._process_commands)
        self._diagnostics = DynamicsDiagnostics(
            self, loop, () if self._attach_controller else EFFORT_TOPICS
        )
        parameters.on_change(self._on_change)
        self._pushes = PushInbox(self, loop)
        if arm.description.base_motion is not None:
            self._base_motion = BaseMotionInbox(self, loop)
        self.loop = loop
        if self._attach_controller:
            self._attach_controller(loop, self._outputs.stamp)
        else:
            max_names = parameters[MessageSettings].max_names
            self._commands = [
                listen_to_joint_states(self, JOINT_COMMANDS, self._on_command, max_names),
                subscribe_short(self, EFFORT_COMMANDS, self._on_array, max_names),
            ]
            reserve_message_memory()
        loop.start()
        self.get_logger().info(
            f'{plain(arm.description.name)}: {len(arm.joint_names)} joints, '
            f'{arm.size} coordinates, {loop.settings.pacing}'
        )

    def _offer_services(self, loop):
        def execute(action, poll=None):
            loop.call(action, poll=poll)
            return f'{loop.state} at {loop.simulation.time:.6g} s'

        offer(self, services.RESET, lambda: execute(loop.reset))
        offer(self, services.STEP, lambda: execute(loop.step, self._process_commands))
        offer(
            self,
            services.PAUSE,
            lambda is_paused: execute(loop.pause if is_paused else loop.resume),
        )

    def _process_commands(self):
        """Process queued commands while a service blocks the executor."""
        for subscription in self._commands:
            with subscription.handle:
                received = subscription.handle.take_message(
                    subscription.msg_type, subscription.raw
                )
            if received is not None:
                subscription.callback(received[0])

    def _on_command(self, message):
        carry_out(self, lambda: self.loop.command(*effort_command(message)))

    def _on_array(self, message):
        names = self.loop.simulation.arm.joint_names
        carry_out(self, lambda: self.loop.command(names, message.data))

    def _on_change(self, kind, settings):
        if kind is LoopSettings:
            self.loop.call(lambda: self.loop.change(settings))
        elif kind is PayloadSettings:
            self.loop.call(lambda: self.loop.set_payload(settings))
        elif kind is OutputSettings:
            self.loop.call(lambda: self._outputs.change(settings))

    def close(self) -> None:
        """Stop the simulation."""
        if hasattr(self, 'loop'):
            self.loop.stop()
