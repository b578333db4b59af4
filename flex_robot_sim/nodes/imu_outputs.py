"""
Publishers of the IMUs of a simulated arm.

An IMU without subscribers is not sampled. The thread of the simulation samples the others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import Imu

from flex_robot_sim.analysis.imu_kinematics import imu_mounts
from flex_robot_sim.realtime.loop import SimulationLoop
from flex_robot_sim.recording.messages import NO_ESTIMATE
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.conversions import set_stamp, set_vector
from flex_robot_sim.ros.endpoints import advertise
from flex_robot_sim.ros.topics import topic_words
from flex_robot_sim.simulation.imu_sensor import ImuSensor
from flex_robot_sim.simulation.simulation import Simulation


class ImuOutput:
    """Publisher of one IMU, driven by a SimulationLoop."""

    def __init__(
        self,
        node: Node,
        loop: SimulationLoop,
        stamp: Callable[[Simulation], int],
        place: tuple[str, str],
        seed: int,
    ) -> None:
        """
        Start to publish at the rate of the IMU.

        :param stamp: returns the stamp of the present state of a Simulation [ns].
        :param place: name of the IMU, and its word in the topic.
        """
        name, word = place
        simulation, self._stamp = loop.simulation, stamp
        output = loop.add_output(imu_mounts(simulation.arm)[name].imu.rate, self._send)
        steps = round(output.every * loop.period / simulation.settings.time_step)
        self._sensor = ImuSensor(simulation, name, seed=seed, steps_per_sample=steps)
        self._sensor.sample(simulation)  # loads or compiles the machine code
        self._message = Imu()
        self._message.header.frame_id = self._sensor.frame
        self._message.orientation_covariance[0] = NO_ESTIMATE
        gyroscope, accelerometer = self._sensor.variances
        self._message.angular_velocity_covariance = (gyroscope * np.eye(3)).ravel()
        self._message.linear_acceleration_covariance = (accelerometer * np.eye(3)).ravel()
        self._publisher = advertise(node, topics.IMU.with_word(word))

    def _send(self, simulation, _effort):
        if self._publisher.get_subscription_count() == 0:
            return
        sample, message = self._sensor.sample(simulation), self._message
        set_stamp(message.header.stamp, self._stamp(simulation))
        set_vector(message.angular_velocity, sample.angular_velocity)
        set_vector(message.linear_acceleration, sample.linear_acceleration)
        self._publisher.publish(message)


def publish_imus(
    node: Node, loop: SimulationLoop, stamp: Callable[[Simulation], int], seed: int
) -> None:
    """Publish all IMUs of the arm of a loop; see ImuOutput."""
    for place in topic_words(imu_mounts(loop.simulation.arm)).items():
        ImuOutput(node, loop, stamp, place, seed)
