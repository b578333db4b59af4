"""Recording of a simulation, with the topics of the dynamics node."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.imu_kinematics import imu_mounts
from flex_robot_sim.display.base_frames import base_frames
from flex_robot_sim.display.description import undeformed_tip
from flex_robot_sim.model.described_text import described_text, reduced_files
from flex_robot_sim.recording.mcap_file import RecordingWriter
from flex_robot_sim.recording.messages import (
    SECOND,
    TEXTS,
    imu,
    joint_state,
    odometry,
    pose,
    text,
    wrench,
)
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.state_rows import flex_rows, joint_rows
from flex_robot_sim.ros.topics import Topic, topic_words
from flex_robot_sim.spatial.turns import quaternion, quaternion_about

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.simulation.imu_sensor import ImuSample, ImuSensor
    from flex_robot_sim.simulation.simulation import Simulation

REDUCED_FILES = 'reduced files'  # name of the metadata with their SHA-256 by link
MEAN_EFFORTS = 'means around each state'  # value of the metadata `efforts`


class SimulationRecording:
    """Records the states of a Simulation, stamped with simulated time."""

    def __init__(self, path: str | Path, arm: ArmModel, is_settled: bool = False) -> None:
        """Begin the file, or raise UsageError; `is_settled`: efforts are means, see `settle`."""
        description = described_text(arm)
        self._writer = RecordingWriter(
            path,
            {**about(arm), **({'efforts': MEAN_EFFORTS} if is_settled else {})},
            is_atomic=True,
        )
        if reduced_files(arm):
            self._writer.note(REDUCED_FILES, reduced_files(arm))
        self._arm, self._sensors, self._tool = arm, flex_sensors(arm), arm.tool
        self._motor_joints = np.array([arm.idx_q[name] for name in arm.motor_names], int)
        self._motors = arm.motor_q[self._motor_joints]
        self._rows, self._flex_rows = joint_rows(arm), flex_rows(arm)
        self._joint_names = arm.description.urdf_joint_names
        self._topic_words = topic_words(arm.tips)
        self._constraint_words = topic_words(one.name for one in arm.description.constraints)
        self._contact_words = topic_words(arm.contacts)
        self._imu_words = topic_words(imu_mounts(arm))
        self._pending: list[tuple[Topic, int, bytes | Callable[[np.ndarray], bytes]]] = []
        self._effort = np.zeros(len(arm.joint_names))
        self._send(topics.ROBOT_DESCRIPTION, 0, text(description))

    def note(self, node: str, parameters: Mapping[str, Any]) -> None:
        """Add the parameters that a node would have in the same run."""
        self._writer.note(
            f'parameters /{node}',
            {name: json.dumps(np.asarray(value).tolist()) for name, value in parameters.items()},
        )

    def add(
        self,
        simulation: Simulation,
        target: np.ndarray | None = None,
        measured: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """
        Add a state, with present efforts unless `settle` follows.

        :param target: positions and velocities (2, joints).
        :param measured: coordinates (nq,) and rates (nv,) by the encoders; default: exact.
        """
        self.settle()
        arm, stamp = self._arm, _stamp(simulation.time)
        q, qd = simulation.q.copy(), simulation.v.copy()
        by_encoders, rates_by_encoders = (q, qd) if measured is None else measured
        self._effort = simulation.applied_effort
        self._queue(
            topics.JOINT_STATES,
            stamp,
            lambda effort: joint_state(
                stamp,
                self._joint_names,
                by_encoders[self._rows],
                rates_by_encoders[self._rows],
                effort[self._rows],
            ),
        )
        if target is not None:
            of_joints = (values[self._rows] for values in target)
            self._queue(topics.TARGET, stamp, joint_state(stamp, self._joint_names, *of_joints))
        if self._motor_joints.size:
            self._queue(
                topics.MOTOR_STATES,
                stamp,
                lambda effort: joint_state(
                    stamp,
                    arm.motor_names,
                    by_encoders[self._motors],
                    rates_by_encoders[self._motors],
                    effort[self._motor_joints],
                ),
            )
        if self._flex_rows.size:
            names = [arm.coordinate_names[k] for k in self._flex_rows]
            self._queue(
                topics.FLEX_STATES,
                stamp,
                joint_state(stamp, names, q[self._flex_rows], qd[self._flex_rows]),
            )
        if self._sensors.names:
            matrix = self._sensors.matrix
            self._queue(
                topics.STRAIN,
                stamp,
                joint_state(stamp, self._sensors.names, matrix @ q, matrix @ qd),
            )
        for link, tip in simulation.deflection.items():
            self._queue(
                topics.TIP_DEFLECTION.with_word(self._topic_words[link]),
                stamp,
                pose(stamp, undeformed_tip(link), tip[:3], quaternion_about(tip[3:])),
            )
        for name, word in self._constraint_words.items():
            child = arm.closed_loops[name].constraint.child
            force = simulation.constraint_force(name)
            self._queue(
                topics.CONSTRAINT_FORCE.with_word(word), stamp, wrench(stamp, child, force)
            )
        if arm.has_free_base or simulation.is_base_moved:
            self._queue(
                topics.BASE_ODOMETRY,
                stamp,
                odometry(
                    stamp,
                    base_frames(arm.description),
                    simulation.base_pose,
                    simulation.base_twist,
                ),
            )
        for name, word in self._contact_words.items():
            link, force = arm.description.contact(name).link, simulation.contact(name).wrench
            self._queue(topics.CONTACT.with_word(word), stamp, wrench(stamp, link, force))
        T = simulation.pose(self._tool)
        tool_frame = arm.description.links[0].name
        if simulation.is_base_moved:
            tool_frame = base_frames(arm.description)[0]
        self._queue(
            topics.TOOL_POSE, stamp, pose(stamp, tool_frame, T[:3, 3], quaternion(T[:3, :3]))
        )

    def add_imu(self, sensor: ImuSensor, sample: ImuSample) -> None:
        """Add a sample of an IMU, which follows the state added last."""
        stamp = _stamp(sample.time)
        self._queue(
            topics.IMU.with_word(self._imu_words[sensor.name]),
            stamp,
            imu(
                stamp,
                sensor.frame,
                sample.angular_velocity,
                sample.linear_acceleration,
                sensor.variances,
            ),
        )

    def settle(self, effort: np.ndarray | None = None) -> None:
        """Write the state added last, with mean efforts (joints,) [N m, N] or those of `add`."""
        pending, self._pending = self._pending, []
        for topic, stamp, data in pending:
            self._send(
                topic,
                stamp,
                data(self._effort if effort is None else effort) if callable(data) else data,
            )

    def close(self) -> None:
        """End the file; UsageError if it could not be written."""
        self.settle()
        self._writer.close()

    def _queue(self, topic, stamp, data):
        self._pending.append((topic, stamp, data))

    def _send(self, topic, stamp, data):
        writer = self._writer
        writer.write(
            writer.topic(
                f'/{topic.name}', topic.kind, TEXTS[topic.kind], topic.quality.is_latched
            ),
            stamp,
            data,
        )


def _stamp(time):
    """Stamp of a simulated time [ns]; zero means no stamp."""
    return max(1, round(time * SECOND))


def about(arm: ArmModel) -> dict[str, str]:
    """Return metadata about the arm that its description does not contain."""
    return {
        'robot': arm.description.name,
        'coupling': arm.coupling,
        'gravity': ' '.join(f'{value:.9g}' for value in -arm.arrays.base_acceleration[3:]),
    }
