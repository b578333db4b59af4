"""The shaper node: input shaping in front of any trajectory controller or driver."""

import time

from rclpy.node import Node

from flex_robot_sim.nodes.follow_trajectory import offer_follow_joint_trajectory
from flex_robot_sim.nodes.settings import KNOWN_PARAMETERS, SHAPER_SETTINGS, ShaperSettings
from flex_robot_sim.nodes.shaper_stream import ShaperStream
from flex_robot_sim.nodes.trajectory_relay import TrajectoryRelay
from flex_robot_sim.ros.endpoints import subscribe
from flex_robot_sim.ros.node_parameters import Parameters
from flex_robot_sim.ros.node_settings import MessageSettings, RobotSettings
from flex_robot_sim.ros.reporting import Reporter, log, refuse
from flex_robot_sim.ros.robot_source import when_arm_is_known
from flex_robot_sim.ros.topics import SHAPER_TRAJECTORY
from flex_robot_sim.ros.trajectory_messages import read_trajectory, read_trajectory_header
from flex_robot_sim.shaping.set_point_stream import SetPointStream
from flex_robot_sim.shaping.shaper_design import design_for_arm, design_for_modes
from flex_robot_sim.shaping.shaper_file import read_shaper
from flex_robot_sim.shaping.trajectory_shaper import TrajectoryShaper
from flex_robot_sim.shaping.tuning.measured_table import outside_table
from flex_robot_sim.util.background import PROGRESS_DELAY_S, BackgroundTask
from flex_robot_sim.util.exceptions import FlexRobotSimError, SettingError, plain

# settings whose changes require a new shaper
DESIGN_FIELDS = 'shaper', 'frequencies', 'damping_ratios', 'payload'


