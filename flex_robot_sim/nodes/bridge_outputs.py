"""
Publishers of the bridge node.

The thread that reads the port publishes joint states with each reading. A second thread estimates
the bent link from all readings, because a filter that builds a new model takes longer than a
period. The twin has a third thread. Unknown values are not published: neither old values nor nan.
"""

import time
from functools import partial

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.node import Node

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.display.description import undeformed_tip
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.nodes.arm_outputs import ArmOutputs, PosePublisher
from flex_robot_sim.nodes.bridge_settings import BridgeOutputSettings
from flex_robot_sim.nodes.display_outputs import DisplayOutputs
from flex_robot_sim.rig.bridge.batches import Batches
from flex_robot_sim.rig.bridge.bridge import RigState
from flex_robot_sim.rig.bridge.twin import Twin, TwinSettings
from flex_robot_sim.rig.calibration.calibration import Calibration
from flex_robot_sim.rig.estimation.estimator_settings import EstimatorSettings
from flex_robot_sim.rig.estimation.shape_filter import FilterSettings
from flex_robot_sim.rig.estimation.shape_tracker import ShapeTracker
from flex_robot_sim.rig.wire.vocabulary import State
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.conversions import (
    SECOND,
    JointStateBuffer,
    set_quaternion,
    set_stamp,
    set_vector,
)
from flex_robot_sim.ros.endpoints import advertise
from flex_robot_sim.ros.topics import topic_words
from flex_robot_sim.spatial.turns import quaternion, quaternion_about
from flex_robot_sim.util.exceptions import SettingError

UNKNOWN_VARIANCE = 1e6  # of quantities without a sensor [m2, rad2]


class BridgeOutputs:
    """Publishers of the bridge node, driven by the states of its RigBridge."""

    def __init__(
        self,
        node: Node,
        arm: ArmModel,
        calibration: Calibration,
        settings: BridgeOutputSettings,
        estimator_settings: EstimatorSettings,
        filter_settings: FilterSettings,
        twin_settings: TwinSettings,
    ) -> None:
        self._arm, self._stamp = arm, 0
        self._arm_outputs = ArmOutputs(node, arm)
        self.shapes = ShapeTracker(arm, calibration, estimator_settings, filter_settings)
        self._tip = _Tip(node, arm, self.shapes.link)
        tool = arm.tool
        self._tool, self._posture = arm.frames[tool], Posture(arm)
        self._tool_pose = PosePublisher(node, topics.TOOL_POSE, arm.description.links[0].name)
        self._display, self._epoch = DisplayOutputs(node, arm, tool, settings), 0
        self._twin_batches: Batches | None = None
        self.twin: Twin | None = None
        if twin_settings.twin:
            self.twin = twin = Twin(arm, calibration, self.shapes.link, twin_settings)
            self._residual = _Residual(node, arm, self.shapes)
            self._twin_batches = Batches(
                'twin', 1.0 / twin_settings.twin_rate, partial(self._update_twin, twin)
            )
        self._shape_batches = Batches('shape', 1.0 / settings.flex_rate, self._estimate)

    def change(self, settings: BridgeOutputSettings) -> None:
        """Apply BridgeOutputSettings whose live fields have changed."""
        self._display.change(settings)

    def change_twin(self, arm: ArmModel) -> None:
        """Give the twin the parameters of another ArmModel; SettingError if they do not fit."""
        if self.twin is None:
            raise SettingError('twin_robot: no twin runs. Start the bridge with twin:=true')
        self.twin.offer(arm)

    def send(self, state: RigState) -> None:
        """Send a RigState; the thread that reads the port calls this."""
        # the bench runs in wall time, so the clock of the node would return the same
        age = time.monotonic() - state.reading.stamp
        # the clock synchronisation improves over time, but stamps must increase
        self._stamp = max(self._stamp + 1, time.time_ns() - round(age * SECOND))
        if not state.is_first:
            self._arm_outputs.send_joints(
                self._stamp,
                np.array(state.position),
                np.array(state.velocity),
                np.array(state.effort),
                state.reading.message.state == State.ARMED,
            )
        self._shape_batches.put((self._stamp, state))

    def close(self) -> None:
        """Stop the threads."""
        self._shape_batches.close()
        if self._twin_batches is not None:
            self._twin_batches.close()

    def _estimate(self, batch):
        for stamp, state in batch:
            self._epoch += state.is_first  # clears the path of the tool
            self.shapes.take(state)
            if self._twin_batches is not None:
                self._twin_batches.put((stamp, state, self.shapes.link_state))
        shape = self.shapes.link_state
        if shape.is_known:
            q = np.concatenate([state.position, shape.elastic])
            qd = np.concatenate([state.velocity, shape.elastic_rate])
            self._arm_outputs.send_flex(stamp, q, qd, (shape.curvature, shape.curvature_rate))
            self._tip.send(stamp, q, shape.tip_deviation)
            self._send_tool(stamp, q)
            self._display.show(stamp, q, self._epoch)

    def _send_tool(self, stamp, q):
        if self._tool_pose.has_subscribers():
            self._posture.take(q)
            R, p = self._posture.frame(self._tool)
            self._tool_pose.send(stamp, p, quaternion(R))

    def _update_twin(self, twin, batch):
        for _, state, shape in batch[:-1]:
            twin.take(state, shape, False)
        stamp, state, shape = batch[-1]
        residual = twin.take(state, shape)
        if residual is not None:
            self._residual.send(stamp, residual)


class _Tip:
    """Publisher of the tip deflection with its covariance."""

    def __init__(self, node, arm, link):
        self._arm, self._link = arm, link
        self._message = PoseWithCovarianceStamped()
        self._message.header.frame_id = undeformed_tip(link)
        self._publisher = advertise(
            node, topics.TIP_COVARIANCE.with_word(topic_words(arm.tips)[link])
        )

    def send(self, stamp, q, std):
        if not self._publisher.get_subscription_count():
            return
        pose, deflection = self._message.pose, tip_deflection(self._arm, self._link, q)
        set_stamp(self._message.header.stamp, stamp)
        set_vector(pose.pose.position, deflection[:3])
        set_quaternion(pose.pose.orientation, quaternion_about(deflection[3:]))
        variance = np.full(6, UNKNOWN_VARIANCE)
        variance[:3] = np.where(np.isfinite(std) & (std > 0), std**2, UNKNOWN_VARIANCE)
        pose.covariance = np.diag(variance).ravel()
        self._publisher.publish(self._message)


class _Residual:
    """Publishers of the difference between bench and twin, and of the joints of the twin."""

    def __init__(self, node, arm, shapes):
        self._residual = JointStateBuffer(
            [*arm.joint_names, *shapes.sensors, f'{shapes.link}/tip_deflection'], ('position',)
        )
        self._residual_publisher = advertise(node, topics.TWIN_RESIDUAL)
        self._joints = JointStateBuffer(arm.joint_names, ('position',))
        self._joint_publisher = advertise(node, topics.TWIN_JOINT_STATES)

    def send(self, stamp, residual):
        values = np.concatenate([residual.position, residual.curvature, [residual.tip]])
        if np.isfinite(values).all():
            self._residual_publisher.publish(self._residual.fill(stamp, values))
        self._joint_publisher.publish(self._joints.fill(stamp, residual.twin_position))
