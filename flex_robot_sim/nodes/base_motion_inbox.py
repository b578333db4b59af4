"""Motion of the base from messages; the base stops if its sender stops sending."""

import numpy as np
from rclpy.node import Node

from flex_robot_sim.display.base_frames import base_frames
from flex_robot_sim.realtime.base_stream import BaseStream
from flex_robot_sim.realtime.loop import SimulationLoop
from flex_robot_sim.ros.conversions import pose_of, stamp_of, vector_of
from flex_robot_sim.ros.endpoints import make_timer
from flex_robot_sim.ros.message_limits import subscribe_short
from flex_robot_sim.ros.reporting import RepeatFilter, carry_out, log
from flex_robot_sim.ros.topics import BASE_MOTION
from flex_robot_sim.util.exceptions import CommandError, FlexRobotSimError, plain

CHECK_PERIOD_S = 0.1  # period of checks whether messages still arrive


class BaseMotionInbox:
    """Subscription of `base_motion`."""

    def __init__(self, node: Node, loop: SimulationLoop) -> None:
        self._node, self._loop = node, loop
        self._stream, self._repeats = BaseStream(loop.simulation), RepeatFilter()
        self._frames = base_frames(loop.simulation.arm.description)
        self._is_refused = False  # the last message
        subscribe_short(node, BASE_MOTION, self._on_motion)
        make_timer(node, CHECK_PERIOD_S, self._note_end)

    def _on_motion(self, message):
        twist = message.twist.twist
        pose, stamp = pose_of(message.pose.pose), stamp_of(message.header) or 0
        rates = np.array([*vector_of(twist.angular), *vector_of(twist.linear)])
        try:
            self._check_frames(message.header.frame_id, message.child_frame_id)
            self._loop.call(lambda: self._stream.take(stamp, pose, rates))
            self._is_refused = False
        except FlexRobotSimError as error:
            if not self._is_refused:
                self._log(str(error))
            self._is_refused = True

    def _check_frames(self, *found):
        """Raise CommandError if a frame of the message is neither empty nor the expected one."""
        for one, expected in zip(found, self._frames):
            if one not in ('', expected):
                raise CommandError(
                    f'base_motion: a pose of the frame "{self._frames[1]}" in "{self._frames[0]}" '
                    f'is needed, not with "{plain(one)}". Transform it, or leave the frames '
                    'empty; the base stops at its last pose'
                )

    def _note_end(self):
        carry_out(self._node, self._check_end)

    def _check_end(self):
        if self._loop.call(self._stream.passed_end) and not self._is_refused:
            self._log('no message on base_motion any more: the base stops at its last pose')

    def _log(self, line):
        line = self._repeats.passed(line)
        if line:
            log(self._node, 'warning', line)