class ShaperNode(Node):
    """Shapes trajectories, and streams of set points."""

    def __init__(self) -> None:
        """Subscribe once the modes are known."""
        super().__init__('shaper')
        self.shaped = self.forwarded = self.refused = 0
        self.failure, self._problem, self._outside = None, '', ''
        self._stream: ShaperStream | None = None
        self.parameters = Parameters(self, *SHAPER_SETTINGS, known=KNOWN_PARAMETERS)
        settings, robot = self.parameters[ShaperSettings], self.parameters[RobotSettings]
        needs_arm = bool(settings.design_file) and bool(read_shaper(settings.design_file).stages)
        if (settings.frequencies or settings.design_file) and not robot.robot and not needs_arm:
            self._listen(None)
        else:
            when_arm_is_known(self, robot, self._listen)

    def _listen(self, arm):
        settings = self.parameters[ShaperSettings]
        self._arm, self._design = arm, BackgroundTask('shaper')
        self._limits = self.parameters[MessageSettings]
        self._name = 'a robot without URDF' if arm is None else arm.description.name
        self._began_at: float | None = time.monotonic()
        self._specification = self._specify(settings, self._log_progress)
        self._shaper = TrajectoryShaper(
            self._specification_at,
            settings.period,
            arm,
            settings.start_tolerance,
            self._limits.max_trajectory_points,
            settings.shortest_period,
        )
        self._relay = TrajectoryRelay(
            self, self._shaper, arm, self._limits, has_reports=not settings.controller_action
        )
        self._relay.max_deviation = self._max_deviation(settings)
        source = subscribe(self, SHAPER_TRAJECTORY.private, self._on_trajectory, raw=True)
        if source.topic_name == self._relay.topic:
            raise SettingError(
                f'the shaper would receive its own output on {source.topic_name}: '
                'remap joint_trajectory to the topic of the controller'
            )
        topics = f'{source.topic_name} by {self._specification.name}, for {self._relay.topic}'
        if settings.stream != 'none':
            self._stream = stream = ShaperStream(
                self, settings.stream, self._set_points(settings), self._limits.max_names
            )
            topics += ', and {} for {}'.format(*stream.topics)
            self._log_omitted_modes(stream)
        self._action = offer_follow_joint_trajectory(
            self,
            '~/follow_joint_trajectory',
            self._relay,
            settings.controller_action,
            settings.start_tolerance,
        )
        self.parameters.on_change(self._on_change)
        Reporter(self, 'shaping', self._poll, self._figures)
        self.get_logger().info(f'{plain(self._name)}: shapes {topics}')

    def _specify(self, settings, progress=None):
        """Return the ShaperSpecification for ShaperSettings."""
        if settings.design_file:
            return read_shaper(
                settings.design_file, None if self._arm is None else self._arm.joint_names
            )
        if settings.frequencies or self._arm is None:
            return design_for_modes(settings.shaper, settings.frequencies, settings.damping_ratios)
        try:
            return design_for_arm(
                self._arm, kind=settings.shaper, masses=settings.payload, progress=progress
            )
        except SettingError as error:
            raise SettingError(f'{error}; or give the parameter frequencies [Hz]') from error

    def _specification_at(self, end):
        """Return the ShaperSpecification; log a line if a motion ends (n,) outside its table."""
        table = self._specification.table
        if table is not None and self._arm is not None:
            self._outside = outside_table(table, self._arm.joint_names, end[None, :])
            if self._outside:
                self.get_logger().warning(self._outside)
        return self._specification

    def _max_deviation(self, settings):
        if settings.max_path_deviation > 0.0 and self._arm is None:
            raise SettingError(
                'max_path_deviation needs the parameter robot: without a URDF the '
                'path of the tool is unknown'
            )
        return settings.max_path_deviation

    def _set_points(self, settings):
        motors = [] if self._arm is None else self._arm.description.actuated_joint_names
        names = settings.joints or motors
        if not names:
            raise SettingError('joints = [] must name the joints of the stream, in its order')
        if self._arm is not None and list(names) != motors:
            raise SettingError(
                f'joints must be those of {self._name}, in its order: {", ".join(motors)}'
            )
        stream = SetPointStream(
            names,
            1 / settings.stream_rate,
            self._specification,
            self._arm,
            settings.start_tolerance,
        )
        stream.measured = self._relay.measured.positions
        return stream

    def _on_change(self, kind, settings):
        if kind is not ShaperSettings:
            return
        previous, max_deviation = self.parameters[ShaperSettings], self._max_deviation(settings)
        if all(getattr(settings, name) == getattr(previous, name) for name in DESIGN_FIELDS):
            pass
        elif settings.design_file:
            raise SettingError(
                'the shaper is that of design_file: write another one, and begin again'
            )
        elif settings.frequencies or self._arm is None:
            self._design.cancel()
            self._use(self._specify(settings))
        else:
            self._design.make(lambda progress: self._specify(settings, progress), self._use)
        self._relay.max_deviation = max_deviation
        self._shaper.tolerance = settings.start_tolerance
        if self._action is not None:
            self._action.tolerance = settings.start_tolerance
        if self._stream is not None:
            self._stream.stream.tolerance = settings.start_tolerance

    def _use(self, specification):
        """Change the specification: of a stream at once, of trajectories at the next rest."""
        if self._stream is not None:
            self._stream.stream.use(specification)
            self._log_omitted_modes(self._stream)
        self._specification = specification
        return f'shapes by {specification.name}'

    def _log_omitted_modes(self, stream):
        if stream.stream.omitted_modes:
            self.get_logger().warning(f'stream: {stream.stream.omitted_modes}')

    def _poll(self):
        update = self._design.poll()
        if update is not None:
            log(self, *update)

    def _log_progress(self, done, total):
        if self._began_at is not None and time.monotonic() > self._began_at + PROGRESS_DELAY_S:
            self._began_at = None
            self.get_logger().info(
                f'computing the modes of {plain(self._name)} in all poses: '
                f'{done / total:.0%} after {PROGRESS_DELAY_S:g} s'
            )

    def _on_trajectory(self, data):
        try:
            header = read_trajectory_header(data, self._limits)
            if not header.points:
                self._relay.pass_on(data)
                self.forwarded += 1
            else:
                self._relay.publish(
                    self._relay.shape(
                        read_trajectory(data, header), header.stamp or None, header.frame
                    )
                )
                self.shaped += 1
            self._problem = ''
        except FlexRobotSimError as error:
            self.refused += 1
            self._problem = f'refused: {error}'
            refuse(self, error)

    def _figures(self):
        values = {
            'shaper': self._specification.name,
            'moving': self._shaper.is_moving(self._relay.now()),
            'shaped': self.shaped,
            'passed on': self.forwarded,
            'refused': self.refused,
            'time added [s]': self._shaper.added,
        }
        if self._relay.deviation is not None:
            values['path deviation [m]'] = self._relay.deviation
        problem = self._problem or self._relay.problem or self._outside
        if self._stream is not None:
            values['moving'] |= self._stream.is_moving
            values.update(self._stream.figures())
            problem = problem or self._stream.problem
        if problem:
            return self._name, 'warning', problem, values
        return self._name, 'ok', 'shapes its input', values
