"""The controller node, separate or inside the process of the dynamics."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.drive_servo import pass_to_drives
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.control.servo import CONTINUOUS, servo_line
from flex_robot_sim.feedback.feedback_design import DEFAULT_STATE_PERIOD_S
from flex_robot_sim.feedback.feedback_settings import FeedbackSettings
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.nodes.controller_designs import FeedbackDesigns, ShaperDesigns
from flex_robot_sim.nodes.controller_diagnostics import ControllerDiagnostics
from flex_robot_sim.nodes.settings import CONTROLLER_SETTINGS, KNOWN_PARAMETERS
from flex_robot_sim.nodes.trajectory_inbox import TrajectoryInbox
from flex_robot_sim.realtime.loop import SimulationLoop
from flex_robot_sim.realtime.loop_settings import PayloadSettings, payload_of
from flex_robot_sim.realtime.rate_gate import RateGate
from flex_robot_sim.ros import services, topics
from flex_robot_sim.ros.conversions import SECOND, JointStateBuffer, reference_of, stamp_of
from flex_robot_sim.ros.endpoints import advertise, make_timer, offer
from flex_robot_sim.ros.joint_motor_pairing import JointMotorPairing, strain_values
from flex_robot_sim.ros.joint_state_reader import listen_to_joint_states
from flex_robot_sim.ros.message_limits import reserve_message_memory
from flex_robot_sim.ros.node_parameters import Parameters
from flex_robot_sim.ros.node_settings import MessageSettings, RobotSettings
from flex_robot_sim.ros.reporting import carry_out, refuse
from flex_robot_sim.ros.robot_source import when_arm_is_known
from flex_robot_sim.shaping.impulses import ShapingSettings
from flex_robot_sim.simulation.loop_timing import LoopTiming, one_period_late
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import CommandError, FlexRobotSimError

WATCHDOG_PERIOD_S = 0.02  # period of checks of the age of the newest state
TARGET_RATE_HZ = 50.0  # of ~/target
OFFSET_TOLERANCE_S = 0.01  # change of the offset between the times of stamps and simulation


class ControllerNode(Node):
    """Controls an arm: joint states in, efforts out."""

    controller: JointController  # once the arm is known

    def __init__(self, is_inside: bool = False) -> None:
        """Wait for joint states or, `is_inside` the process of the dynamics, for `attach`."""
        super().__init__('controller')
        self._call_in_loop: Callable[[Callable[[], Any]], Any] = lambda action: action()
        self._is_in_drives = False  # whether the drives apply the position and velocity gains
        self._offset = 0.0  # time of stamps minus that of the controller         [s]
        kinds = [
            kind for kind in CONTROLLER_SETTINGS if kind is not RobotSettings or not is_inside
        ]
        self.parameters = Parameters(self, *kinds, known=KNOWN_PARAMETERS)
        if not is_inside:
            when_arm_is_known(self, self.parameters[RobotSettings], self._listen)

    def attach(self, loop: SimulationLoop, stamp: Callable[[Simulation], int]) -> None:
        """Control the arm of a loop in its thread; stamp(simulation) returns stamps [ns]."""
        self._call_in_loop, self._simulation, self._stamp = loop.call, loop.simulation, stamp
        self._stamp_offset()
        settings = self.parameters[ControllerSettings]
        self._is_in_drives = settings.servo == 'drives' and settings.feedback == 'motor'
        # the controller answers each state at once
        self._prepare(loop.simulation.arm, LoopTiming(loop.period, 0.0))
        # drives close their loop inside the simulation, by the exact positions
        self._encoders = None if self._is_in_drives else loop.encoders
        loop.controller = self.effort

    def effort(self, simulation: Simulation) -> np.ndarray:
        """Efforts (joints,) for the present state of a Simulation [N m, N]."""
        controller = self.controller
        if controller.feedback.needs_strain:
            controller.feedback.receive_strain(self._gauges @ simulation.q)
        if self._encoders is None:
            joints = (
                simulation.position,
                simulation.velocity,
                simulation.motor_position,
                simulation.motor_velocity,
            )
        else:
            joints = self._encoders.joints(simulation)
        efforts = controller.update(simulation.time, *joints)
        self._send_target(simulation.time, round((simulation.time + self._offset) * SECOND))
        return pass_to_drives(controller, simulation, efforts) if self._is_in_drives else efforts

    def _listen(self, arm):
        """Control `arm` (ArmModel) through topics."""
        if self.parameters[ControllerSettings].servo == 'drives':
            self.get_logger().warning(
                'servo: drives only works inside the process of the '
                'dynamics: give use_controller:=inside'
            )
        self._prepare(arm)
        self._command = JointStateBuffer(arm.description.actuated_joint_names, ('effort',))
        self._command_publisher = advertise(self, topics.JOINT_COMMANDS)
        self._pairing = JointMotorPairing(
            arm, self.parameters[ControllerSettings].feedback == 'motor'
        )
        self._last_state_at = time.monotonic()
        listen_to_joint_states(
            self, topics.JOINT_STATES, partial(self._control, self._pairing.take_joints)
        )
        if self._pairing.need_motors:
            listen_to_joint_states(
                self, topics.MOTOR_STATES, partial(self._control, self._pairing.take_motors)
            )
        if flex_sensors(arm).names:
            self._strain = strain_values(arm)
            listen_to_joint_states(self, topics.STRAIN, self._on_strain)
        make_timer(self, WATCHDOG_PERIOD_S, self._check_state_age)

    def _prepare(self, arm, sampling=None):
        self.controller = JointController(
            arm,
            self.parameters[ControllerSettings],
            self.parameters[ProfileSettings],
            CONTINUOUS if self._is_in_drives else sampling,
        )
        if self.parameters[ControllerSettings].has_default_gains:
            self.get_logger().info(
                servo_line(
                    arm, self.controller.servo, self.parameters[ControllerSettings].damping_ratio
                )
            )
        payload = payload_of(self.parameters[PayloadSettings])
        if payload is not None:
            self.controller.use_model(self.controller.build_model(payload))
        self._gauges = flex_sensors(arm).matrix
        self._now, self._target_rate_gate = 0.0, RateGate(TARGET_RATE_HZ)
        self._driven = np.flatnonzero(arm.actuated)  # passive joints have no commands and targets
        self._target = JointStateBuffer(
            arm.description.actuated_joint_names, ('position', 'velocity')
        )
        self._target_publisher = advertise(self, topics.TARGET.private)
        limits = self.parameters[MessageSettings]
        listen_to_joint_states(
            self, topics.REFERENCE.private, self._on_reference, limits.max_names
        )
        self._trajectories = TrajectoryInbox(
            self, self.controller, limits, self._stamp_offset if sampling else None
        )
        offer(self, services.HOLD, lambda: self._call_in_loop(self._hold))
        self.parameters.on_change(self._on_change)
        self._shaper = ShaperDesigns(
            self,
            self.controller,
            self.parameters[ShapingSettings],
            sampling.period if sampling else self.parameters[ControllerSettings].state_period,
            self._call_in_loop,
        )
        self._feedback = FeedbackDesigns(
            self,
            self.controller,
            self.parameters[FeedbackSettings],
            lambda: (
                sampling
                or one_period_late(
                    self.parameters[ControllerSettings].state_period or DEFAULT_STATE_PERIOD_S
                )
            ),
            self._call_in_loop,
        )
        self._diagnostics = ControllerDiagnostics(
            self,
            self.controller,
            self._call_in_loop,
            self._shaper,
            self._feedback,
            () if sampling else (topics.JOINT_STATES,),
        )
        reserve_message_memory()  # last, because later allocations may use a part

    def _on_strain(self, message):
        try:
            self.controller.feedback.receive_strain(self._strain.read(message))
        except FlexRobotSimError as error:
            refuse(self, error)

    def _control(self, take, message):
        """Send efforts for a state, if this message completes it."""
        try:
            if not take(message):
                return
        except FlexRobotSimError as error:
            self.controller.refused += 1
            refuse(self, error)
            return
        self._last_state_at, stamp = time.monotonic(), stamp_of(message.header)
        if stamp is None:
            stamp = self.get_clock().now().nanoseconds
        self._now = stamp / SECOND
        pairing = self._pairing
        self._send(
            stamp,
            self.controller.update(
                self._now,
                pairing.position,
                pairing.velocity,
                pairing.motor_position,
                pairing.motor_velocity,
                pairing.is_prescribed,
            ),
        )
        self._send_target(self._now, stamp)

    def _stamp_offset(self):
        """Return the time of stamps minus that of the simulation inside this process [s]."""
        offset = self._stamp(self._simulation) / SECOND - self._simulation.time
        if abs(offset - self._offset) > OFFSET_TOLERANCE_S:
            self._offset = offset  # the simulation was paused, or slower than the clock
        return self._offset

    def _check_state_age(self):
        """Send zero efforts when states no longer arrive."""
        was_live = self.controller.effort.any()
        silence = time.monotonic() - self._last_state_at
        if self.controller.is_stale(self._now + silence) and was_live:
            self._send(round(self._now * SECOND), self.controller.effort)

    def _send(self, stamp, efforts):
        self._command_publisher.publish(self._command.fill(stamp, efforts[self._driven]))

    def _send_target(self, now, stamp):
        if self._target_rate_gate.is_due(now):
            self._target_publisher.publish(
                self._target.fill(
                    stamp,
                    self.controller.target[self._driven],
                    self.controller.target_velocity[self._driven],
                )
            )

    def _on_reference(self, message):
        carry_out(
            self,
            lambda: self._call_in_loop(
                lambda: self.controller.set_target(**reference_of(message))
            ),
        )

    def _hold(self):
        if not self.controller.is_live:
            raise CommandError('no joint states arrive: the position of the arm is unknown')
        self.controller.hold()
        return 'the arm is held where it is'

    def _on_change(self, kind, settings):
        if kind is ControllerSettings:
            self.controller.fit(settings)  # slow, so not in the thread of the loop
            self._call_in_loop(lambda: self.controller.change(settings))
        elif kind is ShapingSettings:
            self._shaper.refuse(settings)
            self._shaper.change(settings)
        elif kind is FeedbackSettings:
            self._feedback.refuse(settings)
            self._feedback.change(settings)
        elif kind is PayloadSettings:
            model = self.controller.build_model(payload_of(settings))  # slow, too
            self._call_in_loop(lambda: self.controller.use_model(model))
        elif kind is ProfileSettings:
            self._call_in_loop(
                lambda: self.controller.run_profile(settings, self.controller.newest)
            )
