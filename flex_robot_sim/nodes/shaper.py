"""The shaper as a node: between whoever sends motions and any controller or driver."""

import sys
import time

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from flex_robot_sim.control.set_point_stream import SetPointStream
from flex_robot_sim.control.shaper_file import read_parts
from flex_robot_sim.control.shaper_parts import parts_by_arm, parts_by_modes
from flex_robot_sim.control.trajectory_shaper import TrajectoryShaper
from flex_robot_sim.exceptions import CommandError, FlexRobotSimError, SettingError, plain
from flex_robot_sim.nodes.background import LONG, Background
from flex_robot_sim.nodes.conversions import (
    SECOND,
    positions_of,
    shaped_message,
    stamp_of,
    trajectory_of,
)
from flex_robot_sim.nodes.joint_state_reader import listen_to_joint_states
from flex_robot_sim.nodes.parameters import Parameters
from flex_robot_sim.nodes.reporting import Reporter, log, refuse
from flex_robot_sim.nodes.robot import when_arm_is_known
from flex_robot_sim.nodes.run import run
from flex_robot_sim.nodes.settings import (
    SHAPER_SETTINGS,
    MessageSettings,
    RobotSettings,
    ShaperSettings,
)
from flex_robot_sim.nodes.shaper_action import offer_follow_joint_trajectory
from flex_robot_sim.nodes.shaper_stream import ShaperStream
from flex_robot_sim.nodes.topics import COMMANDS, STATES
from flex_robot_sim.nodes.trajectory_messages import (
    read_trajectory,
    read_trajectory_header,
    refuse_many_points,
)

DESIGN = 'shaper', 'frequencies', 'damping_ratios', 'payload'   # what asks for another shaper
LEAD = 0.02         # between the last set point of before and what replaces it                 [s]
TRIES = 6           # each with twice the lead, where a machine takes longer to shape


