"""The bridge node: efforts in, joint states out, the same interface as the dynamics node."""

import gc

from rclpy.node import Node

from flex_robot_sim.description import read_urdf
from flex_robot_sim.jit.compiled import must_compile, why_compiling
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.nodes.bridge_diagnostics import BridgeDiagnostics
from flex_robot_sim.nodes.bridge_outputs import BridgeOutputs
from flex_robot_sim.nodes.bridge_services import BridgeServices
from flex_robot_sim.nodes.bridge_settings import (
    BRIDGE_SETTINGS,
    AccessSettings,
    BridgeOutputSettings,
)
from flex_robot_sim.nodes.settings import KNOWN_PARAMETERS
from flex_robot_sim.rig.bench.drives import DriveSettings
from flex_robot_sim.rig.board.emulator_process import EmulatorProcess
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, RigBridge, calibration_of
from flex_robot_sim.rig.bridge.experiment_log import ExperimentLog
from flex_robot_sim.rig.bridge.twin import TwinSettings
from flex_robot_sim.rig.estimation.estimator_settings import EstimatorSettings
from flex_robot_sim.rig.estimation.shape_filter import FilterSettings
from flex_robot_sim.rig.host.link import LinkSettings
from flex_robot_sim.ros.conversions import effort_command
from flex_robot_sim.ros.joint_state_reader import listen_to_joint_states
from flex_robot_sim.ros.message_limits import reserve_message_memory, subscribe_short
from flex_robot_sim.ros.node_parameters import Parameters
from flex_robot_sim.ros.node_settings import MessageSettings, RobotSettings
from flex_robot_sim.ros.reporting import carry_out
from flex_robot_sim.ros.robot_source import offer_description, when_arm_is_known
from flex_robot_sim.ros.topics import EFFORT_COMMANDS, EFFORT_TOPICS, JOINT_COMMANDS
from flex_robot_sim.util.exceptions import plain

EMULATOR = 'emulator'


class BridgeNode(Node):
    """Connects the bench to ROS."""

    # once the arm is known
    _bridge: RigBridge
    _outputs: BridgeOutputs

    def __init__(self) -> None:
        """Connect to the board; its motors stay off until `~/enable`."""
        super().__init__('bridge')
        self._log_file: ExperimentLog | None = None
        self._emulator: EmulatorProcess | None = None
        self.parameters = Parameters(self, *BRIDGE_SETTINGS, known=KNOWN_PARAMETERS)
        try:
            when_arm_is_known(self, self.parameters[RobotSettings], self._start)
        except BaseException:
            self.close()
            raise

    def _start(self, arm):
        """Connect to the bench with the ArmModel `arm`."""
        parameters, settings = self.parameters, self.parameters[BridgeSettings]
        if must_compile():
            self.get_logger().info(why_compiling())
        calibration = calibration_of(settings, arm)
        offer_description(self, parameters[RobotSettings], arm)
        self._outputs = BridgeOutputs(
            self,
            arm,
            calibration,
            parameters[BridgeOutputSettings],
            parameters[EstimatorSettings],
            parameters[FilterSettings],
            parameters[TwinSettings],
        )
        if settings.log_file:
            self._log_file = ExperimentLog(settings.log_file, arm, calibration)
        self._bridge = RigBridge(
            arm,
            calibration,
            self._port(),
            settings,
            parameters[LinkSettings],
            parameters[DriveSettings],
            parameters[EstimatorSettings],
            self._on_state,
        )
        self._service_set = BridgeServices(
            self, self._bridge, parameters[AccessSettings], parameters[MessageSettings]
        )
        self._diagnostics = BridgeDiagnostics(self, self._bridge, self._log_file, EFFORT_TOPICS)
        if parameters[TwinSettings].twin_robot:
            self._change_twin(parameters[TwinSettings].twin_robot)
        parameters.on_change(self._on_change)
        max_names = parameters[MessageSettings].max_names
        listen_to_joint_states(self, JOINT_COMMANDS, self._on_command, max_names)
        subscribe_short(self, EFFORT_COMMANDS, self._on_array, max_names)
        gc.collect()
        gc.freeze()  # a collection that walks all imported modules takes tens of milliseconds
        reserve_message_memory()
        self.get_logger().info(
            f'{plain(arm.description.name)} at {self._bridge.link.name}: '
            'disarmed, call ~/enable before commands can move it'
        )

    def _port(self):
        settings, robot = self.parameters[BridgeSettings], self.parameters[RobotSettings]
        if settings.serial_port != EMULATOR:
            return settings.serial_port
        # for a robot from xacro or a topic, the emulator uses the shipped bench
        plain = robot.robot if robot.robot and not robot.xacro_arguments else 'rig'
        self._emulator = emulator = EmulatorProcess(settings.emulator_faults, plain)
        return emulator.port

    def _on_state(self, state):
        self._outputs.send(state)
        if self._log_file is not None:
            self._log_file.put(state.reading)

    def _on_command(self, message):
        carry_out(self, lambda: self._bridge.command(*effort_command(message)[:2]))

    def _on_array(self, message):
        names = self._bridge.arm.joint_names
        carry_out(self, lambda: self._bridge.command(names, message.data))

    def _on_change(self, kind, settings):
        if kind is BridgeOutputSettings:
            self._outputs.change(settings)
        elif kind is TwinSettings:
            self._change_twin(settings.twin_robot)

    def _change_twin(self, name):
        robot = self.parameters[RobotSettings]
        # a file named by a caller is read as plain URDF, because xacro can execute code
        arm = self._bridge.arm
        if name:
            arm = build_arm(read_urdf(name), robot.coupling, robot.gravity or None)
        self._outputs.change_twin(arm)
        self.get_logger().info(f'the twin uses the parameters of {name or "the robot"}')

    def close(self) -> None:
        """Disarm, and close all components."""
        started = getattr(self, '_bridge', None), getattr(self, '_outputs', None)
        for component in (*started, self._log_file, self._emulator):
            if component is not None:
                component.close()
