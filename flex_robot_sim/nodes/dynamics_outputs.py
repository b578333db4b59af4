"""
Publishers of the dynamics node.

The thread of the simulation publishes states right after each period. Drawing takes longer than a
period, so a timer of the node draws from a copy of the state.
"""

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage

from flex_robot_sim.display.base_frames import base_frames, is_base_shown, root_frame
from flex_robot_sim.nodes.arm_outputs import ArmOutputs, PosePublisher
from flex_robot_sim.nodes.display_outputs import DisplayOutputs
from flex_robot_sim.nodes.imu_outputs import publish_imus
from flex_robot_sim.nodes.settings import OutputSettings
from flex_robot_sim.realtime.loop import SimulationLoop
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.conversions import SECOND, set_quaternion, set_stamp, set_vector
from flex_robot_sim.ros.endpoints import advertise
from flex_robot_sim.ros.topics import topic_words
from flex_robot_sim.simulation.encoders import Encoders
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.spatial.turns import quaternion
from flex_robot_sim.util.exceptions import SettingError


class DynamicsOutputs:
    """Publishers of the dynamics node, driven by its SimulationLoop."""

    def __init__(self, node: Node, loop: SimulationLoop, settings: OutputSettings) -> None:
        arm = loop.simulation.arm
        self._loop, self._node_clock = loop, node.get_clock()
        self._uses_simulated_time = settings.publish_clock or loop.is_lockstep
        self._arm_outputs = ArmOutputs(node, arm)
        self._tool = arm.tool
        self._tool_pose = PosePublisher(node, topics.TOOL_POSE, root_frame(arm.description))
        self._base = _Base(node, arm) if is_base_shown(arm.description) else None
        self._wrenches = [
            *_joint_wrenches(node, arm, settings.wrench_joints),
            *_constraint_forces(node, arm),
            *_contacts(node, arm),
        ]
        self._use_encoders(settings.sensor_seed)
        publish_imus(node, loop, self.stamp, settings.sensor_seed)
        self._joint_output = loop.add_output(
            settings.joint_state_rate, self._send_joints, is_answered=True
        )
        self._flex_output = loop.add_output(settings.flex_rate, self._send_flex)
        if settings.publish_clock:
            self._clock_message = ClockMessage()
            self._clock_publisher = advertise(node, topics.CLOCK)
            loop.add_output(settings.clock_rate, self._send_clock)
        self._display = DisplayOutputs(node, arm, self._tool, settings)
        self._display_output = loop.add_output(settings.display_rate, self._show)

    def _use_encoders(self, seed):
        """Let the loop measure joints by the encoders of the arm, if it has any."""
        loop = self._loop
        encoders = Encoders(loop.simulation, seed=seed)
        if encoders.is_exact:
            return
        loop.encoders = encoders
        if encoders.has_delay:
            loop.add_output(1.0 / loop.period, lambda simulation, _: encoders.observe(simulation))

    def change(self, settings: OutputSettings) -> None:
        """Apply OutputSettings whose live fields have changed."""
        self._joint_output.set_rate(settings.joint_state_rate)
        self._flex_output.set_rate(settings.flex_rate)
        self._display_output.set_rate(settings.display_rate)
        self._display.change(settings)

    def stamp(self, simulation: Simulation) -> int:
        """Return the stamp of messages about the present state of a Simulation [ns]."""
        if self._uses_simulated_time:
            return max(1, round(simulation.time * SECOND))  # zero means no stamp
        return self._node_clock.now().nanoseconds

    def _send_joints(self, simulation, effort):
        stamp = self.stamp(simulation)
        self._loop.note_sent(stamp)
        encoders = self._loop.encoders
        q, v = (simulation.q, simulation.v) if encoders is None else encoders.sample(simulation)
        self._arm_outputs.send_joints(stamp, q, v, effort)

    def _send_flex(self, simulation, _effort):
        stamp = self.stamp(simulation)
        self._arm_outputs.send_flex(stamp, simulation.q, simulation.v)
        if self._tool_pose.has_subscribers():
            T = simulation.pose(self._tool)
            self._tool_pose.send(stamp, T[:3, 3], quaternion(T[:3, :3]))
        if self._base is not None:
            self._base.send(stamp, simulation)
        for wrench in self._wrenches:
            wrench.send(stamp, simulation)

    def _show(self, simulation, _effort):
        base_pose = simulation.base_pose if self._base is not None else None
        wrenches = {}
        if self._display.has_marker_subscribers():
            names = simulation.arm.contacts
            wrenches = {name: simulation.contact(name).wrench for name in names}
        self._display.show(
            self.stamp(simulation), simulation.q, self._loop.resets, base_pose, wrenches
        )

    def _send_clock(self, simulation, _effort):
        set_stamp(self._clock_message.clock, round(simulation.time * SECOND))
        self._clock_publisher.publish(self._clock_message)


def _joint_wrenches(node, arm, joints):
    """Publishers of the wrenches that joints transmit."""
    for joint, word in topic_words(joints).items():
        if joint not in arm.carried_bodies:
            raise SettingError(
                f'wrench_joints: no joint "{joint}" carries a body. Known: '
                f'{", ".join(arm.carried_bodies)}'
            )
        yield _Wrench(
            node,
            topics.JOINT_WRENCH.with_word(word),
            arm.description.joint(joint).child,
            lambda simulation, joint=joint: simulation.wrench(joint),
        )


def _constraint_forces(node, arm):
    """Publishers of the forces of closed loops."""
    names = [one.name for one in arm.description.constraints]
    for name, word in topic_words(names).items():
        yield _Wrench(
            node,
            topics.CONSTRAINT_FORCE.with_word(word),
            arm.closed_loops[name].constraint.child,
            lambda simulation, name=name: simulation.constraint_force(name),
            is_on_demand=True,
        )


class _Base:
    """Publisher of the pose and twist of a free or moved base."""

    def __init__(self, node, arm):
        self._message, frames = Odometry(), base_frames(arm.description)
        self._message.header.frame_id, self._message.child_frame_id = frames
        self._publisher = advertise(node, topics.BASE_ODOMETRY)

    def send(self, stamp, simulation):
        if not self._publisher.get_subscription_count():
            return
        pose, twist = self._message.pose.pose, self._message.twist.twist
        base_pose, base_twist = simulation.base_pose, simulation.base_twist
        set_stamp(self._message.header.stamp, stamp)
        set_vector(pose.position, base_pose[:3])
        set_quaternion(pose.orientation, base_pose[3:])
        set_vector(twist.angular, base_twist[:3])
        set_vector(twist.linear, base_twist[3:])
        self._publisher.publish(self._message)


def _contacts(node, arm):
    """Publishers of the forces of contacts."""
    for name, word in topic_words(arm.contacts).items():
        yield _Wrench(
            node,
            topics.CONTACT.with_word(word),
            arm.description.contact(name).link,
            lambda simulation, name=name: simulation.contact(name).wrench,
            is_on_demand=True,
        )


class _Wrench:
    """Publisher of a wrench in the frame of a link."""

    def __init__(self, node, topic, link, query, is_on_demand=False):
        self._query, self._is_on_demand = query, is_on_demand
        self._message = WrenchStamped()
        self._message.header.frame_id = link
        self._publisher = advertise(node, topic)

    def send(self, stamp, simulation):
        if self._is_on_demand and not self._publisher.get_subscription_count():
            return
        wrench = self._query(simulation)
        set_stamp(self._message.header.stamp, stamp)
        set_vector(self._message.wrench.torque, wrench[:3])
        set_vector(self._message.wrench.force, wrench[3:])
        self._publisher.publish(self._message)