class ShaperNode(Node):
    """Shape trajectories, and streams of set points."""

    def __init__(self) -> None:
        """Listen, once it is known what rings."""
        super().__init__('shaper')
        self.shaped = self.passed_on = self.refused = 0
        self.failure, self._problem, self._stream = None, '', None
        self.parameters = Parameters(self, *SHAPER_SETTINGS)
        settings, robot = self.parameters[ShaperSettings], self.parameters[RobotSettings]
        needs_arm = bool(settings.design_file) and bool(read_parts(settings.design_file).stages)
        if (settings.frequencies or settings.design_file) and not robot.robot and not needs_arm:
            self._listen(None)
        else:
            when_arm_is_known(self, robot, self._listen)

    def _listen(self, arm):
        settings = self.parameters[ShaperSettings]
        self._arm, self._design = arm, Background('shaper')
        self._limits = self.parameters[MessageSettings]
        self._name = 'a robot without URDF' if arm is None else arm.description.name
        self._began = time.monotonic()
        self._parts = self._made(settings, self._tell_progress)
        self._shaper = TrajectoryShaper(lambda end: self._parts, settings.period, arm,
                                        settings.start_tolerance,
                                        self._limits.max_trajectory_points)
        self._origin = self.get_clock().now().nanoseconds
        self._publisher = self.create_publisher(JointTrajectory, 'joint_trajectory', COMMANDS)
        listen_to_joint_states(self, 'joint_states', self._on_joints, STATES,
                               self._limits.max_names)
        heard = self.create_subscription(JointTrajectory, '~/joint_trajectory',
                                         self._on_trajectory, COMMANDS, raw=True)
        if heard.topic_name == self._publisher.topic_name:
            raise SettingError(f'the shaper would hear what it sends on {heard.topic_name}: remap '
                               'joint_trajectory to the topic of the controller')
        topics = f'{heard.topic_name} by {self._parts.name}, for {self._publisher.topic_name}'
        if settings.stream != 'none':
            self._stream = ShaperStream(self, settings.stream, self._set_points(settings),
                                        self._limits.max_names)
            topics += ', and {} for {}'.format(*self._stream.topics)
        self._action = offer_follow_joint_trajectory(self, self, settings.controller_action)
        self.parameters.on_change(self._on_change)
        Reporter(self, 'shaping', self._look, self._figures)
        self.get_logger().info(f'{plain(self._name)}: shapes {topics}')

    def _made(self, settings, progress=None):
        """ShaperParts of ShaperSettings."""
        if settings.design_file:
            return read_parts(settings.design_file,
                              None if self._arm is None else self._arm.joint_names)
        if settings.frequencies or self._arm is None:
            return parts_by_modes(settings.shaper, settings.frequencies, settings.damping_ratios)
        try:
            return parts_by_arm(settings.shaper, self._arm, settings.payload, progress=progress)
        except SettingError as error:
            raise SettingError(f'{error}; or give the parameter frequencies [Hz]') from error

    def _set_points(self, settings):
        names = settings.joints or (() if self._arm is None else self._arm.joint_names)
        if not names:
            raise SettingError('joints = [] must name the joints of the stream, in its order')
        if self._arm is not None and tuple(names) != tuple(self._arm.joint_names):
            raise SettingError(f'joints must be those of {self._name}, in its order: '
                               f'{", ".join(self._arm.joint_names)}')
        return SetPointStream(names, 1 / settings.stream_rate, self._parts, self._arm,
                              settings.start_tolerance)

    def _on_change(self, kind, settings):
        if kind is not ShaperSettings:
            return
        before = self.parameters[ShaperSettings]
        if all(getattr(settings, name) == getattr(before, name) for name in DESIGN):
            pass
        elif settings.design_file:
            raise SettingError('the shaper is that of design_file: write another one, and begin '
                               'again')
        elif settings.frequencies or self._arm is None:
            self._design.cancel()
            self._use(self._made(settings))
        else:
            self._design.make(lambda progress: self._made(settings, progress), self._use)
        self._shaper.tolerance = settings.start_tolerance
        if self._stream is not None:
            self._stream.stream.tolerance = settings.start_tolerance

    def _use(self, parts):
        """Go over to other ShaperParts: a stream at once, trajectories from the next rest on."""
        if self._stream is not None:
            self._stream.stream.use(parts)
        self._parts = parts
        return f'shapes by {parts.name}'

    def _look(self):
        news = self._design.look()
        if news is not None:
            log(self, *news)

    def _tell_progress(self, done, total):
        if self._began is not None and time.monotonic() > self._began + LONG:
            self._began = None
            self.get_logger().info(f'computing what rings of {plain(self._name)} in all poses: '
                                   f'{done / total:.0%} after {LONG:g} s')

    def _on_joints(self, message):
        measured = positions_of(message)
        self._shaper.measured.update(measured)
        if self._stream is not None:
            self._stream.stream.measured.update(measured)

    def _on_trajectory(self, data):
        try:
            header = read_trajectory_header(data, self._limits)
            if not header.points:
                self._shaper.forget()
                self._publisher.publish(data)
                self.passed_on += 1
            else:
                self._publisher.publish(self._shape(
                    read_trajectory(data, header), header.stamp, header.frame)[0])
                self.shaped += 1
            self._problem = ''
        except FlexRobotSimError as error:
            self.refused += 1
            self._problem = f'refused: {error}'
            refuse(self, error)

    @property
    def measured(self) -> dict[str, float]:
        """Positions by joint, as far as anybody has told [rad, m]."""
        return self._shaper.measured

    def shape(self, message: JointTrajectory) -> tuple[JointTrajectory, float]:
        """Return the shaped JointTrajectory of one, and when it ends [s]; it counts as sent."""
        refuse_many_points(len(message.points), self._limits)
        return self._shape(trajectory_of(message), stamp_of(message.header),
                           message.header.frame_id)

    def _shape(self, trajectory, stamp, frame):
        start = (stamp - self._origin) / SECOND if stamp else None
        return self._led(lambda now: self._shaper.shaped(trajectory, now, start), frame)

    def stop(self) -> tuple[JointTrajectory, float]:
        """Likewise, what brings the arm to rest at once; SettingError if it rests."""
        return self._led(self._shaper.stopped)

    def publish(self, message: JointTrajectory) -> None:
        """Send a shaped trajectory to the topic of the controller."""
        self._publisher.publish(message)

    def _led(self, shaped_at, frame=''):
        lead = LEAD
        for _ in range(TRIES):
            shaped = shaped_at(self.now() + lead)
            # what begins in the past is not begun at its beginning, and the arm would jump
            if self.now() <= shaped.start:
                self._shaper.keep(shaped)
                return shaped_message(shaped, self._origin + round(shaped.start * SECOND),
                                      frame), shaped.start + float(shaped.times[-1])
            lead *= 2
        raise CommandError('this machine takes too long to shape such a trajectory: send fewer '
                           'points, or shape fewer modes')

    def now(self) -> float:
        """Time by the clock of the node, since it began: a double has no room for nanoseconds."""
        return (self.get_clock().now().nanoseconds - self._origin) / SECOND

    def _figures(self):
        values = {'shaper': self._parts.name,
                  'moving': self._shaper.is_moving(self.now()), 'shaped': self.shaped,
                  'passed on': self.passed_on, 'refused': self.refused,
                  'time added [s]': self._shaper.added}
        problem = self._problem
        if self._stream is not None:
            values['moving'] |= self._stream.is_moving
            values.update(self._stream.figures())
            problem = problem or self._stream.problem
        if problem:
            return self._name, 'warning', problem, values
        return self._name, 'ok', 'shapes what it hears', values


def main(args: list[str] | None = None) -> None:
    """Run the node until a signal."""
    sys.exit(run('shaper', lambda: [ShaperNode()], args))
